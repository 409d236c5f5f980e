"""What an operator is: attributes, type rule, numpy reference, sample cases and lowering, defined once."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from webkiln.errors import InternalError, ShapeError
from webkiln.ir.graph import Attributes, Node
from webkiln.ir.types import Type

if TYPE_CHECKING:
    from webkiln.nest.build import Lowering

Array = NDArray[Any]
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
    which writes nests through a `Lowering`. `elementwise` and `movement` (index-only) mark what fusion may inline.
    """

    name: str
    infer: Callable[[Attributes, Sequence[Type]], tuple[Type, ...]]
    reference: Callable[..., tuple[Array, ...]]
    lower: Callable[["Lowering", Attributes], None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    arity: tuple[int, int] = (1, 1)
    cases: Callable[[], Iterable[Case]] = tuple
    elementwise: bool = False


OPERATORS: dict[str, Operator] = {}


def define(operator: Operator) -> Operator:
    if operator.name in OPERATORS:
        raise InternalError(f"operator {operator.name} is defined twice")
    OPERATORS[operator.name] = operator
    return operator


def find(name: str) -> Operator:
    if name not in OPERATORS:
        raise InternalError(f"there is no operator {name!r}; there are {', '.join(sorted(OPERATORS))}")
    return OPERATORS[name]


def complete(node: Node) -> dict[str, Any]:
    """The attributes of a node with defaults filled in; InternalError names what is unknown or missing."""
    operator = find(node.op)
    unknown = set(node.attrs) - set(operator.attributes)
    attrs = dict(operator.attributes) | dict(node.attrs)
    missing = [name for name, value in attrs.items() if value is REQUIRED]
    if unknown or missing:
        raise InternalError(f"{node.op} {node.layer}: unknown attributes {sorted(unknown)}, missing {missing}")
    return attrs


def infer(node: Node, types: Sequence[Type]) -> tuple[Type, ...]:
    """The types of a node's outputs; ShapeError names the layer."""
    operator = find(node.op)
    low, high = operator.arity
    if not low <= len(types) <= high:
        raise ShapeError(f"{node.layer or node.name} ({node.op}): takes {low} to {high} inputs, got {len(types)}")
    try:
        return operator.infer(complete(node), types)
    except ShapeError as error:
        raise ShapeError(f"{node.layer or node.name} ({node.op}): {error}") from None


def evaluate(node: Node, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Compute a node with its numpy reference; outputs have the inferred dtypes."""
    types = infer(node, [Type(str(array.dtype), array.shape) for array in arrays])
    with np.errstate(all="ignore"):
        results = find(node.op).reference(complete(node), *arrays)
    checked = []
    for type_, result in zip(types, results, strict=True):
        if result.shape != type_.shape:
            raise InternalError(f"{node.op}: the reference gives shape {result.shape}, the type rule {type_.shape}")
        checked.append(np.ascontiguousarray(result.astype(type_.dtype)).reshape(type_.shape))
    return tuple(checked)
