"""Sizes that a model requires to be equal: downsampling and upsampling over symbolic heights and
widths, against Keras and onnxruntime at several sizes. Some constraints are solved, others are
checked when sizes are set; messages for invalid sizes.
"""

import json

import keras
import numpy as np
import onnxruntime
import pytest
from keras import layers
from onnx import helper, numpy_helper

from tests.backends.harness import Job, run
from tests.frontends.keras.cases import randomise
from tests.frontends.onnx.models import floats, weight
from tests.frontends.onnx.models import model as onnx_model
from tests.passes.running import optimised
from webkiln.backends import host
from webkiln.backends.compare import relative_error
from webkiln.build.descriptor import generate_descriptor
from webkiln.errors import ToolError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.load import describe_model
from webkiln.ir.serial import to_json
from webkiln.ir.size_checks import SizeError
from webkiln.ir.text import print_graph
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import constant_values, run_graph
from webkiln.ops.table import from_json, infer, parse


def block(x, features):
    return layers.Conv2D(features, 3, padding="same", activation="relu")(x)


def unet(x, levels=4):
    skips = []
    for _ in range(levels):
        x = block(x, 4)
        skips.append(x)
        x = layers.MaxPooling2D(2)(x)
    x = block(x, 4)
    for skip in reversed(skips):
        x = layers.Conv2DTranspose(4, 2, strides=2, padding="same")(x)
        x = block(layers.Concatenate()([skip, x]), 4)
    return layers.Conv2D(2, 1)(x)


def pyramid(x):
    """As in detectors: features of three strides, each added to the upsampled coarser ones."""
    levels = []
    for _ in range(4):
        x = layers.Conv2D(4, 3, strides=2, padding="same", activation="relu")(x)
        levels.append(x)
    merged = []
    for level in reversed(levels):
        side = layers.Conv2D(4, 1)(level)
        merged.append(
            side
            if not merged
            else layers.Add()([side, layers.UpSampling2D(2, interpolation="nearest")(merged[-1])])
        )
    return layers.Concatenate(axis=1)([layers.Reshape((-1, 4))(level) for level in merged[1:]])


def strided(x):
    y = layers.Conv2D(4, 3, strides=2, padding="same")(x)
    z = layers.Conv2D(4, 3, strides=2, padding="same")(y)
    y = layers.Add()([y, layers.Conv2DTranspose(4, 3, strides=2, padding="same")(z)])
    return layers.Concatenate()([x, layers.Conv2DTranspose(3, 3, strides=2, padding="same")(y)])


def cropped(x):
    """Valid convolutions with cropped skip connections."""
    y = layers.Conv2D(4, 3)(x)
    z = layers.UpSampling2D(2)(layers.Conv2D(4, 3)(layers.MaxPooling2D(2)(y)))
    return layers.Concatenate()([layers.Cropping2D(2)(y), z])


def padded(x):
    y = layers.ZeroPadding2D(((1, 0), (1, 0)))(x)
    return layers.Add()([y, layers.UpSampling2D(2)(layers.AveragePooling2D(2)(y))])


def by_three(x):
    return layers.Multiply()(
        [x, layers.UpSampling2D(3, interpolation="bilinear")(layers.MaxPooling2D(3)(x))]
    )


def lowest_alone(x):
    """The remainder is only lost between a quarter and an eighth, so that 4 or more rows may
    remain.
    """
    y = layers.MaxPooling2D(4)(x)
    return layers.Add()([y, layers.UpSampling2D(2)(layers.MaxPooling2D(2)(y))])


MODELS = {
    # (layers, modulus, offset, valid sizes)
    "a sum": (
        lambda x: layers.Add(name="sum")([x, layers.UpSampling2D(2)(layers.MaxPooling2D(2)(x))]),
        2,
        0,
        [(2, 4), (6, 2)],
    ),
    "four levels": (unet, 16, 0, [(16, 32), (48, 16)]),
    "five levels": (lambda x: unet(x, 5), 32, 0, [(32, 64)]),
    "strided": (strided, 4, 0, [(4, 12), (20, 8)]),
    "cropped": (cropped, 2, 0, [(12, 20), (14, 12)]),
    "padded": (padded, 2, -1, [(3, 7), (9, 5)]),
    "by three": (by_three, 3, 0, [(3, 9), (12, 6)]),
}


def converted(build):
    x = keras.Input((None, None, 3), name="x")
    model = keras.Model(x, build(x))
    randomise(model)
    graph = KerasConverter(input_shapes={"x": (1, "H", "W", 3)}).convert(model)
    verify(graph, infer)
    return model, graph


def image(height, width):
    return (
        np.random.default_rng(height * width).normal(size=(1, height, width, 3)).astype(np.float32)
    )


@pytest.fixture(scope="module")
def converted_models():
    return {name: converted(build) for name, (build, *_) in MODELS.items()}


@pytest.mark.parametrize("name", MODELS)
def test_sizes_become_multiples(converted_models, name):
    _, multiple, offset, sizes = MODELS[name]
    model, graph = converted_models[name]
    assert [(item.name, item.modulus, item.offset) for item in graph.constraints.divisibility] == [
        ("H", multiple, offset),
        ("W", multiple, offset),
    ]
    assert graph.constraints.guards == ()
    assert parse(print_graph(graph)) == graph
    assert from_json(json.loads(json.dumps(to_json(graph)))) == graph
    for size in sizes:
        (got,) = run_graph(graph, {"x": image(*size)})[0].values()
        assert relative_error(got, np.asarray(model(image(*size)))) < 1e-5


@pytest.mark.parametrize("backend", ["js", "wasm", "webgpu", "webgl"])
@pytest.mark.sample("js")
def test_backends_agree_with_keras(converted_models, backend, tmp_path):
    tasks = [(name, size) for name, (*_, sizes) in MODELS.items() for size in sizes]
    graphs = {name: optimised(graph) for name, (_, graph) in converted_models.items()}
    jobs = [
        Job(
            graphs[name],
            {"x": image(*size)},
            constant_values(graphs[name], converted_models[name][1].weights),
        )
        for name, size in tasks
    ]
    for (name, size), outputs in zip(tasks, run(jobs, backend, tmp_path), strict=True):
        (got,) = outputs.values()
        assert relative_error(got, np.asarray(converted_models[name][0](image(*size)))) < 1e-4, (
            name,
            size,
        )


def test_an_invalid_size_is_reported_with_the_constraint(converted_models, tmp_path):
    for backend in ("js", "wasm"):
        generate_descriptor(backend, converted_models["padded"][1]).save(tmp_path / "bundle")
        (result,) = host.run_bundle(tmp_path / "bundle", backend, [{"x": image(3, 7)}])
        assert result.outputs[next(iter(result.outputs))].shape == (1, 4, 8, 3)
        with pytest.raises(
            ToolError,
            match=r"WrongSize: W is 8; layer 'add\w*' needs it to be 1 more than a multiple of 2",
        ):
            host.run_bundle(tmp_path / "bundle", backend, [{"x": image(3, 8)}])
    manifest = json.loads((tmp_path / "bundle" / "manifest.json").read_text())
    assert manifest["inputs"][0]["shape"] == [1, "H", "W", 3]
    assert manifest["outputs"][0]["shape"] == [1, "H + 1", "W + 1", 3]
    assert (manifest["placeholders"], manifest["sizes"]["H"]) == (
        ["H", "W"],
        "1 more than a multiple of 2",
    )
    assert (
        "/** 1 more than a multiple of 2. */ H?: number"
        in (tmp_path / "bundle" / "index.d.ts").read_text()
    )


CHECKED = {
    "a pyramid": (
        pyramid,
        (31, 48),
        (20, 32),
        r"H is 20; layer 'add\w*' needs it to be a multiple of 16, or 15 more",
    ),
    "a remainder below": (
        lowest_alone,
        (9, 27),
        (15, 8),
        r"needs the sizes .* to be equal; they are 3 and 2 for H = 15, W = 8",
    ),
    "height and width": (
        lambda x: layers.Add(name="sum")([x, layers.Permute((2, 1, 3))(x)]),
        (5, 5),
        (5, 6),
        r"layer 'sum' needs the sizes H and W to be equal; they are 5 and 6 for H = 5, W = 6",
    ),
    "a row of weights": (
        lambda x: layers.Dense(2, name="row")(layers.Reshape((36,))(x)),
        (3, 4),
        (3, 5),
        r"they are 45 and 36 for H = 3, W = 5",
    ),
}


@pytest.mark.parametrize(
    ("name", "backend"),
    [(name, "js") for name in CHECKED]
    + [("a pyramid", backend) for backend in ("wasm", "webgpu", "webgl")],
)
@pytest.mark.sample(*(f"{name}-js" for name in CHECKED), "a pyramid-webgl")
def test_unsolved_constraints_are_checked_when_sizes_are_set(name, backend, tmp_path):
    build, right, wrong, message = CHECKED[name]
    model, graph = converted(build)
    assert graph.constraints.guards
    assert not any(item.quotient for item in graph.constraints.divisibility)
    assert parse(print_graph(graph)) == graph
    generate_descriptor(backend, graph).save(tmp_path / "bundle")
    engine = "node" if backend in ("js", "wasm") else "chromium"
    (result,) = host.run_bundle(tmp_path / "bundle", backend, [{"x": image(*right)}], host=engine)
    (got,) = result.outputs.values()
    assert relative_error(got, np.asarray(model(image(*right)))) < 1e-4
    with pytest.raises(ToolError, match=message):
        host.run_bundle(tmp_path / "bundle", backend, [{"x": image(*wrong)}], host=engine)


def test_a_contradiction_is_an_error_that_names_the_sizes_and_the_inputs():
    x = keras.Input((None, None, 3), name="x")
    model = keras.Model(x, layers.Add(name="sum")([x, layers.ZeroPadding2D(1)(x)]))
    with pytest.raises(
        SizeError,
        match=r"^sum \(Add\): the sizes of axis 1 differ: H and H \+ 2 \(H is axis 1 of x\)$",
    ):
        KerasConverter(input_shapes={"x": (1, "H", "W", 3)}).convert(model)


def exported():
    """The graph that exporters write for concatenated upsampled features: Resize by scales, and
    Concat.
    """
    nodes, x = [], "image"
    for n in range(3):
        nodes.append(
            helper.make_node("Conv", [x, f"w{n}"], [f"c{n}"], strides=[2, 2], pads=[1, 1, 1, 1])
        )
        nodes.append(helper.make_node("Relu", [f"c{n}"], [x := f"f{n}"]))
    nearest = {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    for n in (2, 1):
        nodes.append(helper.make_node("Resize", [x, "", "scales"], [f"up{n}"], **nearest))
        nodes.append(helper.make_node("Concat", [f"up{n}", f"f{n - 1}"], [x := f"j{n}"], axis=1))
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    weights = [weight(f"w{n}", 4, channels, 3, 3) for n, channels in enumerate((3, 4, 4))]
    return onnx_model(
        nodes,
        [floats("image", 1, 3, "height", "width")],
        [floats(x, 1, 12, None, None)],
        [scales, *weights],
    )


@pytest.mark.parametrize("backend", ["js", "wasm", "webgl"])
@pytest.mark.sample("js")
def test_files_of_exporters(backend, tmp_path):
    model = exported()
    spec, blobs = describe_model(model, "net")
    graph = OnnxConverter().convert(spec, blobs)
    assert graph.constraints.guards
    generate_descriptor(backend, graph).save(tmp_path / "bundle")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    engine = "node" if backend != "webgl" else "chromium"
    for height, width in ((8, 16), (24, 32), (7, 15)):
        x = np.random.default_rng(height).normal(size=(1, 3, height, width)).astype(np.float32)
        (result,) = host.run_bundle(tmp_path / "bundle", backend, [{"image": x}], host=engine)
        assert (
            relative_error(next(iter(result.outputs.values())), session.run(None, {"image": x})[0])
            < 1e-4
        )
    with pytest.raises(
        ToolError,
        match=r"WrongSize: height is 9; layer '\w+' needs it to be a multiple of 8, or 7 more",
    ):
        host.run_bundle(
            tmp_path / "bundle",
            backend,
            [{"image": np.zeros((1, 3, 9, 16), np.float32)}],
            host=engine,
        )
