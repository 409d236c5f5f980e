"""Definitions of operators: attributes, type rule, numpy reference, sample cases and lowering."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webkiln.errors import SourceError
from webkiln.ir.graph import Attributes, Node
from webkiln.ir.types import Array, Type
from webkiln.ops.budget import elements

if TYPE_CHECKING:
    from webkiln.nest.build import Lowering

REQUIRED = object()
Work = Callable[[Attributes, Sequence[Type], Sequence[Type]], int]
"""(Attributes, input types, output types) -> the number of elements that the reference reads or
writes, at most 30 ns each (see `ops/budget.py`).
"""


def linear(_: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """One access per element of the inputs and outputs."""
    return elements([*inputs, *outputs])


def per_element(times: int) -> Work:
    """`times` accesses per element of the inputs and outputs."""
    return lambda attrs, inputs, outputs: times * elements([*inputs, *outputs])


def nothing(*_: Any) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Case:
    """A test case of an operator: inputs and attributes.

    `tolerance` bounds the relative error: max|result - reference| / max(max|reference|, 1e-6).
    """

    inputs: tuple[Array, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-5
    name: str = ""


@dataclass(frozen=True, slots=True)
class Operator:
    """A stateless operator.

    * `infer(attrs, types)` returns the types of the outputs, or raises ShapeError.
    * `reference(attrs, *arrays)` returns one array per output. It computes in float64,
      independently of `lower`, which appends nests to a `Lowering`.
    * `attributes` maps names to defaults; attributes without a default are `REQUIRED`.
    * `arity` is the minimum and maximum number of inputs.
    * `elementwise`: passes may move the operator past transposes and broadcasts.
    * `backends`: the backends with a kernel; None: all.
    * `work` and `scratch` estimate the cost of the reference, and the number of elements that it
      allocates in addition to inputs and outputs. They limit the evaluation of constants.
    """

    name: str
    infer: Callable[[Attributes, Sequence[Type]], tuple[Type, ...]]
    reference: Callable[..., tuple[Array, ...]]
    lower: Callable[["Lowering", Attributes], None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    arity: tuple[int, int] = (1, 1)
    cases: Callable[[], Iterable[Case]] = tuple
    elementwise: bool = False
    backends: tuple[str, ...] | None = None
    work: Work = linear
    scratch: Work = nothing


@dataclass(frozen=True, slots=True)
class Rules:
    """The properties of operators that graph builders depend on, passed as a value so that
    frontends need not import all operators.
    """

    infer: Callable[[Node, Sequence[Type]], tuple[Type, ...]]
    elementwise: Callable[[str], bool]


DEFINED: dict[str, Operator] = {}


def define(operator: Operator) -> Operator:
    if operator.name in DEFINED:
        raise SourceError(f"operator {operator.name} is already defined; choose another name")
    DEFINED[operator.name] = operator
    return operator
