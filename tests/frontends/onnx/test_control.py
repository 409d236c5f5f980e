"""Branches and loops: known conditions are resolved during conversion, data-dependent ones become
part of the program.
"""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.backends.harness import Job, run
from tests.frontends.onnx.control_models import DATA, KNOWN, branches, doubled, node
from tests.frontends.onnx.models import floats, model
from tests.frontends.onnx.running import converted, onnxruntime_outputs
from webkiln.frontends.nodes.call import DataDependentError
from webkiln.ops.evaluate import run_graph

X = np.array([1.0, -2.0, 3.0], np.float32)


def test_a_known_branch_is_inlined():
    assert [item.op for item in converted(branches(KNOWN)).nodes] == ["Add"]
    assert "If" in [item.op for item in converted(branches(DATA)).nodes]


@pytest.mark.parametrize("backend", ["js", "wasm"])
def test_data_dependent_control_flow_agrees_with_onnxruntime(backend, tmp_path):
    models = [branches(DATA), doubled(100, 500.0), doubled(3, 500.0), doubled(None, 500.0)]
    jobs, expected = [], []
    for proto in models:
        for x in (X, -X, X * 10):
            graph = converted(proto)
            if proto is not models[0] and x.sum() < 0:
                continue
            jobs.append(Job(graph, {"x": x}, graph.weights))
            expected.append(onnxruntime_outputs(proto, {"x": x}))
    for outputs, reference in zip(run(jobs, backend, tmp_path), expected, strict=True):
        for name, value in reference.items():
            np.testing.assert_allclose(outputs[name], value, rtol=1e-6)


def summed(limit, condition, begin=(), *, start=0, increment=1, compare="int64", carried="int64"):
    """Running sums of the rows of x [T, 3]: a loop with an explicit counter, as in exported
    recurrences.

    `limit` and `begin`: nodes that compute "limit" and "begin"; None or () if there is no operand.
    `condition`: nodes that compute "more" from "next_at", the counter after the step, "step", the
    number of the step, and "n", the length T. These have the dtype `compare`.
    """
    size = [
        node("Shape", ["x"], ["sizes"]),
        node("Slice", ["sizes", "zeros", "ones"], ["first"]),
        node("Squeeze", ["first"], ["length"]),
    ]
    cast = helper.np_dtype_to_tensor_dtype(np.dtype(compare))
    size.append(node("Cast", ["length"], ["n"], to=cast))
    body = helper.make_graph(
        [
            node("Gather", ["x", "at"], ["row"]),
            node("Mul", ["row", "scale_in"], ["scaled"]),
            node("Add", ["sum_in", "scaled"], ["sum"]),
            node("Add", ["at", "increment"], ["at_next"]),
            node("Cast", ["at_next"], ["next_at"], to=cast),
            node("Cast", ["i"], ["step"], to=cast),
            node("Identity", ["scale_in"], ["scale_out"]),
            node("Identity", ["sum"], ["seen"]),
            *condition,
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info(
                "at", helper.np_dtype_to_tensor_dtype(np.dtype(carried)), []
            ),
            floats("sum_in", 3),
            floats("scale_in", 3),
        ],
        [
            helper.make_tensor_value_info("more", TensorProto.BOOL, []),
            helper.make_tensor_value_info(
                "at_next", helper.np_dtype_to_tensor_dtype(np.dtype(carried)), []
            ),
            floats("sum", 3),
            floats("scale_out", 3),
            floats("seen", 3),
        ],
    )
    loop = node(
        "Loop",
        ["limit" if limit is not None else "", "begin" if begin else "", "start", "zero", "scale"],
        ["last", "total", "same", "all"],
        body=body,
    )
    constants = {
        "zeros": np.zeros(1, np.int64),
        "ones": np.ones(1, np.int64),
        "start": np.array(start, carried),
        "increment": np.array(increment, carried),
        "zero": np.zeros(3, np.float32),
        "scale": np.array([1, 2, 3], np.float32),
        "one": np.array(1, compare),
        "two": np.array(2, compare),
        "true": np.array(1, bool),
        "one_step": np.array(1, np.int64),
        "none": np.zeros(0, np.int64),
        "limit_of_sum": np.array(2, np.float32),
        "far": np.array(2**63 - 1, np.int64),
        "few": np.array(70, np.int64),
        "nothing": np.array(0, compare),
    }
    outputs = [
        helper.make_tensor_value_info(
            "last", helper.np_dtype_to_tensor_dtype(np.dtype(carried)), []
        ),
        *map(floats, ["total", "same"], [3, 3]),
    ]
    outputs.append(floats("all", None, 3))
    nodes = [*size, *(limit or []), *begin, loop]
    return model(
        nodes,
        [floats("x", "T", 3)],
        outputs,
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )


LIMITS = {
    "T": [node("Identity", ["length"], ["limit"])],
    "far": [node("Identity", ["far"], ["limit"])],
    "absent": None,
    "T - 1": [node("Sub", ["length", "one_step"], ["limit"])],
    "few": [node("Identity", ["few"], ["limit"])],
}
CONDITIONS = {
    "true": [node("Identity", ["true"], ["more"])],
    "given": [node("Identity", ["go"], ["more"])],
    "less": [node("Less", ["next_at", "n"], ["more"])],
    "greater": [node("Greater", ["n", "next_at"], ["more"])],
    "at most": [
        node("Sub", ["n", "one"], ["top"]),
        node("LessOrEqual", ["next_at", "top"], ["more"]),
    ],
    "at least": [
        node("Sub", ["n", "one"], ["top"]),
        node("GreaterOrEqual", ["top", "next_at"], ["more"]),
    ],
    "step": [node("Less", ["step", "n"], ["more"])],
    "both": [
        node("Less", ["step", "n"], ["a"]),
        node("Less", ["next_at", "n"], ["b"]),
        node("And", ["a", "b"], ["m"]),
        node("Reshape", ["m", "none"], ["more"]),
    ],
    "data": [
        node("ReduceSum", ["sum"], ["s"], keepdims=0),
        node("Less", ["s", "limit_of_sum"], ["more"]),
    ],
    "data and less": [
        node("ReduceSum", ["sum"], ["s"], keepdims=0),
        node("Less", ["s", "limit_of_sum"], ["a"]),
        node("Less", ["next_at", "n"], ["b"]),
        node("And", ["a", "b"], ["more"]),
    ],
}
BEGINS = {
    "": (),
    "true": [node("Identity", ["true"], ["begin"])],
    "some": [node("Less", ["nothing", "n"], ["begin"])],
    "second": [node("Less", ["one", "n"], ["begin"])],
}
COUNTED = [
    *(
        ("T", condition, begin, {})
        for condition in ("true", "given", "less", "step", "both")
        for begin in ("", "true", "some")
    ),
    *(
        (limit, condition, "", {})
        for limit in ("far", "absent")
        for condition in ("less", "greater", "at most", "at least", "both")
    ),
    *(
        ("T", "less", "some", {"compare": compare, "carried": carried})
        for compare in ("float32", "int32", "float64")
        for carried in ("int32", "int64")
    ),
    ("far", "less", "second", {"start": 1}),
    ("T - 1", "true", "", {}),
    ("T - 1", "true", "", {"start": 1}),
    ("T - 1", "less", "second", {"start": 1}),
    ("T", "true", "", {"increment": 0}),
]
STOPPED = [
    ("T", "data", "", {}),
    ("T", "data", "some", {}),
    ("T", "data and less", "", {}),
    ("T", "less", "", {"increment": 3}),
    ("T", "less", "", {"start": 1, "increment": 2}),
    ("few", "less", "", {}),
    ("few", "data and less", "", {}),
    ("T - 1", "data", "second", {}),
]


def _rows(count):
    return {"x": np.random.default_rng(count).standard_normal((count, 3)).astype(np.float32)}


def _agrees(proto, operator, counts):
    """The graph has a loop by this operator, and agrees with onnxruntime for these numbers of
    rows.
    """
    graph = converted(proto)
    assert {operator} == {item.op for item in graph.nodes} & {"Scan", "Loop"}
    for count in counts:
        inputs = _rows(count)
        results, _ = run_graph(graph, inputs | graph.weights)
        for name, value in onnxruntime_outputs(proto, inputs).items():
            assert results[name].shape == value.shape
            np.testing.assert_allclose(results[name], value, rtol=1e-6)


@pytest.mark.parametrize(("limit", "condition", "begin", "options"), COUNTED)
def test_a_loop_whose_trip_count_is_a_size_is_a_recurrence(limit, condition, begin, options):
    _agrees(
        summed(LIMITS[limit], CONDITIONS[condition], BEGINS[begin], **options), "Scan", (1, 2, 5)
    )


@pytest.mark.parametrize(("limit", "condition", "begin", "options"), STOPPED)
def test_a_loop_that_stops_early_returns_one_result_per_iteration(limit, condition, begin, options):
    _agrees(
        summed(LIMITS[limit], CONDITIONS[condition], BEGINS[begin], **options), "Loop", (2, 3, 8)
    )


@pytest.mark.parametrize("backend", ["js", "wasm", "webgpu", "webgl"])
def test_loops_over_a_symbolic_size_agree_with_onnxruntime(backend, tmp_path):
    models = [
        summed(LIMITS["T"], CONDITIONS["both"], BEGINS["some"], compare="float32", carried="int32"),
        summed(LIMITS["T"], CONDITIONS["data"]),
    ]
    jobs, expected = [], []
    for proto in models:
        graph = converted(proto)
        for count in (1, 2, 5):
            jobs.append(Job(graph, _rows(count), graph.weights))
            expected.append(onnxruntime_outputs(proto, _rows(count)))
    for outputs, reference in zip(run(jobs, backend, tmp_path), expected, strict=True):
        for name, value in reference.items():
            assert outputs[name].shape == value.shape
            np.testing.assert_allclose(outputs[name], value, rtol=1e-5)


def test_scan_outputs_without_a_bound_are_rejected():
    for limit in ("far", "absent"):
        with pytest.raises(DataDependentError, match="Loop"):
            converted(summed(LIMITS[limit], CONDITIONS["data"]))
