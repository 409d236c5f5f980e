"""Packing of textures: choose the Variables that are stored four elements to a texel, and vectorise
the calls accordingly.

A Variable is packed if all its writers store full texels: along the last dimension, which is a
multiple of four. Scalar reads select a component. A load that moves along the vector axis or the
unrolled loop reads a full texel. The schedule of a call follows from the layouts of its operands.

before:
    program g
    buffer x: float32[16,8] input
    buffer w: float32[8,16] constant
    buffer y: float32[16,16]
    live y
    y: float32[16,16] = nest(x: float32[16,8], w: float32[8,16]) @dense
      where p0 = 16; p1 = 16; p2 = 8
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0

after:
    program g
    buffer x: float32[16,8] input texels
    buffer w: float32[8,16] constant texels
    buffer y: float32[16,16] quarters(64)
    live y
    y: float32[16,16] = nest(x: float32[16,8], w: float32[8,16]) @dense
      where p0 = 16; p1 = 16; p2 = 8
      why 4 of a1 a fragment, 4 of a0, 4 turns of r0 at once
      schedule kind = "fragments"
      schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}
      schedule texels = [0, 1, 2]; vectors = [0, 1]; unroll = "r0"; quarters = [2]
      for a0 < p0, a1 < p1
      reduce r0 < p2
      acc0 = sum(in0[a0, r0] * in1[r0, a1])
      out0[a0, a1] = acc0
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from webkiln.errors import InternalError
from webkiln.ir.dim import Shape, Size, all_known, floordiv, is_symbolic
from webkiln.ir.size_bounds import round_up
from webkiln.ir.types import Type
from webkiln.nest.affine import depends, step
from webkiln.nest.choice import Choice
from webkiln.nest.expr import Expr, axis
from webkiln.nest.nest import Loop, load_guard, load_index
from webkiln.nest.program import Program, TexelLayout, map_calls
from webkiln.nest.schedule import FragmentSchedule, Tile
from webkiln.nest.steps import Copy, CustomCall, NestCall, Step, View, closed_under_copies
from webkiln.plan.alignment import VECTOR, is_multiple, is_vector_multiple
from webkiln.plan.kernel import NONE
from webkiln.plan.memory import flat

MIN_ROWS = 3
"""With fewer rows, less than three quarters of the computed lanes would be used."""


def run(program: Program, decoding: Sequence[NestCall] = ()) -> Program:
    """`decoding` are the calls that decode weights."""
    types = {name: Type(item.storage, item.type.shape) for name, item in program.buffers.items()}
    pairs = [
        (state.input, name) for state in program.states for name in (state.initial, state.output)
    ]
    steps = [*decoding, *program.init, *program.steps]
    texels = packed(steps, types, pairs)
    quarters = in_quarters(steps, texels, pairs)
    buffers = {
        name: replace(item, layout=TexelLayout(quarters.get(name)) if name in texels else None)
        for name, item in program.buffers.items()
    }

    def drawn(call: NestCall) -> NestCall:
        return replace(call, choice=draw(call, texels, quarters))

    init = tuple(map(drawn, program.init))
    return map_calls(replace(program, buffers=buffers, init=init), lambda call: [drawn(call)])


def packed(
    steps: Iterable[Step], types: Mapping[str, Type], pairs: Iterable[tuple[str, str]]
) -> frozenset[str]:
    """The packed Variables. `steps` include those that decode weights. `types`: the stored types of
    Variables that no step writes. `pairs` are copied to each other outside the steps.
    """
    flattened = list(flat(steps))
    pairs_copied = [
        (step.source.name, step.target.name) for step in flattened if isinstance(step, Copy)
    ] + list(pairs)
    calls = [step for step in flattened if isinstance(step, NestCall)]
    written = {view.name for step in flattened for view in step.writes}
    mentioned = {view.name for step in flattened for view in step.reads} | {
        name for pair in pairs_copied for name in pair
    }
    candidates = {
        name
        for name, type_ in types.items()
        if type_.dtype == "float32" and type_.rank and is_multiple(type_.shape[-1])
    }
    candidates = ((candidates & mentioned) - written) | {
        view.name for call in calls for view in call.outputs if _texel_axis(call)
    }
    candidates -= {
        view.name
        for step in flattened
        if not isinstance(step, NestCall | Copy)
        for view in step.writes
    }
    candidates -= {
        view.name for step in flattened if isinstance(step, CustomCall) for view in step.reads
    }
    while True:
        candidates = closed_under_copies(candidates, pairs_copied)
        unpacked = {
            view.name
            for call in calls
            if not _stores_texels(call, candidates)
            for view in call.outputs
        }
        if not unpacked & candidates:
            return frozenset(candidates)
        candidates -= unpacked


def _stores_texels(call: NestCall, packed_names: Collection[str]) -> bool:
    return _texel_axis(call) is not None and all(view.name in packed_names for view in call.outputs)


def _texel_axis(call: NestCall) -> Loop | None:
    """The axis along which a call can store full texels. All its outputs have one index and one
    shape.
    """
    view, out = call.outputs[0], call.nest.outputs[0]
    if not out.index or any(view.type.dtype != "float32" for view in call.outputs):
        return None
    for loop in call.nest.axes:
        if (
            _moves_by_one(out.index, loop.axis)
            and is_multiple(view.shape[-1])
            and _has_full_texels(call, loop)
            and is_vector_multiple(out.index[-1], call, loop.axis)
        ):
            return loop
    return None


def _has_full_texels(call: NestCall, loop: Loop) -> bool:
    return loop.extent.op == "arg" and is_multiple(call.args[loop.extent.value])


def _moves_by_one(index: tuple[Expr, ...], name: str) -> bool:
    """Whether an index moves along an axis by one element at a time."""
    return (
        bool(index)
        and step(index[-1], name) == 1
        and not any(depends(item, name) for item in index[:-1])
    )


def in_quarters(
    steps: Iterable[Step], packed_names: Collection[str], pairs: Iterable[tuple[str, str]]
) -> dict[str, Size]:
    """The Variables each quarter of which is stored in its own layer, so that a fragment computes
    four rows; and the elements of a quarter. The last quarter is padded if the rows are no multiple
    of four. Only contractions write such Variables.
    """
    flattened = list(flat(steps))
    unpacked = {name for pair in pairs for name in pair}
    written: dict[str, list[View]] = {}
    for item in flattened:
        unpacked |= {view.name for view in item.reads} if isinstance(item, Copy) else set()
        if isinstance(item, NestCall) and _rows(item) is not None:
            written.setdefault(item.outputs[0].name, []).append(item.outputs[0])
        else:
            unpacked |= {view.name for view in item.writes}
    quarters = {
        name: _quarter([view.shape for view in views])
        for name, views in written.items()
        if name in packed_names and name not in unpacked
    }
    return {name: quarter for name, quarter in quarters.items() if quarter is not None}


def _quarter(shapes: Sequence[Shape]) -> Size | None:
    """The elements of a quarter that consists of full rows for every writer of a Variable. None if
    computing four rows at once does not pay.
    """
    heights = {shape[0] for shape in shapes}
    if len(heights) == 1:
        (height,) = heights
    elif (numbers := all_known(heights)) is None or any(n % min(numbers) for n in numbers):
        return None
    else:
        height = min(numbers)
    if not is_multiple(height) and (is_symbolic(height) or height < MIN_ROWS):
        return None
    return floordiv(round_up(height, VECTOR), VECTOR) * next(
        prod(shape[1:]) for shape in shapes if shape[0] == height
    )


def _rows(call: NestCall) -> Loop | None:
    """The outermost axis of a contraction, if it is the outermost of the output."""
    view, out = call.outputs[0], call.nest.outputs[0]
    if not call.nest.is_contraction or len(call.outputs) > 1 or len(out.index) < 2:
        return None
    loop = next((loop for loop in call.nest.axes if out.index[0] is axis(loop.axis)), None)
    if loop is None or call.args[loop.extent.value] != view.shape[0]:
        return None
    return None if any(depends(item, loop.axis) for item in out.index[1:]) else loop


def _shares_layers(call: NestCall, position: int, rows: Loop, quarters: Mapping[str, Size]) -> bool:
    """Whether the rows of an operand are in the same layers as those of the output."""
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


def draw(
    call: NestCall, packed_names: Collection[str], quarters: Mapping[str, Size] = NONE
) -> Choice:
    """The schedule of a call. The Variables in `packed_names` are stored four elements to a texel,
    those in `quarters` also in quarters with that number of elements.
    """
    nest = call.nest
    texels = tuple(
        n for n, view in enumerate((*call.inputs, *call.outputs)) if view.name in packed_names
    )
    vector = _texel_axis(call) if call.outputs[0].name in packed_names else None
    if vector is None and len(nest.inputs) + len(nest.outputs) - 1 in texels:
        raise InternalError(
            f"{call.layer}: {call.outputs[0].name} is stored four elements to a texel, but the call"
            " does not store full texels"
        )
    unrolled = _unrolled(call, texels)
    names = [loop.axis for loop in (vector, unrolled) if loop is not None]
    vector_inputs = tuple(
        n for n in texels if n < len(call.inputs) and _reads_texels(call, n, names)
    )
    rows = _rows(call) if call.outputs[0].name in quarters else None
    schedule = FragmentSchedule(
        Tile(
            vector.axis if vector else None,
            VECTOR if vector else 1,
            rows.axis if rows else None,
            VECTOR if rows else 1,
        ),
        quarters=tuple(n for n in texels if (*call.inputs, *call.outputs)[n].name in quarters),
        level=tuple(
            n for n in vector_inputs if rows is not None and _shares_layers(call, n, rows, quarters)
        ),
        texels=texels,
        vectors=vector_inputs,
        unroll=unrolled.axis if unrolled else None,
    )
    parts = [
        f"{VECTOR} of {vector.axis} a fragment" if vector else "a fragment computes one element"
    ]
    parts += [f"{VECTOR} of {rows.axis}"] if rows else []
    parts += [f"{VECTOR} turns of {unrolled.axis} at once"] if unrolled else []
    return Choice(schedule, ", ".join(parts))


def _unrolled(call: NestCall, texels: Collection[int]) -> Loop | None:
    """The innermost reduction loop, if a packed operand moves along it."""
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
    return loop if _has_full_texels(call, loop) and any(fits) else None


def _fits(view: View, load: Expr, call: NestCall, name: str) -> bool:
    """Whether four neighbours on an axis are one texel."""
    index, guard = load_index(load), load_guard(load)
    free = guard is None or not depends(guard[0], name)
    return (
        free
        and _moves_by_one(index, name)
        and is_multiple(view.shape[-1])
        and is_vector_multiple(index[-1], call, name)
    )


def _reads_texels(call: NestCall, position: int, names: Sequence[str]) -> bool:
    loads = [expr for expr in call.nest.loads if expr.value[0] == position]
    moving = [
        (expr, name) for expr in loads for name in names if _moves_by_one(load_index(expr), name)
    ]
    return bool(moving) and all(
        _fits(call.inputs[position], expr, call, name) for expr, name in moving
    )
