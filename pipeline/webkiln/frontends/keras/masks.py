"""Masks as Keras hands them from layer to layer when a model runs.

Keras 3 states most of them: the operations that make a mask are part of a Functional model, and masks stand among the arguments of calls.
Sequential models, models of Keras 2, and layers behind a model inside a model lack them; this writes the same there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from webkiln.frontends.keras.parts import CONV_RECURRENT, RECURRENT
from webkiln.frontends.keras.spec import LayerCall, LayerSpec, ModelSpec, Ref

RECURRENT_LAYERS = RECURRENT | CONV_RECURRENT | {"RNN"}
TAKES = RECURRENT_LAYERS | {"Bidirectional", "TimeDistributed", "Softmax", "GlobalAveragePooling1D"}
EMBEDS = frozenset({"Embedding", "ReversibleEmbedding"})
MERGES = frozenset({"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"})
KEEPS = frozenset({
    "Activation", "ActivityRegularization", "AlphaDropout", "BatchNormalization", "Dense", "Dropout", "ELU", "GaussianDropout",
    "GaussianNoise", "GroupNormalization", "Identity", "LayerNormalization", "LeakyReLU", "Normalization", "PReLU", "ReLU", "Rescaling",
    "Softmax", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "TimeDistributed", "UnitNormalization",
})  # fmt: skip


def under_masks(model: ModelSpec, count: int) -> ModelSpec:
    """A model that takes masks of its first `count` inputs as further inputs."""
    names = tuple(f"{name}_mask" for name, _ in model.inputs[:count])
    known = {ref: Ref(name) for name, (_, ref) in zip(names, model.inputs, strict=False)}
    layers, _ = _masked(model.layers, known, old=False)
    return replace(model, layers=tuple(layers), inputs=(*model.inputs, *((name, Ref(name)) for name in names)))


def with_masks(layers: Iterable[LayerSpec], *, old: bool = False) -> list[LayerSpec]:
    """The layers, given in an order in which they can run, with masks among the arguments wherever they are not yet, and with the operations
    that make these masks.

    A merge shows the steps that any of its operands shows, if all have masks; in Keras 2 (`old`) those that every operand with a mask shows.
    """
    return _masked(layers, {}, old=old)[0]


def _masked(layers: Iterable[LayerSpec], known_masks: Mapping[Ref, Ref], *, old: bool) -> tuple[list[LayerSpec], dict[Ref, Ref]]:
    """The layers, and the mask of each tensor that has one; operations whose masks nothing takes are left out."""
    masks: dict[Ref, Ref] = dict(known_masks)
    result: list[LayerSpec] = []
    made: set[str] = set()

    def operation(class_name: str, name: str, args: tuple[object, ...], **config: object) -> Ref:
        result.append(LayerSpec(name, class_name, config, kind="operation", calls=(LayerCall(args),)))
        made.add(name)
        return Ref(name)

    for layer in layers:
        calls = []
        for number, call in enumerate(layer.calls):
            output, refs = Ref(layer.name, number), call.refs()
            known = [masks.get(ref) for ref in refs]
            mask = known[0] if known else None
            able = layer.class_name in TAKES or (layer.model is not None and len(refs) == 1)
            takes = layer.own and able and mask is not None and call.kwargs.get("mask") is None
            calls.append(replace(call, kwargs={**call.kwargs, "mask": mask}) if takes else call)
            stem = f"{layer.name}_mask_{number}" if not known_masks else f"{layer.name}_inner_mask_{number}"
            following: Ref | None = None
            if layer.own and layer.class_name == "Masking":
                differs = operation("NotEqual", f"{stem}_differs", (refs[0], layer.config.get("mask_value", 0.0)))
                following = operation("Any", stem, (differs,), axis=-1, keepdims=False)
            elif layer.own and layer.class_name in EMBEDS and layer.config.get("mask_zero"):
                following = operation("NotEqual", stem, (refs[0], 0))
            elif layer.own and (layer.class_name in MERGES or (old and layer.class_name == "Concatenate")):
                present = [item for item in known if item is not None]
                whole = bool(present) and len(present) == len(known)
                if layer.class_name == "Concatenate" and layer.config.get("axis", -1) in {1, -2}:
                    following = operation("Concatenate", stem, (present,), axis=1) if whole else None
                else:
                    following = present[0] if whole or (old and present) else None
                    for position, other in enumerate(present[1:] if following is not None else ()):
                        following = operation("LogicalAnd" if old else "LogicalOr", f"{stem}_{position}", (following, other))
            elif layer.own and (layer.class_name in KEEPS or _returns_sequences(layer) or _passes_on(layer, old=old)):
                following = mask
            if following is not None:
                masks[output] = following
        result.append(replace(layer, calls=tuple(calls)))
    return _needed(result, made), masks


def _needed(layers: list[LayerSpec], made: set[str]) -> list[LayerSpec]:
    read: set[str] = set()
    kept = []
    for layer in reversed(layers):
        if layer.name not in made or layer.name in read:
            kept.append(layer)
            read.update(ref.layer for call in layer.calls for ref in call.refs())
    return kept[::-1]


def _passes_on(layer: LayerSpec, *, old: bool) -> bool:
    """Whether the output of a model inside, or of a wrapped layer, has the mask of its input."""
    if layer.class_name == "SpectralNormalization":
        return any(part.class_name in KEEPS for part in layer.parts.values())
    if layer.model is None or layer.traced or len(layer.model.inputs) != 1 or len(layer.model.outputs) != 1:
        return False
    ((_, start),), ((_, end),) = layer.model.inputs, layer.model.outputs
    _, masks = _masked(layer.model.layers, {start: start}, old=old)
    return masks.get(end) == start


def _returns_sequences(layer: LayerSpec) -> bool:
    if layer.class_name == "Bidirectional":
        return any(part.config.get("return_sequences", False) for part in layer.parts.values())
    return layer.class_name in RECURRENT_LAYERS and bool(layer.config.get("return_sequences"))
