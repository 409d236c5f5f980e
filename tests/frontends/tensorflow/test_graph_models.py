"""Graph models that the converter of TensorFlow.js wrote."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.corpus import TOLERANCE, Sample, mismatch
from tests.frontends.tensorflow.graph_models import NAMES, given, graph_model, named, recorded
from tests.frontends.tensorflow.samples import converted
from webkiln.backends.compare import relative_error
from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.tensorflow.load import read_model
from webkiln.frontends.tensorflow.reference import Computed
from webkiln.ops.evaluate import run_graph

ROUNDED = {"residual": 0.05, "mobile": 1e-3, "styled": 2e-3}
"""Models with quantised weights, and the largest difference in relation to the largest output."""


@pytest.mark.parametrize("name", NAMES)
def test_graph_models_agree_with_tensorflow(name: str, tmp_path: Path) -> None:
    path = graph_model(name, tmp_path)
    graph = converted(path, path.parent)
    inputs, expected = recorded(path)
    with np.errstate(all="ignore"):
        got, _ = run_graph(graph, given(inputs, graph.inputs))
    got = named(got, expected)
    if name in ROUNDED:
        assert got.keys() == expected.keys()
        for key, value in expected.items():
            np.testing.assert_allclose(got[key], value, atol=ROUNDED[name] * np.abs(value).max())
    else:
        assert mismatch(Sample(name, graph, inputs, expected), got) is None


@pytest.mark.parametrize(
    "name", ["called", "fused_conv", "fused_depthwise", "fused_matmul", "numbers", "pictures"]
)
def test_references_of_graph_models_are_computed_by_tensorflow(name: str, tmp_path: Path) -> None:
    """TensorFlow itself has no fused depthwise convolution and no PReLU."""
    path = graph_model(name, tmp_path)
    inputs, expected = recorded(path)
    names = [item.name for item in read_model(path, path.parent)[0].graph.inputs]
    outputs, inner = Computed(tf, path, path.parent, "", {}, tmp_path)(given(inputs, names))
    outputs = named(outputs, expected)
    assert outputs.keys() == expected.keys()
    assert all(relative_error(outputs[key], value) <= TOLERANCE for key, value in expected.items())
    assert inner


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))
    return path


def test_inputs_have_the_names_of_the_signature(tmp_path: Path) -> None:
    def rename(table: dict[str, Any]) -> None:
        inputs = table["signature"]["inputs"]
        inputs["picture"] = inputs.pop(next(iter(inputs)))

    path = changed(graph_model("convolutions", tmp_path), rename)
    graph = converted(path, path.parent)
    assert {name: str(graph.type(name)) for name in graph.inputs} == {
        "picture": "float32[picture_0,9,8,4]"
    }


def test_a_missing_shard_is_named(tmp_path: Path) -> None:
    path = graph_model("convolutions", tmp_path)
    shard = max(path.parent.glob("*.bin"))
    shard.unlink()
    with pytest.raises(
        SourceError, match=rf"its weights are in '{shard.name}', which is not in its folder"
    ):
        read_model(path)


def test_a_constant_that_the_manifest_lacks_is_named(tmp_path: Path) -> None:
    def cut(table: dict[str, Any]) -> None:
        table["weightsManifest"] = []

    path = changed(graph_model("fused_matmul", tmp_path), cut)
    with pytest.raises(SourceError, match=r"the constant \S*Const\S* is not in the manifest"):
        read_model(path)


def test_strings_beyond_the_last_shard_are_damage(tmp_path: Path) -> None:
    path = graph_model("numbers", tmp_path)
    weights = json.loads(path.read_text())["weightsManifest"][0]["weights"]
    before = weights[: next(n for n, item in enumerate(weights) if item["dtype"] == "string")]
    sizes = {"complex64": 8, "float32": 4, "int32": 4, "bool": 1, "uint8": 1}
    at = sum(sizes[item["dtype"]] * int(np.prod(item["shape"])) for item in before)
    shard = path.parent / "group1-shard1of1.bin"
    data = bytearray(shard.read_bytes())
    data[at : at + 4] = b"\xff\xff\xff\x7f"
    shard.write_bytes(data)
    with pytest.raises(SourceError, match=r"the strings of \S+ end after the last file"):
        read_model(path)


def test_unknown_fused_operators_are_named(tmp_path: Path) -> None:
    def fuse(table: dict[str, Any]) -> None:
        for node in table["modelTopology"]["node"]:
            if node["op"] == "_FusedMatMul":
                node["attr"]["fused_ops"]["list"]["s"] = ["Qmlhc0FkZA==", "Tm92ZWw="]

    path = changed(graph_model("fused_matmul", tmp_path), fuse)
    with pytest.raises(UnsupportedError, match=r"is fused with Novel"):
        converted(path)
