"""Axes and orders: names for the dimensions of a Variable.

An Order is an annotation. Converter handlers use it to align operands by axis name, and the
manifest reports it as the layout of inputs and outputs. It never affects computed values.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Axis:
    """The name of one dimension. Axes compare by name."""

    name: str

    def __str__(self) -> str:
        return self.name


N, C, H, W, D, T, KH, KW = AXES = tuple(
    Axis(name) for name in ("N", "C", "H", "W", "D", "T", "KH", "KW")
)
PREDEFINED = {axis.name: axis for axis in AXES}


@dataclass(frozen=True, slots=True)
class Order:
    """One axis per dimension, no axis twice."""

    axes: tuple[Axis, ...]

    def __post_init__(self) -> None:
        if len(set(self.axes)) != len(self.axes):
            raise ValueError(f"order {self}: an axis appears twice")

    def __len__(self) -> int:
        return len(self.axes)

    def __contains__(self, axis: Axis) -> bool:
        return axis in self.axes

    def index(self, axis: Axis) -> int:
        """The dimension labelled `axis`. Raises ValueError if there is none."""
        return self.axes.index(axis)

    def __str__(self) -> str:
        return ",".join(axis.name for axis in self.axes)


def parse_order(text: str) -> Order:
    """Parse the comma-separated form of an Order; the inverse of `str`."""
    names = text.split(",") if text else []
    return Order(tuple(PREDEFINED.get(name, Axis(name)) for name in names))


def anonymous(rank: int) -> Order:
    """An Order of `rank` placeholder axes without a meaning."""
    return Order(tuple(Axis(f"_{index}") for index in range(rank)))


OrderC = Order((C,))
OrderNC = Order((N, C))
OrderCN = Order((C, N))
OrderNTC = Order((N, T, C))
OrderHWC = Order((H, W, C))
OrderNHWC = Order((N, H, W, C))
OrderNCHW = Order((N, C, H, W))
OrderNDHWC = Order((N, D, H, W, C))
OrderNCDHW = Order((N, C, D, H, W))
OrderHWCN = Order((H, W, C, N))
