"""The shapes and dtypes of a model's inputs in a build."""

from collections.abc import Mapping, Sequence

from webkiln.errors import ShapeError, SourceError
from webkiln.frontends.keras.policies import storable
from webkiln.frontends.keras.spec import NO_SHAPE, LayerSpec, ModelSpec
from webkiln.ir.symbols import size_name

Shapes = Mapping[str, Sequence[int | str]]
EXAMPLE = 16
"""The size in advice."""


def named_shapes(
    shapes: Mapping[str, Sequence[int | str]], names: Sequence[str]
) -> Mapping[str, Sequence[int | str]]:
    """The requested shapes by input. The name "" is replaced by that of a model's only input."""
    if "" in shapes and len(names) != 1:
        raise ShapeError(
            f"the inputs are {', '.join(names)}; say which one a shape is for, as in"
            f" {names[0]}=1,28,28,1"
        )
    by_name = {name or names[0]: shape for name, shape in shapes.items()}
    if unknown := sorted(set(by_name) - set(names)):
        raise ShapeError(f"there is no input {', '.join(unknown)}; inputs are {', '.join(names)}")
    return by_name


def input_shapes(
    model: ModelSpec, given: Shapes, dims: Mapping[str, int | str], batch_size: int
) -> dict[str, list[int | str]]:
    """The shape of every input, except those of strings that are not `given`.

    An open batch axis has `batch_size`; any other open axis has a name, that of its input and its
    number (`x_1`), and is set when the model runs. `dims` renames or fixes such sizes, `given`
    replaces entire shapes. Raises ShapeError for shapes that do not fit, and unknown names.
    """
    by_name = named_shapes(given, [name for name, _ in model.inputs])
    layers = {layer.name: layer for layer in model.layers}
    shapes: dict[str, list[int | str]] = {}
    owners: dict[str, str] = {}
    for name, ref in model.inputs:
        spec, requested = layers[ref.layer], by_name.get(name)
        if requested is None and spec.config.get("dtype") == "string":
            continue
        shapes[name] = input_shape(name, spec, requested, batch_size)
        for axis, size in enumerate(shapes[name]) if requested is None else ():
            if isinstance(size, str):
                where = f"axis {axis} of {name}"
                if owners.setdefault(size, where) != where:
                    raise ShapeError(
                        f"{owners[size]} and {where} would both be called {size}; name their sizes"
                        f" with --input-shape {name}=..."
                    )
    if unknown := sorted(set(dims) - owners.keys()):
        raise ShapeError(
            f"there is no size called {', '.join(unknown)}; sizes are"
            f" {', '.join(sorted(owners)) or 'all known'}"
        )
    return {
        name: [dims.get(size, size) if size in owners else size for size in shape]
        for name, shape in shapes.items()
    }


def input_shape(
    name: str, spec: LayerSpec, requested: Sequence[int | str] | None, batch_size: int
) -> list[int | str]:
    """The shape of an input: `requested`, or the declared one with `batch_size` for a dynamic batch
    axis, and names for other open axes.
    """
    declared = spec.config.get("batch_shape")
    if not isinstance(declared, list):
        if requested is None:
            raise SourceError(
                f"input {name}: {NO_SHAPE} {name}=..., or call the model once before it is saved"
            )
        declared = [None] * len(requested)
    if requested is not None:
        shape = list(requested)
    else:
        shape = [
            size if size is not None else batch_size if axis == 0 else size_name(f"{name}_{axis}")
            for axis, size in enumerate(declared)
        ]
    fits = len(shape) == len(declared) and all(
        (
            size is None
            if isinstance(new, str)
            else isinstance(new, int) and new > 0 and size in (None, new)
        )
        for new, size in zip(shape, declared, strict=True)
    )
    if not fits:
        raise ShapeError(
            f"input {name}: its shape is {declared} (null is open), got {shape}; give every"
            " size with --input-shape, as a number, or as a name where it is set at run time"
        )
    return shape


def open_size_hint(shapes: Shapes) -> str:
    """How to set the sizes that a model leaves open."""
    name, shape = next(
        (name, shape)
        for name, shape in shapes.items()
        if any(isinstance(size, str) for size in shape)
    )
    size = next(size for size in shape if isinstance(size, str))
    known = ",".join(str(EXAMPLE if isinstance(item, str) else item) for item in shape)
    return (
        f"{size} is a size that is set when the model runs; set it in the build with --dim"
        f" {size}={EXAMPLE}, or with --input-shape {name}={known}"
    )


def input_dtype(spec: LayerSpec) -> str:
    return storable(str(spec.config.get("dtype") or "float32"))
