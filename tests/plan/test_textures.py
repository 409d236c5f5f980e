"""Buffers of textures: Variables live at the same time have different buffers, and those of one
kind reuse them.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webkiln.errors import InternalError
from webkiln.ir import symbols
from webkiln.ir.types import Type
from webkiln.lower.draws import split_draws
from webkiln.nest.build import Lowering
from webkiln.nest.expr import apply
from webkiln.nest.interpret import interpret
from webkiln.nest.steps import Copy, View
from webkiln.plan.arena import Extent
from webkiln.plan.memory import Range
from webkiln.plan.textures import Textures, assign

T = symbols.placeholder("T")
KINDS = [Extent("float32", 4), Extent("int32", 4), Extent("float32", 4 * T), Extent("float32", 9)]


@st.composite
def ranges(draw):
    kinds = {
        f"v{number}": draw(st.sampled_from(KINDS)) for number in range(draw(st.integers(0, 12)))
    }
    firsts = {name: draw(st.integers(0, 10)) for name in kinds}
    return [
        Range(name, kind.bytes, firsts[name], firsts[name] + draw(st.integers(0, 6)))
        for name, kind in kinds.items()
    ], kinds


@settings(deadline=None)
@given(ranges(), st.integers(0, 5))
def test_variables_live_at_once_have_different_buffers(items_and_kinds, first):
    items, kinds = items_and_kinds
    numbers, buffers = assign(items, kinds, first)
    assert all(buffers[number - first] == kinds[name] for name, number in numbers.items())
    for a in items:
        for b in items:
            if a.name < b.name and a.first <= b.last and b.first <= a.last:
                assert numbers[a.name] != numbers[b.name]


def test_a_chain_alternates_between_two_buffers():
    chain = [Range(f"v{n}", 16, n, n + 1) for n in range(10)]
    assert len(assign(chain, {item.name: KINDS[0] for item in chain}, 0)[1]) == 2


def test_a_draw_that_reads_its_target_is_rejected():
    views = [View("a", Type("float32", (4,))), View("a", Type("float32", (2, 2)))]
    textures = Textures()
    textures.reserve("a", KINDS[0])
    with pytest.raises(InternalError, match="reads and writes buffer 0"):
        textures.allocate([Copy(views[0], views[1], "copy")], {}, set())


def test_outputs_beyond_one_draw_are_split():
    x = View("x", Type("float32", (3, 5)))
    outs = [
        View("row", Type("float32", (3,))),
        View("at", Type("int32", (3,))),
        View("sum", Type("float32", (3,))),
        View("wide", Type("float32", (2, 3))),
    ]
    low = Lowering([x], outs, "several")
    nest = low.nest()
    index = nest.axes((3,))
    value = nest.load(x, (*index, nest.reduce(5)))
    largest, total = nest.accumulate("argmax", value), nest.accumulate("sum", value)
    nest.store(outs[0], largest)
    nest.store(outs[1], nest.index_of(largest))
    nest.store(outs[2], apply("neg", total))
    nest.store(outs[3], largest + total, (nest.number(1), *index))
    nest.done()
    values = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    unsplit = _results(low.calls, values, outs)
    for targets, count in ((4, 2), (2, 3), (1, 4)):
        parts = split_draws(low.calls[0], targets)
        assert len(parts) == count
        for name, result in _results(parts, values, outs).items():
            np.testing.assert_array_equal(result, unsplit[name])


def _results(calls, values, outs):
    arrays = {view.name: np.zeros(view.shape, view.type.dtype) for view in outs} | {"x": values}
    for call in calls:
        operands = [arrays[view.name].reshape(view.shape) for view in (*call.inputs, *call.outputs)]
        interpret(call.nest, operands[: len(call.inputs)], call.args, operands[len(call.inputs) :])
    return arrays
