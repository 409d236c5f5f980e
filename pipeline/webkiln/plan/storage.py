"""Legalise storage dtypes: rewrite steps over the dtypes of the model to steps over the dtypes of
the backend's memory.

64-bit integers become 32-bit ones. float64 and float16 become float32; every store of a float16
rounds to half precision. Narrow integers and bool occupy a full word, and stores wrap them.
Constants outside the narrower range saturate. Input values are checked when they are passed. The
8-bit constants that only kernel templates read keep their dtype; in these calls, other elements of
8 bits are wrapped after the load, which tells templates their range.

before:
    program g
    buffer x: int64[4] input
    buffer y: uint8[4]
    live y
    y: uint8[4] = nest(x: int64[4]) @cast
      where p0 = 4
      for a0 < p0
      out0[a0] = u32(in0[a0] + i64:1)

after:
    program g
    buffer x: int64[4] as int32 input
    buffer y: uint8[4] as uint32
    live y
    y: uint32[4] = nest(x: int32[4]) @cast
      where p0 = 4
      for a0 < p0
      out0[a0] = band(u32(in0[a0] + 1), u32:255)
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from webkiln.errors import UnsupportedError
from webkiln.ir.types import Type, itemsize
from webkiln.nest.expr import (
    BOOL,
    DOUBLE,
    FLOAT,
    INT,
    LONG,
    NUMPY,
    REAL,
    UINT,
    ULONG,
    Expr,
    bitcast,
    cast,
    const,
    load,
    make,
)
from webkiln.nest.nest import COMPUTE, Nest, Operand, load_guard, load_index, make_output
from webkiln.nest.procedure import Procedure, StoreElement
from webkiln.nest.program import Program
from webkiln.nest.schedule import TemplateSchedule
from webkiln.nest.steps import Copy, HostCall, NestCall, Step, View
from webkiln.nest.target import Target
from webkiln.nest.wrap import WRAPPERS
from webkiln.plan.block_steps import match_blocks
from webkiln.plan.cost import expected
from webkiln.plan.schedule import choose
from webkiln.plan.template_steps import match_step

NARROW = {LONG: INT, ULONG: UINT, DOUBLE: FLOAT}


def run(program: Program, target: Target) -> Program:
    packed = _columns_of_templates(program, target) if target.memory.storage else set()
    init = tuple(stored_call(call, target, packed) for call in program.init)
    buffers = {
        name: buffer if name in packed else replace(buffer, storage=target.stored(buffer.storage))
        for name, buffer in program.buffers.items()
    }
    program = replace(program, init=init, buffers=buffers)
    return program.with_steps(stored(program.steps, target, packed))


def _columns_of_templates(program: Program, target: Target) -> set[str]:
    """The constants of 8 bits that only templates read, which are expected to be faster than loops
    over words. Of the codes of blocks, other calls may read single elements.
    """
    if not target.templates:
        return set()
    constants, found = program.repackable, set()
    codes = {name for call in program.calls for name in _codes_of(call, target, constants)}
    others = {view.name for call in program.init for view in call.inputs}
    for call in program.calls:
        product = match_step(call.nest, "product")
        column = None if product is None else call.inputs[product.columns.source].name
        if column in constants and _prefers_template(call, column, target):
            found.add(column)
            others |= {view.name for view in call.inputs if view.name != column}
        else:
            others |= {view.name for view in call.inputs}
    return found - others | codes


def _codes_of(call: NestCall, target: Target, constants: Collection[str]) -> list[str]:
    """The codes of the product of blocks that a template computes, if one does."""
    step = match_blocks(call.nest)
    if step is None:
        return []
    name = call.inputs[step.weights.packed].name
    best = choose(stored_call(call, target, {name}), target, constants).schedule
    return [name] if isinstance(best, TemplateSchedule) else []


def _prefers_template(call: NestCall, column: str, target: Target) -> bool:
    """Whether a template is expected to be faster than loops over words."""
    narrow, wide = stored_call(call, target, {column}), stored_call(call, target)
    best = choose(narrow, target, {column}).schedule
    loops = choose(wide, target, {column}).schedule
    return isinstance(best, TemplateSchedule) and (
        expected(narrow, best, target) < expected(wide, loops, target)
    )


def stored(steps: Iterable[Step], target: Target, packed: Collection[str] = ()) -> tuple[Step, ...]:
    """The steps with every operand in the dtype in which the backend stores it."""
    if not target.memory.storage:
        return tuple(steps)
    return tuple(_step(step, target, packed) for step in steps)


def stored_call(call: NestCall, target: Target, packed: Collection[str] = ()) -> NestCall:
    """A call over stored dtypes. The operands named in `packed`, encoded weights and the columns of
    templates, keep their dtypes. If there are any, other elements of 8 bits are wrapped.
    """
    if not target.memory.storage:
        return call

    def dtype(view: View) -> str:
        return view.type.dtype if view.name in packed else target.stored(view.type.dtype)

    def stored_view(view: View) -> View:
        return View(view.name, Type(dtype(view), view.shape))

    nest = narrowed(
        call.nest,
        [dtype(view) for view in call.inputs],
        [dtype(view) for view in call.outputs],
        wraps=any(view.name in packed for view in call.inputs),
    )
    return replace(
        call,
        nest=nest,
        inputs=tuple(map(stored_view, call.inputs)),
        outputs=tuple(map(stored_view, call.outputs)),
    )


def _step(step: Step, target: Target, packed: Collection[str]) -> Step:
    def stored_view(view: View) -> View:
        return View(view.name, Type(target.stored(view.type.dtype), view.shape))

    if isinstance(step, NestCall):
        return stored_call(step, target, packed)
    if isinstance(step, Copy):
        _check_bitcast(step, target)
    changed = step.with_views(stored_view)
    if isinstance(changed, HostCall) and isinstance(step, HostCall):
        dtypes = [[view.type.dtype for view in views] for views in (changed.reads, changed.writes)]
        changed = replace(changed, procedure=narrowed_procedure(step.procedure, *dtypes))
    return changed.map_blocks(lambda block: stored(block, target, packed))


def _check_bitcast(step: Copy, target: Target) -> None:
    """Reject a reinterpretation of elements whose bytes the backend changes."""
    dtypes = (step.source.type.dtype, step.target.type.dtype)
    converted = [dtype for dtype in dtypes if target.stored(dtype) != dtype]
    if dtypes[0] != dtypes[1] and converted:
        problem = (
            f"it reinterprets the bytes of {converted[0]}, which {target.backend} stores as"
            f" {target.stored(converted[0])}"
        )
        raise UnsupportedError(
            step.layer,
            [(step.layer, problem, "Build for wasm and js only, or cast to 32 bits before it")],
        )


def narrowed(nest: Nest, inputs: list[str], outputs: list[str], *, wraps: bool) -> Nest:
    """`nest` over operands of these dtypes, which computes only in f32, i32, u32 and bool. `wraps`:
    elements of 8 bits that are stored in words are wrapped after the load.
    """
    known = [
        operand.dtype if wraps and itemsize(operand.dtype) == 1 and dtype != operand.dtype else ""
        for operand, dtype in zip(nest.inputs, inputs, strict=True)
    ]
    changed = nest.map(_changer(inputs, known))
    results = tuple(
        make_output(
            Operand(dtype, out.operand.rank),
            [
                (_wrapped_for(value, out.operand.dtype, COMPUTE[dtype]), index)
                for value, index in out.stores
            ],
        )
        for out, dtype in zip(changed.outputs, outputs, strict=True)
    )
    operands = tuple(
        Operand(dtype, operand.rank) for operand, dtype in zip(nest.inputs, inputs, strict=True)
    )
    return replace(changed, inputs=operands, outputs=results)


def narrowed_procedure(procedure: Procedure, inputs: list[str], outputs: list[str]) -> Procedure:
    """`procedure` over operands of these dtypes."""

    def store(item: StoreElement) -> StoreElement:
        dtype = procedure.outputs[item.output].dtype
        return StoreElement(
            item.output, item.index, _wrapped_for(item.value, dtype, COMPUTE[outputs[item.output]])
        )

    return replace(
        procedure.map(_changer([*inputs, *outputs]), store),
        inputs=tuple(Operand(dtype, 1) for dtype in inputs),
        outputs=tuple(Operand(dtype, 1) for dtype in outputs),
        locals=tuple((name, NARROW.get(type_, type_)) for name, type_ in procedure.locals),
    )


def _changer(operands: list[str], known: Sequence[str] = ()) -> Callable[[Expr], Expr | None]:
    """A function that rewrites one node. `operands`: the dtypes of the operands. `known`: those to
    which their elements are wrapped, if any.
    """

    def change(expr: Expr) -> Expr | None:
        if expr.op == "load":
            value, position = _load(expr, operands[expr.value[0]]), expr.value[0]
            wrapper = WRAPPERS.get(known[position]) if known else None
            return value if wrapper is None else wrapper(value)
        if expr.op == "const" and expr.type in NARROW:
            return _const(expr)
        if expr.op in ("cast", "bitcast"):
            function = cast if expr.op == "cast" else bitcast
            return function(expr.args[0], NARROW.get(expr.type, expr.type))
        return (
            make(expr.op, NARROW[expr.type], expr.args, expr.value) if expr.type in NARROW else None
        )

    return change


def _load(expr: Expr, dtype: str) -> Expr:
    """The stored element, converted to the type in which the nest computes."""
    guard, type_ = load_guard(expr), COMPUTE[dtype]
    other = None if guard is None else const(guard[1].value, type_)
    value = load(expr.value[0], type_, load_index(expr), guard[0] if guard else None, other)
    return cast(value, NARROW.get(expr.type, expr.type))


def _const(expr: Expr) -> Expr:
    type_ = NARROW[expr.type]
    if type_ in REAL:
        return const(expr.value, type_)
    limits = np.iinfo(NUMPY[type_])
    return const(min(max(expr.value, int(limits.min)), int(limits.max)), type_)


def _wrapped_for(value: Expr, dtype: str, type_: str) -> Expr:
    if dtype in WRAPPERS and itemsize(dtype) < 4:
        value = WRAPPERS[dtype](value)
    return cast(value, type_) if value.type == BOOL or type_ != value.type else value
