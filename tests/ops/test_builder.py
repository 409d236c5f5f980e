"""GraphBuilder: names, constants, axes aligned by name; run_graph."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from webkiln.errors import InternalError, ShapeError
from webkiln.ir.axis import AXES, Order, OrderC, OrderCN, OrderNC, OrderNHWC, anonymous
from webkiln.ir.text import print_graph
from webkiln.ir.verify import verify
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.evaluate import next_states, run_graph
from webkiln.ops.table import RULES, infer, parse


def finish(b, **outputs):
    graph = b.graph(outputs)
    verify(graph, infer)
    assert parse(print_graph(graph)) == graph
    return graph


def test_nodes_are_named_after_layers():
    b = GraphBuilder("my model", RULES)
    x = b.input("in put", "float32", (1, 2), OrderNC)
    b.layer = "dense: 1"
    y = b.op("Relu", [x]) + b.slot("dense: 1/bias", np.zeros(2, "float32"), OrderC)
    graph = finish(b, out=y * 2)
    assert print_graph(graph) == (
        "graph my%20model\n"
        "input in%20put: float32[1,2] N,C\n"
        "slot dense%3A%201/bias: float32[2] C\n"
        "const dense%3A%201.const: float32[] = [2.0]\n"
        "dense%3A%201: float32[1,2] N,C = Relu(in%20put) @dense%3A%201\n"
        "dense%3A%201.2: float32[1,2] N,C = Add(dense%3A%201, dense%3A%201/bias) @dense%3A%201\n"
        "dense%3A%201.3: float32[1,2] N,C = Mul(dense%3A%201.2, dense%3A%201.const) @dense%3A%201\n"
        "output out = dense%3A%201.3\n"
    )


def test_slots_are_renamed_if_their_names_are_in_use():
    b = GraphBuilder("g", RULES)
    x = b.input("w", "float32", (2,))
    slots = [
        b.slot(name, np.full(2, value, "float32"))
        for name, value in (("w", 1), ("w.2", 2), ("w", 1), ("w ", 3))
    ]
    assert [slot.name for slot in slots] == ["w.2", "w.2.2", "w.2", "w "]
    graph = finish(b, y=x + slots[0] + slots[1] + slots[3])
    assert b.by_variable({"w": 1, "w.2": 2}) == {"w.2": 1, "w.2.2": 2}
    assert {name: value[0] for name, value in graph.weights.items()} == {
        "w.2": 1,
        "w.2.2": 2,
        "w ": 3,
    }


def test_scalars_on_both_sides():
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", (3,))
    graph = finish(b, y=1 - x / 2, z=2 * -x + 1, w=6 / x)
    outputs, _ = run_graph(graph, {"x": np.array([1, 2, 4], "float32")})
    assert outputs["y"].tolist() == [0.5, 0, -1]
    assert outputs["z"].tolist() == [-1, -3, -7]
    assert outputs["w"].tolist() == [6, 3, 1.5]


def test_axes_align_by_name():
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", (2, 3), OrderNC)
    graph = finish(b, y=x - b.input("z", "float32", (3, 2), OrderCN))
    assert [node.op for node in graph.nodes] == ["Transpose", "Sub"]
    b = GraphBuilder("g", RULES)
    image = b.input("x", "float32", (1, 4, 5, 3), OrderNHWC)
    graph = finish(b, y=image * b.input("row", "float32", (4,), Order((AXES[2],))))
    assert [node.op for node in graph.nodes] == ["Reshape", "Mul"]
    assert graph.nodes[0].attrs.as_dict()["shape"] == (1, 4, 1, 1)


def test_anonymous_axes_broadcast_like_numpy():
    b = GraphBuilder("g", RULES)
    graph = finish(
        b, y=b.input("x", "float32", (3, 3), OrderNC) + b.input("z", "float32", (3,), anonymous(1))
    )
    assert [node.op for node in graph.nodes] == ["Add"]


SIZES = dict(zip(AXES[:5], (2, 3, 4, 5, 6), strict=True))


@given(
    left=st.permutations(AXES[:5]),
    right=st.permutations(AXES[:5]),
    counts=st.tuples(st.integers(0, 5), st.integers(0, 5)),
)
def test_alignment_equals_einsum(left, right, counts):
    left, right = Order(tuple(left[: counts[0]])), Order(tuple(right[: counts[1]]))
    generator = np.random.default_rng(0)
    b = GraphBuilder("g", RULES)
    arrays = [
        generator.normal(size=[SIZES[axis] for axis in order.axes]).astype("float32")
        for order in (left, right)
    ]
    x, y = (
        b.input(name, "float32", array.shape, order)
        for name, array, order in zip("xy", arrays, (left, right), strict=True)
    )
    product = x * y
    letters = {axis: "abcde"[index] for index, axis in enumerate(SIZES)}
    spell = lambda order: "".join(letters[axis] for axis in order.axes)  # noqa: E731
    wide, narrow = (left, right) if len(left) >= len(right) else (right, left)
    target = Order(wide.axes + tuple(axis for axis in narrow.axes if axis not in wide))
    expected = np.einsum(f"{spell(left)},{spell(right)}->{spell(target)}", *arrays)
    outputs, _ = run_graph(finish(b, z=product), dict(zip("xy", arrays, strict=True)))
    assert np.allclose(outputs["z"], expected, atol=1e-5)


def test_states():
    b = GraphBuilder("g", RULES)
    x = b.input("x", "float32", ())
    start = b.state("total", b.slot("total", np.array(5, "float32")))
    b.set_state("total", start + x)
    graph = finish(b, y=start * 2)
    outputs, values = run_graph(graph, {"x": np.array(1, "float32")})
    assert outputs["y"] == 10
    outputs, _ = run_graph(graph, {"x": np.array(1, "float32")}, states=next_states(graph, values))
    assert outputs["y"] == 12


def test_invalid_operations_raise():
    b, other = GraphBuilder("g", RULES), GraphBuilder("h", RULES)
    x = b.input("x", "float32", (2,))
    with pytest.raises(InternalError, match="belongs to another graph"):
        other.op("Relu", [x])
    b.slot("w", np.zeros(2, "float32"))
    with pytest.raises(
        InternalError, match=r"slot w has conflicting types float32\[2\] and float32\[3\]"
    ):
        b.slot("w", np.zeros(3, "float32"))
    with pytest.raises(InternalError, match="has 2 axes"):
        b.input("y", "float32", (2,), OrderNC)
    b.layer = "sum"
    with pytest.raises(ShapeError, match=r"sum \(Add\)"):
        x + b.input("z", "float32", (3,))
    with pytest.raises(ShapeError, match="input x is missing"):
        run_graph(b.graph({}), {})
    with pytest.raises(ShapeError, match=r"input x is float32\[3\], expected float32\[2\]"):
        run_graph(b.graph({}), {"x": np.zeros(3, "float32"), "z": np.zeros(3, "float32")})
