"""Subgraphs of models, from a recipe or a command: each bundle is verified separately, and
consecutive ones compose.
"""

import shutil

import keras
import numpy as np
import onnx
import pytest
import tensorflow as tf
import torch

from tests.frontends.onnx.models import classifier
from tests.frontends.tensorflow.modules import Stepping, stepping
from tests.frontends.tensorflow.references import reference as computed_by_tensorflow
from tests.frontends.tflite.make import CORPUS
from tests.models.conftest import Model
from webkiln.backends.compare import layer_errors, layers_of
from webkiln.backends.host import read_manifest, run_bundle
from webkiln.build.engine import Engine
from webkiln.cli import main
from webkiln.recipe.read import read_recipe

JOINED, FLOAT16_ARITHMETIC_BACKENDS = (
    "functional_46_1/concatenate_1/concat",
    "functional_46_1/multiply_1/Mul",
)


def write(folder, kind):
    if kind == "onnx":
        onnx.save(classifier(), folder / "net.onnx")
        return
    if kind == "tflite":
        shutil.copy(CORPUS / "branches.float.tflite", folder / "net.tflite")
        return
    if kind == "saved":
        stepping(folder / "net.saved", "stepping")
        return
    if kind == "pt2":
        layers = torch.nn.Sequential(
            torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 5), torch.nn.Softmax(-1)
        ).eval()
        torch.export.save(
            torch.export.export(
                layers, (torch.rand(2, 4),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
            ),
            folder / "net.pt2",
        )
        return
    x = keras.Input((8, 8, 3), name="x")
    first = keras.layers.Conv2D(4, 3, padding="same", activation="relu", name="first")(x)
    both = keras.layers.Add(name="both")(
        [first, keras.layers.Conv2D(4, 3, padding="same", name="second")(first)]
    )
    y = keras.layers.Dense(5, name="y")(keras.layers.Flatten(name="flat")(both))
    keras.Model(x, y, name="net").save(folder / "net.keras")


@pytest.mark.parametrize(
    ("kind", "starts", "ends", "inputs", "outputs"),
    [
        ("keras", ["first"], ["flat"], ["first"], ["flat"]),
        ("onnx", ["relu"], ["dense"], ["r"], ["g"]),
        (
            "tflite",
            [JOINED],
            [FLOAT16_ARITHMETIC_BACKENDS],
            [JOINED],
            [FLOAT16_ARITHMETIC_BACKENDS],
        ),
        ("pt2", ["1"], ["2"], ["1"], ["2"]),
        ("saved", ["relu"], ["tanh"], ["relu"], ["tanh"]),
    ],
    ids=["keras", "onnx", "tflite", "pt2", "saved"],
)
@pytest.mark.sample("onnx", "tflite")
def test_a_subgraph_of_a_recipe_is_verified(tmp_path, kind, starts, ends, inputs, outputs):
    folder = tmp_path / "net"
    folder.mkdir()
    write(folder, kind)
    sizes = "[dims]\nbatch = 1\n" if kind == "onnx" else ""
    (folder / "recipe.toml").write_text(
        f'source = "net.{kind}"\nfrom_layers = {starts}\nto_layers = {ends}\n{sizes}'
    )
    with Engine(tmp_path / ".webkiln") as engine:
        built = Model(engine, read_recipe(folder / "recipe.toml"), tmp_path)
        rows = [row for result in built.verify("float32", "node") for row in result["outputs"]]
        manifest = read_manifest(built.bundle())
    assert {row["output"] for row in rows} == set(outputs)
    assert all(row["passed"] for row in rows)
    assert [tensor["name"] for tensor in manifest["inputs"]] == inputs
    assert [tensor["name"] for tensor in manifest["outputs"]] == outputs


def test_two_subgraphs_compose_and_contain_only_their_weights(tmp_path, capsys):
    write(tmp_path, "keras")
    command = ["build", str(tmp_path / "net.keras"), "--backend", "js"]
    for name, cut in (
        ("whole", []),
        ("head", ["--to-layer", "both"]),
        ("tail", ["--from-layer", "both"]),
    ):
        assert main([*command, *cut, "-o", str(tmp_path / name)]) == 0
    x = np.random.default_rng(0).random((1, 8, 8, 3), np.float32)
    sizes = {
        name: sum(shard["bytes"] for shard in read_manifest(tmp_path / name)["shards"])
        for name in ("whole", "head", "tail")
    }
    assert sizes["head"] + sizes["tail"] == sizes["whole"]
    (full_result,) = run_bundle(tmp_path / "whole", "js", [{"x": x}], host="node")
    (head,) = run_bundle(tmp_path / "head", "js", [{"x": x}], host="node")
    (tail,) = run_bundle(tmp_path / "tail", "js", [dict(head.outputs)], host="node")
    np.testing.assert_array_equal(tail.outputs["y"], full_result.outputs["y"])
    capsys.readouterr()
    assert main([*command, "--from-layer", "second", "-o", str(tmp_path / "wrong")]) == 2
    assert (
        "the subgraph leaves first undefined, which both reads from outside it;"
        " add --from-layer first" in capsys.readouterr().err
    )


def test_the_first_node_that_diverges_from_tensorflow_is_named(tmp_path, capsys):
    """One weight of the bundle differs from the graph; the nodes that precede it agree."""
    path = stepping(tmp_path / "net", "stepping")
    (tmp_path / "net" / "recipe.toml").write_text('source = "saved_model.pb"\nbackends = ["js"]\n')
    with Engine(tmp_path / ".webkiln") as engine:
        bundle = Model(engine, read_recipe(tmp_path / "net" / "recipe.toml"), tmp_path).bundle(
            layers=True
        )
    assert main(["diff", str(bundle), "--source", str(path)]) == 0
    assert "  relu [16, 6]" in capsys.readouterr().out
    other = Stepping()
    other.weights["second"].assign(other.weights["second"] * 2.0)
    tf.saved_model.save(other, str(tmp_path / "other"), signatures=other.stepping)
    reference, layers = computed_by_tensorflow(tmp_path / "other" / "saved_model.pb")
    (result,) = run_bundle(
        bundle, "js", [{"x": reference["natural1/in/x"]}], host="node", layers=True
    )
    *before, last = layer_errors(result.layers, layers_of(layers, "natural1"), 1e-4)
    assert [error.layer for error in before] == ["MatMul", "relu"]
    assert (last.layer, last.passed) == ("MatMul.2", False)
