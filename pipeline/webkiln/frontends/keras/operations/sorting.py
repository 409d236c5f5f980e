"""keras.ops operations that sort, search and count elements."""

from math import prod
from typing import Any

import numpy as np

from webkiln.errors import ShapeError
from webkiln.frontends.keras.operations.ranges import evenly_spaced
from webkiln.ir.dim import Size, known
from webkiln.ir.types import is_float, is_integer
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.functional.operands import (
    FLOAT,
    Argument,
    Operation,
    as_dtype,
    axes_of,
    floating,
    full,
    like,
    numbers,
    operands,
    tensor,
)
from webkiln.ops.pieces import cast, filled, part, reshaped


def sorted_along(
    b: GraphBuilder, x: Argument, axis: int | None, *, descending: bool = False
) -> tuple[Tensor, Tensor]:
    """The sorted elements and their indices; without an axis, of the flattened operand."""
    x = tensor(b, x)
    x = reshaped(b, x, (x.type.size,)) if axis is None else x
    values, indices = b.ops(
        "Sort", [x], {"axis": (axis or 0) % x.type.rank, "descending": descending}
    )
    return values, cast(b, indices, "int32")


def sort(b: GraphBuilder, x: Argument, axis: int | None = -1) -> Tensor:
    return sorted_along(b, x, axis)[0]


def argsort(b: GraphBuilder, x: Argument, axis: int | None = -1) -> Tensor:
    return sorted_along(b, x, axis)[1]


def argpartition(b: GraphBuilder, x: Argument, kth: int, axis: int | None = -1) -> Tensor:
    """Sorted up to the kth element, the others in descending order."""
    values, order = sorted_along(b, x, axis)
    along = (axis or 0) % values.type.rank
    size = values.shape[along]
    first = min(max(kth, 0), size - 1) + 1
    ranks = argsort(b, order, along)
    elements = reshaped(b, tensor(b, x), values.shape)
    least = b.op("Broadcast", [part(b, values, along, 0, 1)], {"shape": values.shape})
    rest = b.op("Where", [b.binary("Less", ranks, first), least, elements])
    late = b.op(
        "Where", [b.binary("Less", ranks, first), b.constant(1, "int32"), b.constant(0, "int32")]
    )
    falling = sorted_along(b, rest, along, descending=True)[1]
    last = sorted_along(b, b.op("GatherElements", [late, falling], {"axis": along}), along)[1]
    others = b.op(
        "GatherElements", [falling, part(b, last, along, 0, size - first)], {"axis": along}
    )
    return b.op("Concat", [part(b, order, along, 0, first), others], {"axis": along})


def search(
    b: GraphBuilder, sorted_sequence: Argument, values: Argument, side: str = "left"
) -> Tensor:
    """The number of elements of the sequence that are below each value or, with side "right", not
    above it.
    """
    row, needles = operands(b, sorted_sequence, values)
    before = b.op(
        "Less" if side == "left" else "LessEqual", [row, reshaped(b, needles, (*needles.shape, 1))]
    )
    return _sum(b, cast(b, before, "int32"), needles.type.rank)


def _sum(b: GraphBuilder, x: Tensor, *axes: int) -> Tensor:
    return b.op("ReduceSum", [x], {"axes": axes, "keepdims": False})


def digitize(b: GraphBuilder, x: Argument, bins: Argument) -> Tensor:
    x = tensor(b, x)
    wide = x.dtype if x.dtype == "float64" else FLOAT
    return search(b, cast(b, as_dtype(b, bins, FLOAT), wide), cast(b, x, wide), "right")


def is_in(
    b: GraphBuilder, x1: Argument, x2: Argument, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    x1, x2 = operands(b, x1, x2)
    same = b.op("Equal", [reshaped(b, x1, (*x1.shape, 1)), reshaped(b, x2, (x2.type.size,))])
    matches = b.binary("Greater", _sum(b, cast(b, same, "int32"), x1.type.rank), 0)
    return b.op("Not", [matches]) if invert else matches


def histogram(b: GraphBuilder, x: Argument, bins: int = 10, range: Any = None) -> list[Tensor]:  # noqa: A002 - the name that Keras gives it
    """The number of elements in each bin, and the bin edges, in the dtype of the elements."""
    x = tensor(b, x)
    least, most = (
        b.op(op, [x], {"axes": (0,), "keepdims": False}) for op in ("ReduceMin", "ReduceMax")
    )
    if range:
        least, most = (as_dtype(b, end, x.dtype) for end in range)
    wide = (
        x.dtype
        if is_float(x.dtype) and x.dtype != "float16"
        else "float64"
        if is_integer(x.dtype)
        else FLOAT
    )
    edges = cast(b, evenly_spaced(b, cast(b, least, wide), cast(b, most, wide), bins + 1), x.dtype)
    inner = part(b, edges, 0, 1, bins - 1)
    inside = b.op("And", [b.op("GreaterEqual", [x, least]), b.op("LessEqual", [x, most])])
    indices = search(b, inner, x, "right") if bins > 1 else filled(b, 0, "int32", x.shape)
    own = b.op("Equal", [reshaped(b, indices, (*x.shape, 1)), numbers(b, bins, "int32")])
    counted = b.op("And", [own, reshaped(b, inside, (*x.shape, 1))])
    return [cast(b, _sum(b, cast(b, counted, "int32"), 0), x.dtype), edges]


def unique(
    b: GraphBuilder,
    x: Argument,
    sorted: bool = True,  # noqa: A002 - the name that Keras gives it
    axis: int | None = None,
    size: int | None = None,
    fill_value: Any = None,
    **requested: bool,
) -> list[Tensor]:
    """The unique elements, or slices of an axis, with the `requested` further results. Without a
    size, their number is data-dependent.
    """
    x = tensor(b, x)
    axis = None if axis is None else axis % x.type.rank
    values, first, inverse, counts = b.ops(
        "Unique",
        [x],
        {
            "axis": axis,
            "sorted": sorted,
            "equal_nan": axis is not None,
            "count": b.data_dependent(),
        },
    )
    inverse = reshaped(b, inverse, x.shape) if axis is None else inverse
    optional = {
        "return_index": (first, 1),
        "return_inverse": (inverse, None),
        "return_counts": (counts, 0),
    }
    results = [_sized(b, values, axis or 0, size, 0 if fill_value is None else fill_value)]
    for name, (item, fill) in optional.items():
        if requested.get(name):
            indices = cast(b, item, "int32")
            results.append(indices if fill is None else _sized(b, indices, 0, size, fill))
    return results


def _sized(b: GraphBuilder, x: Tensor, axis: int, size: Size | None, fill: float) -> Tensor:
    """A fixed number of elements of an axis, padded if necessary."""
    if size is None:
        return x
    rest = full(b, fill, x.dtype, [size if d == axis else n for d, n in enumerate(x.shape)])
    return part(b, b.op("Concat", [x, rest], {"axis": axis}), axis, 0, size)


def quantile_of(*, percent: bool = False, skip_nan: bool = False) -> Operation:
    """quantile, percentile, and the variants that ignore NaN."""

    def apply(
        b: GraphBuilder,
        x: Argument,
        q: Argument = 0.5,
        axis: Any = None,
        method: str = "linear",
        keepdims: bool = False,
    ) -> Tensor:
        elements = floating(b, x)
        if skip_nan and axis is not None and not isinstance(axis, int) and not axis:
            return elements
        axes, rank, dtype = axes_of(axis, elements.type.rank), elements.type.rank, elements.dtype
        others = [d for d in range(rank) if d not in axes]
        q = cast(
            b,
            as_dtype(b, q, FLOAT) if not isinstance(q, Tensor) or percent else q,
            FLOAT if percent else tensor(b, q).dtype,
        )
        shape = q.shape
        q = cast(b, reshaped(b, q / 100.0 if percent else q, (q.type.size,)), "float64")
        lanes = b.op("Transpose", [elements], {"perm": (*others, *axes)})
        outer, size = [elements.shape[d] for d in others], prod(elements.shape[d] for d in axes)
        lanes = reshaped(b, lanes, (*outer, size))
        y = _quantiles(b, lanes, q, method, skip_nan=skip_nan)
        y = b.op("Transpose", [y], {"perm": (len(others), *range(len(others)))})
        return cast(
            b,
            reshaped(
                b,
                y,
                (
                    *shape,
                    *(
                        [1 if d in axes else n for d, n in enumerate(elements.shape)]
                        if keepdims
                        else outer
                    ),
                ),
            ),
            dtype,
        )

    return apply


def _quantiles(b: GraphBuilder, x: Tensor, q: Tensor, method: str, *, skip_nan: bool) -> Tensor:
    """Along the last axis, which then has one element for each q."""
    last, size = x.type.rank - 1, known(x.shape[-1], "the size of the sorted axis")
    nan = cast(b, b.op("IsNaN", [x]), "int32")
    missing = b.op("ReduceSum", [nan], {"axes": (last,), "keepdims": True})
    positions, most = q * float(size - 1), b.constant(size - 1, "int32")
    if skip_nan:
        count = b.op("Sub", [b.constant(size, "int32"), missing])
        most = b.binary("Max", count - 1, 0)
        positions = b.op("Mul", [cast(b, most, "float64"), q])
    positions = b.op("Broadcast", [positions], {"shape": (*x.shape[:-1], q.shape[0])})
    row = b.ops("Sort", [x], {"axis": last})[0]

    def at(index: Tensor) -> Tensor:
        clamped = b.op("Max", [b.op("Min", [index, most]), b.constant(0, "int32")])
        return b.op("GatherElements", [row, clamped], {"axis": last})

    def rounded(op: str) -> Tensor:
        return cast(b, b.op(op, [positions]), "int32")

    if method in ROUNDED:
        y = at(rounded(ROUNDED[method]))
    elif method == "midpoint":
        y = b.op("Add", [at(rounded("Floor")), at(rounded("Ceil"))]) * 0.5
    elif method == "linear":
        below = b.binary("Max", b.op("Min", [rounded("Ceil"), most]) - 1, 0)
        above = b.op("Min", [below + 1, most])
        share = cast(b, b.op("Sub", [cast(b, above, "float64"), positions]), x.dtype)
        y = b.op("Add", [at(above) * (1.0 - share), at(below) * share])
    else:
        raise ShapeError(
            f"{b.layer}: method {method!r} does not exist; use linear, midpoint or one of"
            f" {', '.join(ROUNDED)}"
        )
    lost = (
        b.op("Equal", [missing, b.constant(size, "int32")])
        if skip_nan
        else b.binary("Greater", missing, 0)
    )
    return b.op("Where", [lost, like(b, np.nan, y), y])


ROUNDED = {"lower": "Floor", "higher": "Ceil", "nearest": "Round"}

SORTING: dict[str, Operation] = {
    "Sort": sort,
    "Argsort": argsort,
    "Argpartition": argpartition,
    "SearchSorted": search,
    "Digitize": digitize,
    "IsIn": is_in,
    "Histogram": histogram,
    "Unique": unique,
    "Median": quantile_of(),
    "Nanmedian": quantile_of(skip_nan=True),
    "Quantile": quantile_of(),
    "Percentile": quantile_of(percent=True),
    "Nanquantile": quantile_of(skip_nan=True),
    "Nanpercentile": quantile_of(percent=True, skip_nan=True),
}
