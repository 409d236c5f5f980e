"""Bounds of the elements of a tensor that is computed when the model runs.

Bounds are integers or sizes. Elements may be floats: rounding is monotonic, and bounds of this
magnitude are representable, so they hold for results in floating point too. Integers of at least 32
bits are assumed not to overflow.
"""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, isfinite, prod

import numpy as np

from webkiln.ir.dim import Size, is_at_least, is_symbolic, maximum, minimum
from webkiln.ir.graph import Node
from webkiln.ir.types import is_integer, itemsize
from webkiln.ops.builder import Tensor
from webkiln.ops.conversion import Cast
from webkiln.ops.index import Iota, Sizes
from webkiln.ops.reduce import ArgReduction, Reduction
from webkiln.ops.unary import Clip

Bounds = tuple[Size | None, Size | None]
"""The lowest and the highest possible element; None if it is not known."""
Rule = Callable[[Node, Sequence[Tensor], Sequence[Bounds]], Bounds]
DEEPEST = 64
"""The number of operators that are followed from a tensor to its operands."""
UNKNOWN: Bounds = (None, None)


def bounds(x: Tensor) -> Bounds:
    """The bounds that follow from the operators that compute a tensor, and from its dtype."""
    return _bounds(x, {}, 0)


def _bounds(x: Tensor, computed: dict[str, Bounds], depth: int) -> Bounds:
    """`computed` has the bounds of the tensors that were met before, by name."""
    if x.name not in computed:
        value = x.builder.known(x)
        computed[x.name] = (
            (_floor(value.min()), _ceil(value.max()))
            if value is not None and value.size
            else _intersection(_of_producer(x, computed, depth), _of_dtype(x.dtype))
        )
    return computed[x.name]


def _of_producer(x: Tensor, computed: dict[str, Bounds], depth: int) -> Bounds:
    node = x.builder.producer(x)
    if node is None or node.outputs[0] != x.name or node.op not in RULES:
        return UNKNOWN
    if depth >= DEEPEST or x.dtype == "float16":
        return UNKNOWN
    operands = [x.builder.tensor(name) for name in node.inputs]
    return RULES[node.op](node, operands, [_bounds(y, computed, depth + 1) for y in operands])


def _floor(value: float) -> int | None:
    return floor(value) if isfinite(value) else None


def _ceil(value: float) -> int | None:
    return ceil(value) if isfinite(value) else None


def _of_dtype(dtype: str) -> Bounds:
    if dtype == "bool":
        return 0, 1
    if not is_integer(dtype) or itemsize(dtype) > 2:
        return (0, None) if dtype.startswith("uint") else UNKNOWN
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


def _intersection(a: Bounds, b: Bounds) -> Bounds:
    lows = [item for item in (a[0], b[0]) if item is not None]
    highs = [item for item in (a[1], b[1]) if item is not None]
    return (
        maximum(lows) if lows else None,
        (minimum(*highs) if len(highs) == 2 else highs[0]) if highs else None,
    )


def _union(items: Sequence[Bounds]) -> Bounds:
    lows, highs = ([item[side] for item in items] for side in (0, 1))
    low = None if None in lows else -maximum([-item for item in lows if item is not None])
    return low, None if None in highs else maximum([item for item in highs if item is not None])


def _first(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    return items[0]


def _any(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    return _union(items)


def _chosen(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    return _union(items[1:])


def _cast(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    """Integers of fewer bits wrap."""
    dtype = node.attrs_as(Cast).dtype
    low, high = _of_dtype(dtype)
    if (low, high) == UNKNOWN or dtype == "bool":
        return items[0]
    fits = (low is None or (items[0][0] is not None and is_at_least(items[0][0], low))) and (
        high is None or (items[0][1] is not None and is_at_least(high, items[0][1]))
    )
    return items[0] if fits else (low, high)


def _least(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    low, _ = _union(items)
    _, high = _intersection((None, items[0][1]), (None, items[1][1]))
    return low, high


def _greatest(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    _, high = _union(items)
    low, _ = _intersection((items[0][0], None), (items[1][0], None))
    return low, high


def _clip(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    attrs = node.attrs_as(Clip)
    return _intersection(items[0], (_floor(attrs.min), _ceil(attrs.max)))


def _sum(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    (low, high), (other_low, other_high) = items
    return (
        None if low is None or other_low is None else low + other_low,
        None if high is None or other_high is None else high + other_high,
    )


def _negative(item: Bounds) -> Bounds:
    low, high = item
    return None if high is None else -high, None if low is None else -low


def _product(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    (low, high), (other_low, other_high) = items
    if low is None or other_low is None or not (is_at_least(low, 0) and is_at_least(other_low, 0)):
        return UNKNOWN
    return low * other_low, None if high is None or other_high is None else high * other_high


def _total(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    count = prod(xs[0].shape[axis] for axis in node.attrs_as(Reduction).axes)
    (low, high) = items[0]
    return None if low is None else low * count, None if high is None else high * count


def _index(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    return 0, xs[0].shape[node.attrs_as(ArgReduction).axis] - 1


def _remainder(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    low, high = items[1]
    if low is None or high is None or not is_at_least(low, 1):
        return UNKNOWN
    return 0, high - 1


def _quotient(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    """Division by 1 or more moves a number towards 0, or to -1."""
    (low, high), (divisor, most) = items
    if divisor is None or not is_at_least(divisor, 1):
        return UNKNOWN
    if most == divisor and not is_symbolic(divisor):
        return (
            None if low is None else low // divisor,
            None if high is None else -(-high // divisor),
        )
    return (
        None if low is None else -maximum([-low, 0]),
        None if high is None else maximum([high, 0]),
    )


def _fraction(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    return 0, 1


def _sizes(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    sizes = list(node.attrs_as(Sizes).sizes)
    return -maximum([-size for size in sizes]), maximum(sizes)


def _range(node: Node, xs: Sequence[Tensor], items: Sequence[Bounds]) -> Bounds:
    return 0, node.attrs_as(Iota).size - 1


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("Identity", "Reshape", "Transpose", "Broadcast", "Slice", "Sort"), _first),
    **dict.fromkeys(("Gather", "GatherElements", "GatherND"), _first),
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ReduceMean"), _first),
    **dict.fromkeys(("Floor", "Ceil", "Round"), _first),
    "Concat": _any,
    "Where": _chosen,
    "Cast": _cast,
    "Min": _least,
    "Max": _greatest,
    "Clip": _clip,
    "Relu": lambda node, xs, items: _greatest(node, xs, [items[0], (0, 0)]),
    "Relu6": lambda node, xs, items: (0, 6),
    "Add": _sum,
    "Sub": lambda node, xs, items: _sum(node, xs, [items[0], _negative(items[1])]),
    "Neg": lambda node, xs, items: _negative(items[0]),
    "Mul": _product,
    "ReduceSum": _total,
    **dict.fromkeys(("ArgMax", "ArgMin"), _index),
    "Mod": _remainder,
    **dict.fromkeys(("FloorDiv", "Div"), _quotient),
    **dict.fromkeys(("Sigmoid", "Softmax", "HardSigmoid"), _fraction),
    "Sizes": _sizes,
    "Iota": _range,
}
