"""The estimated work of operators matches that of their loops within a factor of four; exceeded
budgets raise.
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
from webkiln.ops.linear import MatMul
from webkiln.ops.shape import Broadcast
from webkiln.ops.table import OPERATORS, attributes_of, evaluate, find, infer

CONTROL = {"If", "Loop", "Scan"}
"""Their nested graphs are evaluated, and charged, node by node."""
SLACK = 4


def points(steps: list[Step]) -> int:
    """The number of points of all loop nests in `steps`."""
    total = 0
    for step in steps:
        if isinstance(step, NestCall):
            sizes = [step.args[loop.extent.value] for loop in (*step.nest.axes, *step.nest.reduce)]
            total += prod(size for size in sizes if not is_symbolic(size))
        if isinstance(step, Repeat):
            total += int(step.count) * points(list(step.steps))
    return total


@pytest.mark.parametrize("name", sorted(OPERATORS.keys() - CONTROL))
def test_work_estimates_match_the_loops(name: str) -> None:
    operator = find(name)
    for case in operator.cases():
        node = Node(
            name,
            tuple(f"x{n}" for n, _ in enumerate(case.inputs)),
            ("y",),
            attributes_of(name, case.attrs),
        )
        input_types = [Type(str(array.dtype), array.shape) for array in case.inputs]
        types = infer(node, input_types)
        low = Lowering(
            [View(f"x{n}", type_) for n, type_ in enumerate(input_types)],
            [View(f"y{n}", type_) for n, type_ in enumerate(types)],
            "layer",
        )
        operator.lower(low, node.attrs)
        work = operator.cost.work(node.attrs, input_types, types)
        assert isinstance(work, int)
        assert SLACK * (work + CALL) >= points(low.steps), case.name
        assert operator.cost.scratch(node.attrs, input_types, types) >= 0


def test_the_work_of_products_exceeds_their_number_of_elements() -> None:
    side = Type("float32", (4096, 4096))
    matmul = find("MatMul").cost.work(MatMul(), [side, side], [side])
    assert matmul > 100 * elements([side] * 3)


RELU = Node("Relu", ("x",), ("y",), layer="layer")


def test_exceeding_the_work_raises(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_exceeding_the_memory_raises_before_the_allocation() -> None:
    broadcast = Node("Broadcast", ("x",), ("y",), Broadcast((1 << 26,)), "layer")
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


def test_without_a_budget_nothing_is_limited() -> None:
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


def test_outer_budgets_take_precedence() -> None:
    with limited(), limited(1 << 40), pytest.raises(SourceError):
        hold(MEMORY_BYTES + 1)
