"""Caffe files as specs: versions, companions, omitted layers and rejected files."""

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.caffe.make import CORPUS
from tests.frontends.caffe.nets import BODY, NETS, conv, given, layer
from tests.frontends.caffe.reading import converted
from tests.frontends.caffe.reference import Net
from webkiln.errors import RecipeError, ShapeError, SourceError, UnsupportedError
from webkiln.frontends.caffe.companions import companion_of
from webkiln.frontends.caffe.converter import CaffeConverter
from webkiln.frontends.caffe.load import read_model
from webkiln.frontends.caffe.schema import messages
from webkiln.frontends.caffe.weights import WeightFile
from webkiln.frontends.core.subgraph import Subgraph
from webkiln.frontends.nodes.call import NodeCall
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.protobuf.wire import encode_field
from webkiln.ops.builder import Tensor
from webkiln.ops.evaluate import run_graph


def described(text: str, folder: Path) -> NodeModel:
    (folder / "net.prototxt").write_text(text)
    return read_model(folder / "net.prototxt")[0]


def relu(bottom: str = "data", top: str = "y", more: str = "") -> str:
    return f'layer {{ name: "{top}" type: "ReLU" bottom: "{bottom}" top: "{top}" {more} }}\n'


@pytest.mark.parametrize("name", ["v0", "v1"])
def test_older_definitions_say_what_newer_ones_do(name: str, tmp_path: Path) -> None:
    made = NETS[name]
    (tmp_path / "net.prototxt").write_text(made.plain)
    weights = CORPUS / f"{name}.caffemodel"
    older, newer = (
        read_model(path, weights)[0]
        for path in (CORPUS / f"{name}.prototxt", tmp_path / "net.prototxt")
    )
    dropped = [node for node in older.graph.nodes if node.op != "Dropout"]
    assert [(node.op, node.attrs) for node in dropped] == [
        (node.op, node.attrs) for node in newer.graph.nodes
    ]
    assert older.graph.inputs == newer.graph.inputs


@pytest.mark.parametrize("version", ["layers", "layer of layers"])
def test_weights_of_older_files(version: str, tmp_path: Path) -> None:
    """Four sizes instead of a shape, and the same numbers where each is a field of its own."""
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
        (found,) = WeightFile(tmp_path / "net.caffemodel").blobs[0]
        np.testing.assert_array_equal(found, blob.reshape(1, 1, 2, 3))


def test_numbers_of_two_lengths(tmp_path: Path) -> None:
    kinds = messages()
    layer_ = kinds["LayerParameter"](
        name="a",
        blobs=[kinds["BlobProto"](shape={"dim": [2]}, double_data=[0.5, 1.5], double_diff=[9, 9])],
    )
    (tmp_path / "net.caffemodel").write_bytes(
        kinds["NetParameter"](layer=[layer_]).SerializeToString()
    )
    (found,) = WeightFile(tmp_path / "net.caffemodel").blobs[0]
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, [0.5, 1.5])


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


@pytest.mark.parametrize(("rule", "stays"), RULES)
def test_rules_of_phases(rule: str, stays: bool, tmp_path: Path) -> None:
    model = described(given(data=(1, 2)) + relu("data", "a") + relu("a", "b", rule), tmp_path)
    assert ("b" in [node.name for node in model.graph.nodes]) == stays


def test_stages_of_the_net(tmp_path: Path) -> None:
    text = (
        'state { stage: "deploy" level: 2 }\n'
        + given(data=(1, 2))
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
    'type: "ImageData" image_data_param { new_height: 12 new_width: 10 is_color: false } transform_param { crop_size: 9 }': (
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


@pytest.mark.parametrize("said", DATA)
def test_data_layers_are_inputs(said: str, tmp_path: Path) -> None:
    (item,) = described(
        f'layer {{ name: "d" top: "data" {said} }}\n{relu()}', tmp_path
    ).graph.inputs
    assert (item.name, item.shape) == ("data", DATA[said])


def test_losses_end_in_what_they_compare(tmp_path: Path) -> None:
    head = given(data=(2, 3), label=(2,)) + relu()
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


def test_what_is_silenced_is_no_output(tmp_path: Path) -> None:
    text = (
        given(data=(1, 4))
        + layer("Slice", "cut", "data", "a b")
        + 'layer { name: "quiet" type: "Silence" bottom: "a" }'
    )
    assert [item.name for item in described(text, tmp_path).graph.outputs] == ["b"]


def test_the_companion_is_found_by_its_name_or_because_it_is_alone(tmp_path: Path) -> None:
    text, weights = tmp_path / "net.prototxt", tmp_path / "net.caffemodel"
    text.write_text(given(data=(1, 2)) + relu())
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


def test_a_weight_file_with_a_definition_needs_no_other() -> None:
    model, blobs = read_model(CORPUS / "alone.caffemodel")
    assert [node.op for node in model.graph.nodes] == [
        "Convolution",
        "ReLU",
        "Pooling",
        "InnerProduct",
        "Softmax",
    ]
    assert len(blobs) == 4


def test_open_sizes(tmp_path: Path) -> None:
    """One graph for two sizes of batch, height and width."""
    text = (
        given(data=(1, 3, 8, 8))
        + conv("conv", "data", 4, 3, "pad: 1 stride: 2")
        + "".join(
            (
                layer("Pooling", "ceil", "conv", pooling_param="kernel_size: 3 stride: 2 pad: 1"),
                layer(
                    "Pooling",
                    "mean",
                    "conv",
                    pooling_param="pool: AVE kernel_size: 3 stride: 2 pad: 1",
                ),
                layer(
                    "Pooling", "plain", "conv", pooling_param="pool: AVE kernel_size: 3 stride: 2"
                ),
                layer(
                    "Pooling", "places", "conv", "most at", pooling_param="kernel_size: 2 stride: 2"
                ),
                layer("LRN", "norm", "ceil"),
                layer("Concat", "both", "norm mean"),
                layer(
                    "Deconvolution",
                    "up",
                    "both",
                    convolution_param="num_output: 2 kernel_size: 2 stride: 2",
                ),
                layer("Interp", "wide", "up", interp_param="zoom_factor: 2"),
                layer(
                    "PriorBox", "boxes", "mean data", prior_box_param="min_size: 4 aspect_ratio: 2"
                ),
                layer("ArgMax", "best", "mean"),
                layer("MVN", "even", "mean"),
                layer("Reduction", "sum", "plain", reduction_param="axis: 1"),
                layer("Im2col", "col", "most", convolution_param="kernel_size: 2"),
                layer("Crop", "like", "wide mean"),
            )
        )
    )
    path = tmp_path / "net.prototxt"
    oracle = Net(text, seed=1)
    rng = np.random.default_rng(2)
    graph = None
    for shape in ((1, 3, 9, 13), (2, 3, 16, 10), (3, 3, 11, 11)):
        x = rng.uniform(-1, 1, shape).astype(np.float32)
        expected = oracle.outputs({"data": x})
        if graph is None:
            path.write_text(text)
            path.with_suffix(".caffemodel").write_bytes(oracle.weight_file())
            graph = converted(path, {"data": ["N", 3, "H", "W"]})
        got, _ = run_graph(graph, {"data": x})
        assert got.keys() == expected.keys()
        for name, value in expected.items():
            assert got[name].shape == value.shape, name
            np.testing.assert_allclose(
                got[name], value, atol=2e-5 * max(np.abs(value).max(), 1), err_msg=name
            )


def test_states_stay_from_run_to_run() -> None:
    graph = converted(CORPUS / "lstm.prototxt")
    assert [state.name for state in graph.states] == ["a/h", "a/c"]
    with pytest.raises(UnsupportedError, match="keeps its state between runs, for N sequences"):
        converted(CORPUS / "lstm.prototxt", {"x": [6, "N", 4], "going": [6, "N"]})


def test_shapes_of_inputs_that_are_given(tmp_path: Path) -> None:
    text = given(data=(1, 3, 8, 8)) + relu()
    (tmp_path / "net.prototxt").write_text(text)
    for shapes in ({"data": [2, 3, 4, 4]}, {"": ["N", 3, "H", 4]}):
        model, _ = read_model(tmp_path / "net.prototxt", None, shapes)
        assert model.graph.inputs[0].shape == tuple(next(iter(shapes.values())))
    with pytest.raises(
        SourceError, match=r"the input data has 4 axes, \[1, 3, 8, 8\]; got \[2, 3\]"
    ):
        read_model(tmp_path / "net.prototxt", None, {"data": [2, 3]})
    with pytest.raises(SourceError, match="there is no input image; inputs are data"):
        read_model(tmp_path / "net.prototxt", None, {"image": [2, 3]})


def test_a_part_of_a_net(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(
        given(data=(1, 3)) + relu("data", "a") + relu("a", "b") + relu("b", "c")
    )
    path = tmp_path / "net.prototxt"
    model, _ = read_model(path, None, {"a": [4, 3]}, Subgraph(("a",), ("b",)))
    assert [(item.name, item.shape) for item in model.graph.inputs] == [("a", (4, 3))]
    assert [node.name for node in model.graph.nodes] == ["b"]
    assert [item.name for item in model.graph.outputs] == ["b"]
    with pytest.raises(RecipeError, match="--to-layer: there is no 'd'"):
        read_model(path, None, {}, Subgraph((), ("d",)))
    with pytest.raises(ShapeError, match="set its shape with --input-shape a="):
        CaffeConverter().convert(*read_model(path, None, {}, Subgraph(("a",), ())))


def test_layers_of_forks_and_of_python_are_converted_by_handlers(tmp_path: Path) -> None:
    text = (
        given(data=(1, 3))
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
    seen = {}

    def mish(call: NodeCall) -> Tensor:
        seen.update(call.spec.attrs)
        return call.tensor(0) * call.attr("mish_param.bound")

    with CaffeConverter.handlers.isolated():
        CaffeConverter.register_handler("Mish")(mish)
        CaffeConverter.register_handler("Double", domain="python")(
            lambda call: call.tensor(0) * 2.0
        )
        graph = CaffeConverter().convert(model)
    np.testing.assert_allclose(run_graph(graph, {"data": np.ones((1, 3), np.float32)})[0]["p"], 4.0)
    assert seen["mish_param.kind"] == "SOFT"
    assert seen["mish_param.inner.k"] == (1, 2)


def test_fields_that_only_a_fork_knows_are_named(tmp_path: Path) -> None:
    text = given(data=(1, 3)) + relu(
        more="relu_param { negative_slope: 0.1 sharpness: 3 } quantize: true"
    )
    with pytest.raises(
        UnsupportedError,
        match=(
            r"y \(ReLU\): says relu_param.sharpness, quantize, which BVLC Caffe and SSD do not have"
        ),
    ):
        CaffeConverter().convert(described(text, tmp_path))
    harmless = relu(more='param { name: "w" speed: 3 } transform_param { speed: 1 }')
    CaffeConverter().convert(described(given(data=(1, 3)) + harmless, tmp_path))
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
    with pytest.raises(UnsupportedError, match=r"y \(ReLU\): says field 201"):
        CaffeConverter().convert(*read_model(tmp_path / "fork.caffemodel"))


FOUR = given(data=(1, 4, 6, 6))
REFUSED = {
    "Filter": (FOUR + layer("Filter", "f", "data data"), "f (Filter): no handler"),
    "random": (
        FOUR + layer("Pooling", "p", "data", pooling_param="pool: STOCHASTIC kernel_size: 2"),
        "pools at random",
    ),
    "outside": (
        FOUR + layer("Pooling", "p", "data", pooling_param="kernel_size: 9"),
        "its kernel of 9 is larger than the 6",
    ),
    "behind": (
        FOUR + layer("Pooling", "p", "data", pooling_param="kernel_size: 1 stride: 7"),
        "may have a window past the last element",
    ),
    "padding": (
        FOUR + layer("Pooling", "p", "data", pooling_param="kernel_size: 2 pad: 2"),
        "padding is less than the kernel",
    ),
    "halves": (
        FOUR + layer("Slice", "s", "data", "a b c"),
        "divides 4 elements into 3 equal parts",
    ),
    "points": (
        FOUR + layer("Slice", "s", "data", "a b", slice_param="slice_point: 4"),
        "do not increase",
    ),
    "shapes": (
        FOUR + layer("Reshape", "r", "data", reshape_param="shape { dim: -1 dim: -1 }"),
        "or -1 once",
    ),
    "coefficients": (
        FOUR + layer("Eltwise", "e", "data data", eltwise_param="coeff: 1"),
        "has 1 coefficients for SUM of 2",
    ),
    "even": (FOUR + layer("LRN", "l", "data", lrn_param="local_size: 4"), "expected an odd one"),
    "first": (
        FOUR + layer("ArgMax", "a", "data", argmax_param="axis: 1 top_k: 5"),
        "takes the first 5 of 4",
    ),
    "groups": (
        FOUR + layer("ShuffleChannel", "s", "data", shuffle_channel_param="group: 3"),
        "divides 4 channels into 3 groups",
    ),
    "eta": (
        FOUR
        + layer(
            "DetectionOutput",
            "d",
            "data data data",
            detection_output_param="num_classes: 2 nms_param { eta: 0.5 }",
        ),
        "changes its threshold",
    ),
    "base": (
        FOUR + layer("Log", "l", "data", log_param="base: 1"),
        "expected a positive number that is not 1",
    ),
    "cropped": (
        FOUR + given(b=(1, 4, 5, 5)) + layer("Crop", "c", "data b", crop_param="offset: 2"),
        "axis 2 has 6 elements, fewer than 5 from 2",
    ),
    "axis": (
        FOUR + layer("Softmax", "s", "data", softmax_param="axis: 4"),
        "axis 4 is out of range for an operand of rank 4",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_told(name: str, tmp_path: Path) -> None:
    text, part = REFUSED[name]
    with pytest.raises((ShapeError, UnsupportedError)) as told:
        CaffeConverter().convert(described(text, tmp_path))
    assert part in str(told.value)


def test_weights_of_another_net_are_told(tmp_path: Path) -> None:
    text = given(data=(2, 3, 8, 7)) + BODY
    (tmp_path / "net.prototxt").write_text(text.replace("num_output: 6", "num_output: 5"))
    (tmp_path / "net.caffemodel").write_bytes((CORPUS / "training.caffemodel").read_bytes())
    with pytest.raises(
        ShapeError,
        match=(
            r"its weight 0 is \[6, 3, 3, 3\], expected \[5, 3,"
            r" 3, 3\]; the .caffemodel is of another definition"
        ),
    ):
        converted(tmp_path / "net.prototxt")
    (tmp_path / "net.caffemodel").write_bytes((CORPUS / "prelu_shared.caffemodel").read_bytes())
    with pytest.raises(SourceError, match="none of its layers has the name of one in net"):
        converted(tmp_path / "net.prototxt")
