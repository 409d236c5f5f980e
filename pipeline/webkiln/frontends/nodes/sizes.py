"""The shapes of a model's inputs: numbers, and sizes that are set when the model runs."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.spec import Declared, NodeModel
from webkiln.ir import dim, symbols
from webkiln.ir.symbols import placeholder
from webkiln.ir.types import Array
from webkiln.random_inputs import SAMPLE_SIZE, Inputs

Shapes = Mapping[str, Sequence[int | str]]
Sizes = Mapping[str, int | str]
MAX_SIZE = (1 << 31) - 1


def input_shapes(model: NodeModel, dims: Sizes, given: Shapes) -> dict[str, tuple[int, ...]]:
    """The shape of every input: its own, with the names in `dims` replaced; or the whole one that
    is
    `given` (under its name or '' where the model has one input). A size without a name is called
    after its input and axis.
    """
    inputs = model.graph.inputs
    names = [item.name for item in inputs]
    if unknown := sorted(set(given) - {*names, ""}):
        raise ShapeError(f"there is no input {', '.join(unknown)}; inputs are {', '.join(names)}")
    if "" in given and len(names) != 1:
        raise ShapeError(
            f"the inputs are {', '.join(names)}; say which one a shape is for, as in"
            f" {names[0]}=1,3,224,224"
        )
    sizes = open_sizes(model)
    if unknown := sorted(set(dims) - sizes - set(map(size_name, sizes))):
        raise ShapeError(
            f"there is no size called {', '.join(unknown)}; sizes are"
            f" {', '.join(sorted(sizes)) or 'all known'}"
        )
    whole = {item.name: given.get(item.name, given.get("")) for item in inputs}
    _check_apart([item for item in inputs if whole[item.name] is None], dims)
    return {item.name: _shape(item, dims, whole[item.name]) for item in inputs}


def open_sizes(model: NodeModel) -> set[str]:
    """What the sizes are called that the inputs leave open."""
    inputs = model.graph.inputs
    return {
        _called(item, axis, size)
        for item in inputs
        for axis, size in enumerate(item.shape or ())
        if not isinstance(size, int)
    }


def given_values(
    model: NodeModel, shapes: Mapping[str, Sequence[int]], values: Mapping[str, Any]
) -> dict[str, Array]:
    """The values of inputs that a build fixes, in their dtypes; one number is one of every element."""
    inputs = {item.name: item for item in model.graph.inputs}
    if unknown := sorted(set(values) - set(inputs)):
        raise ShapeError(
            f"there is no input {', '.join(unknown)} to give a value; inputs are"
            f" {', '.join(inputs)}"
        )
    return {name: _value(inputs[name], shapes[name], value) for name, value in values.items()}


def _value(item: Declared, shape: Sequence[int], value: Any) -> Array:
    if any(map(dim.is_symbolic, shape)):
        raise ShapeError(
            f"input {item.name}: its shape is {list(map(str, shape))}; what is given a value has no"
            " open sizes, set them with --dim"
        )
    array = np.asarray(value)
    cast = array.astype(item.dtype)
    is_same = cast.dtype.kind == "f" or np.array_equal(cast, array)
    if not is_same or array.size not in (1, prod(shape)):
        raise ShapeError(
            f"input {item.name}: its value is {value!r}, expected {item.dtype}{list(shape)}"
        )
    return np.array(
        np.broadcast_to(cast.reshape(shape if array.size == prod(shape) else ()), shape)
    )


def _check_apart(inputs: Sequence[Declared], dims: Sizes) -> None:
    """Refuse sizes that the model keeps apart and that would get one name."""
    owners: dict[str, str] = {}
    for item in inputs:
        for axis, size in enumerate(item.shape or ()):
            called = _called(item, axis, size)
            if isinstance(size, int) or called in dims or size_name(called) in dims:
                continue
            owner = called if size is not None else f"axis {axis} of {item.name}"
            if owners.setdefault(size_name(called), owner) != owner:
                other = owners[size_name(called)]
                raise ShapeError(
                    f"{other} and {owner} would both be called {size_name(called)}; name one with"
                    f" --dim '{called}=...'"
                )


def _shape(item: Declared, dims: Sizes, given: Sequence[int | str] | None) -> tuple[int, ...]:
    if given is None and item.shape is None:
        raise ShapeError(
            f"input {item.name}: the model does not say its rank; give its shape with --input-shape"
            f" {item.name}=..."
        )
    declared = item.shape if item.shape is not None else given or ()
    shape = given if given is not None else declared
    if len(shape) != len(declared) or any(
        type(own) is int and own != size for own, size in zip(declared, shape, strict=True)
    ):
        raise ShapeError(f"input {item.name}: its shape is {list(declared)}, got {list(shape)}")
    result: list[int] = []
    for axis, size in enumerate(shape):
        chosen = size if isinstance(size, int) else _chosen(_called(item, axis, size), dims)
        if isinstance(chosen, int) and chosen > MAX_SIZE:
            raise ShapeError(
                f"input {item.name}: the size of axis {axis} is {chosen}; sizes are at most"
                f" {MAX_SIZE}"
            )
        result.append(chosen if isinstance(chosen, int) else placeholder(chosen))
    return tuple(result)


def _chosen(called: str, dims: Sizes) -> int | str:
    own = size_name(called)
    return dims.get(called, dims.get(own, own))


def _called(item: Declared, axis: int, size: int | str | None) -> str:
    return str(size) if size is not None else f"{item.name}_{axis}"


def size_name(name: str) -> str:
    """The name without what only some languages have in names, and set apart from what a size
    cannot be called.
    """
    cleaned = re.sub(r"\W", "_", name, flags=re.ASCII)
    with suppress(ShapeError):
        placeholder(cleaned)
        return cleaned
    return f"d{cleaned}"


def input_table(model: NodeModel, dims: Sizes, given: Shapes, samples: Mapping[str, int]) -> Inputs:
    """Name -> (dtype, shape) of every input; sizes that are set at run time are those of `samples`,
    or 16.
    """
    shapes = input_shapes(model, dims, given)
    values = {
        name: samples.get(name, SAMPLE_SIZE)
        for name in symbols.names(size for shape in shapes.values() for size in shape)
    }
    if unknown := sorted(set(samples) - set(values)):
        raise ShapeError(
            f"sample_sizes: no size is called {', '.join(unknown)}; sizes are"
            f" {', '.join(values) or 'all known'}"
        )
    return {
        item.name: (
            item.dtype,
            tuple(symbols.substitute(size, values) for size in shapes[item.name]),
        )
        for item in model.graph.inputs
    }
