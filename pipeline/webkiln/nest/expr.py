"""Scalar expressions: typed, interned and total.

Total means: no trap, no undefined behaviour, no load outside a buffer, for any operand values, so
any subexpression may be computed earlier than it is needed. The meaning of every operation is
defined once, by its numpy function in `SEMANTICS` (`nest/semantics.py`); every printer must agree
with it.

One is defined up to the last bit only: `madd` may round its product, or not (a fused multiplication
and addition).

Types: f32, f64, i32, u32, i64, u64, bool. Arithmetic on integers wraps. Interning makes equal
expressions identical, so common subexpressions are found by identity.
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
WHOLE = (INT, UINT, LONG, ULONG)
NUMBER = (*REAL, *WHOLE)
ANY = (*NUMBER, BOOL)

VOCABULARY: dict[str, tuple[int, tuple[str, ...]]] = {
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
    "idiv": (2, WHOLE),
    "irem": (2, WHOLE),
    "floordiv": (2, WHOLE),
    "floormod": (2, WHOLE),
    "band": (2, WHOLE),
    "bor": (2, WHOLE),
    "bxor": (2, WHOLE),
    "shl": (2, WHOLE),
    "shr": (2, WHOLE),
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
"""Operation -> (arity, operand types); all operands have one type."""

BITS = {FLOAT: (INT, UINT), INT: (FLOAT, UINT), UINT: (FLOAT, INT), LONG: (ULONG,), ULONG: (LONG,)}
"""Between which types `bitcast` goes."""

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
    """One node. `op` is a key of VOCABULARY, or one of const, axis, arg, acc, accindex, load,
    select,
    cast, bitcast; in procedures also local.

    `value` is the number of a const, the name of an axis, arg or local, the position of an acc, or
    (input position, guarded) of a load. The arguments of a load are its logical indices, then, if
    guarded, its guard and the value it has where the guard is false. The value of a cast is whether
    its operand is known to be within the range of its type, or not a number, of which anything may
    be made.
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
    identity = (op, type_, tuple(map(id, args)), _exact(value))
    found = _INTERNED.get(identity)
    if found is None:
        found = Expr(op, type_, args, value)
        _INTERNED[identity] = found
    return found


def _exact(value: Any) -> Any:
    """Tell apart 0.0, -0.0, 0, False and NaN, which compare equal (or not at all)."""
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
    """What a variable of a procedure holds where the expression stands."""
    return make("local", type_, value=name)


def acc(position: int, type_: str) -> Expr:
    return make("acc", type_, value=position)


def accindex(position: int) -> Expr:
    """The reduction index at which an argmax or argmin accumulator found its value."""
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
        raise InternalError("a load is indexed by i32 expressions")
    if guard is None:
        return make("load", type_, args, (source, False))
    fallback = const(0, type_) if other is None else other
    if guard.type != BOOL or fallback.type != type_:
        raise InternalError(
            f"a guard is bool and its other value {type_}, got {guard.type} and {fallback.type}"
        )
    return make("load", type_, (*args, guard, fallback), (source, True))


def apply(op: str, *args: Expr) -> Expr:
    """Build a scalar operation; InternalError where types do not fit."""
    arity, types = VOCABULARY[op]
    if len(args) != arity or len({a.type for a in args}) != 1 or args[0].type not in types:
        raise InternalError(
            f"{op} takes {arity} operands of one of {'/'.join(types)}, got"
            f" {', '.join(a.type for a in args)}"
        )
    return make(op, BOOL if op in COMPARISONS else args[0].type, args)


def _is_const(expr: Expr, value: int) -> bool:
    return expr.op == "const" and expr.type in WHOLE and expr.value == value


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
            f"select takes bool and two of one type, got {condition.type}, {yes.type}, {no.type}"
        )
    return yes if yes is no else make("select", yes.type, (condition, yes, no))


def cast(value: Expr, type_: str) -> Expr:
    """Convert: float to integer saturates and NaN gives 0; integers wrap; bool is 0 or 1; to bool
    is `!= 0`.
    """
    return value if value.type == type_ else make("cast", type_, (value,))


def near(value: Expr) -> Expr:
    """The i32 that a float truncates to which is within its range; where it is not a number, any."""
    return make("cast", INT, (value,), value=True)


def bitcast(value: Expr, type_: str) -> Expr:
    if value.type == type_:
        return value
    if type_ not in BITS.get(value.type, ()):
        raise InternalError(f"bitcast is between types of one size, got {value.type} to {type_}")
    return make("bitcast", type_, (value,))


def walk(roots: Iterable[Expr], leaves: Container[str] = ()) -> list[Expr]:
    """Every distinct node below `roots`, operands before users; the operands of operations in
    `leaves` are not looked at.
    """
    seen: dict[Expr, None] = {}
    stack = list(roots)[::-1]
    while stack:
        expr = stack[-1]
        waiting = (
            [item for item in expr.args if item not in seen]
            if expr not in seen and expr.op not in leaves
            else None
        )
        if waiting:
            stack += reversed(waiting)
        else:
            seen[stack.pop()] = None
    return list(seen)


def rebuild(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Replace nodes bottom-up: `change` gives the replacement of a node whose operands are already
    rebuilt, or None. An operand that is all that is left of a node is not replaced again.
    """
    done: dict[Expr, Expr] = {}
    for node in walk([expr]):
        args = tuple(done[item] for item in node.args)
        fresh = (
            node
            if all(a is b for a, b in zip(args, node.args, strict=True))
            else simplified(node, args)
        )
        done[node] = fresh if fresh in args else change(fresh) or fresh
    return done[expr]


def simplified(node: Expr, args: tuple[Expr, ...]) -> Expr:
    """`node` over other operands, with the builders' integer identities applied."""
    if node.op in ("add", "mul", "sub") and node.type in WHOLE:
        return {"add": add, "mul": mul, "sub": sub}[node.op](*args)
    return make(node.op, node.type, args, node.value)
