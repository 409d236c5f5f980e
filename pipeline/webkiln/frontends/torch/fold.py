"""Evaluate arithmetic on Python numbers and sizes at build time."""

from collections.abc import Callable
from math import ceil, floor, prod, sqrt, trunc
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import GraphValue, NodeCall, SizeRelation, known
from webkiln.frontends.nodes.fold import (
    Fold,
    Folds,
    are_equal,
    array_of_sizes,
    is_less,
    quotient,
    remainder,
)
from webkiln.frontends.torch.aten import AtenCall
from webkiln.ir.dim import floordiv, is_symbolic, maximum, minimum


def number(value: Any) -> GraphValue:
    """A Python number as a known value."""
    if is_symbolic(value):
        return known(array_of_sizes([value]).reshape(()), "int64")
    return known(
        np.asarray(value),
        "bool" if isinstance(value, bool) else "float64" if isinstance(value, float) else "int64",
    )


def shape(call: NodeCall) -> GraphValue:
    return known(array_of_sizes(call.type(0).shape), "int64")


def size(call: NodeCall) -> GraphValue:
    """One size, or all sizes if no axis is given."""
    c = AtenCall(call)
    return (
        shape(call)
        if not c.has("dim")
        else number(call.type(0).shape[c.axis(c.number("dim"), call.type(0).rank)])
    )


def stride(call: NodeCall) -> GraphValue:
    sizes = call.type(0).shape
    c = AtenCall(call)
    if not c.has("dim"):
        return known(array_of_sizes([prod(sizes[d + 1 :]) for d in range(len(sizes))]), "int64")
    return number(prod(sizes[c.axis(c.number("dim"), len(sizes)) + 1 :]))


def of(function: Callable[..., Any], *names: str) -> Fold:
    """A function of known numbers or sizes."""

    def fold(call: NodeCall) -> GraphValue | None:
        c = AtenCall(call)
        values = [c.number(name) for name in names]
        return number(function(*values))

    return fold


def integral(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda a: a if is_symbolic(a) else function(a)


def divided(a: Any, b: Any) -> Any:
    """True division. Sizes must divide without remainder."""
    if not (is_symbolic(a) or is_symbolic(b)):
        return a / b
    if quotient(a, b) * b == a:
        return quotient(a, b)
    raise ShapeError("a quotient of sizes that leaves something")


def floor_divided(a: Any, b: Any) -> Any:
    return floordiv(a, b) if is_symbolic(a) or is_symbolic(b) else a // b


def modulo(a: Any, b: Any) -> Any:
    return remainder(a, b) if is_symbolic(a) or is_symbolic(b) else a % b


def larger(a: Any, b: Any) -> Any:
    return maximum([a, b]) if is_symbolic(a) or is_symbolic(b) else max(a, b)


def smaller(a: Any, b: Any) -> Any:
    return minimum(a, b) if is_symbolic(a) or is_symbolic(b) else min(a, b)


def floating(a: Any) -> Any:
    return a if is_symbolic(a) else float(a)


def same(a: Any, b: Any) -> bool:
    return are_equal(a, b) if is_symbolic(a) or is_symbolic(b) else bool(a == b)


def less(a: Any, b: Any) -> bool:
    return is_less(a, b) if is_symbolic(a) or is_symbolic(b) else bool(a < b)


def entry(call: NodeCall) -> GraphValue | None:
    """An element of a list of numbers."""
    c = AtenCall(call)
    items = c["self"]
    return number(items[c.number("idx")]) if isinstance(items, tuple) else None


def of_tensor(call: NodeCall) -> GraphValue | None:
    """The single element of a known tensor."""
    value = call.value(0)
    return known(
        value.reshape(()),
        call.type(0).dtype
        if call.type(0).dtype == "bool"
        else "float64"
        if value.dtype.kind == "f"
        else "int64",
    )


BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "sym_add": lambda a, b: a + b,
    "sym_sub": lambda a, b: a - b,
    "sym_mul": lambda a, b: a * b,
    "sym_floordiv": floor_divided,
    "sym_truediv": divided,
    "sym_mod": modulo,
    "sym_pow": lambda a, b: a**b,
    "sym_max": larger,
    "sym_min": smaller,
    "sym_eq": same,
    "sym_ne": lambda a, b: not same(a, b),
    "sym_lt": less,
    "sym_gt": lambda a, b: less(b, a),
    "sym_le": lambda a, b: not less(b, a),
    "sym_ge": lambda a, b: not less(a, b),
    "sym_and": lambda a, b: bool(a and b),
    "sym_or": lambda a, b: bool(a or b),
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "sym_neg": lambda a: -a,
    "sym_float": floating,
    "sym_int": integral(int),
    "sym_not": lambda a: not a,
    "sym_trunc": integral(trunc),
    "sym_floor": integral(floor),
    "sym_ceil": integral(ceil),
    "sym_round": integral(round),
    "sym_sqrt": sqrt,
    "sym_bool": bool,
}
RELATIONS: dict[str, Callable[[int, int], SizeRelation]] = {
    "sym_eq": lambda a, b: SizeRelation(a, "=", b),
    "sym_lt": lambda a, b: SizeRelation(a, "<", b),
    "sym_gt": lambda a, b: SizeRelation(b, "<", a),
    "sym_le": lambda a, b: SizeRelation(a, "<", b + 1),
    "sym_ge": lambda a, b: SizeRelation(b, "<", a + 1),
}


class NumberFolds(Folds):
    """Comparisons with named arguments."""

    def conditions(self, call: NodeCall) -> tuple[SizeRelation, ...] | None:
        relation = RELATIONS.get(call.spec.op)
        if (
            call.spec.domain
            or relation is None
            or any(item is not None and item.value is None for item in call.operands)
        ):
            return None
        c = AtenCall(call)
        a, b = c["a"], c["b"]
        known_one = all(is_symbolic(item) or isinstance(item, int) for item in (a, b))
        return (relation(a, b),) if known_one else None


FOLDS = NumberFolds(
    of_types={
        "sym_size": size,
        "size": size,
        "sym_stride": stride,
        "stride": stride,
        "sym_numel": lambda call: number(call.type(0).size),
        "numel": lambda call: number(call.type(0).size),
        "sym_storage_offset": lambda call: number(0),
        "sym_dim": lambda call: number(call.type(0).rank),
        "dim": lambda call: number(call.type(0).rank),
        "len": lambda call: number(call.type(0).shape[0]),
    },
    of_values={
        **{name: of(function, "a", "b") for name, function in BINARY.items()},
        **{name: of(function, "a") for name, function in UNARY.items()},
        "sym_entry": entry,
        "item": of_tensor,
        "_local_scalar_dense": of_tensor,
    },
)
