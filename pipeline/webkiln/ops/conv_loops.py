"""The loop nests of convolutions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from webkiln.ir.attributes import Attributes
from webkiln.ir.dim import Shape, Size, is_at_least, is_symbolic, known
from webkiln.nest.build import Lowering, NestBuilder
from webkiln.nest.expr import Expr, apply
from webkiln.nest.steps import View
from webkiln.ops.window import Phase, all_in_bounds, phases, window_index, write_padded

Element = tuple[View, Sequence[Expr]]
"""An operand and an index."""
Product = Callable[[NestBuilder, Element, Element, Expr | None, tuple[Expr, Expr]], Expr]
"""The product of an element of x and one of the kernel, given whether the element of x is inside,
not in the padding, and the group and the feature in it.
"""


@dataclass(frozen=True, slots=True)
class Conv(Attributes):
    x_dims: tuple[int, ...]
    w_dims: tuple[int, ...]
    out_dims: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    pad_low: Shape
    pad_high: Shape
    groups: Size = 1
    x_dilation: tuple[int, ...] = ()


def x_dilation_of(attrs: Conv, rank: int) -> tuple[int, ...]:
    """The dilation of each spatial axis of x; an empty attribute means 1."""
    return attrs.x_dilation or (1,) * (rank - 2)


def has_open_phases(attrs: Conv) -> bool:
    """Whether symbolic sizes determine which taps read elements of a dilated x."""
    x_dilation = x_dilation_of(attrs, len(attrs.pad_low) + 2)
    return any(
        is_symbolic(before % gap) for before, gap in zip(attrs.pad_low, x_dilation, strict=True)
    )


def lower_conv(
    low: Lowering,
    attrs: Conv,
    x: View,
    w: View,
    bias: Sequence[View],
    product_of: Product,
    *,
    copies_padding: bool,
) -> None:
    """One nest per combination of phases (`ops/window.py`). There is only one without `x_dilation`,
    and if symbolic sizes determine which taps read elements: then the dilated input is stored.
    """
    x_dilation = x_dilation_of(attrs, x.type.rank)
    pad_low = attrs.pad_low
    if has_open_phases(attrs):
        x, x_dilation = _dilated_input(low, x, attrs, x_dilation), (1,) * len(x_dilation)
    if (
        copies_padding
        and max(x_dilation, default=1) == 1
        and all(is_at_least(pad, 0) for pad in (*pad_low, *attrs.pad_high))
        and any((*pad_low, *attrs.pad_high))
    ):
        x = _padded_input(low, x, attrs)
        pad_low = (0,) * len(pad_low)
    rows = zip(attrs.x_dims[2:], attrs.out_dims[2:], attrs.w_dims[2:], strict=True)
    sizes = [
        (x[source], low.outputs[0][target], known(w[window], "a size of the kernel"))
        for source, target, window in rows
    ]
    options = zip(attrs.strides, attrs.dilation, pad_low, x_dilation, strict=True)
    for combination in product(
        *(
            phases(size, count, window, stride, gap, before, inner)
            for (size, count, window), (stride, gap, before, inner) in zip(
                sizes, options, strict=True
            )
        )
    ):
        _lower_phases(low, attrs, x, w, bias, product_of, combination)


def _lower_phases(
    low: Lowering,
    attrs: Conv,
    x: View,
    w: View,
    bias: Sequence[View],
    product_of: Product,
    combination: Sequence[Phase],
) -> None:
    """Append the nest of one combination of phases, one per spatial axis."""
    nest = low.nest()
    out = low.outputs[0]
    groups = attrs.groups
    features, channels = w[attrs.w_dims[0]] // groups, w[attrs.w_dims[1]]
    counts = dict(zip(attrs.out_dims[2:], (phase.count for phase in combination), strict=True))

    sizes, extents, role = _split_output(out, attrs, counts, [groups, features])
    index = list(nest.axes(extents))
    batch = index[role[attrs.out_dims[0]]]
    group, feature = index[role[attrs.out_dims[1]]], index[role[attrs.out_dims[1]] + 1]
    positions = [index[role[dimension]] for dimension in attrs.out_dims[2:]]
    taps = [nest.reduce(phase.taps) for phase in combination]
    channel = nest.reduce(channels)

    checks: list[tuple[Expr, Size]] = []
    reads: list[Expr] = []
    for axis, phase in enumerate(combination):
        reads.append(
            window_index(
                nest,
                positions[axis],
                taps[axis],
                phase.stride,
                phase.dilation,
                phase.low,
                shared=phase.period > 1,
            )
        )
        if phase.padded:
            checks.append((reads[axis], x[attrs.x_dims[axis + 2]]))
        if phase.every > 1:
            taps[axis] = taps[axis] * nest.number(phase.every) + nest.argument(phase.first)
        if phase.period > 1:
            index[role[attrs.out_dims[axis + 2]]] = positions[axis] * nest.number(
                phase.period
            ) + nest.argument(phase.start)
    x_element = _split(x, attrs.x_dims, batch, (group, channel), reads, [groups, channels])
    w_element = _split_kernel(w, attrs.w_dims, (group, feature), channel, taps, groups)
    inside = all_in_bounds(nest, checks)
    body = product_of(nest, x_element, w_element, inside, (group, feature))
    total = nest.accumulate("sum", body)
    if bias:
        total = total + nest.load(bias[0].reshaped((groups, features)), (group, feature))
    nest.store(out.reshaped(sizes), total, index)
    nest.done()


def _split_output(
    out: View, attrs: Conv, counts: Mapping[int, Size], parts: Sequence[Size]
) -> tuple[list[Size], list[Size], list[int]]:
    """The shape of the output with its features as (group, feature), the extents of a phase, and
    the first dimension in that shape for each of the output.
    """
    sizes: list[Size] = []
    extents: list[Size] = []
    role: list[int] = []
    for dimension in range(out.type.rank):
        role.append(len(sizes))
        split = parts if dimension == attrs.out_dims[1] else [out[dimension]]
        sizes += split
        extents += [counts[dimension]] if dimension in counts else split
    return sizes, extents, role


def _padded_input(low: Lowering, x: View, attrs: Conv) -> View:
    """A padded copy of x. With few channels, it is cheaper than guards on all taps, and without
    guards a row of taps is contiguous in memory.
    """
    before: list[Size] = [0] * x.type.rank
    shape = list(x.shape)
    for dimension, first, last in zip(attrs.x_dims[2:], attrs.pad_low, attrs.pad_high, strict=True):
        before[dimension] = first
        shape[dimension] += first + last
    padded = low.temporary(x.type.dtype, shape)
    write_padded(low, x, padded, before, 0)
    return padded


def _dilated_input(low: Lowering, x: View, attrs: Conv, x_dilation: Sequence[int]) -> View:
    """A copy of x with zeros between its elements."""
    gaps = [
        dict(zip(attrs.x_dims[2:], x_dilation, strict=True)).get(dimension, 1)
        for dimension in range(x.type.rank)
    ]
    dilated = low.temporary(
        x.type.dtype, [(size - 1) * gap + 1 for size, gap in zip(x.shape, gaps, strict=True)]
    )
    nest = low.nest()
    index = nest.axes(dilated.shape)
    source = [
        item if gap == 1 else apply("floordiv", item, nest.argument(gap))
        for item, gap in zip(index, gaps, strict=True)
    ]
    remainders = [
        (item - quotient * nest.argument(gap), 1)
        for item, quotient, gap in zip(index, source, gaps, strict=True)
        if gap > 1
    ]
    nest.store(dilated, nest.load(x, source, all_in_bounds(nest, remainders), 0))
    nest.done()
    return dilated


def _split(
    x: View,
    dims: Sequence[int],
    batch: Expr,
    features: tuple[Expr, Expr],
    positions: Sequence[Expr],
    sizes: Sequence[Size],
) -> tuple[View, list[Expr]]:
    """Reshape the feature dimension of `x` to (group, channel). Returns the view and its index."""
    shape: list[Size] = []
    index: list[Expr] = []
    for dimension in range(x.type.rank):
        if dimension == dims[1]:
            shape += sizes
            index += features
        else:
            shape.append(x[dimension])
            index.append(
                batch if dimension == dims[0] else positions[list(dims).index(dimension) - 2]
            )
    return x.reshaped(shape), index


def _split_kernel(
    w: View,
    dims: Sequence[int],
    features: tuple[Expr, Expr],
    channel: Expr,
    taps: Sequence[Expr],
    groups: Size,
) -> tuple[View, list[Expr]]:
    """Reshape the feature dimension of `w` to (group, feature). Returns the view and its index."""
    shape: list[Size] = []
    index: list[Expr] = []
    for dimension in range(w.type.rank):
        if dimension == dims[0]:
            shape += [groups, w[dimension] // groups]
            index += features
        else:
            shape.append(w[dimension])
            index.append(channel if dimension == dims[1] else taps[list(dims).index(dimension) - 2])
    return w.reshaped(shape), index
