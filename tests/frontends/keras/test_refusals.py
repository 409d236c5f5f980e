"""Unsupported layers are reported before the conversion; mismatched weights during it."""

import json
import zipfile

import keras
import pytest
from keras import layers as L

from tests.frontends.keras.layer_cases import NOT_CONVERTED, REFUSED
from tests.frontends.keras.without_keras import unsupported_parts
from webkiln.errors import ShapeError, UnsupportedError, UserError
from webkiln.frontends.keras.converter import KerasConverter

pytestmark = pytest.mark.probes

STRINGS_HINT = (
    "Convert strings to numbers on the page, and start the model after this layer: --from-layer"
)


def single(shape, layer):
    x = keras.Input(shape, name="x")
    return keras.Model(x, layer(x))


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.what)
def test_refused(case, tmp_path):
    single(case.shape, case.call).save(tmp_path / "m.keras")
    with pytest.raises(UserError) as error:
        KerasConverter().convert(tmp_path / "m.keras")
    assert case.message in str(error.value)


def as_others(path, classes):
    """Change the classes of layers in a file, by layer name."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    for layer in config["config"]["layers"]:
        layer["class_name"] = classes.get(layer["config"]["name"], layer["class_name"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, json.dumps(config) if name == "config.json" else data)


def test_layers_without_a_handler_are_named_together(tmp_path):
    x = keras.Input((5, 4), name="x")
    keras.Model(x, L.Dense(3, name="second")(L.Dense(2, name="first")(x))).save(
        tmp_path / "m.keras"
    )
    as_others(tmp_path / "m.keras", {"first": "TorchModuleWrapper", "second": "JaxLayer"})
    with pytest.raises(UnsupportedError) as error:
        KerasConverter().convert(tmp_path / "m.keras")
    assert [where for where, *_ in error.value.items] == [
        "first (TorchModuleWrapper)",
        "second (JaxLayer)",
    ]
    assert all(
        (what, hint.startswith("Export the model to ONNX"))
        == ("a program of another framework", True)
        for _, what, hint in error.value.items
    )
    assert {"TorchModuleWrapper", "JaxLayer"} <= set(NOT_CONVERTED)


def test_layers_with_strings_as_inputs_are_named(tmp_path):
    """Layers that do not convert strings to numbers, and string layers inside nested models."""
    words = keras.Input((1,), dtype="string", name="words")
    inner = keras.Sequential(
        [keras.Input((1,), dtype="string"), L.Hashing(4, name="bins")], name="inner"
    )
    keras.Model(words, [L.Identity(name="same")(words), inner(words)]).save(tmp_path / "m.keras")
    with pytest.raises(UnsupportedError) as error:
        KerasConverter().convert(tmp_path / "m.keras")
    assert [item for item in error.value.items if not item[0].startswith("inner/")] == [
        (
            "same (Identity)",
            "it has strings as inputs",
            f"{STRINGS_HINT} same",
        ),
        (
            "inner (Sequential)",
            "it has strings as inputs",
            f"{STRINGS_HINT} inner",
        ),
    ]


def test_errors_for_channels_name_the_valid_groups():
    model = single((8, 8, 6), L.Conv2D(4, 3, groups=1, name="conv"))
    kernel = model.get_layer("conv").kernel
    kernel._value = kernel._value[:, :, :3]
    with pytest.raises(
        ShapeError,
        match=r"conv \(Conv2D\): the kernel has 3 input channels, x has 6; .*groups=2 would fit",
    ):
        KerasConverter().convert(model)


@pytest.mark.parametrize(
    ("shape", "layer", "weight", "message"),
    [
        (
            (6,),
            L.LayerNormalization(name="norm"),
            "gamma",
            r"norm \(LayerNormalization\): gamma is \[5\], x needs \[6\]",
        ),
        (
            (6,),
            L.GroupNormalization(3, name="norm"),
            "beta",
            r"norm \(GroupNormalization\): beta is \[5\], x needs \[6\]",
        ),
        (
            (6,),
            L.PReLU(name="prelu"),
            "alpha",
            r"prelu \(PReLU\): alpha is \[5\], x is \[1, 6\]; each size of alpha",
        ),
    ],
)
def test_weights_of_other_shapes(shape, layer, weight, message):
    model = single(shape, layer)
    variable = getattr(layer, weight)
    variable._value = variable._value[:5]
    with pytest.raises(ShapeError, match=message):
        KerasConverter().convert(model)


def test_unsupported_activations_are_listed_together():
    @keras.saving.register_keras_serializable(package="tests")
    def odd(x):
        return x.numpy() if isinstance(x, keras.KerasTensor) else x

    x = keras.Input((4,))
    y = L.Dense(2, activation=odd, name="first")(x)
    model = keras.Model(x, L.Dense(2, activation=odd, name="second")(y))
    with pytest.raises(UnsupportedError) as error:
        KerasConverter().convert(model)
    assert [where for where, _, _ in error.value.items] == ["first (Dense)", "second (Dense)"]


def test_errors_need_the_config_only(tmp_path):
    """The weights are damaged and no framework is imported: neither is read."""
    x = keras.Input((8, 4), name="x")
    y = keras.layers.Dense(4, name="torch")(x)
    y = keras.layers.Dense(4, dtype="float8_from_float32", name="half")(y)
    inner = keras.Sequential(
        [
            keras.Input((8, 4)),
            keras.layers.Lambda(lambda t: t + len(t.shape), output_shape=(8, 4), name="code"),
        ],
        name="inner",
    )
    keras.Model(x, keras.layers.Dense(4, name="second")(inner(y)), name="several").save(
        tmp_path / "whole.keras"
    )
    as_others(tmp_path / "whole.keras", {"torch": "TorchModuleWrapper", "second": "TFSMLayer"})
    with (
        zipfile.ZipFile(tmp_path / "whole.keras") as whole,
        zipfile.ZipFile(tmp_path / "several.keras", "w") as file,
    ):
        for name in whole.namelist():
            file.writestr(name, b"damaged" if name == "model.weights.h5" else whole.read(name))
    expected = [
        "torch (TorchModuleWrapper)",
        "half (Dense)",
        "inner/code (Lambda)",
        "second (TFSMLayer)",
    ]
    assert [where for where, *_ in unsupported_parts(tmp_path / "several.keras")] == expected
