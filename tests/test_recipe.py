import re
from pathlib import Path
from typing import Any

import pytest

from webkiln.errors import RecipeError
from webkiln.recipe.read import parse_recipe, read_recipe, read_recipes
from webkiln.recipe.recipe import with_parameters
from webkiln.recipe.sources import ExportSource, PathSource, UrlSource

PATH = Path("/models/m/recipe.toml")


def test_a_recipe_needs_only_a_path() -> None:
    recipe = parse_recipe("m", {"source": "m.keras"}, PATH)
    assert recipe.source == PathSource(Path("/models/m/m.keras"))
    assert (recipe.backends, recipe.bundle.encodings, recipe.inputs.batch_size) == (
        ("wasm", "js"),
        ("float32",),
        1,
    )
    assert recipe.verification.tolerances["float32"] == 1e-4


def test_every_key() -> None:
    data: dict[str, Any] = {
        "source": {"url": "https://example.org/m.keras", "sha256": "0" * 64},
        "input_shapes": {"image": [1, 28, 28, 1]},
        "batch_size": 2,
        "backends": ["js", "wasm"],
        "encodings": ["int8", "float32"],
        "tolerances": {"int8": 0.25},
        "labels": {"scores": ["cat", "dog"]},
        "plugins": ["handlers.py"],
        "trust_source": True,
        "on_request": True,
    }
    recipe = parse_recipe("m", data, PATH)
    assert recipe.source == UrlSource("https://example.org/m.keras", "0" * 64)
    assert recipe.backends == ("wasm", "js"), "the order of a list changes nothing"
    assert recipe.bundle.encodings == ("float32", "int8")
    assert recipe.verification.tolerances["int8"] == 0.25
    assert recipe.bundle.labels == {"scores": ("cat", "dog")}
    assert recipe.user_code.plugins == (Path("/models/m/handlers.py"),)
    assert recipe.user_code.trust_source
    assert recipe.on_request


def test_an_export_script_and_its_parameters() -> None:
    source = {"script": "make.py", "function": "save"}
    assert parse_recipe("m", {"source": source}, PATH).source == ExportSource(
        Path("/models/m/make.py"), "save"
    )
    recipe = parse_recipe(
        "m", {"source": source, "parameters": {"size": 96, "weights": "random"}}, PATH
    )
    assert recipe.source == ExportSource(
        Path("/models/m/make.py"), "save", {"size": 96, "weights": "random"}
    )
    resized = with_parameters(recipe, {"size": 32})
    assert resized.source == ExportSource(
        Path("/models/m/make.py"), "save", {"size": 32, "weights": "random"}
    )
    with pytest.raises(RecipeError, match="m: its source is a file, which takes no parameter size"):
        with_parameters(parse_recipe("m", {"source": "m.keras"}, PATH), {"size": 32})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "unknown key '.nothing.'; valid: source, source_format, signature"),
        ({"batch_size": 1}, "the key source is missing"),
        (
            {"source": "m", "batchsize": 1},
            r"unknown key 'batchsize'; valid: source, source_format, .*; did you mean batch_size",
        ),
        ({"source": "m", "batch_size": 0}, "batch_size is 0, expected a positive integer"),
        ({"source": "m", "batch_size": True}, "expected a positive integer"),
        (
            {"source": "m", "backends": ["wasn"]},
            "unknown backend 'wasn'; valid: webgpu, wasm, webgl, js",
        ),
        ({"source": "m", "backends": "wasm"}, "expected a list of strings"),
        ({"source": "m", "encodings": []}, "no encoding given; valid: float32"),
        (
            {"source": "m", "precision": "float8"},
            "precision is 'float8', expected one of float32, float16, float16-arithmetic",
        ),
        (
            {"source": "m", "precision": "float16", "backends": ["wasm"]},
            (
                r"precision is 'float16', and the backends are wasm, which compute in float32; add"
                r" webgpu or webgl"
            ),
        ),
        (
            {"source": "m", "precision": "float16-arithmetic", "backends": ["wasm", "webgl"]},
            (
                r"precision is 'float16-arithmetic', and the backends are wasm, webgl, which"
                r" compute in float32; add webgpu, or"
            ),
        ),
        (
            {"source": "m", "subgroup_matrices": "on", "backends": ["webgpu"]},
            (
                r"subgroup_matrices is 'on', and precision is 'float32'; subgroup matrices multiply"
                r" float16, so set precision = 'float16', or"
            ),
        ),
        (
            {
                "source": "m",
                "subgroup_matrices": "on",
                "precision": "float16",
                "backends": ["wasm", "webgl"],
            },
            (
                r"subgroup_matrices is 'on', and the backends are wasm, webgl, which have none; add"
                r" webgpu, or"
            ),
        ),
        ({"source": "m", "tolerances": {"float8": 1}}, "unknown encoding in tolerances 'float8'"),
        ({"source": "m", "input_shapes": {"x": [1, -1]}}, "input_shapes is .* expected a table"),
        ({"source": {"url": "u"}}, "source has the keys url; expected url and sha256"),
        ({"source": {"url": "u", "sha256": "ABC"}}, "expected 64 lower-case hexadecimal digits"),
        ({"source": 3}, "source is 3, expected a path"),
        (
            {"source": "m", "parameters": {"size": 3}},
            "parameters are for a function that makes the model",
        ),
        (
            {"source": {"script": "m.py", "function": "f"}, "parameters": {"size": [3]}},
            "expected a table: name = string, number",
        ),
    ],
)
def test_errors_list_valid_values(data: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        parse_recipe("m", data, PATH)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "m" / "recipe.toml"
    with pytest.raises(RecipeError, match=r"recipe\.toml"):
        read_recipe(path)
    path.parent.mkdir()
    path.write_text("source =")
    with pytest.raises(RecipeError, match="Invalid value"):
        read_recipes(tmp_path)
    with pytest.raises(RecipeError, match="no such folder"):
        read_recipes(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"colour": "RGB"},
            (
                "inputs.x: unknown key 'colour'; valid: size, fit, color, mean, scale, layout; did"
                " you mean color?"
            ),
        ),
        ({"color": "CMYK"}, "unknown color 'CMYK'; valid: RGB, BGR, GREY, RGBA, BGRA"),
        ({"fit": "pad"}, "unknown fit 'pad'; valid: stretch, crop"),
        ({"size": [224]}, "size is [224], expected [height, width]"),
        ({"size": 224}, "size is 224, expected [height, width]"),
        ({"mean": "1"}, "mean is '1', expected a number, or a list of 3"),
        (
            {"scale": [1, 0, 1]},
            "scale is [1, 0, 1], expected a number that is not 0, or a list of 3",
        ),
        (
            {"color": "GREY", "mean": [1, 2, 3]},
            "mean has 3 numbers, expected 1, one for each channel of GREY",
        ),
    ],
)
def test_invalid_image_declarations(table, message, tmp_path):
    with pytest.raises(RecipeError, match=re.escape(message)):
        parse_recipe(
            "net", {"source": "net.keras", "inputs": {"x": table}}, tmp_path / "net" / "recipe.toml"
        )


NETWORKS = [
    "densenet121",
    "efficientnetb0",
    "inceptionv3",
    "mobilenetv2",
    "resnet50",
    "vgg16",
    "xception",
]


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_declare_their_image_preprocessing(name):
    import keras
    import numpy as np

    module = {
        "densenet121": "densenet",
        "efficientnetb0": "efficientnet",
        "inceptionv3": "inception_v3",
        "mobilenetv2": "mobilenet_v2",
    }
    pixels = np.random.default_rng(0).integers(0, 256, (1, 4, 5, 3)).astype(np.float32)
    expected = getattr(keras.applications, module.get(name, name)).preprocess_input(pixels.copy())
    recipe = read_recipe(Path(__file__).parents[1] / "models" / name / "recipe.toml")
    image = recipe.bundle.images["image"]
    result = (pixels[..., :: -1 if image.color == "BGR" else 1] - np.array(image.mean)) / np.array(
        image.scale
    )
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
