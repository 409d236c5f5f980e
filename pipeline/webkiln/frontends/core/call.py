"""What the handlers of all formats know of the operator or layer that they convert."""

from typing import TYPE_CHECKING, Any, Protocol

from webkiln.errors import ShapeError, UnsupportedError

if TYPE_CHECKING:
    from webkiln.ops.builder import GraphBuilder, Tensor


class Call(Protocol):
    """One application of an operator or layer. `path` is its name in messages and slots, `operator`
    that of the operator or of the layer's class.
    """

    @property
    def path(self) -> str: ...

    @property
    def operator(self) -> str: ...

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute of the operator, or a value of the layer's configuration."""
        ...

    @property
    def where(self) -> str:
        return f"{self.path} ({self.operator})"

    def error(self, message: str) -> ShapeError:
        return ShapeError(f"{self.where}: {message}")

    def unsupported(self, what: str, hint: str) -> UnsupportedError:
        return UnsupportedError(self.path, [(self.where, what, hint)])

    def axis(self, value: int, rank: int) -> int:
        """Normalise an axis, which may be negative. Raise ShapeError if it is out of range."""
        if not -rank <= value < max(rank, 1):
            raise self.error(f"axis {value} is out of range for an operand of rank {rank}")
        return value % max(rank, 1)


class OperatorCall(Call, Protocol):
    """A call of an operator, whose operands are tensors of a graph under construction. Guards are
    added to the builder.
    """

    @property
    def builder(self) -> "GraphBuilder": ...

    def tensors(self) -> "list[Tensor]":
        """All operands as tensors."""
        ...
