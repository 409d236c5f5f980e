"""Legalise storage dtypes: rewrite steps over the dtypes of the model to steps over the dtypes of
the backend's memory.

64-bit integers become 32-bit ones. float64 and float16 become float32; every store of a float16
rounds to half precision. Narrow integers and bool occupy a full word, and stores wrap them.
Constants outside the narrower range saturate. Input values are checked when they are passed.

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

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

import numpy as np

from webkiln.errors import UnsupportedError
from webkiln.ir.types import Type, itemsize
from webkiln.nest.compose import round_to_float16
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
    apply,
    bitcast,
    cast,
    const,
    load,
    make,
)
from webkiln.nest.nest import COMPUTE, Nest, Operand, load_guard, load_index, make_output
from webkiln.nest.procedure import Procedure, StoreElement
from webkiln.nest.program import Program
from webkiln.nest.steps import Copy, HostCall, NestCall, Step, View
from webkiln.nest.target import Target

NARROW = {LONG: INT, ULONG: UINT, DOUBLE: FLOAT}


def run(program: Program, target: Target) -> Program:
    init = tuple(stored_call(call, target) for call in program.init)
    buffers = {
        name: replace(buffer, storage=target.stored(buffer.storage))
        for name, buffer in program.buffers.items()
    }
    program = replace(program, init=init, buffers=buffers)
    return program.with_steps(stored(program.steps, target))


def stored(steps: Iterable[Step], target: Target) -> tuple[Step, ...]:
    """The steps with every operand in the dtype in which the backend stores it."""
    return tuple(_step(step, target) for step in steps) if target.memory.storage else tuple(steps)


def stored_call(call: NestCall, target: Target, packed: Collection[str] = ()) -> NestCall:
    """A call over stored dtypes. The operands named in `packed`, encoded weights, keep their
    dtypes.
    """
    if not target.memory.storage:
        return call

    def dtype(view: View) -> str:
        return view.type.dtype if view.name in packed else target.stored(view.type.dtype)

    def stored_view(view: View) -> View:
        return View(view.name, Type(dtype(view), view.shape))

    nest = narrowed(
        call.nest, [dtype(view) for view in call.inputs], [dtype(view) for view in call.outputs]
    )
    return replace(
        call,
        nest=nest,
        inputs=tuple(map(stored_view, call.inputs)),
        outputs=tuple(map(stored_view, call.outputs)),
    )


def _step(step: Step, target: Target) -> Step:
    def stored_view(view: View) -> View:
        return View(view.name, Type(target.stored(view.type.dtype), view.shape))

    if isinstance(step, NestCall):
        return stored_call(step, target)
    if isinstance(step, Copy):
        _check_bitcast(step, target)
    changed = step.with_views(stored_view)
    if isinstance(changed, HostCall) and isinstance(step, HostCall):
        dtypes = [[view.type.dtype for view in views] for views in (changed.reads, changed.writes)]
        changed = replace(changed, procedure=narrowed_procedure(step.procedure, *dtypes))
    return changed.map_blocks(lambda block: stored(block, target))


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


def narrowed(nest: Nest, inputs: list[str], outputs: list[str]) -> Nest:
    """`nest` over operands of these dtypes, which computes only in f32, i32, u32 and bool."""
    changed = nest.map(_changer(inputs))
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


def _changer(operands: list[str]) -> Callable[[Expr], Expr | None]:
    """A function that rewrites one node. `operands`: the dtypes of the operands."""

    def change(expr: Expr) -> Expr | None:
        if expr.op == "load":
            return _load(expr, operands[expr.value[0]])
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


def _wrapped(bits: int) -> Callable[[Expr], Expr]:
    shift = const(32 - bits, INT)
    return lambda value: apply("shr", apply("shl", value, shift), shift)


def _masked(bits: int) -> Callable[[Expr], Expr]:
    return lambda value: apply("band", value, const(2**bits - 1, UINT))


WRAPPERS: dict[str, Callable[[Expr], Expr]] = {
    "float16": round_to_float16,
    "int8": _wrapped(8),
    "int16": _wrapped(16),
    "uint8": _masked(8),
    "uint16": _masked(16),
}
"""Logical dtype -> the value that an element of it retains of what is stored into a wider one."""


def _wrapped_for(value: Expr, dtype: str, type_: str) -> Expr:
    if dtype in WRAPPERS and itemsize(dtype) < 4:
        value = WRAPPERS[dtype](value)
    return cast(value, type_) if value.type == BOOL or type_ != value.type else value
