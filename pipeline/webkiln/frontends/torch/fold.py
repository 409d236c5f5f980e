"""Evaluate arithmetic on Python numbers and sizes at build time."""

import operator
from collections.abc import Callable, Mapping
from math import ceil, floor, prod, sqrt, trunc
from typing import Any

from webkiln.errors import ShapeError
from webkiln.frontends.nodes.call import GraphValue, NodeCall, SizeRelation, known
from webkiln.frontends.nodes.fold import Fold, Folds, array_of_sizes
from webkiln.frontends.nodes.size_arithmetic import SCALARS, Scalar, element
from webkiln.frontends.torch.aten import AtenCall
from webkiln.ir.dim import floordiv, is_symbolic
from webkiln.ir.rational import Rational


def number(value: Any, dtype: str | None = None) -> GraphValue:
    """A Python number as a known value. The default `dtype` is that of the number."""
    if dtype is None:
        is_float = isinstance(value, float | Rational)
        dtype = "bool" if isinstance(value, bool) else "float64" if is_float else "int64"
    return known(array_of_sizes([value]).reshape(()), dtype)


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


def python(function: Callable[..., Any], symbolic: Scalar, result: str | None = None) -> Fold:
    """A function of Python numbers, and its equivalent for sizes: SCALARS in float64 if an operand
    is a float. `result` is the dtype of the result if it is not that of the operands.
    """

    def fold(call: NodeCall) -> GraphValue | None:
        c = AtenCall(call)
        values = [c.number(name) for name in ("a", "b") if c.has(name)]
        if not any(is_symbolic(item) or isinstance(item, Rational) for item in values):
            return number(function(*values))
        is_float = any(isinstance(item, float | Rational) for item in values)
        dtype = "float64" if is_float else "int64"
        return number(symbolic({}, *(element(item, dtype) for item in values)), result)

    return fold


def integral(method: str) -> Scalar:
    """Round to an integer."""
    return lambda attrs, x: getattr(x, method)() if isinstance(x, Rational) else x


def as_float(x: Any) -> Rational:
    """A number as float64."""
    return x if isinstance(x, Rational) else Rational.of_size(x, "float64")


def floor_divided(attrs: Mapping[str, Any], a: Any, b: Any) -> Any:
    return SCALARS["FloorDiv"](attrs, a, b) if isinstance(a, Rational) else floordiv(a, b)


def refuse(attrs: Mapping[str, Any], *values: Any) -> Any:
    raise ShapeError("this function of a size is computed when the model runs")


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
        if call.type(0).dtype.startswith("float")
        else "int64",
    )


NUMBERS: dict[str, Fold] = {
    "sym_add": python(operator.add, SCALARS["Add"]),
    "sym_sub": python(operator.sub, SCALARS["Sub"]),
    "sym_mul": python(operator.mul, SCALARS["Mul"]),
    "sym_floordiv": python(operator.floordiv, floor_divided),
    "sym_truediv": python(operator.truediv, lambda attrs, a, b: as_float(a) / as_float(b)),
    "sym_mod": python(operator.mod, SCALARS["Mod"]),
    "sym_pow": python(operator.pow, lambda attrs, a, b: a**b),
    "sym_max": python(max, SCALARS["Max"]),
    "sym_min": python(min, SCALARS["Min"]),
    "sym_eq": python(operator.eq, SCALARS["Equal"], "bool"),
    "sym_ne": python(operator.ne, SCALARS["NotEqual"], "bool"),
    "sym_lt": python(operator.lt, SCALARS["Less"], "bool"),
    "sym_gt": python(operator.gt, SCALARS["Greater"], "bool"),
    "sym_le": python(operator.le, SCALARS["LessEqual"], "bool"),
    "sym_ge": python(operator.ge, SCALARS["GreaterEqual"], "bool"),
    "sym_and": python(lambda a, b: bool(a and b), SCALARS["And"], "bool"),
    "sym_or": python(lambda a, b: bool(a or b), SCALARS["Or"], "bool"),
    "sym_neg": python(operator.neg, SCALARS["Neg"]),
    "sym_float": python(float, lambda attrs, x: as_float(x)),
    "sym_int": python(int, integral("trunc")),
    "sym_not": python(operator.not_, SCALARS["Not"], "bool"),
    "sym_trunc": python(trunc, integral("trunc")),
    "sym_floor": python(floor, integral("floor")),
    "sym_ceil": python(ceil, integral("ceil")),
    "sym_round": python(round, integral("rint")),
    "sym_bool": python(bool, lambda attrs, x: SCALARS["NotEqual"](attrs, x, x * 0), "bool"),
    "sym_sqrt": python(sqrt, refuse),
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
        **NUMBERS,
        "sym_entry": entry,
        "item": of_tensor,
        "_local_scalar_dense": of_tensor,
    },
)
