"""Handlers of all formats get a `Call`."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from webkiln.errors import ShapeError, UnsupportedError
from webkiln.frontends.caffe.converter import CaffeConverter
from webkiln.frontends.chainer.converter import ChainerConverter
from webkiln.frontends.core.call import Call, OperatorCall
from webkiln.frontends.core.formats import FORMATS
from webkiln.frontends.keras.layer import Layer
from webkiln.frontends.keras.spec import LayerSpec
from webkiln.frontends.nodes.call import GraphValue, NodeCall, known
from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.spec import NodeSpec
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tflite.converter import TfliteConverter
from webkiln.frontends.torch.aten import AtenCall
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.ops.builder import GraphBuilder
from webkiln.ops.table import RULES

NODE_FORMATS: Mapping[str, type[NodeConverter]] = {
    "caffe": CaffeConverter,
    "chainer": ChainerConverter,
    "onnx": OnnxConverter,
    "tensorflow": TensorFlowConverter,
    "tflite": TfliteConverter,
    "torch": TorchConverter,
}
SPEC = NodeSpec("first", "Scale", "", ("x",), ("y",), {"factor": 2.0})


def node_call() -> NodeCall:
    operand: GraphValue = known(np.ones(3), "float32")
    builder = GraphBuilder("model", RULES)
    return NodeCall(SPEC, 1, builder, [operand], lambda *_: [], lambda *_: {})


CALLS: Mapping[str, Any] = {
    "node": node_call(),
    "aten": AtenCall(node_call()),
    "layer": Layer("first", LayerSpec("first", "Scale", {"factor": 2.0}), 0),
}


def test_formats_have_nodes_or_layers() -> None:
    assert {item.name for item in FORMATS} == NODE_FORMATS.keys() | {"keras"}


@pytest.mark.parametrize("name", CALLS)
def test_calls_are_alike(name: str) -> None:
    call = CALLS[name]
    assert Call in type(call).__mro__
    assert (call.path, call.operator, call.where) == ("first", "Scale", "first (Scale)")
    assert (call.attr("factor"), call.attr("offset"), call.attr("offset", 1)) == (2.0, None, 1)
    assert str(call.error("no")) == "first (Scale): no"
    assert isinstance(call.unsupported("is odd", "Even it out"), UnsupportedError)
    assert "first (Scale)" in str(call.unsupported("is odd", "Even it out"))
    assert call.axis(-1, 3) == 2
    with pytest.raises(ShapeError, match="axis 3 is out of range"):
        call.axis(3, 3)


@pytest.mark.parametrize("name", ["node", "aten"])
def test_calls_of_operators_have_a_builder_and_operands(name: str) -> None:
    call = CALLS[name]
    assert OperatorCall in type(call).__mro__
    (x,) = call.tensors()
    assert x.builder is call.builder
