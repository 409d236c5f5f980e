"""Scalar expressions: typed, interned and total.

Total means: for any operand values, there is no trap, no undefined behaviour and no out-of-bounds
load, so any subexpression may be evaluated speculatively. The numpy functions in `SEMANTICS`
(`nest/semantics.py`) define the operations; every printer must agree with them. The only exception
is `madd`, which may be fused: whether it rounds the product is up to the backend. `filtered` is its
first operand; the second is the bits of a float estimate of it, which decides all but the results
that are close to a tie (a floating-point filter, Shewchuk 1997). It is at most 2^-11 from a number
that rounds to the result, at most 2^20 in size, and is NaN where there is none.

Types: f32, f64, i32, u32, i64, u64, bool. Integer arithmetic wraps. Equal expressions are the same
object, so common subexpressions are detected by identity.
"""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from math import isnan
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from webkiln.errors import InternalError

FLOAT, INT, UINT, BOOL = "f32", "i32", "u32", "bool"
DOUBLE, LONG, ULONG = "f64", "i64", "u64"
NUMPY = {
    FLOAT: np.float32,
    DOUBLE: np.float64,
    INT: np.int32,
    UINT: np.uint32,
    LONG: np.int64,
    ULONG: np.uint64,
    BOOL: np.bool_,
}

REAL = (FLOAT, DOUBLE)
INTEGER = (INT, UINT, LONG, ULONG)
NUMBER = (*REAL, *INTEGER)
ANY = (*NUMBER, BOOL)

OPERATIONS: dict[str, tuple[int, tuple[str, ...]]] = {
    "add": (2, NUMBER),
    "sub": (2, NUMBER),
    "mul": (2, NUMBER),
    "neg": (1, NUMBER),
    "abs": (1, NUMBER),
    "sign": (1, NUMBER),
    "min": (2, NUMBER),
    "max": (2, NUMBER),
    "madd": (3, (FLOAT,)),
    "div": (2, REAL),
    "sqrt": (1, REAL),
    "floor": (1, REAL),
    "ceil": (1, REAL),
    "trunc": (1, REAL),
    "rint": (1, REAL),
    "exp": (1, REAL),
    "log": (1, REAL),
    "log1p": (1, REAL),
    "expm1": (1, REAL),
    "sin": (1, REAL),
    "cos": (1, REAL),
    "tanh": (1, REAL),
    "erf": (1, REAL),
    "pow": (2, REAL),
    "turn": (1, (FLOAT,)),
    "idiv": (2, INTEGER),
    "irem": (2, INTEGER),
    "floordiv": (2, INTEGER),
    "floormod": (2, INTEGER),
    "band": (2, INTEGER),
    "bor": (2, INTEGER),
    "bxor": (2, INTEGER),
    "shl": (2, INTEGER),
    "shr": (2, INTEGER),
    "doubling_high": (2, (INT,)),
    "filtered": (2, (INT,)),
    "and": (2, (BOOL,)),
    "or": (2, (BOOL,)),
    "not": (1, (BOOL,)),
    "isnan": (1, REAL),
    "lt": (2, NUMBER),
    "le": (2, NUMBER),
    "gt": (2, NUMBER),
    "ge": (2, NUMBER),
    "eq": (2, ANY),
    "ne": (2, ANY),
}
"""Operation -> (arity, operand types). All operands of an operation have the same type."""

BITS = {FLOAT: (INT, UINT), INT: (FLOAT, UINT), UINT: (FLOAT, INT), LONG: (ULONG,), ULONG: (LONG,)}
"""Type -> the types that `bitcast` converts it to."""

COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "isnan"})
COSTLY = frozenset(
    {
        "exp",
        "log",
        "log1p",
        "expm1",
        "sin",
        "cos",
        "tanh",
        "erf",
        "pow",
        "turn",
        "div",
        "sqrt",
        "idiv",
        "irem",
        "floordiv",
        "floormod",
    }
)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Expr:
    """One node. `op` is a key of OPERATIONS, or one of const, axis, arg, acc, accindex, load,
    select, cast, bitcast; in procedures also local.

    The meaning of `value` depends on `op`:

    * const: the number.
    * axis, arg, local: the name.
    * acc, accindex: the position of the accumulator.
    * load: (position of the input, whether it is guarded). The arguments are the logical indices,
      then, if it is guarded, the guard and the value for a false guard.
    * cast: True if the operand is known to be in the range of `type`; a NaN operand then gives an
      unspecified value.
    """

    op: str
    type: str
    args: tuple["Expr", ...] = ()
    value: Any = None

    def __add__(self, other: "Expr | int | float") -> "Expr":
        return add(self, wrap(other, self.type))

    def __radd__(self, other: float) -> "Expr":
        return add(wrap(other, self.type), self)

    def __sub__(self, other: "Expr | int | float") -> "Expr":
        return sub(self, wrap(other, self.type))

    def __rsub__(self, other: float) -> "Expr":
        return sub(wrap(other, self.type), self)

    def __mul__(self, other: "Expr | int | float") -> "Expr":
        return mul(self, wrap(other, self.type))

    def __rmul__(self, other: float) -> "Expr":
        return mul(wrap(other, self.type), self)

    def __truediv__(self, other: "Expr | int | float") -> "Expr":
        return apply("div", self, wrap(other, self.type))

    def __rtruediv__(self, other: float) -> "Expr":
        return apply("div", wrap(other, self.type), self)

    def __neg__(self) -> "Expr":
        return apply("neg", self)


_INTERNED: WeakValueDictionary[Any, Expr] = WeakValueDictionary()


def make(op: str, type_: str, args: tuple[Expr, ...] = (), value: Any = None) -> Expr:
    identity = (op, type_, tuple(map(id, args)), _value_key(value))
    expr = _INTERNED.get(identity)
    if expr is None:
        expr = Expr(op, type_, args, value)
        _INTERNED[identity] = expr
    return expr


def _value_key(value: Any) -> Any:
    """A key that distinguishes 0.0, -0.0, 0 and False, which compare equal, and equates NaNs."""
    return (
        (type(value).__name__, value.hex())
        if isinstance(value, float)
        else (type(value).__name__, value)
    )


def const(value: float, type_: str = FLOAT) -> Expr:
    if type_ == FLOAT:
        with np.errstate(over="ignore"):
            rounded = float(np.float32(value))
        return make("const", FLOAT, value=float("nan") if isnan(rounded) else rounded)
    if type_ == DOUBLE:
        return make("const", DOUBLE, value=float("nan") if isnan(value) else float(value))
    if type_ == BOOL:
        return make("const", BOOL, value=bool(value))
    return make("const", type_, value=int(value))


def wrap(value: "Expr | int | float", type_: str) -> Expr:
    return value if isinstance(value, Expr) else const(value, type_)


def axis(name: str) -> Expr:
    return make("axis", INT, value=name)


def arg(name: str) -> Expr:
    """A run-time i32 argument of the kernel: a size, stride or offset."""
    return make("arg", INT, value=name)


def local(name: str, type_: str) -> Expr:
    """The value of a variable of a procedure at the point of evaluation."""
    return make("local", type_, value=name)


def acc(position: int, type_: str) -> Expr:
    return make("acc", type_, value=position)


def accindex(position: int) -> Expr:
    """The reduction index of the result of an argmax or argmin accumulator."""
    return make("accindex", INT, value=position)


def load(
    source: int,
    type_: str,
    index: Iterable[Expr],
    guard: Expr | None = None,
    other: Expr | None = None,
) -> Expr:
    args = tuple(index)
    if any(item.type != INT for item in args):
        raise InternalError("load: the indices must be i32 expressions")
    if guard is None:
        return make("load", type_, args, (source, False))
    fallback = const(0, type_) if other is None else other
    if guard.type != BOOL or fallback.type != type_:
        raise InternalError(
            f"load: expected a guard of type bool and another value of type {type_}, got"
            f" {guard.type} and {fallback.type}"
        )
    return make("load", type_, (*args, guard, fallback), (source, True))


def apply(op: str, *args: Expr) -> Expr:
    """Build a scalar operation. Raises InternalError if the types do not match."""
    arity, types = OPERATIONS[op]
    if len(args) != arity or len({a.type for a in args}) != 1 or args[0].type not in types:
        raise InternalError(
            f"{op}: expected {arity} operands of one type of {'/'.join(types)}, got"
            f" {', '.join(a.type for a in args)}"
        )
    return make(op, BOOL if op in COMPARISONS else args[0].type, args)


def _is_const(expr: Expr, value: int) -> bool:
    return expr.op == "const" and expr.type in INTEGER and expr.value == value


def add(a: Expr, b: Expr) -> Expr:
    if _is_const(a, 0):
        return b
    if _is_const(b, 0):
        return a
    if a.op == b.op == "const" and a.type == b.type == INT:
        return const(a.value + b.value, INT)
    return apply("add", a, b)


def sub(a: Expr, b: Expr) -> Expr:
    return a if _is_const(b, 0) else apply("sub", a, b)


def mul(a: Expr, b: Expr) -> Expr:
    for one, other in ((a, b), (b, a)):
        if _is_const(one, 1):
            return other
        if _is_const(one, 0):
            return one
    if a.op == b.op == "const" and a.type == b.type == INT:
        return const(a.value * b.value, INT)
    return apply("mul", a, b)


def select(condition: Expr, yes: Expr, no: Expr) -> Expr:
    if condition.type != BOOL or yes.type != no.type:
        raise InternalError(
            f"select: expected bool and two operands of one type, got {condition.type}, {yes.type},"
            f" {no.type}"
        )
    return yes if yes is no else make("select", yes.type, (condition, yes, no))


def cast(value: Expr, type_: str) -> Expr:
    """Convert to `type_`. Floats saturate when converted to integers, and NaN becomes 0. Integers
    wrap. Converting from bool gives 0 or 1; converting to bool is `!= 0`.
    """
    return value if value.type == type_ else make("cast", type_, (value,))


def cast_in_range(value: Expr) -> Expr:
    """Truncate a float that is in the range of i32; the result for NaN is unspecified."""
    return make("cast", INT, (value,), value=True)


def bitcast(value: Expr, type_: str) -> Expr:
    if value.type == type_:
        return value
    if type_ not in BITS.get(value.type, ()):
        raise InternalError(f"bitcast: {value.type} and {type_} must differ and have equal sizes")
    return make("bitcast", type_, (value,))


def walk(roots: Iterable[Expr], leaves: Container[str] = ()) -> list[Expr]:
    """The distinct nodes below `roots`, operands before users. Operations in `leaves` are not
    entered.
    """
    visited: dict[Expr, None] = {}
    stack = list(roots)[::-1]
    while stack:
        expr = stack[-1]
        pending = (
            [item for item in expr.args if item not in visited]
            if expr not in visited and expr.op not in leaves
            else None
        )
        if pending:
            stack += reversed(pending)
        else:
            visited[stack.pop()] = None
    return list(visited)


def rebuild(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Replace nodes bottom-up. `change` receives a node with rebuilt operands, and returns its
    replacement or None. If a node simplifies to one of its operands, it is not replaced again.
    """
    rebuilt: dict[Expr, Expr] = {}
    for node in walk([expr]):
        args = tuple(rebuilt[item] for item in node.args)
        current = (
            node
            if all(a is b for a, b in zip(args, node.args, strict=True))
            else with_operands(node, args)
        )
        rebuilt[node] = current if current in args else change(current) or current
    return rebuilt[expr]


def with_operands(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """`node` with other operands, simplified by the integer identities of the builders."""
    if node.op in ("add", "mul", "sub") and node.type in INTEGER:
        return {"add": add, "mul": mul, "sub": sub}[node.op](*args)
    return make(node.op, node.type, args, node.value)
