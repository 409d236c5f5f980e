"""Every operator by name: importing this module defines them all."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from webkiln.errors import InternalError, ShapeError
from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import Node
from webkiln.ir.types import Array, Type
from webkiln.ops import (
    choose,
    control,
    conv,
    elementwise,
    factor,
    fixed_point,
    index,
    interpolate,
    linear,
    order,
    pool,
    reduce,
    resize,
    scan,
    scatter,
    shape,
    special,
    spectrum,
)
from webkiln.ops.budget import charged, elements
from webkiln.ops.operator import DEFINED, REQUIRED, Operator, Rules

FAMILIES = (
    elementwise,
    special,
    fixed_point,
    index,
    interpolate,
    linear,
    factor,
    spectrum,
    conv,
    pool,
    order,
    choose,
    scatter,
    reduce,
    resize,
    scan,
    control,
    shape,
)
OPERATORS = DEFINED


def find(name: str) -> Operator:
    if name not in OPERATORS:
        raise InternalError(
            f"there is no operator {name!r}; there are {', '.join(sorted(OPERATORS))}"
        )
    return OPERATORS[name]


def complete(node: Node) -> dict[str, Any]:
    """The attributes of a node with defaults filled in; InternalError names what is unknown or
    missing.
    """
    operator = find(node.op)
    unknown = set(node.attrs) - set(operator.attributes)
    attrs = dict(operator.attributes) | dict(node.attrs)
    missing = [name for name, value in attrs.items() if value is REQUIRED]
    if unknown or missing:
        raise InternalError(
            f"{node.op} {node.layer}: unknown attributes {sorted(unknown)}, missing {missing}"
        )
    return attrs


def infer(node: Node, types: Sequence[Type]) -> tuple[Type, ...]:
    """The types of a node's outputs; ShapeError names the layer."""
    operator = find(node.op)
    low, high = operator.arity
    if not low <= len(types) <= high:
        raise ShapeError(
            f"{node.layer or node.name} ({node.op}): takes {low} to {high} inputs, got {len(types)}"
        )
    try:
        return operator.infer(complete(node), types)
    except ShapeError as error:
        error.args = (f"{node.layer or node.name} ({node.op}): {error}",)
        raise


def evaluate(node: Node, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Compute a node with its numpy reference; outputs have the inferred dtypes.

    Raises SourceError, before it computes, where the budget in force (`ops/budget.py`) is too
    small.
    """
    given = [Type(str(array.dtype), array.shape) for array in arrays]
    types, operator = infer(node, given), find(node.op)
    attrs = complete(node)

    def cost() -> tuple[int, int]:
        return operator.work(attrs, given, types), elements([*given, *types]) + operator.scratch(
            attrs, given, types
        )

    with charged(node, cost), np.errstate(all="ignore"):
        results = operator.reference(attrs, *arrays)
        checked = []
        for type_, result in zip(types, results, strict=True):
            if len(result.shape) != type_.rank or any(
                got != size and not is_symbolic(size)
                for got, size in zip(result.shape, type_.shape, strict=True)
            ):
                raise InternalError(
                    f"{node.op}: the reference gives shape {result.shape}, the type rule"
                    f" {type_.shape}"
                )
            checked.append(np.ascontiguousarray(result.astype(type_.dtype)).reshape(result.shape))
    return tuple(checked)


RULES = Rules(infer, lambda op: find(op).elementwise)
