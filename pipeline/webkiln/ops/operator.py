"""What an operator is: attributes, type rule, numpy reference, sample cases and lowering, defined
once.
"""

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
"""Attributes, input types and output types -> how many elements a reference reads or writes, each
in
30 ns at most (see `ops/budget.py`).
"""


def linear(_: Attributes, inputs: Sequence[Type], outputs: Sequence[Type]) -> int:
    """Each element once."""
    return elements([*inputs, *outputs])


def per_element(times: int) -> Work:
    """Each element as often as that."""
    return lambda attrs, inputs, outputs: times * elements([*inputs, *outputs])


def nothing(*_: Any) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Case:
    """One sample: attributes and inputs; `tolerance` bounds the relative error against the
    reference: max|got - reference| / max(max|reference|, 1e-6).
    """

    inputs: tuple[Array, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-5
    name: str = ""


@dataclass(frozen=True, slots=True)
class Operator:
    """A stateless operator.

    `attributes` maps names to defaults (`REQUIRED` for none). `infer(attrs, types)` gives the
    output types or raises ShapeError. `reference(attrs, *arrays)` computes in float64 inside and
    returns one array per output; it is written independently of `lower`, which writes nests through
    a `Lowering`. `elementwise` marks what passes may treat so. `backends`: where it works, if not
    everywhere. `work` estimates what the reference costs, and `scratch` how many elements it keeps
    besides its operands and results, so that constants are evaluated within limits.
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
    """What a builder of graphs must know of operators, as a value: their type rule, and which are
    elementwise.
    """

    infer: Callable[[Node, Sequence[Type]], tuple[Type, ...]]
    elementwise: Callable[[str], bool]


DEFINED: dict[str, Operator] = {}


def define(operator: Operator) -> Operator:
    if operator.name in DEFINED:
        raise SourceError(
            f"operator {operator.name} is defined already; choose another name for it"
        )
    DEFINED[operator.name] = operator
    return operator
