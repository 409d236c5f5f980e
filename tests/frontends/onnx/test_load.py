"""Specs of ONNX files are canonical and sorted. They do not depend on the numbered names of
exporters, and survive JSON.
"""

import onnx
import pytest
from onnx import helper

from tests.frontends.onnx.models import classifier, dynamic, floats, model
from webkiln import canonical
from webkiln.frontends.core.arrays import Literal, Weight
from webkiln.frontends.nodes.spec import from_json, to_json
from webkiln.frontends.onnx.load import describe_model, layer_tensors


def renamed(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The same model from another export: other inner names, producer and order."""
    text = onnx.printer.to_text(proto)
    again = onnx.parser.parse_model(text)
    for node in again.graph.node:
        node.name = node.name.replace("__7", "__99")
        for names in (node.input, node.output):
            names[:] = [name.replace("c__12", "other__3") for name in names]
    again.producer_name, again.doc_string = "somebody", "on some day"
    nodes, weights = list(again.graph.node), list(again.graph.initializer)
    del again.graph.node[:], again.graph.initializer[:]
    again.graph.node.extend(reversed(nodes))
    again.graph.initializer.extend(reversed(weights))
    return again


def test_another_export_has_an_equal_spec():
    spec, blobs = describe_model(classifier(), "net.onnx")
    again, others = describe_model(renamed(classifier()), "net.onnx")
    assert canonical.dumps(to_json(spec)) == canonical.dumps(to_json(again))
    assert blobs.keys() == others.keys()


@pytest.mark.parametrize("make", [classifier, dynamic])
def test_specs_round_trip_through_json(make):
    spec, _ = describe_model(make(), "net.onnx")
    assert from_json(canonical.loads(canonical.dumps(to_json(spec)))) == spec


def test_weights_are_slots_and_shapes_are_structure():
    spec, _ = describe_model(classifier(), "net.onnx")
    assert sorted(
        item.slot for item in spec.graph.tensors.values() if isinstance(item, Weight)
    ) == [
        "conv/B",
        "conv/W",
        "dense/B",
        "dense/C",
    ]
    shapes, _ = describe_model(dynamic(), "net.onnx")
    assert all(isinstance(item, Literal) for item in shapes.graph.tensors.values())


def test_the_reference_names_layers_like_the_graph():
    proto = classifier()
    spec, _ = describe_model(proto, "net.onnx")
    assert list(layer_tensors(proto, "net.onnx")) == [node.name for node in spec.graph.nodes]


def test_functions_are_inlined():
    body = [helper.make_node("Mul", ["a", "a"], ["b"]), helper.make_node("Neg", ["b"], ["c"])]
    function = helper.make_function(
        "own", "Squared", ["a"], ["c"], body, [helper.make_opsetid("", 21)]
    )
    proto = model(
        [helper.make_node("Squared", ["x"], ["y"], domain="own")],
        [floats("x", 3)],
        [floats("y", 3)],
    )
    proto.opset_import.append(helper.make_opsetid("own", 1))
    proto.functions.append(function)
    spec, _ = describe_model(proto, "net.onnx")
    assert [node.op for node in spec.graph.nodes] == ["Mul", "Neg"]
