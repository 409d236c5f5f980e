"""Masks as Keras hands them from layer to layer where a file does not say: in Sequential models, and in all models of Keras 2.

Keras 3 writes the operations that make a mask into a Functional model, and the masks among the arguments of calls; this writes the same.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from webkiln.frontends.keras.facts import Call, LayerFacts, ModelFacts, Ref
from webkiln.frontends.keras.parts import RECURRENT

RECURRENT_LAYERS = RECURRENT | {"RNN", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"}
TAKES = RECURRENT_LAYERS | {"Bidirectional", "TimeDistributed", "Softmax", "GlobalAveragePooling1D"}
MERGES = frozenset({"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"})
KEEPS = frozenset({
    "Activation", "ActivityRegularization", "AlphaDropout", "BatchNormalization", "Dense", "Dropout", "ELU", "GaussianDropout",
    "GaussianNoise", "GroupNormalization", "Identity", "LayerNormalization", "LeakyReLU", "Normalization", "PReLU", "ReLU", "Rescaling",
    "Softmax", "SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D", "TimeDistributed", "UnitNormalization",
})  # fmt: skip


def under_masks(model: ModelFacts, count: int) -> ModelFacts:
    """A model that takes masks of its first `count` inputs as further inputs."""
    names = tuple(f"{name}_mask" for name, _ in model.inputs[:count])
    known = {ref: Ref(name) for name, (_, ref) in zip(names, model.inputs, strict=False)}
    layers = with_masks(model.layers, known)
    return replace(model, layers=tuple(layers), inputs=(*model.inputs, *((name, Ref(name)) for name in names)))


def with_masks(
    layers: Iterable[LayerFacts], known_masks: Mapping[Ref, Ref] = MappingProxyType({}), *, old: bool = False
) -> list[LayerFacts]:  # fmt: skip
    """The layers, given in an order in which they can run, with the operations that make masks and with masks among the arguments.

    A merge shows the steps that any of its operands shows, if all have masks; in Keras 2 (`old`) those that every operand with a mask shows.
    """
    masks: dict[Ref, Ref] = dict(known_masks)
    result: list[LayerFacts] = []

    def operation(class_name: str, name: str, args: tuple[object, ...], **config: object) -> Ref:
        result.append(LayerFacts(name, class_name, config, kind="operation", calls=(Call(args),)))
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
            stem = f"{layer.name}_mask_{number}"
            following: Ref | None = None
            if layer.own and layer.class_name == "Masking":
                differs = operation("NotEqual", f"{stem}_differs", (refs[0], layer.config.get("mask_value", 0.0)))
                following = operation("Any", stem, (differs,), axis=-1, keepdims=False)
            elif layer.own and layer.class_name == "Embedding" and layer.config.get("mask_zero"):
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
            elif layer.own and (layer.class_name in KEEPS or _returns_sequences(layer)):
                following = mask
            if following is not None:
                masks[output] = following
        result.append(replace(layer, calls=tuple(calls)))
    return result


def _returns_sequences(layer: LayerFacts) -> bool:
    if layer.class_name == "Bidirectional":
        return any(part.config.get("return_sequences", False) for part in layer.parts.values())
    return layer.class_name in RECURRENT_LAYERS and bool(layer.config.get("return_sequences"))
