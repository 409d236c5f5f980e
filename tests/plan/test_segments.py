"""Constants in buffers of their own: which, how large these are, and what launches bind."""

from textwrap import dedent

import numpy as np
import pytest

from tests.programs import program, with_target
from webkiln.backends.table import REGISTRY
from webkiln.nest.parse import parse
from webkiln.nest.run import run_program
from webkiln.nest.text import print_program
from webkiln.ops.table import parse as parse_graph
from webkiln.plan import plan_memory
from webkiln.plan.segments import BINDINGS, SMALL, bindings
from webkiln.program_builder.backend import Weights

LIMIT = 4 * SMALL
BACKEND = with_target(REGISTRY["webgpu"], memory={"segment": LIMIT})

WEIGHTS = """
program g
buffer x: float32[200] input
buffer a: float32[20000] constant
buffer b: float32[20000] constant
buffer c: float32[20000] constant
buffer d: float32[20000] constant
buffer e: float32[90000] constant
buffer small: float32[100] constant
buffer out: float32[200]
live out
"""
CALL = """
out: float32[200] = nest(x: float32[200], {name}: float32[{size}])
  where p0 = 200
  for a0 < p0
  out0[a0] = in0[a0] + in1[a0]
"""


def placed(source, backend=BACKEND):
    result = plan_memory.run(parse(dedent(source).strip()), backend.target, Weights({}, ()))
    assert parse(print_program(result)) == result
    return result


def calls(*constants):
    return "".join(CALL.format(name=name, size=size) for name, size in constants)


BIG = [(name, 20000) for name in "abcd"]


def test_a_program_within_the_limit_has_one_buffer():
    result = placed(WEIGHTS.replace("90000", "900") + calls(*BIG[:1]), REGISTRY["webgpu"])
    assert "segments" not in result.memory
    assert {buffer.segment for buffer in result.buffers.values()} == {None}


def test_constants_beyond_the_limit_are_in_segments_by_first_use():
    order = [("d", 20000), ("small", 100), ("e", 90000), ("a", 20000), ("c", 20000), ("b", 20000)]
    result = placed(WEIGHTS + calls(*order))
    segments = {name: buffer.segment for name, buffer in result.buffers.items()}
    expected = {"d": 0, "e": 1, "a": 2, "c": 2, "b": 2}
    assert segments == {"x": None, "out": None, "small": None} | expected
    assert [item["bytes"] for item in result.memory["segments"]] == [80_000, 360_000, 240_000]
    spans: dict[int, int] = {}
    for name in "aceb":
        buffer = result.buffers[name]
        assert buffer.address == spans.get(buffer.segment, 0)
        spans[buffer.segment] = buffer.address + 4 * buffer.type.size
    assert result.memory["memory"] < SMALL


def test_only_constants_that_launches_read_leave_the_arena():
    """Not the first values of states, what is copied, nor what is read after the run."""
    source = WEIGHTS.replace("live out", "live out, c").replace(
        "buffer small", "buffer s: float32[20000] state\nbuffer t: float32[20000]\nbuffer small"
    )
    source += "state h = a then t\ncopy s: float32[20000] -> t: float32[20000]\n"
    source += "copy b: float32[20000] -> t: float32[20000]\n"
    result = placed(source.replace("state h = a", "state s = a") + calls(*BIG, ("e", 90000)))
    segments = {name: result.buffers[name].segment for name in "abcdest"}
    assert segments == dict.fromkeys("abcst") | {"d": 0, "e": 1}


BRANCH = """
program g
buffer x: float32[36] input
buffer w: float32[9] constant
buffer u: float32[36]
buffer v: float32[36]
buffer out: float32[36]
live out
u: float32[36] = nest(w: float32[9])
  where p0 = 36
  for a0 < p0
  out0[a0] = in0[0] * 2.0
v: float32[36] = nest(u: float32[36])
  where p0 = 36
  for a0 < p0
  out0[a0] = in0[a0] + 1.0
main
device 24:
  out: float32[36] = nest(x: float32[36], w: float32[9])
    where p0 = 36
    for a0 < p0
    out0[a0] = in0[a0] * in1[0]
else:
  out: float32[36] = nest(x: float32[36], u: float32[36], v: float32[36])
    where p0 = 36
    for a0 < p0
    out0[a0] = (in0[a0] * in1[a0]) + in2[a0]
"""


def test_constants_of_small_devices_have_segments_of_their_own():
    result = placed(BRANCH)
    assert result.memory["segments"] == [{"bytes": 384, "below": 24}]
    assert {name: result.buffers[name].segment for name in "wuvx"} == {
        "w": None,
        "u": 0,
        "v": 0,
        "x": None,
    }
    values = {"x": np.arange(36, dtype=np.float32), "w": np.full(9, 3, np.float32)}
    assert run_program(result, values)["out"][2] == 2 * 6 + 7


def test_what_another_constant_is_computed_from_is_on_all_devices():
    """Only small devices read u, but all read v, which is computed from it."""
    source = BRANCH.replace(
        "out: float32[36] = nest(x: float32[36], w: float32[9])",
        "out: float32[36] = nest(x: float32[36], v: float32[36])",
    )
    assert "segments" not in placed(source).memory


def test_what_a_constant_is_computed_from_in_steps_is_on_its_devices():
    """Large devices read w; small ones read v, which is computed from w in two steps."""
    source = BRANCH.replace("u: float32[36], v: float32[36])", "v: float32[36])")
    source = source.replace("(in0[a0] * in1[a0]) + in2[a0]", "in0[a0] * in1[a0]")
    result = placed(source)
    assert result.memory["segments"] == [{"bytes": 192, "below": 24}]
    assert {name: result.buffers[name].segment for name in "wuv"} == {"w": None, "u": None, "v": 0}


def test_a_launch_has_few_enough_segments():
    """The constants of one that needs more stay in the arena."""
    names = [f"w{n}" for n in range(BINDINGS + 2)]
    buffers = "".join(f"buffer {name}: float32[90000] constant\n" for name in (*names, "v"))
    operands = ", ".join(f"{name}: float32[90000]" for name in names)
    total = "in0[a0]"
    for n, _ in enumerate(names[1:], 1):
        total = f"({total}) + in{n}[a0]" if n > 1 else f"{total} + in{n}[a0]"
    source = WEIGHTS + buffers + calls(("v", 90000))
    source += f"out: float32[200] = nest({operands})\n  where p0 = 200\n  for a0 < p0\n"
    result = placed(source + f"  out0[a0] = {total}\n")
    assert {result.buffers[name].segment for name in names} == {None}
    assert result.buffers["v"].segment == 0


def test_bindings():
    assert bindings([None, None]) == ((), [])
    assert bindings([None, 5, 2, 5]) == ((0, 1, 2, 1), [5, 2])


@pytest.mark.parametrize("limit", [64 << 10, 1 << 20])
def test_kernels_name_bindings_and_launches_segments(limit):
    """Layers in different segments share a kernel."""
    layers = 6
    lines = ["graph g", "input x0: float32[64,256]"]
    for n in range(layers):
        lines += [
            f"slot w{n}: float32[256,256]",
            f"x{n + 1}: float32[64,256] = MatMul(x{n}, w{n})",
        ]
    graph = parse_graph("\n".join([*lines, f"output y = x{layers}", ""]))
    backend = with_target(REGISTRY["webgpu"], memory={"segment": limit}, runs={"classes": ()})
    document = program(graph, backend)
    launches = [step for step in document["main"] if "kernel" in step]
    per_segment = max(1, limit // (4 * 256 * 256))
    assert [step["segments"] for step in launches] == [[n // per_segment] for n in range(layers)]
    assert len({step["kernel"] for step in launches}) == 1
    assert document["kernels"][launches[0]["kernel"]]["segments"] == [0, 1, 0]
    for entry in document["init"]:
        assert document["kernels"][entry["kernel"]]["segments"] == [0, 1]
