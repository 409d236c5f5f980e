"""Messages from descriptions are encoded like protobuf's own."""

import onnx
import pytest
from google.protobuf import text_format, wrappers_pb2

from webkiln.frontends.protobuf.messages import message_types

ENUMS = {"Kind": "SMALL = 0; LARGE = 3"}
MESSAGES = {
    "Leaf": "1 value double",
    "Tree": (
        "1 name string; 2 kind Kind = LARGE; 3 sizes int64**; 4 plain int64*; 5 leaves Leaf*; 6"
        " by_name map<string, Leaf>; 7 count uint32 = 1; 8 flag bool = true"
    ),
    "Model": "1 ir_version int64; 7 graph Graph; 8 opset_import Opset*",
    "Graph": "1 node Node*; 2 name string",
    "Node": "1 input string*; 2 output string*; 4 op_type string",
    "Opset": "1 domain string; 2 version int64",
    "Double": "1 value double",
}
TYPES = message_types("webkiln.tests", ENUMS, MESSAGES)


def test_all_field_types_round_trip():
    tree = TYPES["Tree"](name="oak", sizes=[1, -2, 1 << 40], plain=[3, 4])
    tree.leaves.add(value=0.5)
    tree.by_name["x"].value = 1.5
    decoded = TYPES["Tree"].FromString(tree.SerializeToString())
    assert decoded == tree
    assert text_format.Parse(text_format.MessageToString(tree), TYPES["Tree"]()) == tree
    assert (decoded.kind, decoded.count, decoded.flag, decoded.HasField("kind")) == (
        3,
        1,
        True,
        False,
    )
    assert text_format.Parse("kind: SMALL", TYPES["Tree"]()).kind == 0


def test_messages_of_the_onnx_package_are_read():
    node = onnx.helper.make_node("Relu", ["x"], ["y"])
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "net", [], []))
    read = TYPES["Model"].FromString(model.SerializeToString())
    assert (read.ir_version, read.graph.name, read.opset_import[0].version) == (
        model.ir_version,
        "net",
        model.opset_import[0].version,
    )
    assert [(item.op_type, [*item.input], [*item.output]) for item in read.graph.node] == [
        ("Relu", ["x"], ["y"])
    ]
    assert (
        TYPES["Double"].FromString(wrappers_pb2.DoubleValue(value=2.5).SerializeToString()).value
        == 2.5
    )


@pytest.mark.parametrize("text", ["1 name", "1 name string***", "x name string"])
def test_malformed_descriptions_fail(text):
    with pytest.raises(AssertionError, match="Wrong"):
        message_types("webkiln.wrong", {}, {"Wrong": text})
