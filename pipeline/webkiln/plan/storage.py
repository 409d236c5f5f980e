"""Legalisation of storage dtypes: steps over the dtypes of the model -> steps over the dtypes that
the
backend's memory holds.

64-bit integers become 32-bit ones, float64 becomes float32 and float16 float32 (rounded to a half
at every store); narrow integers and bool take a whole word, into which stores wrap them. Constants
outside the narrower range saturate; values are checked where they enter.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

import numpy as np

from webkiln.errors import UnsupportedError
from webkiln.ir.types import Type, itemsize
from webkiln.nest.compose import round_to_float16
from webkiln.nest.custom_kernel import make_custom_kernel
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
from webkiln.nest.steps import (
    Branch,
    Copy,
    CustomCall,
    HostCall,
    NestCall,
    Step,
    View,
    WhileLoop,
    map_blocks,
)
from webkiln.nest.target import Target

NARROW = {LONG: INT, ULONG: UINT, DOUBLE: FLOAT}


def stored(steps: Iterable[Step], target: Target) -> tuple[Step, ...]:
    """The steps with every operand in the dtype as which the backend stores it."""
    return tuple(_step(step, target) for step in steps) if target.storage else tuple(steps)


def stored_call(call: NestCall, target: Target, packed: Collection[str] = ()) -> NestCall:
    """One call; the operands named in `packed` stay as they are (encoded weights)."""
    if not target.storage:
        return call

    def dtype(view: View) -> str:
        return view.type.dtype if view.name in packed else target.stored(view.type.dtype)

    def seen(view: View) -> View:
        return View(view.name, Type(dtype(view), view.shape))

    nest = narrowed(
        call.nest, [dtype(view) for view in call.inputs], [dtype(view) for view in call.outputs]
    )
    return replace(
        call,
        nest=nest,
        inputs=tuple(map(seen, call.inputs)),
        outputs=tuple(map(seen, call.outputs)),
    )


def _step(step: Step, target: Target) -> Step:
    def seen(view: View) -> View:
        return View(view.name, Type(target.stored(view.type.dtype), view.shape))

    if isinstance(step, NestCall):
        return stored_call(step, target)
    if isinstance(step, Copy):
        _check_bytes(step, target)
        return Copy(seen(step.source), seen(step.target), step.layer)
    if isinstance(step, HostCall):
        views = [tuple(map(seen, operands)) for operands in (step.inputs, step.outputs)]
        inputs, outputs = ([view.type.dtype for view in operands] for operands in views)
        return replace(
            step,
            procedure=narrowed_procedure(step.procedure, inputs, outputs),
            inputs=views[0],
            outputs=views[1],
        )
    if isinstance(step, CustomCall):
        given, results = (tuple(map(seen, operands)) for operands in (step.inputs, step.outputs))
        made = make_custom_kernel(
            tuple(view.type.dtype for view in given),
            results[0].type.dtype,
            step.kernel.parameters,
            dict(step.kernel.texts),
        )
        return replace(step, kernel=made, inputs=given, outputs=results)
    changed = (
        replace(step, condition=seen(step.condition))
        if isinstance(step, Branch | WhileLoop)
        else step
    )
    return map_blocks(changed, lambda block: stored(block, target))


def _check_bytes(step: Copy, target: Target) -> None:
    """Refuse to see elements as another dtype where the backend holds other bytes than theirs."""
    dtypes = (step.source.type.dtype, step.target.type.dtype)
    held = [dtype for dtype in dtypes if target.stored(dtype) != dtype]
    if dtypes[0] != dtypes[1] and held:
        what = (
            f"it looks at the bytes of {held[0]}, which {target.backend} holds as"
            f" {target.stored(held[0])}"
        )
        raise UnsupportedError(
            step.layer,
            [(step.layer, what, "Build for wasm and js only, or cast to 32 bits before")],
        )


def narrowed(nest: Nest, inputs: list[str], outputs: list[str]) -> Nest:
    """`nest` over operands of these dtypes, computing in f32, i32, u32 and bool only."""
    changed = nest.map(_changer(inputs))
    results = tuple(
        make_output(
            Operand(dtype, out.operand.rank),
            [
                (_kept(value, out.operand.dtype, COMPUTE[dtype]), index)
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
            item.output, item.index, _kept(item.value, dtype, COMPUTE[outputs[item.output]])
        )

    return replace(
        procedure.map(_changer([*inputs, *outputs]), store),
        inputs=tuple(Operand(dtype, 1) for dtype in inputs),
        outputs=tuple(Operand(dtype, 1) for dtype in outputs),
        locals=tuple((name, NARROW.get(type_, type_)) for name, type_ in procedure.locals),
    )


def _changer(operands: list[str]) -> Callable[[Expr], Expr | None]:
    """Rewrites one node; `operands`: the dtypes of what may be loaded."""

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
    """The element as stored, seen as the type that the nest computes in."""
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


KEPT: dict[str, Callable[[Expr], Expr]] = {
    "float16": round_to_float16,
    "int8": _wrapped(8),
    "int16": _wrapped(16),
    "uint8": _masked(8),
    "uint16": _masked(16),
}
"""Logical dtype -> the value that an element of it keeps of what is stored into a wider one."""


def _kept(value: Expr, dtype: str, type_: str) -> Expr:
    if dtype in KEPT and itemsize(dtype) < 4:
        value = KEPT[dtype](value)
    return cast(value, type_) if value.type == BOOL or type_ != value.type else value
