"""What operators say of their cost is what their loops say, within a factor of four; budgets run
out.
"""

from math import prod

import numpy as np
import pytest

from webkiln.errors import SourceError
from webkiln.ir.dim import is_symbolic
from webkiln.ir.graph import Node
from webkiln.ir.types import Type
from webkiln.nest.build import Lowering
from webkiln.nest.steps import NestCall, Repeat, Step, View
from webkiln.ops import budget
from webkiln.ops.budget import (
    CALL,
    MEMORY_BYTES,
    NODES,
    Budget,
    count_nodes,
    elements,
    hold,
    limited,
)
from webkiln.ops.table import OPERATORS, complete, evaluate, find, infer

CONTROL = {"If", "Loop", "Scan"}
"""Their graphs are evaluated, and counted, node by node."""
SLACK = 4


def points(steps: list[Step]) -> int:
    """How many points the loop nests of some steps have."""
    total = 0
    for step in steps:
        if isinstance(step, NestCall):
            sizes = [step.args[loop.extent.value] for loop in (*step.nest.axes, *step.nest.reduce)]
            total += prod(size for size in sizes if not is_symbolic(size))
        if isinstance(step, Repeat):
            total += int(step.count) * points(list(step.steps))
    return total


@pytest.mark.parametrize("name", sorted(OPERATORS.keys() - CONTROL))
def test_work_is_what_the_loops_say(name: str) -> None:
    for case in find(name).cases():
        node = Node(
            name, tuple(f"x{n}" for n, _ in enumerate(case.inputs)), ("y",), dict(case.attrs)
        )
        given = [Type(str(array.dtype), array.shape) for array in case.inputs]
        types = infer(node, given)
        low = Lowering(
            [View(f"x{n}", type_) for n, type_ in enumerate(given)],
            [View(f"y{n}", type_) for n, type_ in enumerate(types)],
            "layer",
        )
        find(name).lower(low, complete(node))
        said = find(name).work(complete(node), given, types)
        assert isinstance(said, int)
        assert SLACK * (said + CALL) >= points(low.steps), case.name
        assert find(name).scratch(complete(node), given, types) >= 0


def test_large_products_are_not_taken_for_elements() -> None:
    side = Type("float32", (4096, 4096))
    matmul = find("MatMul").work(complete(Node("MatMul", ("a", "b"), ("y",))), [side, side], [side])
    assert matmul > 100 * elements([side] * 3)


RELU = Node("Relu", ("x",), ("y",), {}, "layer")


def test_a_budget_runs_out_of_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "WORK", 3000 + 2 * CALL)
    x = np.ones(1000, np.float32)
    with limited():
        evaluate(RELU, [x])
        with pytest.raises(
            SourceError,
            match=r"^layer \(Relu\): evaluating the constants .* takes more than 11,192 operations",
        ):
            evaluate(RELU, [x])


def test_stored_weights_enlarge_a_budget() -> None:
    small, large = Budget(), Budget(100 << 20)
    assert large.work > 50 * small.work
    assert large.memory > 5 * small.memory


def test_a_budget_runs_out_of_memory_before_anything_is_allocated() -> None:
    broadcast = Node("Broadcast", ("x",), ("y",), {"shape": (1 << 26,)}, "layer")
    with (
        limited(),
        pytest.raises(SourceError, match=f"takes more than {MEMORY_BYTES:,} bytes of memory"),
    ):
        evaluate(broadcast, [np.ones(1, np.float32)])
    with limited():
        hold(MEMORY_BYTES - 100)
        with pytest.raises(SourceError, match="bytes of memory"):
            evaluate(RELU, [np.ones(100, np.float32)])
        hold(100 - MEMORY_BYTES)
        evaluate(RELU, [np.ones(100, np.float32)])


def test_there_is_no_budget_unless_one_is_set() -> None:
    hold(1 << 60)
    count_nodes("layer", "Relu", 1 << 60)
    with limited():
        count_nodes("layer", "Relu", 1 << 60)
    with (
        limited(spec_nodes=1),
        pytest.raises(
            SourceError, match=f"more than {NODES + 4:,} nodes once its loops are unrolled"
        ),
    ):
        count_nodes("layer", "Relu", NODES + 5)


def test_a_budget_inside_another_is_the_outer_one() -> None:
    with limited(), limited(1 << 40), pytest.raises(SourceError):
        hold(MEMORY_BYTES + 1)
