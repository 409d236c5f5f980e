"""Caffe files as specs: versions, companions, omitted layers and rejected files."""

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.caffe.definitions import input_layers, layer
from tests.frontends.caffe.make import CORPUS
from tests.frontends.caffe.nets import NETS
from tests.frontends.caffe.reading import described, relu
from webkiln.frontends.caffe.companions import companion_of
from webkiln.frontends.caffe.load import read_model
from webkiln.frontends.caffe.schema import messages
from webkiln.frontends.caffe.weights import WeightFile
from webkiln.frontends.protobuf.wire import encode_field


@pytest.mark.parametrize("name", ["v0", "v1"])
def test_older_definitions_are_upgraded(name: str, tmp_path: Path) -> None:
    case = NETS[name]
    (tmp_path / "net.prototxt").write_text(case.current)
    weights = CORPUS / f"{name}.caffemodel"
    older, newer = (
        read_model(path, weights)[0]
        for path in (CORPUS / f"{name}.prototxt", tmp_path / "net.prototxt")
    )
    remaining = [node for node in older.graph.nodes if node.op != "Dropout"]
    assert [(node.op, node.attrs) for node in remaining] == [
        (node.op, node.attrs) for node in newer.graph.nodes
    ]
    assert older.graph.inputs == newer.graph.inputs


@pytest.mark.parametrize("version", ["layers", "layer of layers"])
def test_weights_of_older_files_are_read(version: str, tmp_path: Path) -> None:
    """Four sizes instead of a shape, and numbers that are packed or separate fields."""
    blob = np.arange(6, dtype=np.float32)
    sizes = b"\x08\x01\x10\x01\x18\x02\x20\x03"
    for numbers in (
        encode_field(5, blob.tobytes()),
        b"".join(b"\x2d" + number.tobytes() for number in blob),
    ):
        old = encode_field(4, b"fc") + b"\x28\x0e" + encode_field(6, sizes + numbers)
        if version == "layer of layers":
            old = encode_field(
                1,
                encode_field(1, b"fc")
                + encode_field(2, b"innerproduct")
                + encode_field(50, sizes + numbers),
            )
        (tmp_path / "net.caffemodel").write_bytes(encode_field(2, old))
        (weight,) = WeightFile(tmp_path / "net.caffemodel").blobs[0]
        np.testing.assert_array_equal(weight, blob.reshape(1, 1, 2, 3))


def test_float64_weights_are_converted(tmp_path: Path) -> None:
    kinds = messages()
    layer_ = kinds["LayerParameter"](
        name="a",
        blobs=[kinds["BlobProto"](shape={"dim": [2]}, double_data=[0.5, 1.5], double_diff=[9, 9])],
    )
    (tmp_path / "net.caffemodel").write_bytes(
        kinds["NetParameter"](layer=[layer_]).SerializeToString()
    )
    (weight,) = WeightFile(tmp_path / "net.caffemodel").blobs[0]
    assert weight.dtype == np.float32
    np.testing.assert_array_equal(weight, [0.5, 1.5])


RULES = [
    ("include { phase: TEST }", True),
    ("include { phase: TRAIN }", False),
    ("exclude { phase: TEST }", False),
    ("exclude { phase: TRAIN }", True),
    ("include { phase: TRAIN } include { phase: TEST }", True),
    ("include { min_level: 1 }", False),
    ("include { max_level: 0 }", True),
    ('include { stage: "deploy" }', False),
    ('include { not_stage: "deploy" }', True),
    ('exclude { not_stage: "deploy" phase: TEST }', False),
]


@pytest.mark.parametrize(("rule", "is_included"), RULES)
def test_layers_follow_the_rules_of_their_phase(
    rule: str, is_included: bool, tmp_path: Path
) -> None:
    model = described(
        input_layers(data=(1, 2)) + relu("data", "a") + relu("a", "b", rule), tmp_path
    )
    assert ("b" in [node.name for node in model.graph.nodes]) == is_included


def test_layers_follow_the_stages_and_level_of_the_net(tmp_path: Path) -> None:
    text = (
        'state { stage: "deploy" level: 2 }\n'
        + input_layers(data=(1, 2))
        + relu()
        + relu("y", "z", 'include { stage: "deploy" min_level: 2 }')
    )
    assert [item.name for item in described(text, tmp_path).graph.outputs] == ["z"]


DATA = {
    'type: "Data" data_param { batch_size: 8 } transform_param { crop_size: 24 }': (
        8,
        None,
        24,
        24,
    ),
    'type: "Data" data_param { batch_size: 8 }': (8, None, None, None),
    'type: "ImageData" image_data_param { batch_size: 4 new_height: 12 new_width: 10 }': (
        4,
        3,
        12,
        10,
    ),
    'type: "ImageData" image_data_param { new_height: 12 new_width: 10 is_color: false }'
    " transform_param { crop_size: 9 }": (
        1,
        1,
        9,
        9,
    ),
    'type: "MemoryData" memory_data_param { batch_size: 2 channels: 3 height: 4 width: 5 }': (
        2,
        3,
        4,
        5,
    ),
    'type: "DummyData" dummy_data_param { num: 2 channels: 3 height: 4 width: 5 }': (2, 3, 4, 5),
    'type: "DummyData" dummy_data_param { shape { dim: 2 dim: 3 } }': (2, 3),
    'type: "HDF5Data" hdf5_data_param { batch_size: 2 }': None,
    'type: "Input"': None,
}


@pytest.mark.parametrize("fields", DATA)
def test_data_layers_are_inputs(fields: str, tmp_path: Path) -> None:
    (item,) = described(
        f'layer {{ name: "d" top: "data" {fields} }}\n{relu()}', tmp_path
    ).graph.inputs
    assert (item.name, item.shape) == ("data", DATA[fields])


def test_losses_become_their_predictions(tmp_path: Path) -> None:
    head = input_layers(data=(2, 3), label=(2,)) + relu()
    for loss, ops, output in (
        ("SoftmaxWithLoss", ["ReLU", "Softmax"], "loss"),
        ("SigmoidCrossEntropyLoss", ["ReLU", "Sigmoid"], "loss"),
        ("EuclideanLoss", ["ReLU"], "y"),
        ("HingeLoss", ["ReLU"], "y"),
        ("MultinomialLogisticLoss", ["ReLU"], "y"),
    ):
        model = described(
            head
            + f'layer {{ name: "loss" type: "{loss}" bottom: "y" bottom: "label" top: "loss" }}',
            tmp_path,
        )
        assert [node.op for node in model.graph.nodes] == ops
        assert [item.name for item in model.graph.outputs] == [output]
        assert [item.name for item in model.graph.inputs] == ["data"]


def test_silenced_blobs_are_not_outputs(tmp_path: Path) -> None:
    text = (
        input_layers(data=(1, 4))
        + layer("Slice", "cut", "data", "a b")
        + 'layer { name: "quiet" type: "Silence" bottom: "a" }'
    )
    assert [item.name for item in described(text, tmp_path).graph.outputs] == ["b"]


def test_the_companion_has_the_same_name_or_is_the_only_one(tmp_path: Path) -> None:
    text, weights = tmp_path / "net.prototxt", tmp_path / "net.caffemodel"
    text.write_text(input_layers(data=(1, 2)) + relu())
    assert companion_of(text) == []
    (tmp_path / "other.caffemodel").write_bytes(b"\n\x01a")
    assert companion_of(text) == [("companion.caffemodel", tmp_path / "other.caffemodel")]
    (tmp_path / "third.caffemodel").write_bytes(b"\n\x01a")
    assert companion_of(text) == []
    weights.write_bytes(b"\n\x01a")
    assert companion_of(text) == [("companion.caffemodel", weights)]
    (tmp_path / "solver.prototxt").write_text('net: "net.prototxt"\nbase_lr: 0.1\n')
    (tmp_path / "third.caffemodel").unlink()
    assert companion_of(tmp_path / "other.caffemodel") == [("companion.prototxt", text)]


def test_a_weight_file_with_a_definition_needs_no_companion() -> None:
    model, blobs = read_model(CORPUS / "alone.caffemodel")
    assert [node.op for node in model.graph.nodes] == [
        "Convolution",
        "ReLU",
        "Pooling",
        "InnerProduct",
        "Softmax",
    ]
    assert len(blobs) == 4
