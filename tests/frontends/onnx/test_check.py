"""Models that violate the standard are rejected before conversion; unusual but valid models are
accepted.
"""

import onnx
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from tests.frontends.onnx.models import classifier, floats, literal, model, weight
from tests.frontends.onnx.running import converted
from webkiln.errors import ShapeError, SourceError
from webkiln.frontends.onnx.converter import HANDLERS
from webkiln.frontends.onnx.load import describe_model
from webkiln.frontends.onnx.operators.table import DOMAINS
from webkiln.frontends.onnx.probe import read_model
from webkiln.frontends.onnx.signatures import MICROSOFT

X, Y = floats("x", 2, 3), floats("y", None, None)
node = helper.make_node


def one(op, inputs=("x",), weights=(), **attributes):
    return model(
        [node(op, list(inputs), ["y"], "it", **attributes)],
        [X],
        [Y],
        weights,
        microsoft=attributes.get("domain") == "com.microsoft",
    )


def repeated_attribute():
    proto = one("LeakyRelu", alpha=0.5)
    proto.graph.node[0].attribute.append(helper.make_attribute("alpha", 0.25))
    return proto


def of_element_type(code):
    proto = one("Relu")
    proto.graph.input[0].type.tensor_type.elem_type = code
    return proto


def loop(state=TensorProto.FLOAT, result=None, condition=TensorProto.BOOL, inputs=3):
    """A loop that doubles x, with other types in its body."""
    names = [("i", TensorProto.INT64), ("go", TensorProto.BOOL), ("s", state)][:inputs]
    body = helper.make_graph(
        [
            node("Identity", ["go"], ["on"])
            if condition == TensorProto.BOOL
            else node("Cast", ["go"], ["on"], to=condition),
            node("Add", ["s", "s"], ["t"])
            if result is None
            else node("Cast", ["s"], ["t"], to=result),
        ],
        "body",
        [
            helper.make_tensor_value_info(name, code, [])
            if name != "s"
            else helper.make_tensor_value_info(name, code, [2, 3])
            for name, code in names
        ],
        [
            helper.make_tensor_value_info("on", condition, []),
            helper.make_tensor_value_info("t", result or state, [2, 3]),
        ],
    )
    return model(
        [node("Loop", ["n", "", "x"], ["y"], "it", body=body)], [X], [Y], [literal("n", 3)]
    )


def stale():
    """Unsorted nodes, and shapes of another export."""
    proto = model([node("Relu", ["a"], ["y"]), node("Neg", ["x"], ["a"])], [X], [floats("y", 7, 7)])
    proto.graph.value_info.append(floats("a", 5))
    return proto


REJECTED = {
    "misspelt": (
        one("LeakyRelu", alhpa=0.5),
        "it (LeakyRelu): does not have an attribute alhpa; its attributes are alpha",
    ),
    "none": (one("Relu", alpha=0.5), "it (Relu): does not have an attribute alpha; it has none"),
    "microsoft": (
        one("QuickGelu", domain="com.microsoft", beta=1.0),
        "it (QuickGelu): does not have an attribute beta; its attributes are alpha",
    ),
    "kind": (
        one("LeakyRelu", alpha=1),
        "it (LeakyRelu): its attribute alpha is INT, expected FLOAT",
    ),
    "twice": (repeated_attribute(), "it (LeakyRelu): the attribute alpha is set twice"),
    "missing": (one("Cast"), "it (Cast): its attribute to is missing, INT"),
    "operands": (one("Add"), "it (Add): has 1 operands, expected 2"),
    "pads": (one("Pad", ["x", "p"], [literal("p", [0, 0, 0, 1, 1, 1])]), "it (Pad): "),
    "element type": (of_element_type(99), "x has elements of type 99, which does not exist"),
    "no element type": (of_element_type(0), "x has elements of type 0, which does not exist"),
    "cast": (one("Cast", to=99), "it (Cast): "),
    "dtypes": (one("Add", ["x", "i"], [literal("i", [1, 2, 3])]), "it (Add): "),
    "loop's state": (loop(state=TensorProto.INT32), "it (Loop): "),
    "loop's result": (loop(result=TensorProto.INT64), "it (Loop): "),
    "loop's inputs": (loop(inputs=2), "it (Loop)|reads s"),
    "gone": (
        model([node("Upsample", ["x", "s"], ["y"], "it")], [X], [Y], [weight("s", 2)]),
        "it (Upsample): the operator was removed before opset 21",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_invalid_models_are_rejected(name, tmp_path):
    proto, text = REJECTED[name]
    for read in (
        lambda: describe_model(proto, "net.onnx"),
        lambda: read_model(tmp_path / "net.onnx"),
    ):
        (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
        with pytest.raises(SourceError) as error:
            read()
        assert any(part in str(error.value) for part in text.split("|")), error.value
        assert str(error.value).startswith("net.onnx: ")


@pytest.mark.parametrize("make", [classifier, loop, stale])
def test_unusual_models_are_accepted(make):
    assert converted(make()).nodes


def test_operators_of_plugins_are_not_checked():
    proto = model(
        [
            node("Sparkle", ["x"], ["a"], size=3),
            node("Glitter", ["a"], ["y"], domain="my.ops", many=[1]),
        ],
        [X],
        [Y],
    )
    proto.opset_import.append(helper.make_opsetid("my.ops", 1))
    with HANDLERS.isolated():
        HANDLERS.register("Sparkle")(lambda call: call.op("Relu", call.tensors()))
        HANDLERS.register("Glitter", "my.ops")(lambda call: call.op("Neg", call.tensors()))
        assert [item.op for item in converted(proto).nodes] == ["Relu", "Neg"]


def test_external_weights_are_checked(tmp_path):
    proto = one("Pad", ["x", "p"], [literal("p", [0, 1, 0, 1])])
    large = model([node("MatMul", ["x", "w"], ["y"])], [X], [Y], [weight("w", 3, 40000)])
    for number, (item, shape) in enumerate(((proto, (2, 5)), (large, (2, 40000)))):
        onnx.save(
            item,
            tmp_path / "net.onnx",
            save_as_external_data=True,
            location=f"data{number}",
            size_threshold=0,
            convert_attribute=True,
        )
        spec, blobs = read_model(tmp_path / "net.onnx")
        assert (
            converted(onnx.load(tmp_path / "net.onnx")).type("matmul" if number else "it").shape
            == shape
        )
        assert len(blobs) == number
        assert spec.graph.nodes


def test_unsupported_ir_versions_are_rejected():
    for version, message in (
        (99, "has IR version 99; versions 3 to"),
        (2, "has IR version 2;"),
    ):
        proto = classifier()
        proto.ir_version = version
        with pytest.raises(SourceError, match=message):
            describe_model(proto, "net.onnx")
    proto.ir_version = 14
    assert describe_model(proto, "net.onnx")


def test_the_condition_of_a_loop_must_be_a_bool():
    with pytest.raises(
        ShapeError,
        match=r"it \(Loop\): the condition that its body returns is float32\[\], expected one bool",
    ):
        converted(loop(condition=TensorProto.FLOAT))


def test_exponential_inlining_is_rejected(tmp_path):
    opset = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    functions = [
        helper.make_function("own", "f0", ["a"], ["b"], [node("Neg", ["a"], ["b"])], opset)
    ]
    for n in range(1, 40):
        body = [
            node(f"f{n - 1}", ["a"], ["c"], domain="own"),
            node(f"f{n - 1}", ["c"], ["b"], domain="own"),
        ]
        functions.append(helper.make_function("own", f"f{n}", ["a"], ["b"], body, opset))
    proto = model([node("f39", ["x"], ["y"], domain="own")], [X], [Y])
    proto.opset_import.append(opset[1])
    proto.functions.extend(functions)
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(
        SourceError, match=r"has more than 33,408 nodes after inlining its functions; refused"
    ):
        read_model(tmp_path / "net.onnx")


def test_microsoft_signatures_match_onnxruntime():
    schemas = {(item.domain, item.name): item for item in runtime.get_all_operator_schema()}
    assert set(MICROSOFT) == set(DOMAINS["com.microsoft"])
    for op, signature in MICROSOFT.items():
        schema = schemas.get(("com.microsoft", op)) or schemas["", op]
        assert signature.attributes == {
            name: item.type.name for name, item in schema.attributes.items()
        }, op
        assert signature.required == {
            name for name, item in schema.attributes.items() if item.required
        }, op
        assert (signature.min_inputs, signature.max_inputs, signature.max_outputs) == (
            schema.min_input,
            schema.max_input,
            schema.max_output,
        ), op


@pytest.mark.parametrize("version", [0, -1, 2**31, 2**62])
@pytest.mark.parametrize(
    ("domain", "owner"),
    [("", "model"), ("com.microsoft", "model"), ("", "function"), ("com.microsoft", "function")],
)
def test_unsupported_opset_versions_are_rejected(version, domain, owner):
    proto = one("Neg")
    function = helper.make_function(
        "own", "f0", ["a"], ["b"], [node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 21)]
    )
    proto.functions.append(function)
    imported = proto.opset_import if owner == "model" else proto.functions[0].opset_import
    del imported[:]
    imported.extend(
        [helper.make_opsetid(domain, version), *([helper.make_opsetid("", 21)] if domain else [])]
    )
    with pytest.raises(
        SourceError, match=rf"uses opset {version}.*; opsets 1 to \d+ are supported"
    ):
        describe_model(proto, "net.onnx")
