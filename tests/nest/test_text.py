"""Programs are printed and parsed again, verified, and run by the numpy interpreter."""

import re

import numpy as np
import pytest

from tests.backends.harness import expected, node_job
from tests.lower.mixed_graphs import graph
from tests.programs import lower, rewritten
from webkiln.backends.compare import relative_error
from webkiln.backends.table import REGISTRY
from webkiln.errors import InternalError
from webkiln.ir.types import Type
from webkiln.lower.lower import unfused
from webkiln.nest.expr import FLOAT, INT, apply, arg, axis, bitcast, cast, cast_in_range, const
from webkiln.nest.expr_text import ExprParser, ExprPrinter
from webkiln.nest.parse import parse
from webkiln.nest.program import Buffer, Program
from webkiln.nest.run import run_program
from webkiln.nest.steps import Branch, Copy, DeviceBranch, Repeat, View, WhileLoop
from webkiln.nest.text import print_program
from webkiln.nest.verify import verify
from webkiln.ops.evaluate import constant_values
from webkiln.ops.table import OPERATORS


@pytest.mark.parametrize("operator", OPERATORS)
def test_programs_of_operators(operator):
    """Every sample case: the text is parsed to an equal program, which computes the reference."""
    for case in OPERATORS[operator].cases():
        job = node_job(operator, case, trained=False)
        for program in (unfused(job.graph), lower(job.graph)):
            verify(program)
            assert parse(print_program(program)) == program
            values = constant_values(job.graph, {}) | dict(job.inputs)
            results = run_program(program, values)
            for output, want in expected(operator, case).items():
                got = results[program.root(output)][: want.size].reshape(want.shape)
                if want.dtype.kind == "f":
                    assert relative_error(got.astype(want.dtype), want) <= 1e-3
                else:
                    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_programs_of_random_graphs(start):
    for seed in range(start, start + 50):
        for backend in ("js", "webgl"):
            program = rewritten(graph(seed), REGISTRY[backend])
            assert parse(print_program(program)) == program


def numbers():
    return [
        *(const(value) for value in (0.0, -0.0, 1.5, 1e-30, -1e30, np.inf, -np.inf, np.nan, 3)),
        *(const(value, INT) for value in (0, -1, 2**31 - 1)),
        *(const(value, "u32") for value in (0, 2**32 - 1)),
        *(const(value, "i64") for value in (0, -(2**63))),
        const(2**64 - 1, "u64"),
        *(const(value, "f64") for value in (0.1, -0.0, np.nan, -np.inf, 1e300)),
        const(1, "bool"),
        const(0, "bool"),
    ]


def test_numbers_of_every_type():
    for number in numbers():
        assert ExprParser((), (), (), {}).parse(ExprPrinter([number]).text(number)) is number


def test_operators_of_equal_precedence_keep_their_operands():
    a, b, x = axis("a'1"), arg("b"), cast(axis("a'1"), FLOAT)
    exprs = [
        apply("sub", a, apply("sub", b, apply("sub", a, const(-3, INT)))),
        apply("sub", apply("sub", a, b), const(3, INT)),
        apply("add", apply("mul", a, b), apply("add", const(0, INT), a)),
        apply("div", x, apply("div", x, x)),
        apply("and", apply("lt", a, b), apply("or", apply("eq", a, b), apply("ge", b, a))),
        cast_in_range(apply("floor", x)),
        cast(bitcast(x, INT), "bool"),
    ]
    for expr in exprs:
        printer = ExprPrinter([expr])
        lines = dict(line.split(" = ") for line in printer.lines)
        parsed = ExprParser(["a'1"], ["b"], (), lines).parse(printer.text(expr))
        assert parsed is expr


def test_steps_with_blocks():
    x, flag = View("x y", Type("float32", (2, 3))), View("c", Type("bool", ()))
    y = View("y", Type("float32", (6,)))
    copy = Copy(x, y, "a layer")
    steps = (
        Repeat("i0", 4, (Repeat("i1", 2, (copy,)),)),
        Branch(flag, (copy,), (copy, copy), "choice"),
        Branch(flag, (copy,), ()),
        DeviceBranch(64, (copy,), (DeviceBranch(8, (copy, copy), (copy,)),)),
        WhileLoop("i2", flag, None, (copy,)),
        WhileLoop("i3", flag, 7, (copy,), "loop", ("u0", 7)),
    )
    buffers = {
        "x y": Buffer("x y", x.type, "float32", "input"),
        "c": Buffer("c", flag.type, "uint32", "state"),
        "y": Buffer("y", y.type, "float16"),
    }
    program = Program("a program", buffers, steps, frozenset({"y"}), {"z": "y"})
    verify(program)
    assert parse(print_program(program)) == program


PROGRAM = """program g
buffer x: float32[4] input
buffer y: float32[4]
live y
y: float32[4] = nest(x: float32[4]) @e
  where p0 = 4
  for a0 < p0
  out0[a0] = exp(in0[a0])
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("x: float32[4] input", "x: float32[4]", "e (NestCall) reads x before a step writes it"),
        ("x: float32[4] input", "x: float32[5] input", "uses x as float32[4], but it is"),
        ("buffer x: float32[4] input\n", "", "uses x, which is no buffer"),
        ("where p0 = 4", "where p1 = 4", "text form"),
        ("where p0 = 4", "where p0 = i0", ""),
        ("live y", "live z", "z is read after the last step, and no step writes it"),
        ("in0[a0]", "in0[a0, a0]", "a load of input 0"),
        (
            "where p0 = 4",
            "where p0 = 4\n  part product p",
            "e (NestCall) is part of a choice that is",
        ),
    ],
)
def test_invalid_programs_are_rejected(old, new, message):
    verify(parse(PROGRAM))
    text = PROGRAM.replace(old, new)
    if new == "where p0 = i0":
        verify(parse(text))  # a size that a caller sets
        text += "repeat i0 < 2:\n  copy x: float32[4] -> y: float32[4]\n"
        message = "uses the counter i0 outside of its loop"
    with pytest.raises(InternalError, match=re.escape(message)):
        verify(parse(text))


@pytest.mark.parametrize(
    "line",
    [
        "nothing",
        "  out0[a0] = ",
        "  out0[a0] = in0[a0] +",
        "  acc0 = sum(%7)",
        "buffer x",
        "decided:",
        "decided:\n  decision key = 3",
    ],
)
def test_lines_that_do_not_parse_are_rejected(line):
    with pytest.raises(InternalError, match="text form"):
        parse(PROGRAM + line + "\n")


def test_choices_are_described():
    decision = 'decided:\n  decision key = "product p"; chosen = "a b"; a b = [0.5, null]\n'
    text = PROGRAM.replace("live y\n", f"live y\n{decision}")
    text = text.replace("where p0 = 4\n", "where p0 = 4\n  part product p\n")
    program = parse(text)
    verify(program)
    assert [call.part_of for call in program.calls] == ["product p"]
    assert program.decided == {
        "product p": {"key": "product p", "chosen": "a b", "candidates": [["a b", 0.5, None]]}
    }
    assert print_program(program) == text
