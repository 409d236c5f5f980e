"""Expressions are interned and checked; nests survive JSON; an index says how it moves."""

import pytest

from tests.backends.harness import node_job
from tests.programs import lower
from webkiln.errors import InternalError
from webkiln.ir.types import Type
from webkiln.nest import nest as nests
from webkiln.nest.affine import step
from webkiln.nest.build import Lowering
from webkiln.nest.expr import (
    BOOL,
    FLOAT,
    INT,
    apply,
    arg,
    axis,
    cast,
    const,
    load,
    rebuild,
    select,
    walk,
)
from webkiln.nest.steps import View
from webkiln.ops.table import OPERATORS


def test_equal_expressions_are_identical():
    assert axis("i") + 1 is axis("i") + 1
    assert const(0.0) is not const(-0.0)
    assert const(0.0) is not const(0, INT)
    assert const(float("nan")) is const(float("nan"))
    assert const(1, BOOL) is not const(1, INT)
    assert const(0.1).value != 0.1, "float constants are rounded to float32"


def test_integer_identities_are_applied_and_float_ones_are_not():
    i, x = axis("i"), load(0, FLOAT, [axis("i")])
    assert i + 0 is i
    assert i * 1 is i
    assert i * 0 is const(0, INT)
    assert const(2, INT) * const(3, INT) is const(6, INT)
    assert (x + 0.0).op == "add"
    assert (x * 1.0).op == "mul"


@pytest.mark.parametrize(
    "build",
    [
        lambda: apply("add", axis("i"), const(1.0)),
        lambda: apply("sqrt", axis("i")),
        lambda: apply("and", const(1.0), const(1.0)),
        lambda: apply("exp", const(1.0), const(1.0)),
        lambda: select(const(1.0), const(1.0), const(2.0)),
        lambda: load(0, FLOAT, [const(1.0)]),
        lambda: load(0, FLOAT, [axis("i")], const(1.0), const(0.0)),
    ],
)
def test_type_errors_raise(build):
    with pytest.raises(InternalError):
        build()


def test_rebuild_replaces_bottom_up():
    expr = (axis("i") + arg("p")) * 2
    changed = rebuild(expr, lambda node: const(0, INT) if node is arg("p") else None)
    assert changed is axis("i") * 2
    assert [node.op for node in walk([expr])] == ["axis", "arg", "add", "const", "mul"]


def test_steps_of_index_expressions():
    i, j, p = axis("i"), axis("j"), arg("p")
    assert step(j * p, "i") == 0
    assert step(i, "i") == 1
    assert step(i + j * p - 1, "i") == 1
    assert step(i * p + j, "i") is p
    assert step(apply("shr", i, const(1, INT)), "i") is None
    assert step(cast(cast(i, FLOAT), INT), "i") is None
    assert step(j - i, "i") is None


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_nests_round_trip_through_json(name):
    for case in OPERATORS[name].cases():
        for call in lower(node_job(name, case, trained=False).graph).calls:
            assert nests.from_json(nests.to_json(call.nest)) == call.nest
            assert nests.from_json(nests.to_json(call.nest)).key == call.nest.key


def test_malformed_nests_raise():
    view = View("x", Type("float32", (4, 4)))
    low = Lowering([view], [View("y", Type("float32", (4,)))], "layer")
    nest = low.nest()
    (row,) = nest.axes((4,))
    column = nest.reduce(4)
    nest.store(low.outputs[0], nest.load(view, [row, column]))
    with pytest.raises(InternalError, match="the epilogue reads the reduction axis"):
        nest.done()
