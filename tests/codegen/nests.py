"""Kernels in the text form, for tests of single components of the printer."""

from collections.abc import Callable
from textwrap import dedent

from webkiln.codegen.buffers import Buffers
from webkiln.codegen.c import C
from webkiln.codegen.dialect import Dialect
from webkiln.codegen.values import Values
from webkiln.nest.parse import parse_steps
from webkiln.nest.schedule import LoopSchedule, Schedule
from webkiln.nest.steps import NestCall
from webkiln.plan.kernel import Kernel

PRODUCT = """
y: float32[9,16] = nest(x: float32[9,32], w: float32[32,16]) @product
  where p0 = 9; p1 = 16; p2 = 32
  for a0 < p0, a1 < p1
  reduce r0 < p2
  acc0 = sum(in0[a0, r0] * in1[r0, a1])
  out0[a0, a1] = acc0
"""
PADDED = """
y: float32[9,18] = nest(x: float32[9,16]) @pad
  where p0 = 9; p1 = 18; p2 = 16
  for a0 < p0, a1 < p1
  out0[a0, a1] = in0[a0, a1 - 1 if a0 < p2 else 0.0]
"""
SHIFTED = """
y: float32[9,16] = nest(x: float32[16,16]) @shift
  where p0 = 9; p1 = 16
  for a0 < p0, a1 < p1
  out0[a0, a1] = in0[a0 + 3, a1] * 2.0
"""
WINDOW = """
y: float32[9,8] = nest(x: float32[11,8], w: float32[3,8]) @window
  where p0 = 9; p1 = 8; p2 = 3
  for a0 < p0, a1 < p1
  reduce r0 < p2
  acc0 = sum(in0[a0 + r0, a1] * in1[r0, a1])
  out0[a0, a1] = acc0
"""
ROWS = """
y: float32[9] = nest(x: float32[9,32]) @rows
  where p0 = 9; p1 = 32
  for a0 < p0
  reduce r0 < p1
  acc0 = max(in0[a0, r0])
  out0[a0] = acc0
"""
PLAIN = LoopSchedule()


def call_of(text: str) -> NestCall:
    (call,) = parse_steps(text.strip())
    assert isinstance(call, NestCall)
    return call


def kernel_of(text: str, schedule: Schedule = PLAIN) -> Kernel:
    return Kernel(call_of(text).nest, schedule)


def values_of(kernel: Kernel, dialect: Dialect | None = None) -> Values:
    """The values of a kernel in linear memory, printed as C by default."""
    language = dialect or C()
    return Values(kernel, language, Buffers(kernel, language))


def printed(values: Values, inside: Callable[[], object], *axes: str) -> str:
    """What `inside` prints in loops over `axes`, outermost first."""
    with values.scopes.block() as top:
        _nested(values, inside, axes)
    return "\n".join(top.lines())


def _nested(values: Values, inside: Callable[[], object], axes: tuple[str, ...]) -> None:
    if not axes:
        inside()
        return
    with values.scopes.loop(axes[0], f"{axes[0]} {{"):
        _nested(values, inside, axes[1:])


def lines(text: str) -> str:
    return dedent(text).strip()
