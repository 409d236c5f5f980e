"""Extract the part of a Keras model between layers as a model."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from webkiln.errors import RecipeError
from webkiln.frontends.core.subgraph import Subgraph, Vertex, check_names, needed_vertices
from webkiln.frontends.keras.policies import declared_dtype, storable
from webkiln.frontends.keras.spec import LayerSpec, ModelSpec, Ref, renamed

TensorTypes = Mapping[Ref, tuple[list[int | None] | None, str | None]]
"""The shapes and dtypes of tensors, if the source has them."""


def cut_model(
    model: ModelSpec, cut: Subgraph, stated: set[str], declared: TensorTypes
) -> ModelSpec:
    """The model that computes the outputs of the layers `cut.ends` from those of `cut.starts`.

    An input or output has the name of its layer; further ones of this layer are `NAME_1`, `NAME_2`.
    `stated` are the layers in the source; others are mask operations. Raises RecipeError if a
    tensor would be undefined.
    """
    layers = {layer.name: layer for layer in model.layers}
    names = [layer.name for layer in model.layers if layer.name in stated]
    if len(names) < 2 or any(layer.traced and layer.name == model.name for layer in model.layers):
        raise RecipeError(
            f"{model.name}: a single custom class, in which no subgraph can be selected; return a"
            " model of its layers instead"
        )
    check_names(model.name, cut, names, lambda name: _inside(name, layers))
    vertices, read = vertices_of(model), _read(model)
    sequence = [
        (layer.name, number) for layer in model.layers for number, _ in enumerate(layer.calls)
    ]
    starts = [ref for name in cut.starts for ref in _outputs(layers[name], read)]
    ends = [ref for name in cut.ends for ref in _outputs(layers[name], read | {Ref(name)})] or [
        ref for _, ref in model.outputs
    ]
    if unread := [name for name in cut.starts if name not in {ref.layer for ref in starts}]:
        raise RecipeError(
            f"{model.name}: no layer reads the output of {', '.join(unread)}; remove it from"
            " --from-layer"
        )

    def label(ref: Ref) -> str:
        if ref.layer not in stated:
            source = ref.layer.partition("_mask")[0]
            raise RecipeError(
                f"{model.name}: the subgraph needs the mask that {source} computes, which is not an"
                f" output of a layer; let the subgraph start before {source}"
            )
        return ref.layer

    needed, used = needed_vertices(model.name, vertices, starts, ends, label)
    retained: dict[str, list[int]] = {}
    for number in sorted(needed):
        retained.setdefault(sequence[number][0], []).append(sequence[number][1])
    own = {ref: name for name, ref in model.inputs}
    entering = (
        _named([ref for ref in starts if ref in used], own, set(retained))
        if cut.starts
        else [
            (name, ref)
            for name, ref in model.inputs
            if any(ref in vertices[number].reads for number in needed)
        ]
    )
    leaving = _named(ends, {}, set()) if cut.ends else list(model.outputs)
    return _with_bounds(model, retained, entering, leaving, declared)


def _with_bounds(
    model: ModelSpec,
    retained: Mapping[str, Sequence[int]],
    entering: Sequence[tuple[str, Ref]],
    leaving: Sequence[tuple[str, Ref]],
    declared: TensorTypes,
) -> ModelSpec:
    """The model with these inputs and outputs, and those calls of its layers that are `retained`,
    which are renumbered.
    """
    layers = {layer.name: layer for layer in model.layers}
    own = {ref for _, ref in model.inputs}
    moved = {
        Ref(name, old): Ref(name, new)
        for name, numbers in retained.items()
        for new, old in enumerate(numbers)
    }
    inside = {ref: Ref(name) if ref not in own else ref for name, ref in entering}

    def relocate(ref: Ref) -> Ref:
        return (
            inside[ref]
            if ref in inside
            else replace(moved[Ref(ref.layer, ref.call)], index=ref.index)
        )

    inputs = [_input(name, layers[ref.layer], ref, declared) for name, ref in entering]
    rest = [
        replace(
            layers[name],
            calls=tuple(renamed(layers[name].calls[number], relocate) for number in numbers),
        )
        for name, numbers in retained.items()
    ]
    return replace(
        model,
        layers=(*inputs, *rest),
        inputs=tuple((name, inside[ref]) for name, ref in entering),
        outputs=tuple((name, relocate(ref)) for name, ref in leaving),
        ends=(tuple(ref for _, ref in entering), tuple(ref for _, ref in leaving)),
    )


def vertices_of(model: ModelSpec) -> list[Vertex[Ref]]:
    """The calls of a model's layers, in order."""
    outputs: dict[tuple[str, int], set[Ref]] = {}
    for ref in _read(model):
        outputs.setdefault((ref.layer, ref.call), set()).add(ref)
    return [
        Vertex(
            layer.name,
            tuple(call.refs()),
            tuple({Ref(layer.name, number), *outputs.get((layer.name, number), ())}),
        )
        for layer in model.layers
        for number, call in enumerate(layer.calls)
    ]


def _read(model: ModelSpec) -> set[Ref]:
    return {ref for layer in model.layers for call in layer.calls for ref in call.refs()} | {
        ref for _, ref in model.outputs
    }


def _outputs(layer: LayerSpec, read: set[Ref]) -> list[Ref]:
    """The outputs of a layer that a model reads, in the order of its calls."""
    own = {Ref(layer.name)} if layer.kind == "input" else set()
    return sorted(
        (own | {ref for ref in read if ref.layer == layer.name}),
        key=lambda ref: (ref.call, ref.index),
    )


def _named(refs: list[Ref], own: Mapping[Ref, str], names: set[str]) -> list[tuple[str, Ref]]:
    """Unique names of tensors: the model's input names, or layer names, numbered from the second
    on.
    """
    named: list[tuple[str, Ref]] = []
    for ref in dict.fromkeys(refs):
        stem = own.get(ref, ref.layer)
        name, count = stem, 0
        while name in names:
            count += 1
            name = f"{stem}_{count}"
        names = names | {name}
        named.append((name, ref))
    return named


def _input(name: str, layer: LayerSpec, ref: Ref, declared: TensorTypes) -> LayerSpec:
    if layer.kind == "input":
        return layer
    shape, dtype = declared.get(ref, (None, None))
    chosen = storable(dtype or declared_dtype(layer, "float32"))
    return LayerSpec(name, "InputLayer", {"batch_shape": shape, "dtype": chosen}, kind="input")


def _inside(name: str, layers: Mapping[str, LayerSpec]) -> str:
    outer, slash, _ = name.partition("/")
    if not slash or outer not in layers:
        return ""
    return (
        f"; the layers inside {outer} are one call: name {outer} itself, or build the inner model"
        " and select a subgraph of it"
    )
