"""A model with string inputs, from a file to verified bundles of every form."""

import json
import shutil
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers as L

from tests.models.conftest import Model
from tests.sampling import representative
from webkiln.backends.host import read_manifest, run_bundle
from webkiln.build.engine import Engine
from webkiln.cli import main
from webkiln.recipe.read import read_recipe

REVIEWS = [
    "a great film, great actors",
    "a dull film with dull actors",
    "the plot is dull",
    "what a film!",
    "great",
]
LONG, TEXT = np.array([["a GREAT film, with a naïve plot; dull? no!"]]), np.array([["great dull"]])


def reviews():
    """Two layers read one string; categories are looked up and hashed in parallel."""
    text, tags = (
        keras.Input((1,), dtype="string", name="text"),
        keras.Input((3,), dtype="string", name="tags"),
    )
    words = L.TextVectorization(name="words")
    pairs = L.TextVectorization(output_mode="tf_idf", ngrams=2, name="pairs")
    words.adapt(REVIEWS)
    pairs.adapt(REVIEWS)
    known_tags = L.StringLookup(
        vocabulary=["film", "play"], num_oov_indices=3, output_mode="multi_hot", name="known"
    )
    rows = words(text)
    row = L.GlobalAveragePooling1D(name="mean")(
        L.Embedding(20, 6, mask_zero=True, name="embed")(rows)
    )
    hashed = L.Hashing(5, output_mode="count", name="hashed")(tags)
    both = L.Concatenate(name="both")(
        [
            row,
            L.Reshape((pairs.vocabulary_size(),), name="flat")(pairs(text)),
            known_tags(tags),
            hashed,
        ]
    )
    keras_model = keras.Model([text, tags], [L.Dense(2, name="score")(both), rows], name="reviews")
    for seed, variable in enumerate(keras_model.weights):
        variable.assign(np.random.default_rng(seed).normal(0, 0.5, variable.shape))
    return keras_model


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reviews")
    keras_model = reviews()
    keras_model.save(folder / "reviews.keras")
    (folder / "recipe.toml").write_text(
        'source = "reviews.keras"\nbackends = ["webgpu", "wasm", "webgl", "js"]\n'
    )
    return keras_model, folder


@pytest.mark.parametrize("browser", ["node", "chromium"])
@pytest.mark.sample("node")
def test_string_inputs_are_verified(saved, browser, tmp_path):
    _, folder = saved
    with Engine(tmp_path / ".webkiln") as engine:
        model = Model(engine, read_recipe(folder / "recipe.toml"), tmp_path)
        rows = [row for result in model.verify("float32", browser) for row in result["outputs"]]
    assert {row["output"] for row in rows} == {"score", "words"}
    assert all(row["passed"] for row in rows)
    assert {row["relative"] for row in rows if row["output"] == "words"} == {0}


ONNX_TEXTS = Path(__file__).parents[1] / "frontends" / "onnx" / "texts"


@pytest.mark.parametrize("name", ["class_names", "matrix", "pairs"])
@pytest.mark.parametrize("browser", representative(["node", "chromium"], "node"))
def test_strings_of_onnx_models_are_verified(name, browser, tmp_path):
    shutil.copyfile(ONNX_TEXTS / f"{name}.onnx", tmp_path / "m.onnx")
    (tmp_path / "recipe.toml").write_text(
        'source = "m.onnx"\nbackends = ["webgpu", "wasm", "webgl", "js"]\n'
    )
    with Engine(tmp_path / ".webkiln") as engine:
        model = Model(engine, read_recipe(tmp_path / "recipe.toml"), tmp_path)
        rows = [row for result in model.verify("float32", browser) for row in result["outputs"]]
    assert {row["output"] for row in rows} == {"label", "probabilities"}
    assert all(row["passed"] for row in rows)


def expected(keras_model, text, tags):
    return [
        keras.ops.convert_to_numpy(value)
        for value in keras_model([tf.constant(text), tf.constant(tags)])
    ]


@pytest.mark.parametrize(
    ("options", "worker"),
    [
        ([], False),
        (["--hashed"], True),
        (["--format", "single"], True),
        (["--format", "npm", "--package", "reviews@1.0.0"], False),
    ],
)
def test_every_form_accepts_strings(saved, options, worker, tmp_path):
    keras_model, folder = saved
    bundle = tmp_path / "bundle"
    assert (
        main(
            ["build", str(folder / "reviews.keras"), "--backend", "js", *options, "-o", str(bundle)]
        )
        == 0
    )
    tags = np.array([["film", "opera", "play"]])
    results = run_bundle(
        bundle,
        "js",
        [{"text": text, "tags": tags} for text in (LONG, TEXT)],
        host="node",
        worker=worker,
    )
    for text, result in zip((LONG, TEXT), results, strict=True):
        score, words = expected(keras_model, text, tags)
        np.testing.assert_allclose(result.outputs["score"], score, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(result.outputs["words"], words)
    types = (bundle / "index.d.ts").read_text()
    assert '"text": readonly string[] | readonly (readonly string[])[];' in types
    assert "text_2" not in types.partition("export interface Outputs")[0]
    package = json.loads((bundle / "package.json").read_text())
    assert (package["name"] == "reviews") or options[:1] != ["--format"]


def test_only_bundles_with_string_inputs_contain_their_code(saved, tmp_path):
    _, folder = saved
    x = keras.Input((1,), dtype="string", name="text")
    layer = L.StringLookup(vocabulary=["a", "b"])
    keras.Model(x, layer(x), name="plain").save(tmp_path / "plain.keras")
    n = keras.Input((2,), name="x")
    keras.Model(n, L.Dense(1)(n), name="none").save(tmp_path / "none.keras")
    sizes = {}
    for name, path in (("reviews", folder), ("plain", tmp_path), ("none", tmp_path)):
        assert (
            main(
                [
                    "build",
                    str(path / f"{name}.keras"),
                    "--backend",
                    "js",
                    "-o",
                    str(tmp_path / name),
                ]
            )
            == 0
        )
        runtime = (tmp_path / name / "runtime.js").read_text()
        sizes[name] = tuple(
            f"function {function}(" in runtime
            for function in ("loadTexts", "fingerprint", "rowsOfSteps")
        )
    assert sizes == {
        "reviews": (True, True, False),
        "plain": (True, False, False),
        "none": (False, False, False),
    }
    vocabularies = sorted(path.name for path in (tmp_path / "reviews").glob("vocabulary-*.bin"))
    assert len(vocabularies) == 3
    listed = {
        tensor["text"]["vocabulary"]["file"]
        for tensor in read_manifest(tmp_path / "reviews")["inputs"]
        if "vocabulary" in tensor["text"]
    }
    assert listed == set(vocabularies)


def test_the_commands_accept_strings(saved, tmp_path, capsys):
    keras_model, folder = saved
    source, bundle = str(folder / "reviews.keras"), str(tmp_path / "bundle")
    assert main(["build", source, "--backend", "js", "-o", bundle]) == 0
    tags = np.array([["film", "opera", "play"]])
    np.savez(tmp_path / "x.npz", text=LONG, tags=tags)
    assert (
        main(
            [
                "run",
                bundle,
                "--inputs",
                str(tmp_path / "x.npz"),
                "--outputs",
                str(tmp_path / "y.npz"),
            ]
        )
        == 0
    )
    np.testing.assert_allclose(
        np.load(tmp_path / "y.npz")["score"],
        expected(keras_model, LONG, tags)[0],
        rtol=1e-5,
        atol=1e-6,
    )
    assert main(["diff", bundle, "--source", source]) == 0
    np.savez(tmp_path / "x.npz", text=np.zeros((1, 1)), tags=tags)
    capsys.readouterr()
    assert (
        main(
            [
                "run",
                bundle,
                "--inputs",
                str(tmp_path / "x.npz"),
                "--outputs",
                str(tmp_path / "y.npz"),
            ]
        )
        == 2
    )
    assert "input text: expected strings, got float64" in capsys.readouterr().err


def test_subgraphs_may_start_after_string_layers(saved, tmp_path):
    _, folder = saved
    cut = ["--from-layer", "words", "--to-layer", "mean", "--input-shape", "words=1,4"]
    assert (
        main(
            [
                "build",
                str(folder / "reviews.keras"),
                "--backend",
                "js",
                *cut,
                "-o",
                str(tmp_path / "part"),
            ]
        )
        == 0
    )
    (tensor,) = read_manifest(tmp_path / "part")["inputs"]
    assert (tensor["name"], tensor["dtype"], tensor["shape"]) == ("words", "int64", [1, 4])
