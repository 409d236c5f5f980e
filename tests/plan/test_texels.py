"""Which Variables lie four elements to a texel, which in quarters, and what is computed together
then.
"""

from textwrap import dedent

import pytest

from webkiln.backends.table import TARGETS
from webkiln.errors import InternalError
from webkiln.ir import dim
from webkiln.ir.text import parse
from webkiln.plan.texels import draw
from webkiln.program import plan


def planned(text):
    return plan(parse("graph g\n" + dedent(text).strip() + "\n"), TARGETS["webgl"])


ROWS = """
    input x: float32[8,12]
    slot w: float32[12,{columns}]
    m: float32[8,{columns}] = MatMul(x, w)
    y: float32[8,{columns}] = Relu(m)
    output y = y
"""


def test_a_product_of_whole_rows_computes_four_by_four():
    made = planned(ROWS.format(columns=20))
    assert made.texels == {"x", "w", "y"}
    assert made.quarters == {"y": 2 * 20}
    (schedule,) = [choice.schedule for choice in made.choices]
    assert (schedule.vector, schedule.lanes, schedule.tile, schedule.count, schedule.unroll) == (
        "a1",
        4,
        "a0",
        4,
        "r0",
    )
    assert (schedule.texels, schedule.vectors, schedule.quarters) == ((0, 1, 2), (0, 1), (2,))


SQUARE = """
    input x: float32[{rows},12]
    slot w: float32[12,12]
    a: float32[{rows},12] = MatMul(x, w)
    y: float32[{rows},12] = MatMul(a, w)
    output y = y
"""


@pytest.mark.parametrize(
    ("rows", "quarter"),
    [(1, None), (2, None), (3, 1), (4, 1), (5, 2), (49, 13), ("N", None), ("4*N", "N")],
)
def test_rows_that_are_no_multiple_of_four_end_beyond_the_output(rows, quarter):
    made = planned(SQUARE.format(rows=rows))
    if quarter is None:
        assert not made.quarters
        return
    quarters = {
        name: dim.abbreviate(size) if dim.is_symbolic(size) else size
        for name, size in made.quarters.items()
    }
    assert quarters == dict.fromkeys(("a", "y"), "12*N" if quarter == "N" else 12 * quarter)
    first, second = (choice.schedule for choice in made.choices)
    assert (first.quarters, first.level) == ((2,), ()), "what is given lies as it came"
    assert (second.quarters, second.level) == (
        (0, 2),
        (0,),
    ), "each row of a lies in the layer of that of y"


def test_quarters_of_other_rows_are_not_level():
    made = planned("""
        input x: float32[1,7,7,12]
        slot w: float32[3,3,1,12]
        slot v: float32[1,1,12,16]
        a: float32[1,7,7,12] = Conv(x, w) {"dilation":[1,1],"groups":12,"out_dims":[0,3,1,2],"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
        y: float32[1,7,7,16] = Conv(a, v) {"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
        output y = y
    """)
    assert made.quarters == {"a": 2 * 7 * 12, "y": 13 * 16}
    assert [choice.schedule.level for choice in made.choices] == [(), ()]


def test_rows_that_are_no_whole_texels_are_computed_one_by_one():
    made = planned(ROWS.format(columns=10))
    assert made.texels == {"x"}
    (schedule,) = [choice.schedule for choice in made.choices]
    assert (schedule.vector, schedule.lanes, schedule.tile, schedule.unroll) == (
        None,
        1,
        None,
        "r0",
    )
    assert made.choices[0].why == "a fragment computes one element, 4 turns of r0 at once"


def test_what_is_stored_in_part_at_an_odd_place_lies_one_by_one():
    text = """
        input x: float32[6,4]
        p: float32[6,8] = Pad(x) {{"high":[0,{high}],"low":[0,{low}],"value":1.0}}
        a: float32[6,4] = Exp(x)
        b: float32[6,{other}] = Exp(p)
        y: float32[6,{total}] = Concat(a, b) {{"axis":1}}
        output y = y
    """
    assert "y" in planned(text.format(high=4, low=0, other=8, total=12)).texels
    odd = """
        input x: float32[6,4]
        input z: float32[6,2]
        a: float32[6,4] = Exp(x)
        y: float32[6,6] = Concat(z, a) {"axis":1}
        output y = y
    """
    assert "y" not in planned(odd).texels


def test_integers_and_odd_sizes_lie_one_by_one():
    made = planned(
        """
        input x: float32[4,8]
        n: int32[4,8] = Cast(x) {"dtype":"int32"}
        s: float32[3] = Slice(t) {"sizes":[3],"starts":[0],"steps":[1]}
        input t: float32[5]
        output n = n
        output s = s
    """.replace("        input t: float32[5]\n", "").replace(
            "input x", "input t: float32[5]\n        input x"
        )
    )
    assert made.texels == {"x"}


def test_states_lie_as_what_they_are_copied_to_and_from():
    made = planned("""
        input x: float32[4]
        slot zero: float32[4]
        state sum zero next -> total: float32[4]
        next: float32[4] = Add(total, x)
        output y = next
    """)
    assert {"total", "zero", "next"} <= made.texels
    assert not made.quarters


def test_a_call_that_cannot_store_whole_texels_is_told():
    made = planned(ROWS.format(columns=10))
    (call,) = made.lowered.calls
    with pytest.raises(
        InternalError, match="lies four elements to a texel, which the call does not store whole"
    ):
        draw(call, {"y"})
