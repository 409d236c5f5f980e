"""The graph of layers in a model config: chains, declared types, and the numbers of calls."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webkiln.frontends.keras import config as configs
from webkiln.frontends.keras.spec import LayerSpec, Ref, renamed
from webkiln.frontends.keras.subgraph import TensorTypes


def sequential_graph(
    config: Mapping[str, Any],
) -> tuple[list[Any], list[tuple[str, Ref]], list[tuple[str, Ref]]]:
    """The layers of a Sequential as those of a Functional model, with its inputs and outputs."""
    layers = [dict(layer) for layer in config["layers"]]
    if not layers or layers[0]["class_name"] != "InputLayer":
        first = layers[0]["config"] if layers else {}
        shape = (
            first.get("batch_shape")
            or first.get("batch_input_shape")
            or config.get("build_input_shape")
        )
        layers.insert(
            0,
            {
                "class_name": "InputLayer",
                "config": {"name": "input", "batch_shape": shape, "dtype": "float32"},
            },
        )
    names = [configs.layer_name(layer) for layer in layers]
    for layer, before in zip(layers[1:], names[:-1], strict=True):
        layer["inbound_nodes"] = [{"args": [[before, 0, 0]], "kwargs": {}}]
    return layers, [(names[0], Ref(names[0]))], [(names[-1], Ref(names[-1]))]


def declared_types(entries: list[Any], layers: list[LayerSpec]) -> TensorTypes:
    """The declared types of tensors: Keras 3 writes them at operands and, for layers of a
    Sequential, in their build configs.
    """
    types: dict[Ref, tuple[list[int | None] | None, str | None]] = {}
    for entry, layer in zip(entries, layers, strict=True):
        refs = [call.refs() for call in layer.calls]
        operands = [configs.declared_operands(node) for node in entry.get("inbound_nodes", [])]
        for own, stated in zip(refs, operands, strict=False):
            if len(own) == len(stated):
                types |= zip(own, stated, strict=True)
        shape = (entry.get("build_config") or {}).get("input_shape")
        if shape is not None and len(refs) == 1 and len(refs[0]) == 1:
            types.setdefault(refs[0][0], (configs.shape_of(shape), None))
    return types


def without_offsets(
    layers: list[LayerSpec], outputs: list[Ref], *, together: bool
) -> tuple[list[LayerSpec], dict[str, int]]:
    """The layers with references that count actual calls only, and the excess in references of the
    model's outputs.

    Keras counts the creation of a nested Functional as its first call: Keras 2 in all references
    (`together`), Keras 3 in those of outputs.
    """
    inside = [ref for layer in layers for call in layer.calls for ref in call.refs()]
    offsets = _offsets(layers, [*inside, *outputs] if together else inside)
    shifted = [
        replace(layer, calls=tuple(shift_calls(call, offsets) for call in layer.calls))
        for layer in layers
    ]
    created = {
        layer.name: int(layer.class_name != "Sequential")
        for layer in layers
        if layer.model is not None and not layer.traced
    }
    return shifted, offsets if together else created


def _offsets(layers: list[LayerSpec], refs: list[Ref]) -> dict[str, int]:
    latest: dict[Any, int] = {}
    for ref in refs:
        latest[ref.layer] = max(latest.get(ref.layer, 0), ref.call)
    return {
        layer.name: max(0, latest.get(layer.name, 0) - len(layer.calls) + 1)
        for layer in layers
        if layer.model is not None and not layer.traced
    }


def shift_calls(value: Any, offsets: Mapping[str, int]) -> Any:
    return renamed(value, lambda ref: replace(ref, call=ref.call - offsets.get(ref.layer, 0)))
