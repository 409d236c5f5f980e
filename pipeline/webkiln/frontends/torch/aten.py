"""The view of a node for handlers of ATen operators: arguments by schema name, promoted like
ATen's.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.frontends.core.call import OperatorCall
from webkiln.frontends.nodes.call import (
    GraphValue,
    NodeCall,
    NodeHandler,
    NodeResult,
    as_tensor,
    known,
)
from webkiln.ir.dim import Shape, all_known, is_symbolic
from webkiln.ir.rational import Rational
from webkiln.ir.types import is_float, is_integer, itemsize
from webkiln.ops.builder import GraphBuilder, Scalar, Tensor
from webkiln.ops.pieces import cast, sized

TENSOR, NUMBER, LIST = "%", "#", "@"
"""Prefixes of attributes that hold the position of an operand: a tensor, a Python number, or a list
of numbers.
"""
DTYPES = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    11: "bool",
    27: "uint16",
    28: "uint32",
    29: "uint64",
}
"""By TorchScript's codes."""


class AtenCall(OperatorCall):
    """A node with its arguments. `b` is the graph builder."""

    def __init__(self, call: NodeCall) -> None:
        self.call, self.b = call, call.builder

    @property
    def path(self) -> str:
        return self.call.path

    @property
    def operator(self) -> str:
        return self.call.operator

    @property
    def builder(self) -> GraphBuilder:
        return self.b

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute as the spec has it: operands are positions."""
        return self.call.attr(name, default)

    def tensors(self) -> list[Tensor]:
        return self.call.tensors()

    @property
    def overload(self) -> str:
        return str(self.attr("overload", ""))

    def has(self, name: str) -> bool:
        return self.call.attr(name) is not None

    def __getitem__(self, name: str) -> Any:
        """An argument: a tensor, a number or a size, a string, None, or a tuple of these."""
        return self._resolved(self.call.attr(name))

    def get(self, name: str, default: Any = None) -> Any:
        value = self[name]
        return default if value is None else value

    def _resolved(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(self._resolved, value))
        position = operand_index(value)
        if position is None:
            return value
        constant = self.call.operand(position).value
        if value[0] == LIST:
            return tuple(self.call.value(position).reshape(-1).tolist())
        return (
            self.call.tensor(position)
            if value[0] == TENSOR or constant is None
            else constant.reshape(()).item()
        )

    def operand(self, name: str) -> GraphValue:
        """A tensor argument, with its known value."""
        return self.call.operand(int(self.call.attr(name)[1:]))

    def tensor(self, name: str = "self") -> Tensor:
        value = self[name]
        if isinstance(value, Tensor):
            return value
        if value is None or isinstance(value, str | tuple):
            raise self.error(f"its argument {name} is {value!r}, expected a tensor")
        return self.scalar(value, number_dtype(value))

    def optional(self, name: str) -> Tensor | None:
        return self.tensor(name) if self.has(name) else None

    def number(self, name: str) -> Any:
        """A number that must be known at build time, or a size."""
        value = self[name]
        if isinstance(value, Tensor):
            raise self.call.data_dependent_error(int(self.call.attr(name)[1:]))
        return value

    def integers(self, name: str) -> tuple[int, ...]:
        """A constant list of integers."""
        numbers = all_known(self.sizes(name))
        if numbers is None:
            raise self.error(f"its argument {name} has a symbolic size, but must be constant")
        return numbers

    def sizes(self, name: str) -> Shape:
        value = self[name]
        value = value if isinstance(value, tuple) else (value,)
        if any(isinstance(item, Tensor) for item in value):
            raise self.error(f"its argument {name} is only known at run time, but must be constant")
        return tuple(item if is_symbolic(item) else int(item) for item in value)

    def scalar(self, value: Any, dtype: str) -> Tensor:
        """A Python number or a size as a tensor."""
        if isinstance(value, Rational):
            return self.cast(as_tensor(self.b, known(np.array(value, object), "float64")), dtype)
        return (
            sized(self.b, value, dtype)
            if is_symbolic(value)
            else self.b.constant(plain(value, dtype), dtype)
        )

    def axes(self, name: str, rank: int) -> tuple[int, ...]:
        """Non-negative axes. By default, all axes."""
        value = self[name]
        value = () if value is None else value if isinstance(value, tuple) else (value,)
        return (
            tuple(sorted({self.axis(axis, rank) for axis in value}))
            if value
            else tuple(range(rank))
        )

    def dtype(self, default: str, name: str = "dtype") -> str:
        value = self.call.attr(name)
        if value is None:
            return default
        dtype = DTYPES.get(value) if isinstance(value, int) else str(value)
        if dtype not in DTYPES.values():
            raise self.unsupported(
                f"returns elements of {value}", f"Supported are {', '.join(DTYPES.values())}"
            )
        return str(dtype)

    def op(self, op: str, *inputs: Tensor, **attrs: Any) -> Tensor:
        return self.b.op(op, inputs, attrs)

    def cast(self, x: Tensor, dtype: str) -> Tensor:
        return cast(self.b, x, dtype)

    def like(self, value: Scalar, x: Tensor) -> Tensor:
        return self.b.constant(plain(value, x.dtype), x.dtype)

    def promoted(self, *names: str) -> list[Tensor]:
        """Arguments in the dtype that ATen computes in."""
        items = [self[name] for name in names]
        dtype = result_dtype(items)
        return [
            self.cast(item, dtype) if isinstance(item, Tensor) else self.scalar(item, dtype)
            for item in items
        ]

    def floating(self, name: str = "self") -> Tensor:
        """An argument. Integers and booleans become float32."""
        return floating(self.b, self.tensor(name))


def operand_index(value: Any) -> int | None:
    """The position of the operand that an attribute refers to."""
    return (
        int(value[1:])
        if isinstance(value, str) and value[:1] in (TENSOR, NUMBER, LIST) and value[1:].isdigit()
        else None
    )


def plain(value: Any, dtype: str) -> Scalar:
    """A number in a dtype."""
    return bool(value) if dtype == "bool" else float(value) if is_float(dtype) else int(value)


def floating(b: GraphBuilder, x: Tensor) -> Tensor:
    return x if is_float(x.dtype) else cast(b, x, "float32")


def number_dtype(value: Any) -> str:
    """The dtype of torch.tensor for a Python number."""
    is_float = isinstance(value, float | Rational)
    return "bool" if isinstance(value, bool) else "float32" if is_float else "int64"


def result_dtype(items: list[Any]) -> str:
    """torch.result_type: tensors of rank 1 or more take precedence over scalars, and these over
    numbers, unless the latter are of a higher category.
    """
    levels: list[str | None] = [None, None, None]
    for item in items:
        level = 2 if not isinstance(item, Tensor) else 1 if item.type.rank == 0 else 0
        dtype = item.dtype if isinstance(item, Tensor) else number_dtype(item)
        current = levels[level]
        levels[level] = dtype if current is None else wider(current, dtype)
    result = _combined(levels[0], _combined(levels[1], levels[2]))
    assert result is not None
    return result


def _combined(higher: str | None, lower: str | None) -> str | None:
    if higher is None or lower is None:
        return higher or lower
    if not is_float(higher) and (higher == "bool" or is_float(lower)):
        return wider(higher, lower)
    return higher


def wider(a: str, b: str) -> str:
    """torch.promote_types."""
    if b in (a, "bool"):
        return a
    if a == "bool":
        return b
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    if is_integer(a) and a.startswith("uint") != b.startswith("uint"):
        signed, unsigned = (b, a) if a.startswith("uint") else (a, b)
        return (
            signed
            if itemsize(signed) > itemsize(unsigned)
            else f"int{min(16 * itemsize(unsigned), 64)}"
        )
    return a if itemsize(a) >= itemsize(b) else b


AtenHandler = Callable[[AtenCall], NodeResult]


def handled(table: Mapping[str, AtenHandler]) -> dict[str, NodeHandler]:
    """Adapt handlers of schema arguments to handlers of nodes."""

    def of_node(handler: AtenHandler) -> NodeHandler:
        return lambda call: handler(AtenCall(call))

    return {name: of_node(handler) for name, handler in table.items()}
