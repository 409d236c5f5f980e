"""Sequences compared with onnxruntime: each operator with its options, in branches and loops, and
as outputs of the model.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.corpus import Sample, mismatches
from tests.frontends.onnx.models import floats, literal, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.errors import UserError
from webkiln.ops.evaluate import run_graph

node = helper.make_node
OPSET = 17


def scalar(name, value):
    return numpy_helper.from_array(np.array(value, np.int64), name)


def values(name):
    """A sequence of float32 tensors, as an output."""
    return helper.make_tensor_sequence_value_info(name, TensorProto.FLOAT, None)


def split(*weights, read="x", **attributes):
    inputs = [read, *(item.name for item in weights[:1])]
    return node("SplitToSequence", inputs, ["s"], "split", **attributes)


PIECES = {
    "scalar": (split(scalar("n", 2), axis=1), [scalar("n", 2)]),
    "uneven": (split(scalar("n", 4), axis=-1), [scalar("n", 4)]),
    "sizes": (split(literal("n", [1, 3, 2]), axis=1), [literal("n", [1, 3, 2])]),
    "one size": (split(literal("n", [6]), axis=1), [literal("n", [6])]),
    "ignored keepdims": (split(literal("n", [1] * 6), axis=1, keepdims=0), [literal("n", [1] * 6)]),
    "ones": (split(axis=1), []),
    "dropped": (split(axis=1, keepdims=0), []),
    "first axis": (split(), []),
}
THREE = node("SequenceConstruct", ["x", "a", "b"], ["s"])
NEGATED = [node("Neg", ["x"], ["a"]), node("Exp", ["x"], ["b"])]
AT = {
    "insert at the end": ([node("SequenceInsert", ["s", "x"], ["t"])], []),
    **{
        f"insert at {position}": (
            [node("SequenceInsert", ["s", "x", "p"], ["t"])],
            [scalar("p", position)],
        )
        for position in (0, 1, 3, -1, -3)
    },
    "erase the last": ([node("SequenceErase", ["s"], ["t"])], []),
    **{
        f"erase {position}": (
            [node("SequenceErase", ["s", "p"], ["t"])],
            [scalar("p", position)],
        )
        for position in (0, 2, -1, -3)
    },
    "through an empty one": (
        [
            node("SequenceEmpty", [], ["e"]),
            node("SequenceInsert", ["e", "x"], ["u"]),
            node("SequenceInsert", ["u", "b", "zero"], ["t"]),
        ],
        [scalar("zero", 0)],
    ),
    "passed on": ([node("Identity", ["s"], ["t"])], []),
}


def agree(proto, graph=None, **inputs):
    """Compare with onnxruntime; the elements of sequences are outputs with numbers."""
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(2, 6)
    inputs = {"x": x, **inputs}
    expected = {}
    for name, output in onnxruntime_outputs(proto, inputs).items():
        expected |= (
            {f"{name}.{step}": item for step, item in enumerate(output)}
            if isinstance(output, list)
            else {name: output}
        )
    outputs, _ = run_graph(graph or converted(proto), inputs)
    assert list(outputs) == list(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(outputs[name], value, rtol=1e-6)
        assert outputs[name].dtype == np.asarray(value).dtype
    return inputs, expected


def whole(name="len"):
    return helper.make_tensor_value_info(name, TensorProto.INT64, [])


def spread(nodes, outputs, weights=()):
    return model(nodes, [floats("x", 2, 6)], outputs, weights, opset=OPSET)


@pytest.mark.parametrize("name", PIECES)
def test_splits(name):
    piece, weights = PIECES[name]
    nodes = [
        piece,
        node("SequenceLength", ["s"], ["len"]),
        node("SequenceAt", ["s", "last"], ["y"]),
    ]
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    agree(spread(nodes, [values("s"), whole(), y], [*weights, scalar("last", -1)]))


@pytest.mark.parametrize("name", AT)
def test_inserting_and_erasing(name):
    nodes, weights = AT[name]
    agree(spread([*NEGATED, THREE, *nodes], [values("t")], weights))


@pytest.mark.parametrize(
    ("axis", "new_axis"), [(0, 0), (1, 0), (-1, 0), (0, 1), (1, 1), (2, 1), (-1, 1), (-3, 1)]
)
def test_joining(axis, new_axis):
    join = node("ConcatFromSequence", ["s"], ["y"], axis=axis, new_axis=new_axis)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    agree(spread([*NEGATED, THREE, join], [y]))


def test_sizes_stay_known():
    """A shape that is split, changed and joined again is shape arithmetic."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("SplitToSequence", ["shape"], ["s"], axis=0),
        node("SequenceAt", ["s", "zero"], ["rows"]),
        node("SequenceAt", ["s", "one"], ["columns"]),
        node("SequenceConstruct", ["columns", "rows"], ["t"]),
        node("ConcatFromSequence", ["t"], ["sizes"], axis=0),
        node("Reshape", ["x", "sizes"], ["y"]),
    ]
    proto = model(
        nodes, [floats("x", "N", 6)], [floats("y", 6, None)],
        [scalar("zero", 0), scalar("one", 1)], opset=OPSET,
    )  # fmt: skip
    agree(proto)


def branch(name, *positions):
    items = [node("Identity", [f"{'xab'[position]}"], [f"{name}{step}"])
             for step, position in enumerate(positions)]  # fmt: skip
    made = node("SequenceConstruct", [item.output[0] for item in items], [name])
    return helper.make_graph([*items, made], name, [], [values(name)])


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("condition", [True, False])
def test_branches(is_known, condition):
    choose = node(
        "If", ["c"], ["s"], "choose", then_branch=branch("p", 0, 1), else_branch=branch("q", 2, 0)
    )
    inputs, weights, given = [floats("x", 2, 6)], [], {}
    if is_known:
        weights = [numpy_helper.from_array(np.array(condition), "c")]
    else:
        inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
        given = {"c": np.array(condition)}
    proto = model([*NEGATED, choose], inputs, [values("s")], weights, opset=OPSET)
    agree(proto, **given)


def test_loops_that_collect():
    body = helper.make_graph(
        [
            node("Cast", ["i"], ["f"], to=TensorProto.FLOAT),
            node("Mul", ["x", "f"], ["m"]),
            node("SequenceInsert", ["s", "m"], ["t"]),
            node("Identity", ["go"], ["on"]),
        ],
        "body",
        [whole("i"), helper.make_tensor_value_info("go", TensorProto.BOOL, []), values("s")],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), values("t")],
    )
    nodes = [
        node("SequenceEmpty", [], ["e"]),
        node("Loop", ["n", "", "e"], ["u"], "repeat", body=body),
        node("ConcatFromSequence", ["u"], ["y"], axis=0, new_axis=1),
    ]
    agree(spread(nodes, [floats("y", 4, 2, 6), values("u")], [scalar("n", 4)]))


def test_maps():
    """A second sequence is read with the first, and a tensor whole."""
    body = helper.make_graph(
        [
            node("Mul", ["p", "q"], ["pq"]),
            node("Add", ["pq", "r"], ["z"]),
            node("Abs", ["p"], ["w"]),
        ],
        "body",
        [floats(name, None, None) for name in "pqr"],
        [floats(name, None, None) for name in "zw"],
    )
    nodes = [
        *NEGATED,
        node("SequenceConstruct", ["a", "b"], ["first"]),
        node("SequenceConstruct", ["x", "a"], ["second"]),
        node("SequenceMap", ["first", "second", "x"], ["t", "u"], "map", body=body),
    ]
    agree(spread(nodes, [values("t"), values("u")]))


REFUSED = {
    "open length": (
        [split(axis=0)],
        [],
        "split (SplitToSequence): splits an axis of open size",
    ),
    "keepdims": (
        [split(scalar("n", 1), axis=1, keepdims=0)],
        [scalar("n", 1)],
        "split (SplitToSequence): has keepdims=0 and parts of one size",
    ),
    "wrong sizes": (
        [split(literal("n", [1, 3]), axis=1)],
        [literal("n", [1, 3])],
        "split (SplitToSequence): Sum of split values not equal to 'input' dim size",
    ),
    "position": (
        [split(axis=1), node("SequenceAt", ["s", "p"], ["y"], "at")],
        [scalar("p", 6)],
        "at (SequenceAt): position 6 is out of range for 6 elements",
    ),
    "nothing": (
        [node("SequenceEmpty", [], ["s"]), node("ConcatFromSequence", ["s"], ["y"], "j", axis=0)],
        [],
        "j (ConcatFromSequence): joins an empty sequence",
    ),
    "data": (
        [split(axis=1), node("ArgMax", ["x"], ["m"], axis=1, keepdims=0),
         node("Gather", ["m", "zero"], ["p"]), node("SequenceAt", ["s", "p"], ["y"], "at")],
        [scalar("zero", 0)],
        "at (SequenceAt): operand 1 ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_unknown_lengths_and_positions_are_refused(name):
    nodes, weights, message = REFUSED[name]
    output = nodes[-1].output[0]
    proto = model(
        nodes, [floats("x", "N", 6)],
        [values("s") if output == "s" else floats("y", None, None)], weights, opset=OPSET,
    )  # fmt: skip
    with pytest.raises(UserError) as error:
        converted(proto)
    assert message in str(error.value)


def test_branches_of_different_lengths_are_refused():
    choose = node(
        "If", ["c"], ["s"], "choose", then_branch=branch("p", 0, 1), else_branch=branch("q", 2)
    )
    inputs = [floats("x", 2, 6), helper.make_tensor_value_info("c", TensorProto.BOOL, [])]
    with pytest.raises(UserError, match=r"choose \(If\)"):
        converted(model([*NEGATED, choose], inputs, [values("s")], opset=OPSET))


def test_names_of_elements_are_unique():
    proto = spread([split(axis=1), node("Neg", ["x"], ["s.0"])], [values("s"), floats("s.0", 2, 6)])
    with pytest.raises(UserError, match=r"two outputs would be called s\.0"):
        converted(proto)


def test_sequences_run_on_wasm(tmp_path):
    piece, weights = PIECES["sizes"]
    graph = converted(proto := spread([piece], [values("s")], weights))
    inputs, expected = agree(proto, graph)
    assert not mismatches([Sample("s", graph, inputs, expected)], "wasm", tmp_path)
