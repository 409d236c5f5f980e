"""Metadata of a Keras model file for `webkiln inspect`: its versions and its layers."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from webkiln.frontends.core.model_format import ZIP, FileHeader
from webkiln.frontends.core.subgraph import subgraph_from_params
from webkiln.frontends.inspect.facts import (
    Description,
    FileFacts,
    Inspector,
    TensorFacts,
    TensorShape,
    listed,
    rows,
)
from webkiln.frontends.keras import spec
from webkiln.frontends.keras.reader import parse_model
from webkiln.frontends.keras.spec import LayerSpec, ModelSpec
from webkiln.frontends.keras.versions.files import open_model
from webkiln.frontends.keras.versions.tfjs import is_json


def read_facts(inputs: Mapping[str, Path], params: Mapping[str, Any]) -> FileFacts:
    path = inputs["source"]
    companion = inputs["external/"] / params.get("weights", "") if "external/" in inputs else None
    with open_model(path, companion) as file:
        version, backend, kind = file.version, file.backend, str(file.config["class_name"])
    model, _ = parse_model(path, subgraph_from_params(params), companion=companion)
    header = FileHeader(path)
    return FileFacts(
        rows(
            kind=f"{_container(header, path)}, {kind}",
            written_by=listed(
                [*([f"Keras {version}"] if version.count(".") > 1 else []), *_writers(header)]
            ),
            computed_with=backend,
        ),
        preview=_described(model),
    )


def _container(header: FileHeader, path: Path) -> str:
    if header.start.startswith(ZIP):
        return "a .keras archive"
    if is_json(path):
        return (
            "a layers model of TensorFlow.js" if header.tensorflow_js else "an architecture in JSON"
        )
    return "HDF5" if header.start.startswith(b"\x89HDF") else "an architecture in YAML"


def _writers(header: FileHeader) -> list[str]:
    return [
        str(header.table[key]) for key in ("generatedBy", "convertedBy") if header.table.get(key)
    ]


def describe_spec(data: Mapping[str, Any]) -> Description:
    return _described(spec.from_json(data))


def _described(model: ModelSpec) -> Description:
    layers = {layer.name: layer for layer in model.layers}
    everything = list(_layers(model))
    parts = Counter(
        layer.class_name for layer in everything if layer.kind not in ("input", "noise")
    )
    weights = {
        item.slot: (item.dtype, item.shape) for layer in everything for item in _weights(layer)
    }
    inputs = tuple(TensorFacts(name, *_input(layers.get(ref.layer))) for name, ref in model.inputs)
    return Description(
        inputs, tuple(TensorFacts(name, "", None) for name, _ in model.outputs), parts, weights
    )


def _layers(model: ModelSpec) -> Iterator[LayerSpec]:
    """All layers, including those of nested models."""
    todo = list(reversed(model.layers))
    while todo:
        layer = todo.pop()
        yield layer
        if layer.model is not None:
            todo += reversed(layer.model.layers)


def _weights(layer: LayerSpec) -> Iterator[Any]:
    todo = [layer]
    while todo:
        one = todo.pop()
        yield from one.weights.values()
        todo += one.parts.values()


def _input(layer: LayerSpec | None) -> tuple[str, TensorShape]:
    shape = layer.config.get("batch_shape") if layer is not None else None
    dtype = str(layer.config.get("dtype") or "") if layer is not None else ""
    known = isinstance(shape, list | tuple) and all(
        size is None or type(size) is int for size in shape
    )
    return dtype if dtype.isidentifier() else "", tuple(
        shape
    ) if known and shape is not None else None


FACTS = Inspector(read_facts, describe_spec)
