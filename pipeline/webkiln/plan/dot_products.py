"""Multiply few rows of 8-bit integers by dot products of words, on GPUs that no CPU emulates.

A software GPU takes 1.2 to 2.2 times as long by them, so it multiplies the same integers as floats,
with the same sums: those of a block are below 2^24.

before:
    program g
    buffer x: int8[64] as int32 input
    buffer s: float32[2] input
    buffer w: int8[8,64] constant
    buffer f: float32[8] constant
    buffer y: float32[8]
    live y
    y: float32[8] = nest(x: int32[64], w: int8[8,64], f: float32[8], s: float32[2]) @dense
      where p0 = 8; p1 = 2; p2 = 32
      why template vector_product, w by columns
      schedule kind = "template"; template = "vector_product"; grain = 4; whole = true
      for a0 < p0
      reduce r0 < p1, r1 < p2
      %0 = (r0 * 32) + r1
      acc0 = sum((f32(shr(shl(in0[%0], 24), 24) * in1[a0, %0]) * in2[a0]) * in3[r0])
      out0[a0] = acc0

after:
    program g
    buffer x: int8[64] as int32 input
    buffer s: float32[2] input
    buffer w: int8[8,64] constant
    buffer f: float32[8] constant
    buffer y: float32[8]
    live y
    device 8:
      y: float32[8] = nest(x: int32[64], w: int8[8,64], f: float32[8], s: float32[2]) @dense
        where p0 = 8; p1 = 2; p2 = 32
        why template vector_dot, w by columns
        schedule kind = "template"; template = "vector_dot"; grain = 4; whole = true
        for a0 < p0
        reduce r0 < p1, r1 < p2
        %0 = (r0 * 32) + r1
        acc0 = sum((f32(shr(shl(in0[%0], 24), 24) * in1[a0, %0]) * in2[a0]) * in3[r0])
        out0[a0] = acc0
    else:
      y: float32[8] = nest(x: int32[64], w: int8[8,64], f: float32[8], s: float32[2]) @dense
        where p0 = 8; p1 = 2; p2 = 32
        why template vector_product, w by columns
        schedule kind = "template"; template = "vector_product"; grain = 4; whole = true
        for a0 < p0
        reduce r0 < p1, r1 < p2
        %0 = (r0 * 32) + r1
        acc0 = sum((f32(shr(shl(in0[%0], 24), 24) * in1[a0, %0]) * in2[a0]) * in3[r0])
        out0[a0] = acc0
"""

from collections.abc import Sequence
from dataclasses import replace

from webkiln.nest.kernel_template import find_template
from webkiln.nest.program import Program
from webkiln.nest.schedule import TemplateSchedule
from webkiln.nest.steps import DeviceBranch, NestCall, Step
from webkiln.nest.target import Target
from webkiln.plan.vector_products import VECTOR_PRODUCT, match_vectors

DOT_TEMPLATE = "vector_dot"


def run(program: Program, target: Target) -> Program:
    least = target.least_gpu

    def block(steps: Sequence[Step]) -> tuple[Step, ...]:
        result: list[Step] = []
        for step in steps:
            by_words = _by_words(step) if isinstance(step, NestCall) and least else None
            if by_words is not None:
                result.append(DeviceBranch(least, (by_words,), (step,)))
            else:
                is_done = isinstance(step, DeviceBranch)
                result.append(step if is_done else step.map_blocks(block))
        return tuple(result)

    return program.with_steps(block(program.steps))


def _by_words(call: NestCall) -> NestCall | None:
    """The product by words of four integers, if a template multiplies rows of integers."""
    schedule, choice = call.schedule, call.choice
    if (
        choice is None
        or not isinstance(schedule, TemplateSchedule)
        or find_template(schedule.template).step != VECTOR_PRODUCT
    ):
        return None
    step = match_vectors(call.nest)
    if step is None or step.scales is None:
        return None
    why = choice.why.replace(schedule.template, DOT_TEMPLATE)
    changed = replace(choice, schedule=replace(schedule, template=DOT_TEMPLATE), why=why)
    return replace(call, choice=changed)
