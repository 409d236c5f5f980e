"""Bring a call into canonical form, so that equal kernels have equal text: drop unit axes, coalesce
adjacent axes, and number axes and arguments in order of appearance.

before:
    program g
    buffer x: float32[2,1,3,4] input
    buffer y: float32[2,1,3,4]
    live y
    y: float32[2,1,3,4] = nest(x: float32[2,1,3,4]) @e
      where p0 = 2; p1 = 3; p2 = 4
      for a0 < p0, a1 < p1, a2 < p2
      out0[a0, 0, a1, a2] = exp(in0[a0, 0, a1, a2])

after:
    program g
    buffer x: float32[2,1,3,4] input
    buffer y: float32[24]
    live y
    y: float32[24] = nest(x: float32[24]) @e
      where p0 = 24
      for a0 < p0
      out0[a0] = exp(in0[a0])
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from webkiln.lower.merge_loops import merge
from webkiln.nest.expr import Expr, arg, axis, make, walk
from webkiln.nest.nest import Loop, Operand, load_index, make_output
from webkiln.nest.program import Program, map_calls
from webkiln.nest.steps import NestCall, View


def run(program: Program) -> Program:
    """Calls of fast convolutions, and products with a form, keep the axes along which their tiles
    are vectorised. Calls of `init` keep the shapes of constants.
    """
    program = replace(program, init=tuple(map(rename_axes, program.init)))
    return map_calls(
        program, lambda call: [call if call.part_of or call.form else canonicalize(call)]
    )


def canonicalize(call: NestCall) -> NestCall:
    """Return the canonical form of a call. Calls that differ only in names, unit axes or mergeable
    axes have the same form.
    """
    call = without_unused_inputs(call)
    call = without_unit_dimensions(call)
    while (merged := _coalesce_one(call)) is not None:
        call = merged
    return rename_axes(call)


def _select_dimensions(
    call: NestCall,
    inputs: Sequence[tuple[View, Sequence[int]]],
    outputs: Sequence[tuple[View, Sequence[int]]],
) -> NestCall:
    """Keep only the listed dimensions of each operand."""

    def change(expr: Expr) -> Expr | None:
        if expr.op != "load":
            return None
        dims = inputs[expr.value[0]][1]
        index = load_index(expr)
        rest = expr.args[len(index) :]
        return make("load", expr.type, (*(index[d] for d in dims), *rest), expr.value)

    nest = call.nest.map(change)
    nest = replace(
        nest,
        inputs=tuple(
            Operand(o.dtype, len(dims)) for o, (_, dims) in zip(nest.inputs, inputs, strict=True)
        ),
        outputs=tuple(
            make_output(
                Operand(o.operand.dtype, len(dims)),
                [(value, tuple(index[d] for d in dims)) for value, index in o.stores],
            )
            for o, (_, dims) in zip(nest.outputs, outputs, strict=True)
        ),
    )
    return replace(
        call, nest=nest, inputs=tuple(v for v, _ in inputs), outputs=tuple(v for v, _ in outputs)
    )


def without_unused_inputs(call: NestCall) -> NestCall:
    used = sorted({e.value[0] for e in call.nest.loads})
    position = {old: new for new, old in enumerate(used)}
    nest = call.nest.map(
        lambda e: (
            make("load", e.type, e.args, (position[e.value[0]], e.value[1]))
            if e.op == "load"
            else None
        )
    )
    nest = replace(nest, inputs=tuple(call.nest.inputs[old] for old in used))
    return replace(call, nest=nest, inputs=tuple(call.inputs[old] for old in used))


def _is_zero(expr: Expr) -> bool:
    return expr.op == "const" and expr.value == 0


def without_unit_dimensions(call: NestCall) -> NestCall:
    """Drop dimensions of size 1 that are always indexed by 0."""
    reads: dict[int, list[tuple[Expr, ...]]] = {}
    for expr in call.nest.loads:
        reads.setdefault(expr.value[0], []).append(load_index(expr))

    def without_units(view: View, indices: Sequence[tuple[Expr, ...]]) -> tuple[View, list[int]]:
        dims = [
            d
            for d, size in enumerate(view.shape)
            if size != 1 or not all(_is_zero(index[d]) for index in indices)
        ]
        return view.reshaped([view[d] for d in dims]), dims

    inputs = [without_units(view, reads[position]) for position, view in enumerate(call.inputs)]
    outputs = [
        without_units(view, [index for _, index in out.stores])
        for view, out in zip(call.outputs, call.nest.outputs, strict=True)
    ]
    return _select_dimensions(call, inputs, outputs)


def _coalesce_one(call: NestCall) -> NestCall | None:
    for loops in (call.nest.axes, call.nest.reduce):
        for outer, inner in pairwise(loops):
            if (
                any(a.combiner in ("argmax", "argmin") for a in call.nest.accumulators)
                and loops is call.nest.reduce
            ):
                continue
            merged = merge(call, outer, inner)
            if merged is not None:
                return merged
    return None


def rename_axes(call: NestCall) -> NestCall:
    """Rename parallel axes to a0, a1, ..., reduction axes to r0, r1, ... and arguments to p0, p1,
    ... in order of appearance. Drop arguments that no expression reads.
    """
    nest = call.nest
    axes = {loop.axis: f"a{i}" for i, loop in enumerate(nest.axes)} | {
        loop.axis: f"r{i}" for i, loop in enumerate(nest.reduce)
    }
    extents = [loop.extent for loop in (*nest.axes, *nest.reduce)]
    names = [e.value for e in walk((*extents, *nest.roots)) if e.op == "arg"]
    args = {old: f"p{i}" for i, old in enumerate(names)}

    def change(expr: Expr) -> Expr | None:
        if expr.op == "axis":
            return axis(axes[expr.value])
        return arg(args[expr.value]) if expr.op == "arg" else None

    result = nest.map(change)
    result = replace(
        result,
        axes=tuple(Loop(axes[loop.axis], loop.extent) for loop in result.axes),
        reduce=tuple(Loop(axes[loop.axis], loop.extent) for loop in result.reduce),
    )
    return replace(call, nest=result, args={args[name]: call.args[name] for name in names})
