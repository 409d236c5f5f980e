"""What an operator is: attributes, type rule, numpy reference, sample cases and lowering, defined once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from webkiln.errors import SourceError
from webkiln.ir.graph import Attributes, Node
from webkiln.ir.types import Array, Type

if TYPE_CHECKING:
    from webkiln.nest.build import Lowering

REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Case:
    """One sample: attributes and inputs; `tolerance` bounds the relative error against the reference: max|got - reference| / max(max|reference|, 1e-6)."""

    inputs: tuple[Array, ...]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-5
    name: str = ""


@dataclass(frozen=True, slots=True)
class Operator:
    """A stateless operator.

    `attributes` maps names to defaults (`REQUIRED` for none). `infer(attrs, types)` gives the output types or raises ShapeError.
    `reference(attrs, *arrays)` computes in float64 inside and returns one array per output; it is written independently of `lower`,
    which writes nests through a `Lowering`. `elementwise` marks what passes may treat so. `backends`: where it works, if not everywhere.
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


@dataclass(frozen=True, slots=True)
class Rules:
    """What a builder of graphs must know of operators, as a value: their type rule, and which are elementwise."""

    infer: Callable[[Node, Sequence[Type]], tuple[Type, ...]]
    elementwise: Callable[[str], bool]


DEFINED: dict[str, Operator] = {}


def define(operator: Operator) -> Operator:
    if operator.name in DEFINED:
        raise SourceError(f"operator {operator.name} is defined already; choose another name for it")
    DEFINED[operator.name] = operator
    return operator
