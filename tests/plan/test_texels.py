"""Packing of texels: which Variables are stored four elements to a texel, which in quarters, and
how calls are vectorised.
"""

from textwrap import dedent

import pytest

from webkiln.backends.table import REGISTRY
from webkiln.errors import InternalError
from webkiln.ir import dim
from webkiln.nest.schedule import Tile
from webkiln.ops.table import parse
from webkiln.plan.texels import draw


def planned(text):
    return REGISTRY["webgl"].plan(parse("graph g\n" + dedent(text).strip() + "\n"))


def texels(program):
    """The buffers stored four elements to a texel."""
    return {name for name, item in program.buffers.items() if item.layout is not None}


def quarters(program):
    """The elements of a quarter of each buffer that is stored in quarters."""
    stored = ((name, item.layout) for name, item in program.buffers.items())
    return {name: at.quarter for name, at in stored if at is not None and at.quarter is not None}


ROWS = """
    input x: float32[8,12]
    slot w: float32[12,{columns}]
    m: float32[8,{columns}] = MatMul(x, w)
    y: float32[8,{columns}] = Relu(m)
    output y = y
"""


def test_a_product_of_full_texels_computes_four_by_four():
    result = planned(ROWS.format(columns=20))
    assert texels(result) == {"x", "w", "y"}
    assert quarters(result) == {"y": 2 * 20}
    (schedule,) = [call.schedule for call in result.calls]
    assert (schedule.tile, schedule.unroll) == (Tile("a1", 4, "a0", 4), "r0")
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
def test_quarters_are_padded_if_rows_are_no_multiple_of_four(rows, quarter):
    result = planned(SQUARE.format(rows=rows))
    if quarter is None:
        assert not quarters(result)
        return
    found = {
        name: dim.abbreviate(size) if dim.is_symbolic(size) else size
        for name, size in quarters(result).items()
    }
    assert found == dict.fromkeys(("a", "y"), "12*N" if quarter == "N" else 12 * quarter)
    first, second = (call.schedule for call in result.calls)
    assert (first.quarters, first.level) == ((2,), ()), "inputs are not stored in quarters"
    assert (second.quarters, second.level) == (
        (0, 2),
        (0,),
    ), "each row of a is in the layer of the same row of y"


def test_quarters_of_different_rows_do_not_share_layers():
    result = planned("""
        input x: float32[1,7,7,12]
        slot w: float32[3,3,1,12]
        slot v: float32[1,1,12,16]
        a: float32[1,7,7,12] = Conv(x, w) {"dilation":[1,1],"groups":12,"out_dims":[0,3,1,2],"pad_high":[1,1],"pad_low":[1,1],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
        y: float32[1,7,7,16] = Conv(a, v) {"dilation":[1,1],"groups":1,"out_dims":[0,3,1,2],"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"w_dims":[3,2,0,1],"x_dims":[0,3,1,2]}
        output y = y
    """)  # noqa: E501
    assert quarters(result) == {"a": 2 * 7 * 12, "y": 13 * 16}
    assert [call.schedule.level for call in result.calls] == [(), ()]


def test_rows_of_partial_texels_are_computed_one_element_at_a_time():
    """The weights are decoded as one row."""
    result = planned(ROWS.format(columns=10))
    assert texels(result) == {"x", "w"}
    (schedule,) = [call.schedule for call in result.calls]
    assert (schedule.tile, schedule.unroll) == (Tile(), "r0")
    assert result.calls[0].choice.why == "a fragment computes one element, 4 turns of r0 at once"


def test_stores_at_unaligned_offsets_are_not_packed():
    text = """
        input x: float32[6,4]
        p: float32[6,8] = Pad(x) {{"high":[0,{high}],"low":[0,{low}],"value":1.0}}
        a: float32[6,4] = Exp(x)
        b: float32[6,{other}] = Exp(p)
        y: float32[6,{total}] = Concat(a, b) {{"axis":1}}
        output y = y
    """
    assert "y" in texels(planned(text.format(high=4, low=0, other=8, total=12)))
    odd = """
        input x: float32[6,4]
        input z: float32[6,2]
        a: float32[6,4] = Exp(x)
        y: float32[6,6] = Concat(z, a) {"axis":1}
        output y = y
    """
    assert "y" not in texels(planned(odd))


def test_integers_and_odd_sizes_are_not_packed():
    result = planned(
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
    assert texels(result) == {"x"}


def test_states_are_packed_like_their_initial_and_next_values():
    result = planned("""
        input x: float32[4]
        slot zero: float32[4]
        state sum zero next -> total: float32[4]
        next: float32[4] = Add(total, x)
        output y = next
    """)
    assert {"total", "zero", "next"} <= texels(result)
    assert not quarters(result)


def test_a_call_that_cannot_store_full_texels_is_rejected():
    result = planned(ROWS.format(columns=10))
    (call,) = result.calls
    with pytest.raises(InternalError, match="the call does not store full texels"):
        draw(call, {"y"})
