"""Invalid Caffe files on the command line: one clear error each, exit status 2, no traceback, no
partial output.
"""

from pathlib import Path

import pytest

from tests.commands.conftest import Command
from tests.commands.refusals import check
from tests.frontends.caffe.definitions import input_layers, layer
from tests.frontends.caffe.make import CORPUS
from tests.frontends.caffe.nets import NETS
from webkiln.frontends.protobuf.wire import encode_field

HEAD = input_layers(data=(1, 2))
WEIGHTS = (CORPUS / "alone.caffemodel").read_bytes()
BLOB = encode_field(
    100,
    encode_field(1, b"fc")
    + encode_field(4, b"y")
    + encode_field(7, encode_field(7, b"\x0a\x02\x02\x03") + encode_field(5, bytes(20))),
)
TEXTS = {
    "unended": (HEAD + 'layer { name: "y', "line 2: String missing ending quote"),
    "unclosed": (HEAD + 'layer { name: "y" ', "Expected identifier."),
    "deep": (HEAD + "layer { x { " * 3000, "messages are nested more than 16 levels deep"),
    "mixed": (
        HEAD + 'layers { name: "y" type: RELU bottom: "data" top: "y" }',
        "has layers of two versions of Caffe",
    ),
    "nowhere": (
        HEAD + layer("ReLU", "y", "image"),
        "the layer y (ReLU) reads image, which no earlier layer writes",
    ),
    "enum": (
        HEAD + layer("Pooling", "y", "data", pooling_param="pool: MEAN"),
        "PoolMethod has no MEAN; there are MAX, AVE, STOCHASTIC",
    ),
    "number": (
        HEAD + layer("Softmax", "y", "data", softmax_param="axis: one"),
        "Couldn't parse integer: one",
    ),
    "infinite": (
        HEAD + layer("Power", "y", "data", power_param="power: nan"),
        "y (Power): its power is nan, expected a number",
    ),
    "shape": (
        'input: "data" input_dim: 1 input_dim: 0 input_dim: 3 input_dim: 4\n'
        + layer("ReLU", "y", "data"),
        "the input data has the shape [1, 0, 3, 4]",
    ),
    "uneven": (
        'input: "data" input: "more" input_dim: 1 input_dim: 2 input_dim: 3 input_dim: 4\n'
        + layer("ReLU", "y", "data"),
        "has 2 inputs, and shapes of 1",
    ),
    "enormous": (
        input_layers(data=(1 << 30, 1 << 30)) + layer("ReLU", "y", "data"),
        "the limit of every backend is",
    ),
    "nothing": (HEAD, "has no layers in phase TEST"),
    "weightless": (
        HEAD + layer("InnerProduct", "y", "data", inner_product_param="num_output: 3"),
        "needs weights, but there are none",
    ),
    "far": (
        HEAD + layer("Concat", "y", "data", concat_param="concat_dim: 2147483648"),
        "y (Concat): its concat_dim is 2147483648; blobs may have at most 32 axes",
    ),
    "unknown": (
        HEAD + layer("Sparkle", "y", "data") + layer("Glitter", "z", "y"),
        "unknown.prototxt: 2 unsupported parts",
    ),
    "fork": (
        HEAD + layer("ReLU", "y", "data", relu_param="sharpness: 2"),
        "y (ReLU): sets relu_param.sharpness",
    ),
    "rankless": (
        'layer { name: "d" type: "Data" top: "data" }\nlayer { name: "h" type: "HDF5Data" top:'
        ' "more" }\n' + layer("Eltwise", "y", "data more"),
        "the model does not declare its rank",
    ),
}
FILES = {
    "truncated": (WEIGHTS[:-9], "is longer than its message; the file is damaged"),
    "lying": (BLOB, "layer 0, blob 0 has the shape [2, 3] and 5 numbers"),
    "fragment": (
        encode_field(
            100,
            encode_field(1, b"fc")
            + encode_field(4, b"y")
            + encode_field(7, encode_field(5, bytes(21))),
        ),
        "end within a number",
    ),
    "negative": (
        encode_field(
            100,
            encode_field(1, b"fc")
            + encode_field(4, b"y")
            + encode_field(7, encode_field(7, b"\x0a\x0a" + b"\xff" * 9 + b"\x01")),
        ),
        "has the shape",
    ),
    "text": (encode_field(100, encode_field(1, b"f\xff") + encode_field(4, b"y")), "layer 0"),
    "bomb": (
        encode_field(
            100, encode_field(1, b"fc") + encode_field(4, b"y") + encode_field(3, bytes(17 << 20))
        ),
        "bytes besides weights",
    ),
    "weights": (
        (CORPUS / "v1.caffemodel").read_bytes(),
        "contains weights without a definition; put the .prototxt next to it",
    ),
    "forked": (
        encode_field(
            100,
            encode_field(1, b"fc")
            + encode_field(4, b"y")
            + encode_field(7, encode_field(12, bytes(4))),
        ),
        "has a field 12, of a fork of Caffe",
    ),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.sample(8)
def test_definitions(
    name: str, webkiln: Command, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    path = tmp_path_factory.mktemp("caffe") / f"{name}.prototxt"
    path.write_text(TEXTS[name][0])
    check(webkiln("build", path, "-o", "public/model"), TEXTS[name][1], tmp_path)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.sample(4)
def test_weight_files(
    name: str, webkiln: Command, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    path = tmp_path_factory.mktemp("caffe") / f"{name}.caffemodel"
    path.write_bytes(FILES[name][0])
    check(webkiln("inspect", path), FILES[name][1], tmp_path)


def test_weights_of_another_net_are_an_error(
    webkiln: Command, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    path = tmp_path_factory.mktemp("caffe") / "net.prototxt"
    path.write_text(NETS["alone"].text)
    command = ("build", path, "-o", "public/model", "--weights")
    check(
        webkiln(*command, CORPUS / "conv.caffemodel"),
        "none of its layers has the name of one in",
        tmp_path,
    )
    check(
        webkiln(*command, CORPUS / "v0.prototxt"),
        "the file and its companion are both definitions",
        tmp_path,
    )


def test_separate_weights_require_a_definition(
    webkiln: Command, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    from tests.frontends.onnx.models import classifier

    path = tmp_path_factory.mktemp("onnx") / "net.onnx"
    path.write_bytes(classifier().SerializeToString())
    check(
        webkiln("build", path, "-o", "public/model", "--weights", CORPUS / "conv.caffemodel"),
        "is an ONNX model, and its weights are part of it",
        tmp_path,
    )
