"""Interpret the bytecode of a function over symbols: the expression that it returns.

Only straight-line code is understood: constants, arguments, names of modules and their functions,
operators, indices, calls. Nothing is executed.
"""

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webkiln.frontends.keras.lambdas.marshalled import Code
from webkiln.frontends.keras.lambdas.opcodes import (
    DIALECTS,
    IN_PLACE,
    NUMBERED,
    OPERATORS,
    Dialect,
    Unrecognised,
    instructions,
)

MAX_POWER = 64
MAX_STEPS = 2_000


@dataclass(frozen=True, slots=True)
class Given:
    """Tensor number `index` of the layer's inputs."""

    index: int


@dataclass(frozen=True, slots=True)
class All:
    """The list of `count` tensors that a layer with several inputs is called with."""

    count: int


@dataclass(frozen=True, slots=True)
class Name:
    """A global name with attributes: `K.mean`."""

    path: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a named function, an operator (`+`), or an index (`[]`)."""

    function: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Items:
    """A tuple or list that does not consist of constants only."""

    values: tuple[Any, ...]


class _Null:
    """What CPython pushes beside a function."""


NULL = _Null()
SYMBOLS = (Given, All, Name, Call, Items, _Null)
NUMERIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "/1": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def expression(code: Code, arguments: Mapping[str, Any]) -> Any:
    """What the function returns, given the values of its arguments. Raises Unrecognised if versions
    of Python disagree, or if it is anything but an expression.
    """
    found = []
    for dialect in DIALECTS:
        if dialect.layout == code.layout:
            try:
                found.append(_Machine(code, dialect, dict(arguments)).run())
            except (Unrecognised, LookupError, TypeError, ValueError, ArithmeticError):
                continue
    if not found or any(repr(value) != repr(found[0]) for value in found):
        raise Unrecognised
    return found[0]


@dataclass
class _Machine:
    code: Code
    dialect: Dialect
    local: dict[str, Any]
    stack: list[Any] = field(default_factory=list)
    keywords: tuple[str, ...] = ()
    calls: list[Call] = field(default_factory=list)

    def run(self) -> Any:
        steps = list(instructions(self.code, self.dialect))
        if len(steps) > MAX_STEPS:
            raise Unrecognised
        for place, (name, argument) in enumerate(steps):
            if name in {"RETURN_VALUE", "RETURN_CONST"}:
                value = self.code.constants[argument] if name == "RETURN_CONST" else self.pop()
                read = _calls_in(value, {})
                if (
                    place != len(steps) - 1
                    or self.stack
                    or any(id(call) not in read for call in self.calls)
                ):
                    raise Unrecognised
                return value
            self.step(name, argument)
        raise Unrecognised

    def step(self, name: str, argument: int) -> None:
        if name.startswith("BINARY_") and (sign := OPERATORS.get(name.removeprefix("BINARY_"))):
            old = name == "BINARY_DIVIDE"
            self.binary("//" if old and self.whole() else "/1" if old else sign)
        elif name == "BINARY_OP":
            self.binary(NUMBERED[argument % IN_PLACE if argument >= IN_PLACE else argument])
        elif name.startswith("SLICE_"):
            stop = self.pop() if int(name[-1]) & 2 else None
            start = self.pop() if int(name[-1]) & 1 else None
            self.stack.append(slice(constant(start), constant(stop)))
            self.index()
        else:
            getattr(self, f"on_{name.lower()}", _unknown)(argument)

    def whole(self) -> bool:
        return all(isinstance(value, int) for value in self.stack[-2:])

    def pop(self, count: int | None = None) -> Any:
        if count is None:
            return self.stack.pop()
        if count > len(self.stack):
            raise Unrecognised
        values = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return values

    def binary(self, sign: str) -> None:
        x, y = self.pop(2)
        numbers = all(type(value) in {int, float} for value in (x, y))
        if numbers and not (sign == "**" and abs(y) > MAX_POWER):
            self.stack.append(NUMERIC[sign](x, y))
        elif any(isinstance(value, Given | Call) for value in (x, y)):
            self.stack.append(Call(sign, (x, y)))
        else:
            raise Unrecognised

    def index(self) -> None:
        x, key = self.pop(2)
        if isinstance(x, All | Items) and isinstance(key, int):
            values = x.values if isinstance(x, Items) else [Given(n) for n in range(x.count)]
            self.stack.append(values[key])
        elif isinstance(x, Given | Call):
            keys = key.values if isinstance(key, Items) else key
            keys = [part if part != NEW_AXIS else None for part in _listed(keys)]
            if not all(
                part is None or part is Ellipsis or type(part) in {int, slice} for part in keys
            ):
                raise Unrecognised
            self.stack.append(Call("[]", (x, tuple(keys))))
        else:
            raise Unrecognised

    def call(self, function: Any, args: Sequence[Any], names: Sequence[str]) -> None:
        if not isinstance(function, Name) or len(names) > len(args):
            raise Unrecognised
        positional = args[: len(args) - len(names)]
        keywords = zip(names, args[len(args) - len(names) :], strict=True)
        made = Call(function.path, tuple(positional), tuple(keywords))
        self.calls.append(made)
        self.stack.append(made)

    def on_nop(self, _: int) -> None:
        pass

    on_resume = on_precall = on_nop

    def on_pop_top(self, _: int) -> None:
        self.pop()

    def on_push_null(self, _: int) -> None:
        self.stack.append(NULL)

    def on_rot_two(self, _: int) -> None:
        self.stack[-2:] = self.stack[:-3:-1]

    def on_dup_top(self, _: int) -> None:
        self.stack.append(self.stack[-1])

    def on_copy(self, count: int) -> None:
        self.stack.append(self.stack[-count])

    def on_swap(self, count: int) -> None:
        self.stack[-1], self.stack[-count] = self.stack[-count], self.stack[-1]

    def on_load_const(self, number: int) -> None:
        value = self.code.constants[number]
        if isinstance(value, Code):
            raise Unrecognised
        self.stack.append(value)

    def on_load_fast(self, number: int) -> None:
        name = self.code.variables[number]
        if name not in self.local:
            raise Unrecognised
        self.stack.append(self.local[name])

    def on_store_fast(self, number: int) -> None:
        self.local[self.code.variables[number]] = self.pop()

    def on_load_fast_load_fast(self, pair: int) -> None:
        self.on_load_fast(pair >> 4)
        self.on_load_fast(pair & 15)

    def on_store_fast_load_fast(self, pair: int) -> None:
        self.on_store_fast(pair >> 4)
        self.on_load_fast(pair & 15)

    def on_store_fast_store_fast(self, pair: int) -> None:
        self.on_store_fast(pair >> 4)
        self.on_store_fast(pair & 15)

    def on_load_global(self, number: int) -> None:
        self.stack.append(Name(self.code.names[number]))

    def on_load_global_null(self, argument: int) -> None:
        self.named(Name(self.code.names[argument >> 1]), null=bool(argument & 1))

    def named(self, name: Name, *, null: bool) -> None:
        after = self.dialect.name == "3.13"
        pair = [name, NULL] if after else [NULL, name]
        self.stack += pair if null else [name]

    def attribute(self, number: int) -> Name:
        owner = self.pop()
        if not isinstance(owner, Name):
            raise Unrecognised
        return Name(f"{owner.path}.{self.code.names[number]}")

    def on_load_attr(self, number: int) -> None:
        name = self.attribute(number)
        self.stack.append(NUMBERS.get(name.path, name))

    def on_load_method(self, number: int) -> None:
        self.named(self.attribute(number), null=True)

    def on_load_attr_method(self, argument: int) -> None:
        name = self.attribute(argument >> 1)
        if argument & 1 or name.path not in NUMBERS:
            self.named(name, null=bool(argument & 1))
        else:
            self.stack.append(NUMBERS[name.path])

    def on_import_name(self, number: int) -> None:
        _, from_list = self.pop(2)
        path = self.code.names[number]
        self.stack.append(Name(path if from_list else path.partition(".")[0]))

    def on_import_from(self, number: int) -> None:
        module = self.stack[-1]
        self.stack.append(Name(f"{module.path}.{self.code.names[number]}"))

    def on_build_tuple(self, count: int) -> None:
        values = self.pop(count)
        plain = not any(isinstance(value, SYMBOLS) for value in values)
        self.stack.append(tuple(values) if plain else Items(tuple(values)))

    on_build_list = on_build_tuple

    def on_list_extend(self, count: int) -> None:
        values = self.pop()
        target = self.stack[-count]
        if target != () or not isinstance(values, tuple | list):
            raise Unrecognised
        self.stack[-count] = tuple(values)

    def on_list_to_tuple(self, _: int) -> None:
        pass

    def on_build_slice(self, count: int) -> None:
        self.stack.append(slice(*(constant(value) for value in self.pop(count))))

    def on_binary_slice(self, _: int) -> None:
        self.on_build_slice(2)
        self.index()

    def on_binary_subscr(self, _: int) -> None:
        self.index()

    def on_unpack_sequence(self, count: int) -> None:
        value = self.pop()
        values = value.values if isinstance(value, Items) else value
        if isinstance(values, All):
            values = [Given(number) for number in range(values.count)]
        if not isinstance(values, tuple | list) or len(values) != count:
            raise Unrecognised
        self.stack += reversed(values)

    def on_unary_negative(self, _: int) -> None:
        value = self.pop()
        if type(value) in {int, float}:
            self.stack.append(-value)
        elif isinstance(value, Given | Call):
            self.stack.append(Call("neg", (value,)))
        else:
            raise Unrecognised

    def on_unary_positive(self, _: int) -> None:
        if not isinstance(self.stack[-1], Given | Call | int | float):
            raise Unrecognised

    def on_call_pairs(self, argument: int) -> None:
        """Positional arguments, then pairs of a name and a value."""
        pairs = self.pop(2 * (argument >> 8))
        args = self.pop(argument & 0xFF)
        self.call(self.pop(), [*args, *pairs[1::2]], pairs[::2])

    def on_call_function(self, count: int) -> None:
        args = self.pop(count)
        self.call(self.pop(), args, ())

    def on_call_function_kw(self, count: int) -> None:
        names = self.pop()
        args = self.pop(count)
        self.call(self.pop(), args, names)

    def on_call_method(self, count: int) -> None:
        self.on_call(count)

    def on_kw_names(self, number: int) -> None:
        self.keywords = self.code.constants[number]

    def on_call(self, count: int) -> None:
        args = self.pop(count)
        functions = [value for value in self.pop(2) if value is not NULL]
        if len(functions) != 1:
            raise Unrecognised
        names, self.keywords = self.keywords, ()
        self.call(functions[0], args, names)

    def on_call_kw(self, count: int) -> None:
        self.keywords = self.pop()
        self.on_call(count)


NUMBERS: Mapping[str, float] = dict.fromkeys(("np.pi", "numpy.pi", "math.pi"), math.pi)
NEW_AXIS = Name("tf.newaxis")


def _calls_in(value: Any, found: dict[int, Call]) -> dict[int, Call]:
    """The calls whose results a value depends on."""
    if isinstance(value, Call):
        if id(value) not in found:
            found[id(value)] = value
            for part in (*value.args, *(item for _, item in value.kwargs)):
                _calls_in(part, found)
    elif isinstance(value, Items):
        for part in value.values:
            _calls_in(part, found)
    return found


def _unknown(_: int) -> None:
    raise Unrecognised


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, tuple) else (value,)


def constant(value: Any) -> Any:
    """A bound of a slice."""
    if value is not None and type(value) is not int:
        raise Unrecognised
    return value
