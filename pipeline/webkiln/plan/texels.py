"""Packing of textures: which Variables are stored four elements to a texel, and the vectorised
calls
that follow.

A Variable does where everything that writes it stores whole texels: along the last dimension, which
is a multiple of four. Whoever reads it one by one picks a component; a load that moves along the
vector axis or the unrolled loop reads a texel at a time.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import prod

from webkiln.errors import InternalError
from webkiln.ir.dim import floordiv, is_symbolic
from webkiln.ir.size_bounds import round_up
from webkiln.ir.types import Type
from webkiln.nest.affine import depends, step
from webkiln.nest.expr import Expr, axis
from webkiln.nest.nest import Loop, load_guard, load_index
from webkiln.nest.schedule import Schedule
from webkiln.nest.steps import Copy, CustomCall, NestCall, Step, View, reads, writes
from webkiln.plan.align import VECTOR, divides, multiple
from webkiln.plan.kernel import NONE
from webkiln.plan.memory import flat
from webkiln.plan.schedule import Choice

FEWEST_ROWS = 3
"""Of fewer rows, less than three quarters of what is computed at once would be of use."""


def packed(
    steps: Iterable[Step], given: Mapping[str, Type], pairs: Iterable[tuple[str, str]]
) -> frozenset[str]:
    """The Variables that lie so. `steps`: also those that decode weights; `given`: what no step
    writes, as it is stored; `pairs` are copied to each other outside the steps.
    """
    flattened = list(flat(steps))
    together = [
        (step.source.name, step.target.name) for step in flattened if isinstance(step, Copy)
    ] + list(pairs)
    calls = [step for step in flattened if isinstance(step, NestCall)]
    written = {view.name for step in flattened for view in writes(step)}
    mentioned = {view.name for step in flattened for view in reads(step)} | {
        name for pair in together for name in pair
    }
    found = {
        name
        for name, type_ in given.items()
        if type_.dtype == "float32" and type_.rank and divides(type_.shape[-1])
    }
    found = ((found & mentioned) - written) | {
        view.name for call in calls for view in call.outputs if _along(call)
    }
    found -= {
        view.name
        for step in flattened
        if not isinstance(step, NestCall | Copy)
        for view in writes(step)
    }
    found -= {
        view.name for step in flattened if isinstance(step, CustomCall) for view in step.inputs
    }
    while True:
        apart = {name for pair in together if not found.issuperset(pair) for name in pair}
        apart |= {
            view.name for call in calls if not _stores_texels(call, found) for view in call.outputs
        }
        if not apart & found:
            return frozenset(found)
        found -= apart


def _stores_texels(call: NestCall, found: Collection[str]) -> bool:
    return _along(call) is not None and all(view.name in found for view in call.outputs)


def _along(call: NestCall) -> Loop | None:
    """The axis along which a call can store whole texels; all its outputs have one index and one
    shape.
    """
    view, out = call.outputs[0], call.nest.outputs[0]
    if not out.index or any(view.type.dtype != "float32" for view in call.outputs):
        return None
    for loop in call.nest.axes:
        if (
            _moves(out.index, loop.axis)
            and divides(view.shape[-1])
            and _is_whole(call, loop)
            and multiple(out.index[-1], call, loop.axis)
        ):
            return loop
    return None


def _is_whole(call: NestCall, loop: Loop) -> bool:
    return loop.extent.op == "arg" and divides(call.args[loop.extent.value])


def _moves(index: tuple[Expr, ...], name: str) -> bool:
    """By one element at a time."""
    return (
        bool(index)
        and step(index[-1], name) == 1
        and not any(depends(item, name) for item in index[:-1])
    )


def in_quarters(
    steps: Iterable[Step], found: Collection[str], pairs: Iterable[tuple[str, str]]
) -> dict[str, int]:
    """The Variables of which each quarter lies in a layer of its own, so that a fragment computes
    four
    rows, and the elements of a quarter, the last of which are beyond the end where rows are no
    multiple of four. Only contractions write them.
    """
    flattened = list(flat(steps))
    apart = {name for pair in pairs for name in pair}
    written: dict[str, list[View]] = {}
    for item in flattened:
        apart |= {view.name for view in reads(item)} if isinstance(item, Copy) else set()
        if isinstance(item, NestCall) and _rows(item) is not None:
            written.setdefault(item.outputs[0].name, []).append(item.outputs[0])
        else:
            apart |= {view.name for view in writes(item)}
    quarters = {
        name: _quarter([view.shape for view in views])
        for name, views in written.items()
        if name in found and name not in apart
    }
    return {name: quarter for name, quarter in quarters.items() if quarter is not None}


def _quarter(shapes: Sequence[tuple[int, ...]]) -> int | None:
    """The elements of a quarter in which all that write a Variable have whole rows; None where four
    rows at once are not worth it.
    """
    heights = {shape[0] for shape in shapes}
    if len(heights) == 1:
        (height,) = heights
    elif any(map(is_symbolic, heights)) or any(other % min(heights) for other in heights):
        return None
    else:
        height = min(heights)
    if not divides(height) and (is_symbolic(height) or height < FEWEST_ROWS):
        return None
    return floordiv(round_up(height, VECTOR), VECTOR) * next(
        prod(shape[1:]) for shape in shapes if shape[0] == height
    )


def _rows(call: NestCall) -> Loop | None:
    """The outermost axis of a contraction, where it is that of the output."""
    view, out = call.outputs[0], call.nest.outputs[0]
    if not call.nest.is_contraction or len(call.outputs) > 1 or len(out.index) < 2:
        return None
    loop = next((loop for loop in call.nest.axes if out.index[0] is axis(loop.axis)), None)
    if loop is None or call.args[loop.extent.value] != view.shape[0]:
        return None
    return None if any(depends(item, loop.axis) for item in out.index[1:]) else loop


def _is_level(call: NestCall, position: int, rows: Loop, quarters: Mapping[str, int]) -> bool:
    """Whether an operand has its rows in the layers in which the output has them."""
    view, out = call.inputs[position], call.outputs[0]
    if view.name not in quarters or quarters[view.name] * prod(out.shape[1:]) != quarters[
        out.name
    ] * prod(view.shape[1:]):
        return False
    indices = [load_index(expr) for expr in call.nest.loads if expr.value[0] == position]
    return all(
        index[0] is axis(rows.axis) and not any(depends(item, rows.axis) for item in index[1:])
        for index in indices
    )


def draw(call: NestCall, found: Collection[str], quarters: Mapping[str, int] = NONE) -> Choice:
    """The schedule of a call among Variables of which those in `found` lie four elements to a
    texel,
    those in `quarters` also in quarters of so many elements.
    """
    nest = call.nest
    texels = tuple(n for n, view in enumerate((*call.inputs, *call.outputs)) if view.name in found)
    along = _along(call) if call.outputs[0].name in found else None
    if along is None and len(nest.inputs) + len(nest.outputs) - 1 in texels:
        raise InternalError(
            f"{call.layer}: {call.outputs[0].name} lies four elements to a texel, which the call"
            " does not store whole"
        )
    unrolled = _unrolled(call, texels)
    names = [loop.axis for loop in (along, unrolled) if loop is not None]
    whole = tuple(n for n in texels if n < len(call.inputs) and _reads_texels(call, n, names))
    rows = _rows(call) if call.outputs[0].name in quarters else None
    schedule = Schedule(
        tuple(loop.axis for loop in nest.axes),
        tile=rows.axis if rows else None,
        count=VECTOR if rows else 1,
        quarters=tuple(n for n in texels if (*call.inputs, *call.outputs)[n].name in quarters),
        level=tuple(n for n in whole if rows is not None and _is_level(call, n, rows, quarters)),
        vector=along.axis if along else None,
        lanes=VECTOR if along else 1,
        whole=along is not None,
        texels=texels,
        vectors=whole,
        unroll=unrolled.axis if unrolled else None,
    )
    parts = [f"{VECTOR} of {along.axis} a fragment" if along else "a fragment computes one element"]
    parts += [f"{VECTOR} of {rows.axis}"] if rows else []
    parts += [f"{VECTOR} turns of {unrolled.axis} at once"] if unrolled else []
    return Choice(schedule, ", ".join(parts))


def _unrolled(call: NestCall, texels: Collection[int]) -> Loop | None:
    """The innermost reduction loop, where something that lies in texels moves along it."""
    if not call.nest.reduce or any(
        item.combiner.startswith("arg") for item in call.nest.accumulators
    ):
        return None
    loop = call.nest.reduce[-1]
    fits = (
        _fits(call.inputs[e.value[0]], e, call, loop.axis)
        for e in call.nest.loads
        if e.value[0] in texels
    )
    return loop if _is_whole(call, loop) and any(fits) else None


def _fits(view: View, load: Expr, call: NestCall, name: str) -> bool:
    """Whether four neighbours on an axis are one texel."""
    index, guard = load_index(load), load_guard(load)
    free = guard is None or not depends(guard[0], name)
    return (
        free and _moves(index, name) and divides(view.shape[-1]) and multiple(index[-1], call, name)
    )


def _reads_texels(call: NestCall, position: int, names: Sequence[str]) -> bool:
    loads = [expr for expr in call.nest.loads if expr.value[0] == position]
    moving = [(expr, name) for expr in loads for name in names if _moves(load_index(expr), name)]
    return bool(moving) and all(
        _fits(call.inputs[position], expr, call, name) for expr, name in moving
    )
