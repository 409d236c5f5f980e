"""Definitions of operators: attributes, traits, type rule, numpy reference, cases and lowering."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from webkiln.errors import SourceError
from webkiln.ir.attributes import Attributes, AttributesOf
from webkiln.ir.dim import Size
from webkiln.ir.graph import Node
from webkiln.ir.types import Array, Type
from webkiln.ops.budget import elements

if TYPE_CHECKING:
    from webkiln.nest.build import Lowering

A = TypeVar("A", bound=Attributes)
A_contra = TypeVar("A_contra", bound=Attributes, contravariant=True)
Perm = tuple[int, ...]
"""A permutation: axis i of the result is axis perm[i] of the operand."""
Work = Callable[[A, Sequence[Type], Sequence[Type]], Size]
"""(Attributes, input types, output types) -> the number of elements that the reference reads or
writes, at most 30 ns each (see `ops/budget.py`).
"""


def linear(_: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """One access per element of the inputs and outputs."""
    return elements([*inputs, *outputs])


def per_element(times: int) -> Work[Attributes]:
    """`times` accesses per element of the inputs and outputs."""
    return lambda attrs, inputs, outputs: times * elements([*inputs, *outputs])


def nothing(*_: Any) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Cost(Generic[A_contra]):
    """Estimates of the cost of a reference, which limit the evaluation of constants: its work, and
    the number of elements that it allocates in addition to inputs and outputs.
    """

    work: Work[A_contra] = linear
    scratch: Work[A_contra] = nothing


@dataclass(frozen=True, slots=True)
class Case:
    """A test case of an operator: inputs and attributes.

    `tolerance` bounds the relative error: max|result - reference| / max(max|reference|, 1e-6).
    """

    inputs: tuple[Array, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-5
    name: str = ""


def unknown_axes(attrs: Attributes, rank: int) -> Perm | None:
    return None


def same_axes(attrs: Attributes, rank: int) -> Perm | None:
    return tuple(range(rank))


def no_channel_axis(attrs: Attributes, position: int, rank: int) -> int | None:
    return None


@dataclass(frozen=True, slots=True)
class Traits(Generic[A_contra]):
    """What frontends, passes and the storage of weights assume of an operator.

    * `elementwise`: an element of the output depends only on the elements of the inputs, which
      broadcast, at the same index.
    * `is_view`: the output has the elements of the only input in the same row-major order.
    * `decodes`: an element of the output is one element of an input, or bits of one, so that the
      operator may run when a model is loaded, as elementwise ones and views may.
    * `source_axes(attrs, rank)`: for each axis of the output, the axis of the first input with the
      same meaning, if both have this rank; None if this is unknown.
    * `before_transpose(attrs, perm)`: the attributes with which the operator computes the same
      before a transpose of its output by `perm` as after transposes of its inputs; None if it does
      not commute with transposes. `transposed_inputs` is the number of these inputs, the first
      ones; the others are vectors along an axis. None: all.
    * `weight_channel_axis(attrs, position, rank)`: the axis of a constant operand such that each
      element of the output depends on the elements at one index only; int8 weights have a scale
      for each. None: there is none.
    """

    elementwise: bool = False
    is_view: bool = False
    decodes: bool = False
    source_axes: Callable[[A_contra, int], Perm | None] = unknown_axes
    before_transpose: Callable[[A_contra, Perm], Attributes] | None = None
    transposed_inputs: int | None = None
    weight_channel_axis: Callable[[A_contra, int, int], int | None] = no_channel_axis


ELEMENTWISE: Traits[Any] = Traits(elementwise=True, before_transpose=lambda attrs, perm: attrs)


@dataclass(frozen=True, slots=True)
class Operator(Generic[A]):
    """A stateless operator.

    * `infer(attrs, types)` returns the types of the outputs, or raises ShapeError.
    * `reference(attrs, *arrays)` returns one array per output. It computes in float64,
      independently of `lower`, which appends nests to a `Lowering`.
    * `attributes` is the class of `attrs`, a frozen dataclass.
    * `arity` is the minimum and maximum number of inputs.
    * `backends`: the backends with a kernel; None: all.
    """

    name: str
    infer: Callable[[A, Sequence[Type]], tuple[Type, ...]]
    reference: Callable[..., tuple[Array, ...]]
    lower: Callable[["Lowering", A], None]
    attributes: type[A]
    arity: tuple[int, int] = (1, 1)
    cases: Callable[[], Iterable[Case]] = tuple
    traits: Traits[A] = field(default_factory=Traits)
    cost: Cost[A] = field(default_factory=Cost)
    backends: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Rules:
    """The properties of operators that graph builders depend on, passed as a value so that
    frontends need not import all operators.
    """

    attributes_of: AttributesOf
    infer: Callable[[Node, Sequence[Type]], tuple[Type, ...]]
    traits: Callable[[str], Traits[Any]]


DEFINED: dict[str, Operator[Any]] = {}


def define(operator: Operator[A]) -> Operator[A]:
    """Add an operator to the table. Raises SourceError if its name is taken, or if its attributes
    are not a dataclass.
    """
    if operator.name in DEFINED:
        raise SourceError(f"operator {operator.name} is already defined; choose another name")
    kind = operator.attributes
    if "__dataclass_fields__" not in vars(kind) or not issubclass(kind, Attributes):
        raise SourceError(
            f"operator {operator.name}: its attributes, {kind.__name__}, must be a frozen dataclass"
            " that derives from webkiln.ir.attributes.Attributes"
        )
    DEFINED[operator.name] = operator
    return operator
