"""Weights on both sides of the size from which they stay in their file, wherever a model may have
them; compared with onnxruntime.
"""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.onnx.models import floats, literal
from tests.frontends.onnx.running import onnxruntime_outputs
from webkiln.errors import SourceError
from webkiln.frontends.onnx.check import parse_model
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.load import validate_model
from webkiln.frontends.onnx.probe import read_model
from webkiln.ops.evaluate import run_graph

pytestmark = pytest.mark.probes

node = helper.make_node
ROWS = 128
OPSETS = {"": 17, "own": 1}


def weight(name, columns, listed=False):
    values = (np.arange(ROWS * columns).reshape(ROWS, columns) % 7 - 3).astype(np.float32) / 8
    return (
        helper.make_tensor(name, TensorProto.FLOAT, values.shape, values.ravel())
        if listed
        else numpy_helper.from_array(values, name)
    )


def constant(name, columns, **options):
    return node("Constant", [], [name], "c", value=weight(name, columns, **options))


def product(columns, *, is_constant, read="x", name="w", write="y"):
    """The nodes and initialisers of x·w."""
    multiply = node("MatMul", [read, name], [write], "m")
    return (
        ([constant(name, columns), multiply], [])
        if is_constant
        else ([multiply], [weight(name, columns)])
    )


def branches(columns, *, is_constant, read="x", condition="c"):
    """Both branches have a weight of the same name, of different shapes."""
    graphs = []
    for number in (0, 1):
        nodes, weights = product(columns + number, is_constant=is_constant, read=read, write="p")
        ends = [literal("starts", [0]), literal("ends", [columns]), literal("axes", [1])]
        nodes.append(node("Slice", ["p", "starts", "ends", "axes"], [f"q{number}"]))
        graphs.append(
            helper.make_graph(nodes, f"g{number}", [], [floats(f"q{number}", None, columns)],
                              [*weights, *ends])
        )  # fmt: skip
    return node("If", [condition], ["y"], "choose", then_branch=graphs[0], else_branch=graphs[1])


def loop(columns, *, is_constant):
    nodes, weights = product(columns, is_constant=is_constant, read="x", write="p")
    nodes += [node("Add", ["s", "p"], ["t"]), node("Identity", ["go"], ["on"])]
    scalar = helper.make_tensor_value_info
    body = helper.make_graph(
        nodes,
        "body",
        [scalar("i", TensorProto.INT64, []), scalar("go", TensorProto.BOOL, []),
         floats("s", 2, columns)],
        [scalar("on", TensorProto.BOOL, []), floats("t", 2, columns)],
        weights,
    )  # fmt: skip
    return node("Loop", ["n", "", "zero"], ["y"], "repeat", body=body)


def scan(columns, *, is_constant):
    nodes, weights = product(columns, is_constant=is_constant, read="row", write="t")
    nodes.append(node("Identity", ["s"], ["following"]))
    body = helper.make_graph(
        nodes,
        "body",
        [floats("s", 1), floats("row", 1, ROWS)],
        [floats("following", 1), floats("t", 1, columns)],
        weights,
    )
    return node("Scan", ["one", "rows"], ["last", "stacked"], body=body, num_scan_inputs=1)


def built(place, columns):
    is_constant = place.endswith("constant")
    inputs, extra, functions = [floats("x", 2, ROWS)], [], []
    match place.split()[0]:
        case "main":
            nodes, extra = product(columns, is_constant=is_constant)
        case "if":
            inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
            nodes = [branches(columns, is_constant=is_constant)]
        case "loop":
            nodes = [loop(columns, is_constant=is_constant)]
            extra = [
                numpy_helper.from_array(np.array(3), "n"),
                numpy_helper.from_array(np.zeros((2, columns), np.float32), "zero"),
            ]
        case "scan":
            nodes = [
                node("Reshape", ["x", "stacks"], ["rows"]),
                scan(columns, is_constant=is_constant),
                node("Reshape", ["stacked", "flat"], ["y"]),
            ]
            extra = [
                literal("stacks", [2, 1, ROWS]),
                literal("flat", [2, columns]),
                numpy_helper.from_array(np.zeros(1, np.float32), "one"),
            ]
        case "function":
            nodes = [node("f", ["x"], ["y"], domain="own")]
            body, _ = product(columns, is_constant=True, read="a", write="b")
            functions = [helper.make_function("own", "f", ["a"], ["b"], body, [])]
        case "branches":
            inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
            nodes = [node("f", ["x", "c"], ["y"], domain="own")]
            body = [branches(columns, is_constant=is_constant, read="a", condition="d")]
            functions = [helper.make_function("own", "f", ["a", "d"], ["y"], body, [])]
        case "sparse":
            nodes, _ = product(columns, is_constant=False)
            flat = np.arange(0, ROWS * columns, 3)
            values = numpy_helper.from_array(np.full(len(flat), 0.5, np.float32), "w")
            sparse = helper.make_sparse_tensor(
                values, numpy_helper.from_array(flat, "i"), [ROWS, columns]
            )
            if is_constant:
                nodes.insert(0, node("Constant", [], ["w"], sparse_value=sparse))
            graph = helper.make_graph(
                nodes, "g", inputs, [floats("y", 2, columns)],
                sparse_initializer=[] if is_constant else [sparse],
            )  # fmt: skip
            return helper.make_model(
                graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8
            )
    opsets = [helper.make_opsetid(domain, version) for domain, version in OPSETS.items()]
    for function in functions:
        function.opset_import.extend(opsets)
    graph = helper.make_graph(nodes, "g", inputs, [floats("y", 2, columns)], extra)
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=8)


PLACES = [
    *(
        f"{part} {kind}"
        for part in ("main", "if", "loop", "scan", "branches", "sparse")
        for kind in ("initialiser", "constant")
    ),
    "function constant",
]


@pytest.mark.parametrize("columns", [126, 128, 130])
@pytest.mark.parametrize("place", PLACES)
def test_large_weights_load(place, columns, tmp_path):
    proto, path = built(place, columns), tmp_path / "net.onnx"
    onnx.checker.check_model(proto, full_check=not place.startswith("sparse"))
    onnx.save(proto, path)
    graph = OnnxConverter().convert(*read_model(path))
    x = np.linspace(-1, 1, 2 * ROWS, dtype=np.float32).reshape(2, ROWS)
    for condition in (True, False) if len(proto.graph.input) > 1 else (None,):
        inputs = {"x": x} | ({} if condition is None else {"c": np.array(condition)})
        expected = onnxruntime_outputs(proto, inputs)["y"]
        outputs, _ = run_graph(graph, inputs)
        np.testing.assert_allclose(outputs["y"], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("opset", [7, 9, 11, 13])
@pytest.mark.parametrize("listed", [False, True])
def test_constants_of_old_opsets(opset, listed, tmp_path):
    nodes = [constant("w", 128, listed=listed), node("MatMul", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [floats("x", 2, ROWS)], [floats("y", 2, 128)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=4)
    onnx.save(proto, tmp_path / "net.onnx")
    assert OnnxConverter().convert(*read_model(tmp_path / "net.onnx")).nodes


@pytest.mark.parametrize("indices", [[0, -1], [0, 4], [[0, 2], [0, 0]], [[0], [1]]])
def test_damaged_sparse_weights_are_rejected(indices, tmp_path):
    sparse = helper.make_sparse_tensor(
        numpy_helper.from_array(np.ones(2, np.float32), "w"),
        numpy_helper.from_array(np.array(indices), "i"),
        [2, 2],
    )
    graph = helper.make_graph(
        [node("MatMul", ["x", "w"], ["y"])], "g", [floats("x", 2, 2)], [floats("y", 2, 2)],
        sparse_initializer=[sparse],
    )  # fmt: skip
    onnx.save(helper.make_model(graph), tmp_path / "net.onnx")
    with pytest.raises(SourceError, match=r"initialiser w: (its shape|an index is outside)"):
        read_model(tmp_path / "net.onnx")


def test_a_complete_model_overrules_the_prepared_one(tmp_path, monkeypatch):
    """A file is not rejected for what was removed from it before it was checked."""
    proto = built("main constant", 128)
    onnx.save(proto, tmp_path / "net.onnx")

    def remove_too_much(model):
        model.graph.node[0].attribute[0].t.raw_data = b"1234"

    monkeypatch.setattr("webkiln.frontends.onnx.check.remove_large_arrays", remove_too_much)
    validate_model(lambda: parse_model(tmp_path / "net.onnx"), "net.onnx", tmp_path)
    proto.graph.node[0].attribute[0].t.dims[1] = 127
    onnx.save(proto, tmp_path / "net.onnx")
    with pytest.raises(SourceError, match="its data has 65536 bytes; the file is damaged"):
        validate_model(lambda: parse_model(tmp_path / "net.onnx"), "net.onnx", tmp_path)
