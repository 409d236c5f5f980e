"""The conditions under which padding is folded into convolutions and poolings: its value, its axes
and `count_include_pad`. Results never change.
"""

import numpy as np
import pytest

from tests.passes.comparison import CONV, agree, graph_of, operators
from tests.passes.graphs import evaluate_graph
from tests.passes.running import run
from webkiln.ops.table import parse


@pytest.mark.parametrize("counted", ["true", "false"])
@pytest.mark.parametrize("pool_pads", [(0, 0), (0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("value", "low"),
    [("0.0", "[0,1,0,0]"), ("1.0", "[0,1,0,0]"), ("0.0", "[0,1,0,1]"), ("0.0", "[1,1,0,0]")],
)
def test_padding_of_average_pooling(
    value: str, low: str, pool_pads: tuple[int, int], counted: str
) -> None:
    rows = [int(size) for size in low.strip("[]").split(",")]
    shape = [1 + rows[0], 5, 4, 2 + rows[3]]
    out = [shape[0], shape[1] - 1 + pool_pads[0], shape[2] - 1 + pool_pads[1], shape[3]]
    graph = parse(
        f"""graph g
input x: float32[1,4,4,2]
p: float32{shape} = Pad(x) {{"high":[0,0,0,0],"low":{low},"value":{value}}}
y: float32{out} = AvgPool(p) {{"axes":[1,2],"count_include_pad":{counted},"dilation":[1,1],\
"pad_high":[0,0],"pad_low":[{pool_pads[0]},{pool_pads[1]}],"strides":[1,1],"window":[2,2]}}
output out = y
""".replace(", ", ",")
    )
    absorbed = run("absorb_padding", graph)
    remaining = [node.op for node in run("remove_unused", absorbed).nodes]
    fits = value == "0.0" and low == "[0,1,0,0]" and (counted == "true" or pool_pads == (0, 0))
    assert remaining == (["AvgPool"] if fits else ["Pad", "AvgPool"])
    inputs = {"x": np.random.default_rng(1).uniform(1, 2, (1, 4, 4, 2)).astype(np.float32)}
    np.testing.assert_allclose(
        evaluate_graph(absorbed, inputs)["out"], evaluate_graph(graph, inputs)["out"], rtol=1e-6
    )


@pytest.mark.parametrize(("value", "fits"), [("-Infinity", True), ("0.0", False)])
def test_padding_of_max_pooling(value: str, fits: bool) -> None:
    graph = parse(f"""graph g
input x: float32[1,4,4,2]
p: float32[1,5,4,2] = Pad(x) {{"high":[0,0,0,0],"low":[0,1,0,0],"value":{value}}}
y: float32[1,4,3,2] = MaxPool(p) {{"axes":[1,2],"dilation":[1,1],"pad_high":[0,0],\
"pad_low":[0,0],"strides":[1,1],"window":[2,2]}}
output out = y
""")
    absorbed = run("absorb_padding", graph)
    assert [node.op for node in run("remove_unused", absorbed).nodes] == (
        ["MaxPool"] if fits else ["Pad", "MaxPool"]
    )
    inputs = {"x": np.random.default_rng(1).uniform(-2, -1, (1, 4, 4, 2)).astype(np.float32)}
    np.testing.assert_array_equal(
        evaluate_graph(absorbed, inputs)["out"], evaluate_graph(graph, inputs)["out"]
    )


@pytest.mark.parametrize(
    ("low", "fits"), [("[0,1,0]", True), ("[1,0,0]", False), ("[0,0,1]", False)]
)
@pytest.mark.parametrize("value", ["0.0", "1.0"])
def test_only_zero_padding_of_spatial_axes_is_folded_into_convolutions(low, fits, value):
    batch, _, channel = map(int, low.strip("[]").split(","))
    length = 4 + (low == "[0,1,0]")
    graph = graph_of(f"""
        graph g
        input x: float32[1,4,2]
        slot w: float32[3,{2 + channel},5]
        p: float32[{1 + batch},{length},{2 + channel}] = Pad(x) {{"high":[0,0,0],"low":{low},\
"value":{value}}}
        y: float32[{1 + batch},{length - 2},5] = Conv(p, w) {CONV}
        output out = y
    """)
    absorbed = run("absorb_padding", graph)
    assert operators(absorbed) == (["Conv"] if fits and value == "0.0" else ["Pad", "Conv"])
    agree(absorbed, graph)


@pytest.mark.parametrize("gap", [1, 2])
def test_folded_padding_is_dilated_with_the_input(gap):
    length = (6 - 1) * gap + 1 - 2
    attrs = CONV.replace("}", f',"x_dilation":[{gap}]}}')
    graph = graph_of(f"""
        graph g
        input x: float32[1,4,2]
        slot w: float32[3,2,5]
        p: float32[1,6,2] = Pad(x) {{"high":[0,1,0],"low":[0,1,0],"value":0.0}}
        y: float32[1,{length},5] = Conv(p, w) {attrs}
        output out = y
    """)
    absorbed = run("absorb_padding", graph)
    assert operators(absorbed) == ["Conv"]
    agree(absorbed, graph)


@pytest.mark.parametrize("side", ["pad_low", "pad_high"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("counted", ["true", "false"])
def test_padding_is_not_folded_into_means_that_exclude_padding(side, axis, counted):
    pads = {"pad_low": [0, 0], "pad_high": [0, 0]}
    pads[side][axis] = 1
    sizes = [5 - 1 + (axis == 0), 4 - 1 + (axis == 1)]
    graph = graph_of(f"""
        graph g
        input x: float32[1,4,4,1]
        p: float32[1,5,4,1] = Pad(x) {{"high":[0,0,0,0],"low":[0,1,0,0],"value":0.0}}
        y: float32[1,{sizes[0]},{sizes[1]},1] = AvgPool(p) {{"axes":[1,2],\
"count_include_pad":{counted},"dilation":[1,1],"pad_high":{pads["pad_high"]},\
"pad_low":{pads["pad_low"]},"strides":[1,1],"window":[2,2]}}
        output out = y
    """)
    absorbed = run("absorb_padding", graph)
    assert operators(absorbed) == (["AvgPool"] if counted == "true" else ["Pad", "AvgPool"])
    agree(absorbed, graph)
