"""Functions of the model whose opsets differ from its own, compared with onnxruntime, which runs
their nodes as models of that opset: in functions, it uses the model's opset, against the standard.
"""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.onnx.models import floats, literal
from tests.frontends.onnx.running import onnxruntime_outputs
from webkiln.errors import SourceError
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.probe import read_model
from webkiln.ops.evaluate import run_graph

pytestmark = pytest.mark.probes

node = helper.make_node
X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 3, 4)


def function(name, inputs, outputs, nodes, opset, **options):
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, inputs, outputs, nodes, opsets, **options)


def axes(name, values):
    return node("Constant", [], [name], value=literal("", values))


SQUEEZES = {
    11: [node("Unsqueeze", ["a"], ["u"], axes=[1]), node("Squeeze", ["u"], ["b"], axes=[1])],
    13: [axes("one", [1]), node("Unsqueeze", ["a", "one"], ["u"]),
         node("Squeeze", ["u", "one"], ["b"])],
}  # fmt: skip
SOFTMAX = [node("Softmax", ["a"], ["b"], axis=1)]
"""Over axes 1 and 2 together before opset 13."""
SUMS = {
    11: [node("ReduceSum", ["a"], ["b"], axes=[1], keepdims=0)],
    18: [axes("one", [1]), node("ReduceSum", ["a", "one"], ["b"], keepdims=0)],
}


def sided(opset):
    """Branches inside of the function, which reads its operand in both."""
    graphs = [
        helper.make_graph(body, f"side{number}", [], [floats("b", None)])
        for number, body in enumerate((SUMS[opset], [node("ReduceMax", ["a"], ["b"], axes=[1],
                                                          keepdims=0)]
                                       if opset < 18 else
                                       [axes("one", [1]), node("ReduceMax", ["a", "one"], ["b"],
                                                               keepdims=0)]))
    ]  # fmt: skip
    return [
        node("ReduceSum", ["a"], ["all"], keepdims=0),
        node("Constant", [], ["zero"], value=numpy_helper.from_array(np.float32(0))),
        node("Less", ["all", "zero"], ["c"]),
        node("If", ["c"], ["o"], then_branch=graphs[0], else_branch=graphs[1]),
    ]


def called(name, opset, functions, calls=None, outputs=("y",)):
    calls = calls or [node(name, ["x"], ["y"], "call", domain="own")]
    graph = helper.make_graph(
        calls,
        "g",
        [floats("x", 2, 3, 4)],
        [helper.make_empty_tensor_value_info(output) for output in outputs],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions, ir_version=10)


def scaled(*, default):
    """An attribute of the call reaches a node."""
    options = (
        {"attribute_protos": [helper.make_attribute("slope", 0.25)]}
        if default
        else {"attributes": ["slope"]}
    )
    leaky = node("LeakyRelu", ["a"], ["b"])
    reference = onnx.AttributeProto(
        name="alpha", type=onnx.AttributeProto.FLOAT, ref_attr_name="slope"
    )
    leaky.attribute.append(reference)
    return function("f", ["a"], ["b"], [leaky], 14, **options)


TWICE = [node("f", ["x"], ["h"], "first", domain="own"), node("f", ["h"], ["y"], domain="own")]
MODELS = {
    **{
        f"squeezes {opset} in {outer}": called(
            "f", outer, [function("f", ["a"], ["b"], SQUEEZES[opset], opset)]
        )
        for opset, outer in ((11, 13), (11, 21), (13, 11), (13, 21), (13, 13))
    },
    "softmax 11 in 17": called("f", 17, [function("f", ["a"], ["b"], SOFTMAX, 11)]),
    "softmax 17 in 11": called("f", 11, [function("f", ["a"], ["b"], SOFTMAX, 17)]),
    "called twice": called("f", 17, [function("f", ["a"], ["b"], SOFTMAX, 11)], TWICE),
    "nested": called(
        "outer",
        17,
        [
            function("outer", ["a"], ["b"],
                     [node("f", ["a"], ["u"], domain="own"), *SUMS[18][:1],
                      node("ReduceSum", ["u", "one"], ["b"])], 18),
            function("f", ["a"], ["b"], SOFTMAX, 11),
        ],
    ),
    "branches 11 in 17": called("f", 17, [function("f", ["a"], ["o"], sided(11), 11)]),
    "branches 18 in 17": called("f", 17, [function("f", ["a"], ["o"], sided(18), 18)]),
    "attribute": called(
        "f", 17, [scaled(default=False)], [node("f", ["x"], ["y"], domain="own", slope=0.5)]
    ),
    "default": called("f", 17, [scaled(default=True)]),
    "overridden": called(
        "f", 17, [scaled(default=True)], [node("f", ["x"], ["y"], domain="own", slope=0.75)]
    ),
    "passed through": called(
        "f", 17, [function("f", ["a"], ["b", "a"], SOFTMAX, 11)],
        [node("f", ["x"], ["y", "z"], domain="own")], ("y", "z"),
    ),
    "absent operand": called(
        "f", 17,
        [function("f", ["a", "low", "high"], ["b"], [node("Clip", ["a", "low", "high"], ["b"])],
                  13)],
        [node("Constant", [], ["h"], value=numpy_helper.from_array(np.float32(0.5))),
         node("f", ["x", "", "h"], ["y"], domain="own")],
    ),
}  # fmt: skip


def alone(nodes, opset, x=X, inputs=("a",), output="b"):
    """What onnxruntime computes for the nodes of a function."""
    graph = helper.make_graph(
        nodes,
        "g",
        [floats(name, *x.shape) for name in inputs],
        [helper.make_empty_tensor_value_info(output)],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    return onnxruntime_outputs(proto, dict.fromkeys(inputs, x))[output]


def leaky(slope):
    return [np.where(X < 0, X * np.float32(slope), X)]


EXPECTED = {
    "softmax 11 in 17": lambda: [alone(SOFTMAX, 11)],
    "softmax 17 in 11": lambda: [alone(SOFTMAX, 17)],
    "called twice": lambda: [alone(SOFTMAX, 11, alone(SOFTMAX, 11))],
    "nested": lambda: [alone(SOFTMAX, 11).sum(1, keepdims=True)],
    "branches 11 in 17": lambda: [alone(sided(11), 11, output="o")],
    "branches 18 in 17": lambda: [alone(sided(18), 18, output="o")],
    "attribute": lambda: leaky(0.5),
    "default": lambda: leaky(0.25),
    "overridden": lambda: leaky(0.75),
    "passed through": lambda: [alone(SOFTMAX, 11), X],
    "absent operand": lambda: [np.minimum(X, 0.5)],
}


@pytest.mark.parametrize("name", MODELS)
def test_functions_keep_their_opset(name, tmp_path):
    onnx.save(MODELS[name], tmp_path / "net.onnx")
    graph = OnnxConverter().convert(*read_model(tmp_path / "net.onnx"))
    outputs, _ = run_graph(graph, {"x": X})
    expected = [X] if name.startswith("squeezes") else EXPECTED[name]()
    for output, value in zip(outputs.values(), expected, strict=True):
        np.testing.assert_allclose(output, value, rtol=1e-5, atol=1e-6)


def test_functions_that_call_themselves_are_rejected(tmp_path):
    body = [node("f", ["a"], ["b"], domain="own")]
    onnx.save(called("f", 17, [function("f", ["a"], ["b"], body, 11)]), tmp_path / "net.onnx")
    with pytest.raises(SourceError):
        read_model(tmp_path / "net.onnx")


def test_an_operator_removed_from_the_functions_opset_is_reported(tmp_path):
    body = [node("Upsample", ["a", "s"], ["b"], "up")]
    proto = called(
        "f", 9, [function("f", ["a", "s"], ["b"], body, 13)],
        [node("Constant", [], ["s"], value=numpy_helper.from_array(np.ones(3, np.float32))),
         node("f", ["x", "s"], ["y"], domain="own")],
    )  # fmt: skip
    onnx.save(proto, tmp_path / "net.onnx")
    with pytest.raises(SourceError, match="was removed before opset 13"):
        read_model(tmp_path / "net.onnx")


def test_the_type_of_an_operand_is_checked(tmp_path):
    body = [node("And", ["a", "a"], ["b"])]
    proto = called("f", 17, [function("f", ["a"], ["b"], body, 11)])
    proto.graph.output[0].type.tensor_type.elem_type = TensorProto.BOOL
    onnx.save(proto, tmp_path / "net.onnx")
    with pytest.raises(SourceError):
        OnnxConverter().convert(*read_model(tmp_path / "net.onnx"))
