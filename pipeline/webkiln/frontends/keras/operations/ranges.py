"""keras.ops operations that create ranges."""

from webkiln.ir.types import is_float
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import (
    Argument,
    Operation,
    as_dtype,
    floating,
    numbers,
    promote,
    result_of,
)
from webkiln.ops.pieces import cast, reshaped


def evenly_spaced(
    b: GraphBuilder, start: Tensor, stop: Tensor, count: int, *, endpoint: bool = True
) -> Tensor:
    """A number of values from one to another, along a new first axis. The last one is exact if it
    is included.
    """
    start, stop = _same_rank(b, start, stop)
    steps = count - 1 if endpoint else count
    n = numbers(b, count, start.dtype, 0, 1 + max(start.type.rank, stop.type.rank))
    distance = b.op("Sub", [stop, start])
    y = b.op("Add", [start, b.op("Mul", [distance / float(max(steps, 1)), n])])
    return (
        b.op("Where", [b.binary("Equal", n, float(count - 1)), stop, y])
        if endpoint and count > 1
        else y
    )


def _same_rank(b: GraphBuilder, start: Tensor, stop: Tensor) -> list[Tensor]:
    rank = max(start.type.rank, stop.type.rank)
    return [reshaped(b, x, (*(1,) * (rank - x.type.rank), *x.shape)) for x in (start, stop)]


def _ends(
    b: GraphBuilder, start: Argument, stop: Argument, dtype: str | None
) -> tuple[list[Tensor], str]:
    """In floating point, then cast to the requested dtype."""
    asked = dtype or result_of(start, stop, floating=True)
    work = asked if is_float(asked) else promote([asked, "float"])
    return [
        as_dtype(b, x, work) if not isinstance(x, Tensor) else cast(b, x, work)
        for x in (start, stop)
    ], asked


def _along(b: GraphBuilder, y: Tensor, axis: int) -> Tensor:
    perm = list(range(1, y.type.rank))
    perm.insert(axis % y.type.rank, 0)
    return b.op("Transpose", [y], {"perm": tuple(perm)})


def linspace(
    b: GraphBuilder,
    start: Argument,
    stop: Argument,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: str | None = None,
    axis: int = 0,
) -> Tensor | list[Tensor]:
    ends, asked = _ends(b, start, stop, dtype)
    y = evenly_spaced(b, ends[0], ends[1], num, endpoint=endpoint)
    y = y if is_float(asked) else b.op("Floor", [y])
    y = cast(b, _along(b, y, axis), asked)
    return [y, b.op("Sub", [ends[1], ends[0]]) / float(max(num - endpoint, 1))] if retstep else y


def logspace(
    b: GraphBuilder,
    start: Argument,
    stop: Argument,
    num: int = 50,
    endpoint: bool = True,
    base: float = 10,
    dtype: str | None = None,
    axis: int = 0,
) -> Tensor:
    y = linspace(b, start, stop, num, endpoint, dtype=dtype, axis=axis)
    assert isinstance(y, Tensor)
    return cast(
        b, b.binary("Pow", float(base), y if is_float(y.dtype) else floating(b, y)), y.dtype
    )


def geomspace(
    b: GraphBuilder,
    start: Argument,
    stop: Argument,
    num: int = 50,
    endpoint: bool = True,
    dtype: str | None = None,
    axis: int = 0,
) -> Tensor:
    """The logarithms of magnitudes are evenly spaced; all have the sign of the first."""
    ends, asked = _ends(b, start, stop, dtype)
    logs = [b.op("Log", [b.op("Abs", [end])]) for end in ends]
    y = _along(b, b.op("Exp", [evenly_spaced(b, logs[0], logs[1], num, endpoint=endpoint)]), axis)
    sign = b.op("Sign", [ends[0]])
    dim = axis % y.type.rank
    sign = reshaped(b, sign, (*(1,) * (y.type.rank - 1 - sign.type.rank), *sign.shape))
    return cast(
        b, b.op("Mul", [y, reshaped(b, sign, (*sign.shape[:dim], 1, *sign.shape[dim:]))]), asked
    )


RANGES: dict[str, Operation] = {"Linspace": linspace, "Logspace": logspace, "Geomspace": geomspace}
