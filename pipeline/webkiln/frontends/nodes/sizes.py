"""The shapes of a model's inputs: integers, and symbolic sizes that are bound when the model
runs.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.spec import Declared, NodeModel
from webkiln.ir import dim, symbols
from webkiln.ir.dim import Shape, Size, known
from webkiln.ir.symbols import placeholder, size_name
from webkiln.ir.types import Array
from webkiln.random_inputs import SAMPLE_SIZE, Inputs

Shapes = Mapping[str, Sequence[int | str]]
Sizes = Mapping[str, int | str]
MAX_SIZE = (1 << 31) - 1
ANONYMOUS = frozenset({"", "?", "*", "-1", "none", "null", "unk", "unknown", "undefined"})
"""What exporters write for a size without a name, in lower case. Two such sizes may differ."""


def input_shapes(
    model: NodeModel, dims: Sizes, given: Shapes, values: Mapping[str, Any]
) -> dict[str, Shape]:
    """The shape of every input.

    `dims` renames or fixes sizes. `given` replaces entire shapes, by input name, or under '' if the
    model has one input. An input of unknown rank whose value is in `values` has the value's shape.
    A size without a name is called after its input and axis. Raise ShapeError for unknown names.
    """
    inputs = model.graph.inputs
    names = [item.name for item in inputs]
    given = _shapes_of_indices(model, given)
    if unknown := sorted(set(given) - {*names, ""}):
        raise ShapeError(f"there is no input {', '.join(unknown)}; inputs are {', '.join(names)}")
    if "" in given and len(names) != 1:
        raise ShapeError(
            f"the inputs are {', '.join(names)}; name the input of a shape, for example"
            f" {names[0]}=1,3,224,224"
        )
    sizes = open_size_names(model)
    if unknown := sorted(set(dims) - sizes - set(map(size_name, sizes))):
        raise ShapeError(
            f"there is no size called {', '.join(unknown)}; sizes are"
            f" {', '.join(sorted(sizes)) or 'all known'}"
        )
    of_values = {
        item.name: np.shape(values[item.name])
        for item in inputs
        if item.shape is None and item.name in values
    }
    given = {**of_values, **given}
    replaced = {item.name: given.get(item.name, given.get("")) for item in inputs}
    _check_name_collisions([item for item in inputs if replaced[item.name] is None], dims)
    return {item.name: _shape(item, dims, replaced[item.name]) for item in inputs}


def _shapes_of_indices(model: NodeModel, given: Shapes) -> Shapes:
    """The given shapes, with the shapes of indices in place of those of strings."""
    texts = {text["input"] for text in model.strings}
    tensors = {text["tensor"] for text in model.strings}
    if len(texts) == 1 and tensors == {item.name for item in model.graph.inputs}:
        given = {name or min(texts): shape for name, shape in given.items()}
    result = {name: shape for name, shape in given.items() if name not in texts}
    for text in model.strings:
        if (shape := given.get(text["input"])) is not None:
            length = [] if text["length"] is None else [text["length"]]
            result[text["tensor"]] = [*shape[: text["axes"]], *length]
    return result


def open_size_names(model: NodeModel) -> set[str]:
    """The labels of all sizes that the inputs leave open."""
    inputs = model.graph.inputs
    return {
        _label(item, axis, size)
        for item in inputs
        for axis, size in enumerate(item.shape or ())
        if not isinstance(size, int)
    }


def fixed_values(
    model: NodeModel, shapes: Mapping[str, Sequence[Size]], values: Mapping[str, Any]
) -> dict[str, Array]:
    """The values of the inputs that a build fixes, in their dtypes. A single number is broadcast to
    the input's shape.
    """
    inputs = {item.name: item for item in model.graph.inputs}
    if unknown := sorted(set(values) - {*inputs, *model.settings}):
        raise ShapeError(
            f"there is no input {', '.join(unknown)} to give a value; inputs are"
            f" {', '.join([*inputs, *model.settings])}"
        )
    return {
        name: _value(inputs[name], shapes[name], value)
        for name, value in values.items()
        if name in inputs
    }


def _value(item: Declared, shape: Sequence[Size], value: Any) -> Array:
    sizes = dim.all_known(shape)
    if sizes is None:
        raise ShapeError(
            f"input {item.name}: its shape is {list(map(str, shape))}; an input with a value cannot"
            " have open sizes, set them with --dim"
        )
    array = np.asarray(value)
    if array.dtype.kind == "U":
        raise ShapeError(
            f"--value is {f'{item.name}={value}'!r}, expected INPUT=VALUE, such as sr=16000, since"
            f" the input {item.name} is of {item.dtype}"
        )
    cast = array.astype(item.dtype)
    is_same = cast.dtype.kind == "f" or np.array_equal(cast, array)
    if not is_same or array.size not in (1, prod(sizes)):
        raise ShapeError(
            f"input {item.name}: its value is {value!r}, expected {item.dtype}{list(shape)}"
        )
    return np.array(
        np.broadcast_to(cast.reshape(sizes if array.size == prod(sizes) else ()), sizes)
    )


def _check_name_collisions(inputs: Sequence[Declared], dims: Sizes) -> None:
    """Raise ShapeError if two different sizes of the model would get the same name."""
    owners: dict[str, str] = {}
    for item in inputs:
        for axis, size in enumerate(item.shape or ()):
            label = _label(item, axis, size)
            if isinstance(size, int) or label in dims or size_name(label) in dims:
                continue
            owner = label if label == size else f"axis {axis} of {item.name}"
            if owners.setdefault(size_name(label), owner) != owner:
                other = owners[size_name(label)]
                raise ShapeError(
                    f"{other} and {owner} would both be called {size_name(label)}; name one with"
                    f" --dim '{label}=...'"
                )


def _shape(item: Declared, dims: Sizes, given: Sequence[int | str] | None) -> Shape:
    if given is None and item.shape is None:
        raise ShapeError(
            f"input {item.name}: the model does not declare its rank; set its shape with"
            f" --input-shape {item.name}=1,28 (or {item.name}= for one number), or its value with"
            f" --value {item.name}=..."
        )
    declared = item.shape if item.shape is not None else given or ()
    shape = given if given is not None else declared
    if len(shape) != len(declared) or any(
        type(own) is int and own != size for own, size in zip(declared, shape, strict=True)
    ):
        raise ShapeError(f"input {item.name}: its shape is {list(declared)}, got {list(shape)}")
    result: list[Size] = []
    for axis, size in enumerate(shape):
        resolved = size if isinstance(size, int) else _resolve(_label(item, axis, size), dims)
        if isinstance(resolved, int) and resolved > MAX_SIZE:
            raise ShapeError(
                f"input {item.name}: the size of axis {axis} is {resolved}; sizes are at most"
                f" {MAX_SIZE}"
            )
        result.append(resolved if isinstance(resolved, int) else placeholder(resolved))
    return tuple(result)


def _resolve(label: str, dims: Sizes) -> int | str:
    own = size_name(label)
    return dims.get(label, dims.get(own, own))


def _label(item: Declared, axis: int, size: int | str | None) -> str:
    is_anonymous = size is None or str(size).lower() in ANONYMOUS
    return f"{item.name}_{axis}" if is_anonymous else str(size)


def element_sizes(item: Declared, shape: Sequence[Size]) -> Shape:
    """The placeholders of the elements of an input of sizes."""
    stem = size_name(item.name)
    return tuple(
        placeholder(f"{stem}_at_{index}") for index in range(known(prod(shape), item.name))
    )


def size_values(model: NodeModel, table: Inputs, samples: Mapping[str, int]) -> dict[str, Array]:
    """The values of the inputs of sizes, at sample sizes."""
    return {
        item.name: np.array(
            [
                samples.get(name, SAMPLE_SIZE)
                for size in element_sizes(item, table[item.name][1])
                for name in symbols.names([size])
            ],
            table[item.name][0],
        ).reshape(table[item.name][1])
        for item in model.graph.inputs
        if item.name in model.sizes and item.name in table
    }


def input_table(
    model: NodeModel,
    dims: Sizes,
    given: Shapes,
    values: Mapping[str, Any],
    samples: Mapping[str, int],
) -> Inputs:
    """Name -> (dtype, shape) of every input. Symbolic sizes have their value in `samples`, or the
    default sample size.
    """
    shapes = input_shapes(model, dims, given, values)
    elements = [
        size
        for item in model.graph.inputs
        if item.name in model.sizes
        for size in element_sizes(item, shapes[item.name])
    ]
    sizes = {
        name: samples.get(name, SAMPLE_SIZE)
        for name in symbols.names([*(size for item in shapes.values() for size in item), *elements])
    }
    if unknown := sorted(set(samples) - set(sizes)):
        raise ShapeError(
            f"sample_sizes: no size is called {', '.join(unknown)}; sizes are"
            f" {', '.join(sizes) or 'all known'}"
        )
    return {
        item.name: (
            item.dtype,
            tuple(symbols.evaluate(size, sizes) for size in shapes[item.name]),
        )
        for item in model.graph.inputs
    }
