"""Stages convert the recipes in models/ to graphs that agree with Keras's outputs."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from webkiln.frontends.core.conversion import SOURCE
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import from_json

MODELS = Path(__file__).parents[3] / "models"


@pytest.mark.parametrize("name", ["digits", "bias_layer"])
def test_recipe(stage, tmp_path, name):
    folder = MODELS / name
    recipe = tomllib.loads((folder / "recipe.toml").read_text())
    plugins = recipe.get("plugins", [])
    source = tmp_path / "source"
    if isinstance(recipe["source"], str):
        stage("fetch").run(
            {"source": folder / recipe["source"]}, {"source": source}, {"kind": "path"}
        )
    else:
        script = {"script.py": folder / recipe["source"]["script"]}
        stage("fetch").run(
            script,
            {"source": source},
            {
                "kind": "export",
                "format": "keras",
                "suffix": ".keras",
                "parameters": {},
                "function": recipe["source"]["function"],
            },
        )
    spec, blobs = tmp_path / "spec.json", tmp_path / "weights"
    graph, weights = tmp_path / "graph.json", tmp_path / "weights.json"
    arrays = {role: tmp_path / role for role in ("reference.npz", "layers.npz")}
    options = {
        "format": "keras",
        "plugins": plugins,
        "trust_source": False,
        "batch_size": recipe["batch_size"],
        "input_shapes": {},
    }
    stage("load").run(
        {"source": source, "plugins/": folder}, {"spec.json": spec, "weights/": blobs}, options
    )
    made = {
        "graph.json": graph,
        "weights.json": weights,
        "sizes.json": tmp_path / "sizes.json",
        "texts.json": tmp_path / "texts.json",
    }
    stage("convert").run({"spec.json": spec, "plugins/": folder}, made, {"name": name, **options})
    stage("reference").run({"source": source, "plugins/": folder}, arrays, options)
    assert not KerasConverter.handlers

    values = {}
    for slot, entry in json.loads(weights.read_text())["slots"].items():
        values[slot] = np.frombuffer(
            (blobs / entry["digest"]).read_bytes(), entry["dtype"]
        ).reshape(entry["shape"])
    converted = from_json(json.loads(graph.read_text()))
    assert converted.name == SOURCE
    reference, layers = np.load(arrays["reference.npz"]), np.load(arrays["layers.npz"])
    for natural in ("natural0", "natural1", "extreme"):
        inputs = {key: reference[f"{natural}/in/{key}"] for key in converted.inputs}
        outputs, variables = run_graph(converted, inputs, values)
        for key, got in outputs.items():
            assert np.allclose(got, reference[f"{natural}/out/{key}"], rtol=1e-5, atol=1e-5)
        for node in converted.nodes:
            last = [other for other in converted.nodes if other.layer == node.layer][-1]
            expected = layers[f"{natural}/{node.layer}"]
            scale = np.abs(expected).max()
            assert np.abs(variables[last.name] - expected).max() <= 1e-5 * scale


def test_digits_is_accurate():
    converter = KerasConverter(batch_size=450)
    graph = converter.convert(MODELS / "digits" / "digits.keras")
    test = np.load(MODELS / "digits" / "test.npz")
    outputs, _ = run_graph(graph, {"image": test["images"]})
    assert np.mean(outputs["scores"].argmax(axis=1) == test["labels"]) > 0.985
