"""Masks, as Keras passes them from layer to layer at run time.

Keras 3 files contain most of them: operations that create masks are part of a Functional model, and
masks are arguments of calls. They are missing in Sequential models, in Keras 2 models, and after a
nested model or a layer that creates a mask internally. This module adds them there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from webkiln.errors import UnsupportedError
from webkiln.frontends.keras.parts import CONV_RECURRENT, PROJECTIONS, RECURRENT
from webkiln.frontends.keras.spec import LayerCall, LayerSpec, ModelSpec, Ref

RECURRENT_LAYERS = RECURRENT | CONV_RECURRENT | {"RNN"}
TAKES = RECURRENT_LAYERS | {"Bidirectional", "TimeDistributed", "Softmax", "GlobalAveragePooling1D"}
EMBEDS = frozenset({"Embedding", "ReversibleEmbedding"})
MERGES = frozenset({"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"})
SCORES = frozenset({"Attention", "AdditiveAttention"})
KEEPS = frozenset(
    {
        "Activation",
        "ActivityRegularization",
        "AlphaDropout",
        "BatchNormalization",
        "Dense",
        "Dropout",
        "ELU",
        "GaussianDropout",
        "GaussianNoise",
        "GroupNormalization",
        "GroupedQueryAttention",
        "Identity",
        "LayerNormalization",
        "LeakyReLU",
        "MultiHeadAttention",
        "Normalization",
        "PReLU",
        "ReLU",
        "Rescaling",
        "Softmax",
        "SpatialDropout1D",
        "SpatialDropout2D",
        "SpatialDropout3D",
        "TimeDistributed",
        "UnitNormalization",
    }
)
ENDING = "_mask"


def under_masks(model: ModelSpec, masked: Sequence[bool]) -> ModelSpec:
    """A model with the masks of inputs and outputs as further inputs and outputs."""
    input_masks = {
        ref: Ref(f"{name}{ENDING}")
        for (name, ref), has_mask in zip(model.inputs, masked, strict=False)
        if has_mask
    }
    outputs = [ref for _, ref in model.outputs]
    layers, masks = _masked(
        model.layers, input_masks, old=False, ending="_inner_mask", retained=outputs
    )
    inputs = tuple((mask.layer, mask) for mask in input_masks.values())
    further = tuple((f"{name}{ENDING}", masks[ref]) for name, ref in model.outputs if ref in masks)
    return replace(
        model,
        layers=tuple(layers),
        inputs=(*model.inputs, *inputs),
        outputs=(*model.outputs, *further),
    )


def with_masks(
    layers: Iterable[LayerSpec],
    input_masks: Mapping[Ref, Ref] | None = None,
    *,
    old: bool = False,
    ordered: bool = False,
) -> list[LayerSpec]:
    """The layers of a model, or with `ordered` in execution order, with all masks as arguments of
    calls, and with the operations that create these masks.

    In Keras 3, a merge of masked operands shows the steps that any of them shows; in Keras 2
    (`old`), those that all operands with a mask show.
    """
    return _masked(layers, input_masks or {}, old=old, ending=ENDING, retained=(), ordered=ordered)[
        0
    ]


@dataclass
class _Walk:
    """The state after the calls so far: the mask of each tensor, and the operations that create
    masks.
    """

    old: bool
    ending: str
    masks: dict[Ref, Ref]
    result: list[LayerSpec] = field(default_factory=list)
    foreign: set[str] = field(default_factory=set)
    nested: dict[tuple[str, tuple[bool, ...]], ModelSpec] = field(default_factory=dict)
    """Nested models, by name and by which inputs have masks. Each is walked once."""

    def operation(
        self, class_name: str, name: str, args: tuple[object, ...], **config: object
    ) -> Ref:
        self.result.append(
            LayerSpec(name, class_name, config, kind="operation", calls=(LayerCall(args),))
        )
        return Ref(name)

    def call(self, layer: LayerSpec, number: int) -> LayerCall:
        """Add masks to a call, and record the masks of its outputs."""
        call, output = layer.calls[number], Ref(layer.name, number)
        if layer.model is not None and layer.traced:
            return self._traced(layer, layer.model, number)
        if layer.model is not None:
            return self._nested(layer, layer.model, number) if layer.own else call
        if not layer.own or layer.kind != "layer":
            return call
        if layer.class_name in PROJECTIONS or layer.class_name in SCORES:
            call, mask = (
                self._heads(layer, call) if layer.class_name in PROJECTIONS else self._scores(call)
            )
        else:
            refs = call.refs()
            mask = self.masks.get(refs[0]) if refs else None
            if layer.class_name in TAKES and mask is not None and call.kwargs.get("mask") is None:
                call = replace(call, kwargs={**call.kwargs, "mask": mask})
        following = self._following(layer, number, mask)
        if following is not None:
            self.masks[output] = following
        return call

    def _following(self, layer: LayerSpec, number: int, mask: Ref | None) -> Ref | None:
        refs, stem = layer.calls[number].refs(), f"{layer.name}{self.ending}_{number}"
        if layer.class_name == "Masking":
            differs = self.operation(
                "NotEqual", f"{stem}_differs", (refs[0], layer.config.get("mask_value", 0.0))
            )
            return self.operation("Any", stem, (differs,), axis=-1, keepdims=False)
        if layer.class_name in EMBEDS:
            return (
                self.operation("NotEqual", stem, (refs[0], 0))
                if layer.config.get("mask_zero")
                else None
            )
        if layer.class_name in MERGES or layer.class_name == "Concatenate":
            return self._merged(layer, refs, stem)
        if layer.class_name == "SpectralNormalization":
            return mask if any(part.class_name in KEEPS for part in layer.parts.values()) else None
        return (
            mask
            if layer.class_name in KEEPS or layer.class_name in SCORES or _returns_sequences(layer)
            else None
        )

    def _merged(self, layer: LayerSpec, refs: Sequence[Ref], stem: str) -> Ref | None:
        masks = [self.masks.get(ref) for ref in refs]
        present = [item for item in masks if item is not None]
        complete = bool(present) and len(present) == len(masks)
        if layer.class_name == "Concatenate" and (
            not self.old or layer.config.get("axis", -1) in {1, -2}
        ):
            if self.old:
                return self.operation("Concatenate", stem, (present,), axis=1) if complete else None
            return (
                self._joined(refs, masks, stem, layer.config.get("axis", -1)) if present else None
            )
        following = present[0] if complete or (self.old and present) else None
        for position, other in enumerate(present[1:] if following is not None else ()):
            following = self.operation(
                "LogicalAnd" if self.old else "LogicalOr", f"{stem}_{position}", (following, other)
            )
        return following

    def _joined(
        self, refs: Sequence[Ref], masks: Sequence[Ref | None], stem: str, axis: int
    ) -> Ref:
        """For a concatenation: whether any element along the last axis is shown. Operands without a
        mask are shown.
        """
        parts = []
        for position, (ref, mask) in enumerate(zip(refs, masks, strict=True)):
            if mask is None:
                parts.append(self.operation("OnesLike", f"{stem}_{position}", (ref,), dtype="bool"))
            else:
                wide = self.operation("ExpandDims", f"{stem}_{position}_wide", (mask,), axis=-1)
                none = self.operation("ZerosLike", f"{stem}_{position}_none", (ref,), dtype="bool")
                parts.append(self.operation("LogicalOr", f"{stem}_{position}", (wide, none)))
        joined = self.operation("Concatenate", f"{stem}_whole", (parts,), axis=axis)
        return self.operation("Any", stem, (joined,), axis=-1, keepdims=False)

    def _heads(self, layer: LayerSpec, call: LayerCall) -> tuple[LayerCall, Ref | None]:
        """With the masks of query, value and key. MultiHeadAttention reads the mask attached to its
        query, whatever its arguments, and clears those attached to its inputs.
        """
        arguments = {**dict(zip(("query", "value", "key"), call.args, strict=False)), **call.kwargs}
        kwargs: dict[str, Any] = dict(call.kwargs)
        for name in ("query", "value", "key"):
            ref = arguments.get(name)
            mask = self.masks.get(ref) if isinstance(ref, Ref) else None
            if kwargs.get(f"{name}{ENDING}") is None:
                kwargs |= {f"{name}{ENDING}": mask} if mask is not None else {}
            elif (
                name == "query"
                and layer.class_name == "MultiHeadAttention"
                and mask is None
                and not self._is_foreign(ref)
            ):
                del kwargs[f"{name}{ENDING}"]
        mask = self.masks.get(arguments["query"])
        for name in (
            ("query", "value", "key")
            if layer.class_name == "MultiHeadAttention" and not self.old
            else ()
        ):
            self.masks.pop(arguments.get(name, arguments["query"]), None)
        return replace(call, kwargs=kwargs), mask

    def _is_foreign(self, ref: object) -> bool:
        """Whether a tensor is an output of a layer whose treatment of masks is unknown."""
        return isinstance(ref, Ref) and ref.layer in self.foreign

    def _scores(self, call: LayerCall) -> tuple[LayerCall, Ref | None]:
        """With the masks of query, value and key, as a list."""
        masks = [
            self.masks.get(ref) for ref in (call.args[0] if call.args else call.kwargs["inputs"])
        ]
        explicit = call.kwargs.get("mask")
        if explicit is None and any(mask is not None for mask in masks):
            return replace(call, kwargs={**call.kwargs, "mask": masks}), masks[0]
        return call, explicit[0] if explicit else None

    def _nested(self, layer: LayerSpec, model: ModelSpec, number: int) -> LayerCall:
        call = layer.calls[number]
        first = call.args[0] if call.args else call.kwargs.get("inputs")
        refs = (
            [first[name] for name, _ in model.inputs]
            if isinstance(first, dict)
            else LayerCall((first,)).refs()
        )
        masks = [self.masks.get(ref) for ref in refs]
        explicit = call.kwargs.get("mask")
        if explicit is not None:
            masks = list(explicit) if isinstance(explicit, list) else [explicit]
        elif any(mask is not None for mask in masks):
            call = replace(
                call, kwargs={**call.kwargs, "mask": masks if len(masks) > 1 else masks[0]}
            )
        key = layer.name, tuple(mask is not None for mask in masks)
        if key not in self.nested:
            self.nested[key] = under_masks(model, key[1])
        self._outputs(layer, number, model, self.nested[key])
        return call

    def _traced(self, layer: LayerSpec, model: ModelSpec, number: int) -> LayerCall:
        """With the masks of its traced call."""
        call, refs = layer.calls[number], layer.calls[number].refs()
        refs_by_name = {name: ref for (name, _), ref in zip(model.inputs, refs, strict=False)}
        mask_names = [
            name.removesuffix(ENDING) for name, _ in model.inputs if name.endswith(ENDING)
        ]
        masks = [self.masks.get(refs_by_name[name]) for name in mask_names]
        carried = any(
            ref in self.masks and name not in mask_names for name, ref in refs_by_name.items()
        )
        bare = layer.config.get("unmasked", ())
        heeded = any(ref in self.masks and name in bare for name, ref in refs_by_name.items())
        reads = any(
            part.own and (part.class_name in TAKES | SCORES or part.class_name in PROJECTIONS)
            for part in model.layers
        )
        if None in masks or (((carried and reads) or heeded) and call.kwargs.get("mask") is None):
            what = "its input has a mask that a traced layer computes"
            raise UnsupportedError(
                layer.name,
                [
                    (
                        f"{layer.name} ({layer.class_name})",
                        what,
                        "Hand the mask to its call as an argument",
                    )
                ],
            )
        self._outputs(layer, number, model, model)
        if layer.config.get("keeps_mask") and refs and refs[0] in self.masks:
            self.masks.setdefault(Ref(layer.name, number), self.masks[refs[0]])
        return replace(call, kwargs={**call.kwargs, "masks": masks}) if masks else call

    def _outputs(self, layer: LayerSpec, number: int, model: ModelSpec, masked: ModelSpec) -> None:
        """Record the further outputs that are masks of other outputs."""
        self.foreign.add(layer.name)
        indices = {name: index for index, (name, _) in enumerate(masked.outputs)}
        for index, (name, _) in enumerate(model.outputs):
            if (mask_index := indices.get(f"{name}{ENDING}")) is not None:
                self.masks[Ref(layer.name, number, index)] = Ref(layer.name, number, mask_index)


def _masked(
    layers: Iterable[LayerSpec],
    input_masks: Mapping[Ref, Ref],
    *,
    old: bool,
    ending: str,
    retained: Sequence[Ref],
    ordered: bool = False,
) -> tuple[list[LayerSpec], dict[Ref, Ref]]:
    """The layers, and the mask of each tensor, in Keras's execution order or, with `ordered`, in
    their own. Mask operations that are not used are omitted, except those in `retained`.
    """
    walk, layers = _Walk(old, ending, dict(input_masks)), list(layers)
    walk.foreign |= {layer.name for layer in layers if not layer.own}
    sequence = [(layer, number) for layer in layers for number, _ in enumerate(layer.calls)]
    calls = {
        (layer.name, number): walk.call(layer, number)
        for layer, number in (sequence if ordered else _as_run(sequence))
    }
    result = [
        replace(
            layer, calls=tuple(calls[layer.name, number] for number, _ in enumerate(layer.calls))
        )
        for layer in layers
    ]
    read = {mask.layer for ref in retained if (mask := walk.masks.get(ref)) is not None}
    read |= {ref.layer for call in calls.values() for ref in call.refs()}
    used = []
    for operation in reversed(walk.result):
        if operation.name in read:
            used.append(operation)
            read.update(ref.layer for call in operation.calls for ref in call.refs())
    return [*result, *used[::-1]], walk.masks


def _as_run(calls: Sequence[tuple[LayerSpec, int]]) -> list[tuple[LayerSpec, int]]:
    """Sort calls by their distance from the outputs, the largest first, like Keras."""
    order = {Ref(layer.name, number): index for index, (layer, number) in enumerate(calls)}
    read = [
        {
            order[key]
            for ref in layer.calls[number].refs()
            if (key := Ref(ref.layer, ref.call)) in order
        }
        for layer, number in calls
    ]
    waiting = [0] * len(calls)
    for sources in read:
        for source in sources:
            waiting[source] += 1
    depths, ready = [0] * len(calls), [index for index, count in enumerate(waiting) if not count]
    while ready:
        index = ready.pop()
        for source in read[index]:
            depths[source] = max(depths[source], depths[index] + 1)
            waiting[source] -= 1
            if not waiting[source]:
                ready.append(source)
    return [
        calls[index]
        for index in sorted(range(len(calls)), key=lambda index: (-depths[index], -index))
    ]


def _returns_sequences(layer: LayerSpec) -> bool:
    if layer.class_name == "Bidirectional":
        return any(part.config.get("return_sequences", False) for part in layer.parts.values())
    return layer.class_name in RECURRENT_LAYERS and bool(layer.config.get("return_sequences"))
