"""The shapes and dtypes of a model's inputs in a build."""

from collections.abc import Mapping, Sequence

from webkiln.errors import ShapeError, SourceError
from webkiln.frontends.keras.policies import storable
from webkiln.frontends.keras.spec import NO_SHAPE, LayerSpec


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


def input_shape(
    name: str, spec: LayerSpec, requested: Sequence[int | str] | None, batch_size: int
) -> list[int | str]:
    """The shape of an input: `requested`, or the declared one with `batch_size` for a dynamic batch
    axis.
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
        shape = [batch_size, *declared[1:]] if declared and declared[0] is None else declared
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


def input_dtype(spec: LayerSpec) -> str:
    return storable(str(spec.config.get("dtype") or "float32"))
