"""Slices of one axis."""

from webkiln.ir.dim import Size, all_known, is_symbolic, maximum, minimum
from webkiln.ir.rational import positive
from webkiln.ops.builder import GraphBuilder, Tensor

FAR = 10**9
"""Exporters write ends of at least this number for the end of an axis."""


def bounds(size: Size, start: Size, end: Size, step: Size) -> tuple[Size, Size]:
    """The first element and the number of elements, as in a Python slice."""
    if (numbers := all_known((size, start, end, step))) is not None:
        length, begin, stop, stride = numbers
        end_before = stop if stride > 0 or stop >= -length else None
        indices = range(length)[slice(begin, end_before, stride)]
        return (indices.start if len(indices) else 0), len(indices)

    def clamp(index: Size, lowest: Size, highest: Size) -> Size:
        if not is_symbolic(index) and index >= FAR:
            return highest
        if not is_symbolic(index) and index <= -FAR:
            return lowest
        from_start = index + size * positive(-index)
        return maximum([minimum(from_start, highest), lowest])

    if step > 0:
        first, last = clamp(start, 0, size), clamp(end, 0, size)
        return first, maximum([-(-(last - first) // step), 0])
    first, last = clamp(start, -1, size - 1), clamp(end, -1, size - 1)
    return first, maximum([-(-(first - last) // -step), 0])


def sliced(b: GraphBuilder, x: Tensor, axis: int, start: Size, count: Size) -> Tensor:
    """`count` elements of one axis from `start`: always a node, even if these are all elements."""
    starts = tuple(start if d == axis else 0 for d in range(x.type.rank))
    sizes = tuple(count if d == axis else size for d, size in enumerate(x.shape))
    return b.op("Slice", [x], {"starts": starts, "sizes": sizes, "steps": (1,) * x.type.rank})


def reversed_along(b: GraphBuilder, x: Tensor, axis: int) -> Tensor:
    """x with the elements of one axis in reverse order."""
    starts = tuple(size - 1 if d == axis else 0 for d, size in enumerate(x.shape))
    steps = tuple(-1 if d == axis else 1 for d in range(x.type.rank))
    return b.op("Slice", [x], {"starts": starts, "sizes": x.shape, "steps": steps})
