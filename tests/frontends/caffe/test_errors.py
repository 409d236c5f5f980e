"""Layers and fields of forks, and nets that are rejected."""

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.caffe.definitions import input_layers, layer
from tests.frontends.caffe.format_nets import BODY
from tests.frontends.caffe.make import CORPUS
from tests.frontends.caffe.reading import converted, described, relu
from webkiln.errors import ShapeError, SourceError, UnsupportedError
from webkiln.frontends.caffe.converter import CaffeConverter
from webkiln.frontends.caffe.load import read_model
from webkiln.frontends.caffe.schema import messages
from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.protobuf.wire import encode_field
from webkiln.ops.builder import Tensor
from webkiln.ops.evaluate import run_graph


def test_handlers_convert_layers_of_forks_and_of_python(tmp_path: Path) -> None:
    text = (
        input_layers(data=(1, 3))
        + 'layer { name: "m" type: "Mish" bottom: "data" top: "m" mish_param { bound: 2 kind: SOFT'
        " inner { k: [1, 2] } } }\n"
    )
    text += (
        'layer { name: "p" type: "Python" bottom: "m" top: "p" python_param { module: "mine" layer:'
        ' "Double" param_str: "x" } }'
    )
    model = described(text, tmp_path)
    with pytest.raises(UnsupportedError) as refused:
        CaffeConverter().convert(model)
    assert [where for where, _, _ in refused.value.items] == ["m (Mish)", "p (Double)"]
    attrs = {}

    def mish(call: NodeCall) -> Tensor:
        attrs.update(call.spec.attrs)
        return call.tensor(0) * call.attr("mish_param.bound")

    with CaffeConverter.handlers.isolated():
        CaffeConverter.register_handler("Mish")(mish)
        CaffeConverter.register_handler("Double", domain="python")(
            lambda call: call.tensor(0) * 2.0
        )
        graph = CaffeConverter().convert(model)
    np.testing.assert_allclose(run_graph(graph, {"data": np.ones((1, 3), np.float32)})[0]["p"], 4.0)
    assert attrs["mish_param.kind"] == "SOFT"
    assert attrs["mish_param.inner.k"] == (1, 2)


def test_fields_of_forks_are_listed(tmp_path: Path) -> None:
    text = input_layers(data=(1, 3)) + relu(
        more="relu_param { negative_slope: 0.1 sharpness: 3 } quantize: true"
    )
    with pytest.raises(
        UnsupportedError,
        match=(r"y \(ReLU\): sets relu_param.sharpness, quantize, which BVLC Caffe and SSD lack"),
    ):
        CaffeConverter().convert(described(text, tmp_path))
    harmless = relu(more='param { name: "w" speed: 3 } transform_param { speed: 1 }')
    CaffeConverter().convert(described(input_layers(data=(1, 3)) + harmless, tmp_path))
    data = messages()["NetParameter"](
        layer=[messages()["LayerParameter"](name="y", type="ReLU", bottom=["data"], top=["y"])]
    )
    data.layer.insert(
        0,
        messages()["LayerParameter"](
            name="data", type="Input", top=["data"], input_param={"shape": [{"dim": [1, 3]}]}
        ),
    )
    (tmp_path / "fork.caffemodel").write_bytes(
        encode_field(100, data.layer[0].SerializeToString())
        + encode_field(100, data.layer[1].SerializeToString() + b"\xca\x0c\x02\x08\x01")
    )
    with pytest.raises(UnsupportedError, match=r"y \(ReLU\): sets field 201"):
        CaffeConverter().convert(*read_model(tmp_path / "fork.caffemodel"))


FOUR_CHANNELS = input_layers(data=(1, 4, 6, 6))


REJECTED = {
    "Filter": (FOUR_CHANNELS + layer("Filter", "f", "data data"), "f (Filter): no handler"),
    "random": (
        FOUR_CHANNELS
        + layer("Pooling", "p", "data", pooling_param="pool: STOCHASTIC kernel_size: 2"),
        "uses random pooling",
    ),
    "outside": (
        FOUR_CHANNELS + layer("Pooling", "p", "data", pooling_param="kernel_size: 9"),
        "its kernel of 9 is larger than the 6",
    ),
    "behind": (
        FOUR_CHANNELS + layer("Pooling", "p", "data", pooling_param="kernel_size: 1 stride: 7"),
        "may have a window past the last element",
    ),
    "padding": (
        FOUR_CHANNELS + layer("Pooling", "p", "data", pooling_param="kernel_size: 2 pad: 2"),
        "padding must be less than the kernel",
    ),
    "halves": (
        FOUR_CHANNELS + layer("Slice", "s", "data", "a b c"),
        "divides 4 elements into 3 equal parts",
    ),
    "points": (
        FOUR_CHANNELS + layer("Slice", "s", "data", "a b", slice_param="slice_point: 4"),
        "must increase",
    ),
    "shapes": (
        FOUR_CHANNELS + layer("Reshape", "r", "data", reshape_param="shape { dim: -1 dim: -1 }"),
        "or -1 once",
    ),
    "coefficients": (
        FOUR_CHANNELS + layer("Eltwise", "e", "data data", eltwise_param="coeff: 1"),
        "has 1 coefficients for SUM of 2",
    ),
    "even": (
        FOUR_CHANNELS + layer("LRN", "l", "data", lrn_param="local_size: 4"),
        "expected an odd one",
    ),
    "first": (
        FOUR_CHANNELS + layer("ArgMax", "a", "data", argmax_param="axis: 1 top_k: 5"),
        "requests the first 5 of 4",
    ),
    "groups": (
        FOUR_CHANNELS + layer("ShuffleChannel", "s", "data", shuffle_channel_param="group: 3"),
        "divides 4 channels into 3 groups",
    ),
    "eta": (
        FOUR_CHANNELS
        + layer(
            "DetectionOutput",
            "d",
            "data data data",
            detection_output_param="num_classes: 2 nms_param { eta: 0.5 }",
        ),
        "changes its threshold",
    ),
    "base": (
        FOUR_CHANNELS + layer("Log", "l", "data", log_param="base: 1"),
        "expected a positive number that is not 1",
    ),
    "cropped": (
        FOUR_CHANNELS
        + input_layers(b=(1, 4, 5, 5))
        + layer("Crop", "c", "data b", crop_param="offset: 2"),
        "axis 2 has 6 elements, fewer than 5 from 2",
    ),
    "axis": (
        FOUR_CHANNELS + layer("Softmax", "s", "data", softmax_param="axis: 4"),
        "axis 4 is out of range for an operand of rank 4",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_invalid_parameters_are_rejected(name: str, tmp_path: Path) -> None:
    text, message = REJECTED[name]
    with pytest.raises((ShapeError, UnsupportedError)) as error:
        CaffeConverter().convert(described(text, tmp_path))
    assert message in str(error.value)


def test_weights_of_another_net_are_rejected(tmp_path: Path) -> None:
    text = input_layers(data=(2, 3, 8, 7)) + BODY
    (tmp_path / "net.prototxt").write_text(text.replace("num_output: 6", "num_output: 5"))
    (tmp_path / "net.caffemodel").write_bytes((CORPUS / "training.caffemodel").read_bytes())
    with pytest.raises(
        ShapeError,
        match=(
            r"its weight 0 is \[6, 3, 3, 3\], expected \[5, 3,"
            r" 3, 3\]; the .caffemodel belongs to another definition"
        ),
    ):
        converted(tmp_path / "net.prototxt")
    (tmp_path / "net.caffemodel").write_bytes((CORPUS / "prelu_shared.caffemodel").read_bytes())
    with pytest.raises(SourceError, match="none of its layers has the name of one in net"):
        converted(tmp_path / "net.prototxt")
