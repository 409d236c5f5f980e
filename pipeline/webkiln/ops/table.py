"""The table of all operators. Importing this module defines them."""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from webkiln.errors import InternalError, ShapeError
from webkiln.ir import serial, text
from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import is_symbolic, known
from webkiln.ir.graph import Graph, Node
from webkiln.ir.types import Array, Type
from webkiln.ops import (
    binary,
    block_products,
    codes,
    control,
    conv,
    conversion,
    cumulative,
    eigen,
    factorization,
    fixed_point,
    index,
    integer_products,
    interpolate,
    linear,
    normalization,
    pool,
    qr,
    reduce,
    requantize,
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
from webkiln.ops.operator import DEFINED, Operator, Rules

FAMILIES = (
    unary,
    binary,
    conversion,
    codes,
    special,
    fixed_point,
    requantize,
    index,
    interpolate,
    sample,
    linear,
    factorization,
    qr,
    eigen,
    svd,
    conv,
    integer_products,
    block_products,
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


def find(name: str) -> Operator[Any]:
    if name not in OPERATORS:
        raise InternalError(
            f"there is no operator {name!r}; operators are {', '.join(sorted(OPERATORS))}"
        )
    return OPERATORS[name]


def attributes_of(op: str, values: Mapping[str, Any], layer: str = "") -> Attributes:
    """The attributes of a node; lists become tuples. Raises InternalError if names are unknown or
    missing.
    """
    kind = find(op).attributes
    stored = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    try:
        attrs: Attributes = kind(**stored)
    except TypeError:
        declared = {field.name: field.default is MISSING for field in fields(kind)}
        unknown = sorted(set(values) - set(declared))
        missing = [name for name, required in declared.items() if required and name not in values]
        if not unknown and not missing:
            raise
        raise InternalError(
            f"{op} {layer}: unknown attributes {unknown}, missing {missing}"
        ) from None
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
        return operator.infer(node.attrs_as(operator.attributes), types)
    except ShapeError as error:
        error.args = (f"{node.layer or node.name} ({node.op}): {error}",)
        raise


def evaluate(node: Node, arrays: Sequence[Array]) -> tuple[Array, ...]:
    """Evaluate a node with its numpy reference; outputs have the inferred dtypes.

    Raises SourceError before the evaluation if it exceeds the current budget (`ops/budget.py`).
    """
    input_types = [Type(str(array.dtype), array.shape) for array in arrays]
    types, operator = infer(node, input_types), find(node.op)
    attrs, estimates = node.attrs, operator.cost

    def cost() -> tuple[int, int]:
        work, scratch = (
            known(estimate(attrs, input_types, types), "the cost")
            for estimate in (estimates.work, estimates.scratch)
        )
        return work, elements([*input_types, *types]) + scratch

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


def from_json(data: dict[str, Any]) -> Graph:
    """Read a graph (`graph.json`)."""
    return serial.from_json(data, attributes_of)


def parse(source: str) -> Graph:
    """Parse the text form of a graph."""
    return text.parse(source, attributes_of)


RULES = Rules(attributes_of, infer, lambda op: find(op).traits)
