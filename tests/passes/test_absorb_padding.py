"""Whether padding is folded into a pooling depends on its value, its axes and `count_include_pad`;
results never change.
"""

import numpy as np
import pytest

from tests.passes.graphs import evaluate_graph
from tests.passes.running import run
from webkiln.ir.text import parse


@pytest.mark.parametrize("counted", ["true", "false"])
@pytest.mark.parametrize("own", [(0, 0), (0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("value", "low"),
    [("0.0", "[0,1,0,0]"), ("1.0", "[0,1,0,0]"), ("0.0", "[0,1,0,1]"), ("0.0", "[1,1,0,0]")],
)
def test_padding_of_average_pooling(
    value: str, low: str, own: tuple[int, int], counted: str
) -> None:
    rows = [int(size) for size in low.strip("[]").split(",")]
    shape = [1 + rows[0], 5, 4, 2 + rows[3]]
    out = [shape[0], shape[1] - 1 + own[0], shape[2] - 1 + own[1], shape[3]]
    graph = parse(
        f"""graph g
input x: float32[1,4,4,2]
p: float32{shape} = Pad(x) {{"high":[0,0,0,0],"low":{low},"value":{value}}}
y: float32{out} = AvgPool(p) {{"axes":[1,2],"count_include_pad":{counted},"dilation":[1,1],"pad_high":[0,0],"pad_low":[{own[0]},{own[1]}],"strides":[1,1],"window":[2,2]}}
output out = y
""".replace(", ", ",")
    )
    absorbed = run("absorb_padding", graph)
    left = [node.op for node in run("remove_unused", absorbed).nodes]
    fits = value == "0.0" and low == "[0,1,0,0]" and (counted == "true" or own == (0, 0))
    assert left == (["AvgPool"] if fits else ["Pad", "AvgPool"])
    inputs = {"x": np.random.default_rng(1).uniform(1, 2, (1, 4, 4, 2)).astype(np.float32)}
    np.testing.assert_allclose(
        evaluate_graph(absorbed, inputs)["out"], evaluate_graph(graph, inputs)["out"], rtol=1e-6
    )


@pytest.mark.parametrize(("value", "fits"), [("-Infinity", True), ("0.0", False)])
def test_padding_of_max_pooling(value: str, fits: bool) -> None:
    graph = parse(f"""graph g
input x: float32[1,4,4,2]
p: float32[1,5,4,2] = Pad(x) {{"high":[0,0,0,0],"low":[0,1,0,0],"value":{value}}}
y: float32[1,4,3,2] = MaxPool(p) {{"axes":[1,2],"dilation":[1,1],"pad_high":[0,0],"pad_low":[0,0],"strides":[1,1],"window":[2,2]}}
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
