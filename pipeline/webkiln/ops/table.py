"""The table of all operators. Importing this module defines them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from webkiln.errors import InternalError, ShapeError
from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import Node
from webkiln.ir.types import Array, Type
from webkiln.ops import (
    binary,
    control,
    conv,
    conversion,
    cumulative,
    eigen,
    factorization,
    fixed_point,
    index,
    interpolate,
    linear,
    normalization,
    pool,
    qr,
    reduce,
    resize,
    sample,
    scan,
    scatter,
    selection,
    shape,
    sorting,
    special,
    svd,
    unary,
)
from webkiln.ops.budget import charge_evaluation, elements
from webkiln.ops.operator import DEFINED, REQUIRED, Operator, Rules

FAMILIES = (
    unary,
    binary,
    conversion,
    special,
    fixed_point,
    index,
    interpolate,
    sample,
    linear,
    factorization,
    qr,
    eigen,
    svd,
    conv,
    pool,
    sorting,
    selection,
    scatter,
    reduce,
    cumulative,
    normalization,
    resize,
    scan,
    control,
    shape,
)
OPERATORS = DEFINED


def find(name: str) -> Operator:
    if name not in OPERATORS:
        raise InternalError(
            f"there is no operator {name!r}; operators are {', '.join(sorted(OPERATORS))}"
        )
    return OPERATORS[name]


def complete(node: Node) -> dict[str, Any]:
    """The attributes of a node, including defaults. Raises InternalError if attributes are unknown
    or missing.
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
    """Infer the types of the outputs of a node. Raises ShapeError with the name of the layer."""
    operator = find(node.op)
    low, high = operator.arity
    if not low <= len(types) <= high:
        raise ShapeError(
            f"{node.layer or node.name} ({node.op}): expected {low} to {high} inputs, got"
            f" {len(types)}"
        )
    try:
        return operator.infer(complete(node), types)
    except ShapeError as error:
        error.args = (f"{node.layer or node.name} ({node.op}): {error}",)
        raise


def evaluate(node: Node, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Evaluate a node with its numpy reference; outputs have the inferred dtypes.

    Raises SourceError before the evaluation if it exceeds the current budget (`ops/budget.py`).
    """
    input_types = [Type(str(array.dtype), array.shape) for array in arrays]
    types, operator = infer(node, input_types), find(node.op)
    attrs = complete(node)

    def cost() -> tuple[int, int]:
        memory = elements([*input_types, *types]) + operator.scratch(attrs, input_types, types)
        return operator.work(attrs, input_types, types), memory

    with charge_evaluation(node, cost), np.errstate(all="ignore"):
        results = operator.reference(attrs, *arrays)
        checked = []
        for type_, result in zip(types, results, strict=True):
            if len(result.shape) != type_.rank or any(
                got != size and not is_symbolic(size)
                for got, size in zip(result.shape, type_.shape, strict=True)
            ):
                raise InternalError(
                    f"{node.op}: the reference returned shape {result.shape}, but the type rule"
                    f" inferred {type_.shape}"
                )
            checked.append(np.ascontiguousarray(result.astype(type_.dtype)).reshape(result.shape))
    return tuple(checked)


RULES = Rules(infer, lambda op: find(op).elementwise)
