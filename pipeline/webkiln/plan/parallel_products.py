"""Run products of the same kernel in one launch before other calls are computed together
(`plan/group_launches.py`), so that what lies between them is not in the way.

before:
    program g
    buffer x: float32[64,256] input
    buffer w: float32[256,256] constant
    buffer v: float32[256,256] constant
    buffer k: float32[64,256]
    buffer y: float32[64,256]
    buffer z: float32[64,256]
    live y, z
    device 8:
      k: float32[64,256] = nest(x: float32[64,256], w: float32[256,256]) @keys
        where p0 = 64; p1 = 256
        why 4 of a1 at a time, in blocks of a workgroup, 16 deep, 4 of a0
        schedule kind = "invocations"; order = ["a0", "a1"]
        schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}; whole = true
        schedule workgroup = {"columns": 8, "rows": 8, "depth": 16, "staged": true}
        for a0 < p0, a1 < p1
        reduce r0 < p1
        acc0 = sum(in0[a0, r0] * in1[r0, a1])
        out0[a0, a1] = acc0
    else:
      k: float32[64,256] = nest(x: float32[64,256], w: float32[256,256]) @keys
        where p0 = 64; p1 = 256
        why 4 of a1 at a time, 4 of a0
        schedule kind = "invocations"; order = ["a0", "a1"]
        schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}; whole = true
        for a0 < p0, a1 < p1
        reduce r0 < p1
        acc0 = sum(in0[a0, r0] * in1[r0, a1])
        out0[a0, a1] = acc0
    y: float32[64,256] = nest(k: float32[64,256]) @tanh
      where p0 = 64; p1 = 256
      why 4 of a1 at a time
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4}
      for a0 < p0, a1 < p1
      out0[a0, a1] = tanh(in0[a0, a1])
    device 8:
      z: float32[64,256] = nest(x: float32[64,256], v: float32[256,256]) @values
        where p0 = 64; p1 = 256
        why 4 of a1 at a time, in blocks of a workgroup, 16 deep, 4 of a0
        schedule kind = "invocations"; order = ["a0", "a1"]
        schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}; whole = true
        schedule workgroup = {"columns": 8, "rows": 8, "depth": 16, "staged": true}
        for a0 < p0, a1 < p1
        reduce r0 < p1
        acc0 = sum(in0[a0, r0] * in1[r0, a1])
        out0[a0, a1] = acc0
    else:
      z: float32[64,256] = nest(x: float32[64,256], v: float32[256,256]) @values
        where p0 = 64; p1 = 256
        why 4 of a1 at a time, 4 of a0
        schedule kind = "invocations"; order = ["a0", "a1"]
        schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}; whole = true
        for a0 < p0, a1 < p1
        reduce r0 < p1
        acc0 = sum(in0[a0, r0] * in1[r0, a1])
        out0[a0, a1] = acc0

after:
    program g
    buffer x: float32[64,256] input
    buffer w: float32[256,256] constant
    buffer v: float32[256,256] constant
    buffer k: float32[64,256]
    buffer z: float32[64,256]
    buffer y: float32[64,256]
    live y, z
    device 8:
      parallel:
        k: float32[64,256] = nest(x: float32[64,256], w: float32[256,256]) @keys
          where p0 = 64; p1 = 256
          why 4 of a1 at a time, in blocks of a workgroup, 16 deep, 4 of a0
          schedule kind = "invocations"; order = ["a0", "a1"]
          schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}; whole = true
          schedule workgroup = {"columns": 8, "rows": 8, "depth": 16, "staged": true}
          for a0 < p0, a1 < p1
          reduce r0 < p1
          acc0 = sum(in0[a0, r0] * in1[r0, a1])
          out0[a0, a1] = acc0
        z: float32[64,256] = nest(x: float32[64,256], v: float32[256,256]) @values
          where p0 = 64; p1 = 256
          why 4 of a1 at a time, in blocks of a workgroup, 16 deep, 4 of a0
          schedule kind = "invocations"; order = ["a0", "a1"]
          schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}; whole = true
          schedule workgroup = {"columns": 8, "rows": 8, "depth": 16, "staged": true}
          for a0 < p0, a1 < p1
          reduce r0 < p1
          acc0 = sum(in0[a0, r0] * in1[r0, a1])
          out0[a0, a1] = acc0
    else:
      k: float32[64,256] = nest(x: float32[64,256], w: float32[256,256]) @keys
        where p0 = 64; p1 = 256
        why 4 of a1 at a time, 4 of a0
        schedule kind = "invocations"; order = ["a0", "a1"]
        schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}; whole = true
        for a0 < p0, a1 < p1
        reduce r0 < p1
        acc0 = sum(in0[a0, r0] * in1[r0, a1])
        out0[a0, a1] = acc0
      z: float32[64,256] = nest(x: float32[64,256], v: float32[256,256]) @values
        where p0 = 64; p1 = 256
        why 4 of a1 at a time, 4 of a0
        schedule kind = "invocations"; order = ["a0", "a1"]
        schedule tile = {"vector": "a1", "lanes": 4, "axis": "a0", "count": 4}; whole = true
        for a0 < p0, a1 < p1
        reduce r0 < p1
        acc0 = sum(in0[a0, r0] * in1[r0, a1])
        out0[a0, a1] = acc0
    y: float32[64,256] = nest(k: float32[64,256]) @tanh
      where p0 = 64; p1 = 256
      why 4 of a1 at a time
      schedule kind = "invocations"; order = ["a0", "a1"]
      schedule tile = {"vector": "a1", "lanes": 4}
      for a0 < p0, a1 < p1
      out0[a0, a1] = tanh(in0[a0, a1])
"""

from webkiln.nest.program import Program
from webkiln.nest.steps import NestCall
from webkiln.nest.target import Target
from webkiln.plan.group_blocks import factors, launches, work_of
from webkiln.plan.parallel_launches import share_launches


def run(program: Program, target: Target) -> Program:
    constants = program.constants

    def suits(call: NestCall) -> bool:
        return (
            call.nest.is_contraction
            and any(view.name in constants for view in factors(call))
            and work_of(call) > launches(call)
        )

    return share_launches(program, target, suits)
