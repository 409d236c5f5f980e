"""The traits of operators hold for their numpy references, and every attribute is read."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import permutations

import numpy as np
import pytest

from webkiln.errors import SourceError
from webkiln.ir.attributes import Attributes
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.nest.steps import View
from webkiln.ops.operator import Case, Operator, Traits, define
from webkiln.ops.plugins import written
from webkiln.ops.table import OPERATORS, attributes_of, find

CONTROL = {"If", "Loop", "Scan"}
"""Their lowering inlines nested graphs."""
MOVABLE = sorted(
    name for name, item in OPERATORS.items() if item.traits.before_transpose is not None
)
VIEWS = sorted(name for name, item in OPERATORS.items() if item.traits.is_view)
ORDERED = sorted(
    name for name, item in OPERATORS.items() if item.traits.source_axes is not Traits().source_axes
)
WEIGHTED = sorted(
    name
    for name, item in OPERATORS.items()
    if item.traits.weight_channel_axis is not Traits().weight_channel_axis
)
LARGE = 1e4
ELEMENTS = 200
Index = tuple[int, ...]


def cases(name: str) -> Iterator[tuple[Case, Attributes]]:
    """The cases of an operator; also a convolution that changes the order of axes."""
    for case in find(name).cases():
        yield case, attributes_of(name, case.attrs)
    if name == "Conv":
        case = next(iter(find(name).cases()))
        yield case, attributes_of(name, {**case.attrs, "out_dims": (0, 1, 2, 3)})


def output(name: str, attrs: Attributes, *arrays: Array) -> Array:
    with np.errstate(all="ignore"):
        return find(name).reference(attrs, *arrays)[0]


def to_rank(x: Array, rank: int) -> Array:
    return x.reshape((1,) * (rank - x.ndim) + x.shape)


@pytest.mark.parametrize("name", MOVABLE)
def test_operators_commute_with_transposes(name: str) -> None:
    traits = find(name).traits
    assert traits.before_transpose is not None
    for case, attrs in cases(name):
        count = len(case.inputs) if traits.transposed_inputs is None else traits.transposed_inputs
        rank = max(x.ndim for x in case.inputs)
        moved = [to_rank(x, rank) for x in case.inputs[:count]]
        after = output(name, attrs, *moved, *case.inputs[count:])
        for perm in permutations(range(rank)):
            sources = [x.transpose(np.argsort(perm)) for x in moved]
            before = output(
                name, traits.before_transpose(attrs, perm), *sources, *case.inputs[count:]
            )
            np.testing.assert_array_equal(before.transpose(perm), after, f"{case.name} {perm}")


@pytest.mark.parametrize("name", VIEWS)
def test_views_have_the_elements_of_their_input(name: str) -> None:
    for case, attrs in cases(name):
        (x,) = case.inputs
        result = output(name, attrs, x)
        np.testing.assert_array_equal(result.ravel(), x.ravel())


def effects(name: str, case: Case, attrs: Attributes, position: int) -> dict[Index, Array]:
    """For some elements of an input: the indices of the output that depend on it."""
    inputs = [
        x.astype(np.float64) if number == position else x for number, x in enumerate(case.inputs)
    ]
    reference = output(name, attrs, *inputs)
    result = {}
    indices = list(np.ndindex(inputs[position].shape))
    for number in np.random.default_rng(0).permutation(len(indices))[:ELEMENTS]:
        index = indices[number]
        changed = inputs[position].copy()
        changed[index] += LARGE
        differs = output(name, attrs, *inputs[:position], changed, *inputs[position + 1 :])
        result[index] = np.argwhere(differs != reference)
    return result


@pytest.mark.parametrize("name", ORDERED)
def test_kept_axes_are_independent(name: str) -> None:
    """An element that is moved along an axis of the input moves its effects along the same axis of
    the output, and along no other.
    """
    for case, attrs in cases(name):
        rank = case.inputs[0].ndim
        source_axes = find(name).traits.source_axes(attrs, rank)
        if source_axes is None:
            continue
        assert sorted(source_axes) == list(range(rank))
        found = effects(name, case, attrs, 0)
        for axis, source in enumerate(source_axes):
            seen: dict[Index, set[Index]] = {}
            for index, where in found.items():
                others = set(map(tuple, np.delete(where, axis, axis=1).tolist()))
                fixed = (*index[:source], *index[source + 1 :])
                if others:
                    assert seen.setdefault(fixed, others) == others, (case.name, axis, index)


@pytest.mark.parametrize("name", WEIGHTED)
def test_outputs_depend_on_one_channel_of_a_weight(name: str) -> None:
    checked = 0
    for case, attrs in cases(name):
        for position, weight in enumerate(case.inputs):
            axis = find(name).traits.weight_channel_axis(attrs, position, weight.ndim)
            if axis is None:
                continue
            checked += 1
            owners: dict[Index, int] = {}
            for index, where in effects(name, case, attrs, position).items():
                for element in map(tuple, where.tolist()):
                    assert owners.setdefault(element, index[axis]) == index[axis], case.name
    assert checked


def test_traits_are_declared() -> None:
    """A trait that is lost changes programs silently."""
    assert VIEWS == ["Identity", "Reshape"]
    assert {name for name in MOVABLE if not find(name).traits.elementwise} == {
        "BatchNorm",
        "Concat",
        "Pad",
    }
    assert WEIGHTED == ["Conv", "ConvInteger", "Einsum", "Gather", "MatMul", "MatMulInteger"]


def recorded(kind: type[Attributes], read: set[str]) -> type[Attributes]:
    """A subclass that records which attributes are read."""

    def get(self: Attributes, name: str) -> object:
        read.add(name)
        return object.__getattribute__(self, name)

    return type(kind.__name__, (kind,), {"__getattribute__": get, "__slots__": ()})


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_every_attribute_is_read(name: str) -> None:
    item, read = find(name), set[str]()
    recording = recorded(item.attributes, read)
    for case in item.cases():
        attrs = recording(**attributes_of(name, case.attrs).as_dict())
        types = [Type(str(array.dtype), array.shape) for array in case.inputs]
        inferred = item.infer(attrs, types)
        if name not in CONTROL:
            views = [View(f"x{n}", type_) for n, type_ in enumerate(types)]
            results = [View(f"y{n}", type_) for n, type_ in enumerate(inferred)]
            item.lower(Lowering(views, results, "layer"), attrs)
        output(name, attrs, *case.inputs)
    assert {field.name for field in fields(item.attributes)} <= read


@dataclass(frozen=True)
class Scale(Attributes):
    factor: int = 2


class Undecorated(Attributes):
    factor: int = 2


def test_attributes_are_a_dataclass() -> None:
    relu = find("Relu")
    with pytest.raises(SourceError, match="Undecorated, must be a frozen dataclass"):
        define(Operator("Twice", relu.infer, relu.reference, relu.lower, Undecorated))


def test_arguments_of_kernels_are_attributes() -> None:
    with pytest.raises(SourceError, match="the arguments facto are not attributes of Scale"):
        written(
            "Scaled",
            lambda attrs, types: (types[0],),
            lambda attrs, x: (x * attrs.factor,),
            {"js": "y = x0(i) * factor;"},
            attributes=Scale,
            arguments=("facto",),
        )
