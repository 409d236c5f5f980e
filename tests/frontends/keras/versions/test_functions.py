"""Functions of TensorFlow that tf.keras saved as layers agree with TensorFlow."""

import json
from functools import reduce

import h5py
import numpy as np
import pytest
import tensorflow as tf

from tests.backends.harness import ROOT
from tests.frontends.keras.versions.function_calls import CALLS, DTYPES, FLOAT, INT, SHAPES
from webkiln.errors import ShapeError, SourceError, UnsupportedError, UserError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_with_keras
from webkiln.frontends.keras.operations.tensorflow import TENSORFLOW
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import infer


def values():
    generator = np.random.default_rng(3)
    tensors = {
        name: (
            generator.integers(0, 4 if name == "ids" else 2, (2, *shape))
            if name in ("ids", "yes", "no")
            else generator.normal(size=(2, *shape)) * 2
        )
        for name, shape in SHAPES.items()
    }
    tensors |= {
        "positive": np.abs(tensors["positive"]) + 1,
        "small": np.tanh(tensors["small"]),
    }
    return {name: value.astype(DTYPES.get(name, "float32")) for name, value in tensors.items()}


def mapped(value, change):
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    return change(value)


def name_of(value):
    return value[1:] if isinstance(value, str) and value.startswith("@") else None


def write_model(path, layers, inputs, outputs):
    """Write an HDF5 file like Keras 2.15."""
    starts = [
        {
            "class_name": "InputLayer",
            "name": name,
            "inbound_nodes": [],
            "config": {
                "batch_input_shape": [None, *SHAPES[name]],
                "dtype": DTYPES.get(name, "float32"),
                "sparse": False,
                "ragged": False,
                "name": name,
            },
        }
        for name in inputs
    ]
    config = {
        "name": "model",
        "trainable": True,
        "layers": [*starts, *layers],
        "input_layers": [[name, 0, 0] for name in inputs],
        "output_layers": outputs,
    }
    with h5py.File(path, "w") as file:
        file.attrs["keras_version"], file.attrs["backend"] = "2.15.0", "tensorflow"
        file.attrs["model_config"] = json.dumps({"class_name": "Functional", "config": config})
        weights = file.create_group("model_weights")
        names = [item["name"].encode() for item in (*starts, *layers)]
        weights.attrs["layer_names"] = np.array(names)
        for name in names:
            weights.create_group(name.decode()).attrs["weight_names"] = np.array([], "S1")


def layer(function, node, kind="TFOpLambda", name=""):
    name = name or f"tf.{function}"
    config = {"name": name, "trainable": True, "dtype": "float32", "function": function}
    return {"class_name": kind, "config": config, "name": name, "inbound_nodes": [node]}


def node_of(first, options):
    def leaf(value):
        name = name_of(value)
        return ["_CONSTANT_VALUE", -1, value, kwargs] if name is None else [name, 0, 0, kwargs]

    kwargs = {
        key: mapped(value, lambda item: item if name_of(item) is None else [name_of(item), 0, 0])
        for key, value in options.items()
    }
    return [leaf(item) for item in first] if isinstance(first, list) else leaf(first)


def run(path, inputs):
    graph = KerasConverter(batch_size=2).convert(path)
    verify(graph, infer)
    return list(run_graph(graph, inputs)[0].values())


def compute(function, first, options, tensors):
    """The results of TensorFlow."""

    def real(value):
        name = name_of(value)
        return (
            tf.constant(tensors[name])
            if name is not None
            else tf.dtypes.as_dtype(value.split("'")[1])
            if value in (FLOAT, INT)
            else value
        )

    function_of_tf = {"__operators__.add": tf.add, "compat.v1.floor_div": tf.math.floordiv}.get(
        function
    ) or reduce(getattr, function.split("."), tf)
    result = function_of_tf(
        mapped(first, real), **{key: mapped(value, real) for key, value in options.items()}
    )
    return [
        np.asarray(value) for value in (result if isinstance(result, list | tuple) else [result])
    ]


def test_functions_agree_with_tensorflow(tmp_path):
    tensors = values()
    layers, outputs, expected = [], [], []
    for number, (function, first, options) in enumerate(CALLS):
        layers.append(
            layer(function, node_of(first, {**options, "name": None}), name=f"call_{number}")
        )
        for index, value in enumerate(compute(function, first, options, tensors)):
            outputs.append([f"call_{number}", 0, index])
            expected.append((f"{function} of {first} with {options}", value))
    write_model(tmp_path / "m.h5", layers, [*SHAPES], outputs)
    for (call, result), value in zip(expected, run(tmp_path / "m.h5", tensors), strict=True):
        assert (value.dtype, value.shape) == (result.dtype, result.shape), call
        tolerance = 2e-3 if result.dtype == np.float16 else 2e-5
        np.testing.assert_allclose(
            value.astype("float64"),
            result.astype("float64"),
            rtol=tolerance,
            atol=tolerance / 10,
            err_msg=call,
        )


def test_every_function_is_tested_and_counted():
    assert f"\n{len(TENSORFLOW)} functions are converted" in (
        ROOT / "docs" / "keras-versions.md"
    ).read_text("utf-8")
    aliases = {
        "math.floordiv",
        "math.mod",
        "math.divide",
        "math.softplus",
        "transpose",
        "squeeze",
        "gather",
        "nn.swish",
        "nn.softplus",
    }
    tested = {f"tf.{function}" for function, _, _ in CALLS}
    operators = {
        "tf.__operators__.getitem",
        "tf.__operators__.eq",
        "tf.__operators__.ne",
        "tf.compat.v1.nn.max_pool",
        "tf.compat.v1.nn.avg_pool",
    }
    of_lambdas = {
        "tf.compat.v1.div",
        "tf.keras.backend.batch_flatten",
        "tf.keras.backend.hard_sigmoid",
        "tf.keras.backend.sqrt",
    }
    """Of test_lambdas.py."""
    assert set(TENSORFLOW) - tested - operators - of_lambdas <= {f"tf.{name}" for name in aliases}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            [
                {"start": None, "stop": None, "step": None},
                {"start": 1, "stop": 3, "step": None},
                {"start": None, "stop": None, "step": -1},
            ],
            np.s_[:, 1:3, ::-1],
        ),
        (
            [{"start": None, "stop": None, "step": None}, None, "Ellipsis", 0],
            np.s_[:, None, ..., 0],
        ),
        ([{"start": None, "stop": None, "step": None}, -1], np.s_[:, -1]),
        (1, np.s_[1]),
    ],
)
def test_slices(spec, expected, tmp_path):
    write_model(
        tmp_path / "m.h5",
        [layer("__operators__.getitem", ["x", 0, 0, {"slice_spec": spec}], "SlicingOpLambda")],
        ["x"],
        [["tf.__operators__.getitem", 0, 0]],
    )
    x = values()["x"]
    np.testing.assert_array_equal(run(tmp_path / "m.h5", {"x": x})[0], x[expected])


def test_sequences_of_functions_and_layers(tmp_path):
    """The activation of MobileNetV3 in tf.keras: x * relu6(x + 3) / 6."""
    steps = [
        layer("__operators__.add", ["x", 0, 0, {"y": 3.0, "name": None}]),
        {
            "class_name": "ReLU",
            "name": "re_lu",
            "config": {"name": "re_lu", "max_value": 6.0},
            "inbound_nodes": [[["tf.__operators__.add", 0, 0, {}]]],
        },
        layer("math.multiply", ["re_lu", 0, 0, {"y": 0.16666666666666666, "name": None}]),
        {
            "class_name": "Multiply",
            "name": "multiply",
            "config": {"name": "multiply"},
            "inbound_nodes": [[["x", 0, 0, {}], ["tf.math.multiply", 0, 0, {}]]],
        },
    ]
    write_model(tmp_path / "m.h5", steps, ["x"], [["multiply", 0, 0]])
    x = values()["x"]
    np.testing.assert_allclose(
        run(tmp_path / "m.h5", {"x": x})[0], x * np.clip(x + 3, 0, 6) / 6, rtol=1e-6
    )


@pytest.mark.parametrize(
    ("function", "node", "error", "message"),
    [
        (
            "einsum",
            ["_CONSTANT_VALUE", -1, "ij->ji", {}],
            UnsupportedError,
            r"tf\.einsum is not supported\. Use a Keras layer instead",
        ),
        (
            "compat.v1.shape",
            ["x", 0, 0, {}],
            UnsupportedError,
            r"tf\.compat\.v1\.shape is not supported",
        ),
        (
            "__operators__.eq",
            ["x", 0, 0, {}],
            ShapeError,
            r"tf\.__operators__\.eq: its other is not in the file, because tf\.keras did not save",
        ),
        (
            "math.add",
            ["x", 0, 0, {"y": ["half", 0, 0]}],
            ShapeError,
            r"the dtypes of its operands are float16 and float32; they must be equal",
        ),
        (
            "math.multiply",
            ["ids", 0, 0, {"y": 0.5}],
            ShapeError,
            r"0\.5 cannot be represented in int32",
        ),
        (
            "math.reduce_mean",
            ["ids", 0, 0, {}],
            ShapeError,
            r"the mean of int32 values is not supported, because TensorFlow truncates it",
        ),
        (
            "compat.v1.norm",
            ["x", 0, 0, {"ord": 1}],
            ShapeError,
            r"a norm with ord=1 is not supported; use the Euclidean norm",
        ),
        (
            "nn.max_pool2d",
            [
                *("image", 0, 0),
                {"ksize": 2, "strides": 2, "padding": "SAME", "data_format": "NCHW"},
            ],
            ShapeError,
            r"data_format 'NCHW' is not supported; use NHWC",
        ),
        (
            "compat.v1.gather",
            ["x", 0, 0, {"indices": [0], "axis": 1, "batch_dims": 1}],
            ShapeError,
            r"its batch_dims=1 is not supported",
        ),
        (
            "one_hot",
            ["ids", 0, 0, {"depth": 3, "on_value": 5.0}],
            ShapeError,
            r"its on_value=5\.0 is not supported",
        ),
        ("math.add", [], SourceError, r"m\.h5"),
        ("math.add", [[[]]], SourceError, r"m\.h5"),
        ("math.add", ["x", 0, 0, 3], SourceError, r"m\.h5"),
        ("math.add", {"x": 1}, SourceError, r"m\.h5"),
        ("reshape", ["x", 0, 0, {"shape": 5}], UserError, r"reshape"),
        (
            "reshape",
            ["x", 0, 0, {"shape": [["ids", 0, 0], 6]}],
            ShapeError,
            r"its shape is computed at run time, which is not supported; use a Reshape layer",
        ),
    ],
)
def test_unsupported_functions_and_arguments_are_named(function, node, error, message, tmp_path):
    write_model(
        tmp_path / "m.h5",
        [layer(function, node)],
        ["x", "ids", "half", "image"],
        [[f"tf.{function}", 0, 0]],
    )
    with pytest.raises(error, match=message):
        KerasConverter(batch_size=2).convert(tmp_path / "m.h5")


def test_keras_3_has_no_reference_outputs_for_functions(tmp_path):
    older = layer("math.square", ["x", 0, 0, {}])
    write_model(tmp_path / "m.h5", [older], ["x"], [[older["name"], 0, 0]])
    assert run(tmp_path / "m.h5", {"x": values()["x"]})
    with pytest.raises(
        UnsupportedError,
        match=(
            r"Keras 3 does not load it, so there are no reference outputs to verify it"
            r" against\. Build it"
        ),
    ):
        load_with_keras(tmp_path / "m.h5")
