"""The sizes at which models with symbolic sizes are verified: near 16, and valid for the model."""

import json
import re

import keras
import numpy as np
import onnx
import pytest
from keras import layers
from onnx import helper, numpy_helper

from tests.frontends.onnx.models import floats, model, weight
from tests.models.conftest import Model
from webkiln import npz
from webkiln.build.engine import Engine
from webkiln.errors import ShapeError
from webkiln.recipe.read import read_recipe


def up_and_down(factor):
    scales = numpy_helper.from_array(np.array([1, 1, factor, factor], np.float32), "scales")
    nodes = [
        helper.make_node(
            "MaxPool", ["x"], ["small"], kernel_shape=[factor, factor], strides=[factor, factor]
        ),
        helper.make_node(
            "Resize",
            ["small", "", "scales"],
            ["large"],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
        ),
        helper.make_node("Add", ["x", "large"], ["y"], "sum"),
    ]
    return model(nodes, [floats("x", 1, 1, "H", "W")], [floats("y", 1, 1, "H", "W")], [scales])


def half():
    """For an image twice as high as wide: its sum with the result of joining pairs of rows."""
    pooled = helper.make_node("MaxPool", ["x"], ["pooled"], kernel_shape=[2, 1], strides=[2, 1])
    turned = helper.make_node("Transpose", ["pooled"], ["turned"], perm=[0, 1, 3, 2])
    sum_node = helper.make_node("Add", ["pooled", "turned"], ["y"], "sum")
    return model(
        [pooled, turned, sum_node], [floats("x", 1, 1, "H", "W")], [floats("y", 1, 1, None, None)]
    )


def joined():
    """a [1,A,3] and b [1,B,3]; c [1,C,3] is as long as their concatenation."""
    both = helper.make_node("Concat", ["a", "b"], ["both"], axis=1)
    sum_node = helper.make_node("Add", ["both", "c"], ["y"], "sum")
    return model(
        [both, sum_node],
        [floats("a", 1, "A", 3), floats("b", 1, "B", 3), floats("c", 1, "C", 3)],
        [floats("y", 1, None, 3)],
    )


def wide_window():
    """A convolution with a kernel of 33, without padding."""
    node = helper.make_node("Conv", ["x", "k"], ["y"], "conv")
    return model(
        [node], [floats("x", 1, 1, "T")], [floats("y", 1, 1, None)], [weight("k", 1, 1, 33)]
    )


def never():
    """One length is 200 times the other."""
    tiled = helper.make_node("Concat", ["x"] * 200, ["tiled"], axis=1)
    return model(
        [tiled, helper.make_node("Add", ["tiled", "z"], ["y"], "sum")],
        [floats("x", 1, "A"), floats("z", 1, "B")],
        [floats("y", 1, None)],
    )


@pytest.fixture
def built(tmp_path):
    with Engine(tmp_path / ".webkiln") as engine:

        def make(source, **table):
            (
                source.save(tmp_path / "net.keras")
                if isinstance(source, keras.Model)
                else onnx.save(source, tmp_path / "net.onnx")
            )
            keys = {
                "source": "net.keras" if isinstance(source, keras.Model) else "net.onnx",
                "backends": ["js"],
            }
            shapes = table.pop("input_shapes", {})
            lines = [f"{key} = {json.dumps(value)}" for key, value in keys.items()]
            lines += [
                f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in rows.items())
                for name, rows in table.items()
            ]
            lines += [
                "[input_shapes]",
                *(f"{name} = {json.dumps(shape)}" for name, shape in shapes.items()),
            ]
            (tmp_path / "recipe.toml").write_text("\n".join(lines))
            return Model(engine, read_recipe(tmp_path / "recipe.toml"), tmp_path)

        yield make


def shapes_of(model):
    arrays = npz.read(model.file(model.actions.reference(), "reference.npz"))
    return {
        name.removeprefix("natural0/in/"): value.shape
        for name, value in arrays.items()
        if name.startswith("natural0/in/")
    }


@pytest.mark.parametrize(
    ("make", "shapes"),
    [
        (lambda: up_and_down(2), {"x": (1, 1, 16, 16)}),
        (lambda: up_and_down(32), {"x": (1, 1, 32, 32)}),
        (lambda: up_and_down(200), {"x": (1, 1, 200, 200)}),
        (half, {"x": (1, 1, 16, 8)}),
        (joined, None),
        (wide_window, {"x": (1, 1, 33)}),
    ],
)
@pytest.mark.sample(2)
def test_sample_sizes_satisfy_an_onnx_model(make, shapes, built):
    model = built(make())
    inferred = shapes_of(model)
    if shapes is None:
        assert inferred["a"][1] + inferred["b"][1] == inferred["c"][1]
    else:
        assert inferred == shapes
    assert all(
        row["passed"] for result in model.verify("float32", "node") for row in result["outputs"]
    )


@pytest.mark.long
def test_sample_sizes_satisfy_a_keras_model(built):
    x = keras.Input((None, None, 3), name="x")
    y = layers.Add()([x, layers.UpSampling2D(32)(layers.MaxPooling2D(32)(x))])
    model = built(keras.Model(x, y), input_shapes={"x": [1, "H", "W", 3]})
    assert shapes_of(model) == {"x": (1, 32, 32, 3)}
    assert all(
        row["passed"] for result in model.verify("float32", "node") for row in result["outputs"]
    )


@pytest.mark.parametrize(
    ("make", "sample_sizes", "shape"),
    [(lambda: up_and_down(32), {"H": 96}, (1, 1, 96, 32)), (half, {"W": 5}, (1, 1, 11, 5))],
)
def test_explicit_sample_sizes_are_preserved(make, sample_sizes, shape, built):
    assert shapes_of(built(make(), sample_sizes=sample_sizes)) == {"x": shape}


@pytest.mark.parametrize(
    ("make", "sample_sizes", "message"),
    [
        (
            lambda: up_and_down(32),
            {"H": 16},
            "sample_sizes: H is 16; layer 'sum' needs it to be a multiple of 32",
        ),
        (
            half,
            {"H": 16, "W": 7},
            (
                "sample_sizes: H = 16, W = 7: layer 'sum' needs the sizes floordiv(H, 2) and W to"
                " be equal"
            ),
        ),
        (
            wide_window,
            {"T": 20},
            "sample_sizes: T = 20: layer 'conv' needs T - 33 not to be negative",
        ),
        (
            never,
            {},
            (
                "layer 'sum' needs the sizes 200*A and B to be equal, and the search found no such"
                " sizes; set them in the recipe: sample_sizes = { A = ..., B = ... }"
            ),
        ),
        (
            never,
            {"A": 1, "B": 201},
            "sample_sizes: A = 1, B = 201: layer 'sum' needs the sizes 200*A and B to be equal",
        ),
        (half, {"Q": 1}, "sample_sizes: no size is called Q; sizes are H, W"),
    ],
)
def test_invalid_sample_sizes_are_reported(make, sample_sizes, message, built):
    model = built(make(), sample_sizes=sample_sizes)
    with pytest.raises(ShapeError, match=re.escape(message)):
        model.engine.run(model.actions.reference())


def test_sample_sizes_can_be_set_if_the_search_fails(built):
    assert shapes_of(built(never(), sample_sizes={"A": 1, "B": 200})) == {
        "x": (1, 1),
        "z": (1, 200),
    }
