"""Merge the calls that compute the phases of a transposed convolution: those of one nest that write
every n-th element of an output, and whose arguments differ. The phase becomes a parallel axis.
"""

from collections.abc import Sequence
from dataclasses import replace

from webkiln.ir.dim import Size, is_symbolic
from webkiln.nest.expr import Expr, arg, axis
from webkiln.nest.nest import Loop
from webkiln.nest.steps import NestCall, Step


def phases_from(steps: Sequence[Step], position: int) -> list[NestCall]:
    """The neighbouring calls of one nest with equal operands, from a position."""
    first = steps[position]
    found: list[NestCall] = []
    if isinstance(first, NestCall):
        for step in steps[position:]:
            if not isinstance(step, NestCall) or not _is_like(first, step):
                break
            found.append(step)
    return found


def _is_like(first: NestCall, other: NestCall) -> bool:
    return (other.nest, other.inputs, other.outputs) == (first.nest, first.inputs, first.outputs)


def merge_phases(calls: Sequence[NestCall]) -> NestCall | None:
    """One call for a power of two of phases, or None if they are not numbered by their arguments,
    or could write the same elements.
    """
    merged, number = list(calls), 0
    while len(merged) > 1:
        halves = zip(merged[::2], merged[1::2], strict=False)
        pairs = [_merge_pair(first, second, f"phase{number}") for first, second in halves]
        known = [pair for pair in pairs if pair is not None]
        if len(known) * 2 < len(merged) or any(pair.nest != known[0].nest for pair in known):
            return None
        merged, number = known, number + 1
    return merged[0] if merged else None


def _merge_pair(first: NestCall, second: NestCall, name: str) -> NestCall | None:
    """Both calls as one, with an axis of two points."""
    if first.args.keys() != second.args.keys():
        return None
    moved = {key: (first.args[key], second.args[key]) for key in first.args}
    moved = {key: values for key, values in moved.items() if values[0] != values[1]}
    extents = {loop.extent for loop in (*first.nest.axes, *first.nest.reduce)}
    if any(map(is_symbolic, (size for values in moved.values() for size in values))) or any(
        arg(key) in extents for key in moved
    ):
        return None
    if not _writes_others(first, moved):
        return None

    def change(expr: Expr) -> Expr | None:
        if expr.op == "arg" and expr.value in moved:
            return expr + axis(name) * arg(f"{expr.value}_{name}")
        return None

    count = f"{name}_count"
    steps: dict[str, Size] = {
        f"{key}_{name}": after - before for key, (before, after) in moved.items()
    }
    nest = first.nest.map(change)
    nest = replace(nest, axes=(Loop(name, arg(count)), *nest.axes))
    return replace(first, nest=nest, args={**first.args, **steps, count: 2})


def _writes_others(call: NestCall, moved: dict[str, tuple[Size, Size]]) -> bool:
    """Whether the two calls write different elements: an index is `axis * stride + start`, and the
    starts do not differ by a multiple of the stride.
    """
    for out in call.nest.outputs:
        for item in out.index:
            if item.op != "add" or item.args[1].op != "arg" or item.args[0].op != "mul":
                continue
            start, factor = item.args[1].value, item.args[0].args[1]
            if start not in moved or factor.op != "arg":
                continue
            before, after = moved[start]
            stride = call.args[factor.value]
            if not is_symbolic(stride) and (after - before) % stride:
                return len(call.nest.outputs) == 1 and not out.also
    return False
