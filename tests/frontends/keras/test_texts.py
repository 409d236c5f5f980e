"""Strings become the same indices as in Keras, in Node and in a browser, for random strings and all
options.
"""

import unicodedata

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers as L

from tests.frontends.keras.text_cases import TEXTS, WEIGHTS, WORDS
from tests.frontends.text_indices import asked_of, indices_of, random_texts
from tests.sampling import representative
from webkiln.errors import SourceError, UnsupportedError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model, read_memory
from webkiln.ops.evaluate import run_graph

COUNT = 60


def texts_of(seed, shape):
    return random_texts(seed, shape, WORDS)


def vectorizer(texts, **options):
    """A layer whose vocabulary is half of the tokens of the strings."""
    mode = options.get("output_mode", "int")
    bare = L.TextVectorization(
        **{
            key: value
            for key, value in options.items()
            if key in ("standardize", "split", "ngrams")
        }
    )
    made = bare._preprocess(tf.constant(texts))
    found = (
        made.flat_values if isinstance(made, tf.RaggedTensor) else tf.reshape(made, [-1])
    ).numpy()
    known = sorted(
        {token.decode() for token in found if token and not token.endswith(b"\0")} - {"[UNK]"}
    )[::2][:300]
    weights = (
        {"idf_weights": [0.5 + 0.25 * (index % 7) for index, _ in enumerate(known)]}
        if mode == "tf_idf"
        else {}
    )
    return L.TextVectorization(vocabulary=known or ["x"], **options, **(weights if known else {}))


def layer_of(name, texts, options):
    if name == "TextVectorization":
        return vectorizer(texts, **options)
    if name == "StringLookup":
        weights = {"idf_weights": list(WEIGHTS)} if options.get("output_mode") == "tf_idf" else {}
        return L.StringLookup(vocabulary=list(WORDS), **options, **weights)
    return L.Hashing(**options)


@pytest.mark.parametrize(
    ("host", "every"),
    representative(
        [("node", 3), ("chromium", 15), ("node", 1), ("chromium", 5)], ("node", 3), ("chromium", 15)
    ),
)
def test_indices_of_strings_agree_with_keras(host, every, tmp_path):
    """Every case is a batch of random strings and a model of one layer."""
    cases = [(kind, case) for kind, rows in TEXTS.items() for case in rows]
    asked, rest = [], []
    for seed, (kind, case) in enumerate(cases[::every]):
        texts = texts_of(seed, (COUNT, *case.shapes[0]))
        layer, shape, name = (
            layer_of(kind, texts, case.options),
            texts.shape,
            f"{kind} {case.options} {case.shapes}",
        )
        x = keras.Input(shape[1:], dtype="string", name="text")
        spec, _ = read_memory(keras.Model(x, layer(x)), name)
        converter = KerasConverter(batch_size=shape[0])
        graph = converter.convert(spec)
        asked.append(asked_of(converter.texts[0], texts.tolist(), tmp_path))
        rest.append((name, graph, keras.ops.convert_to_numpy(layer(tf.constant(texts)))))
    for (name, graph, expected), answer in zip(
        rest, indices_of(host, asked, tmp_path), strict=True
    ):
        assert "error" not in answer, (name, answer)
        shape = [
            answer["sizes"][str(size)] if not isinstance(size, int) else size
            for size in graph.type("text").shape
        ]
        results, _ = run_graph(graph, {"text": np.array(answer["indices"], "int32").reshape(shape)})
        (result,) = results.values()
        np.testing.assert_array_equal(result, expected.astype(result.dtype), err_msg=name)


def test_buckets_of_strings_of_every_length(tmp_path):
    texts = [
        "".join(chr(97 + (index * 7 + size) % 26) for index in range(size))
        for size in (*range(132), 191, 192, 193, 200, 1000)
    ]
    entry = {
        "tensor": "x",
        "tokens": [],
        "input": "x",
        "shape": [len(texts)],
        "standardize": None,
        "split": None,
        "ngrams": None,
        "first": 0,
        "other": 0,
        "others": 1 << 30,
        "mask": None,
        "masked": 0,
        "fill": 0,
        "length": None,
        "empty": None,
        "hashed": True,
    }
    fast, strong = indices_of(
        "node",
        [asked_of({**entry, "salt": salt}, texts, tmp_path) for salt in (None, ["7", "-5"])],
        tmp_path,
    )
    np.testing.assert_array_equal(fast["indices"], tf.strings.to_hash_bucket_fast(texts, 1 << 30))
    np.testing.assert_array_equal(
        strong["indices"], tf.strings.to_hash_bucket_strong(texts, 1 << 30, [7, -5])
    )


def single(layer, shape=(1,), **options):
    x = keras.Input(shape, dtype="string", name="text", **options)
    return keras.Model(x, layer(x), name="m")


@pytest.mark.parametrize(
    ("texts", "shape", "message"),
    [
        ([1, "a"], [2], "WrongDtype: input 'x': expected strings, got 1"),
        (["a"], [2], r"WrongLength: input 'x': expected 2 strings for shape [2], got 1"),
        (
            ["a", "\ud800"],
            [2],
            "WrongValue: input 'x': '\ud800' has a lone surrogate, which UTF-8 cannot encode",
        ),
        (
            ["a", "zebra"],
            [2],
            (
                "WrongValue: input 'x': 'zebra' is not in the vocabulary, and the model has no"
                " index for other words"
            ),
        ),
    ],
)
def test_invalid_strings(texts, shape, message, tmp_path):
    entry = {
        "tensor": "x",
        "tokens": ["a"],
        "input": "x",
        "shape": shape,
        "standardize": None,
        "split": None,
        "ngrams": None,
        "first": 0,
        "other": 0,
        "others": 0,
        "mask": None,
        "masked": 0,
        "fill": 0,
        "length": None,
        "empty": None,
        "hashed": False,
        "salt": None,
    }
    (answer,) = indices_of("node", [asked_of(entry, texts, tmp_path)], tmp_path)
    assert answer == {"error": message}


def lower(texts):
    return texts


@pytest.mark.parametrize(
    ("layer", "shape", "what"),
    [
        (
            lambda: L.TextVectorization(standardize=lower, vocabulary=["a"], name="v"),
            (1,),
            "its standardize is a function of Python",
        ),
        (
            lambda: L.TextVectorization(split=lower, vocabulary=["a"], name="v"),
            (1,),
            "its split is a function of Python",
        ),
        (
            lambda: L.TextVectorization(ragged=True, vocabulary=["a"], name="v"),
            (1,),
            "it gives rows of different lengths (ragged=True)",
        ),
        (
            lambda: L.TextVectorization(split=None, vocabulary=["a"], name="v"),
            (),
            "it reads strings without splitting them",
        ),
        (
            lambda: L.StringLookup(vocabulary=["a"], encoding="latin-1", name="v"),
            (1,),
            "its encoding is 'latin-1', not utf-8",
        ),
    ],
)
def test_options_without_exact_results_are_refused(layer, shape, what):
    with pytest.raises(UnsupportedError) as error:
        read_memory(single(layer(), shape), "m")
    ((where, told, hint),) = error.value.items
    assert (where.partition(" ")[0], told.startswith(what)) == ("v", True)
    assert hint.endswith("start the model after this layer: --from-layer v")


def test_layers_that_return_strings_are_refused():
    x = keras.Input((1,), dtype="int64", name="x")
    model = keras.Model(x, L.StringLookup(vocabulary=["a"], invert=True, name="v")(x))
    with pytest.raises(
        UnsupportedError, match=r"v \(StringLookup\): it gives texts \(invert=True\)"
    ):
        read_memory(model, "m")


@pytest.mark.parametrize("kind", ["adapted", "given", "tf_idf"])
def test_vocabularies_are_those_of_keras(kind, tmp_path):
    """The vocabulary comes from the assets of a file, from its config, or from memory."""
    texts = ["the cat sat", "the dog  sat\ton the cat", "Straße ÉCOLE naïve"]
    match kind:
        case "given":
            layer = L.TextVectorization(vocabulary=["", "[UNK]", "the", "cat"], name="v")
        case "adapted":
            layer = L.TextVectorization(name="v", max_tokens=6)
            layer.adapt(texts)
        case _:
            layer = L.TextVectorization(
                name="v", output_mode="tf_idf", max_tokens=20, pad_to_max_tokens=True
            )
            layer.adapt(texts)
    model = single(layer)
    model.save(tmp_path / "m.keras")
    specs = [load_model(tmp_path / "m.keras")[0], read_memory(model, "m")[0]]
    for spec in specs:
        (found,) = [item for item in spec.layers if item.name == "v"]
        assert found.config["vocabulary"] == layer.get_vocabulary(include_special_tokens=False)
        if kind == "tf_idf":
            np.testing.assert_array_equal(
                np.float32(found.config["idf_weights"]), layer._lookup_layer.idf_weights_const
            )


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            b"\n[UNK]\na\nb\na",
            r"v \(TextVectorization\): its vocabulary contains 'a' twice, which Keras refuses",
        ),
        (
            b"\n[UNK]\na\n\xff",
            r"v \(TextVectorization\): its vocabulary is not valid UTF-8 \(invalid start byte",
        ),
        (b"a\n\nb", r"its vocabulary has the mask token '' at another index than 0"),
    ],
)
def test_invalid_vocabularies(lines, message, tmp_path):
    import zipfile

    layer = L.TextVectorization(name="v")
    layer.adapt(["a b"])
    single(layer).save(tmp_path / "m.keras")
    with (
        zipfile.ZipFile(tmp_path / "m.keras") as old,
        zipfile.ZipFile(tmp_path / "n.keras", "w") as new,
    ):
        for name in old.namelist():
            new.writestr(name, lines if name.endswith("vocabulary.txt") else old.read(name))
    with pytest.raises(SourceError, match=message):
        load_model(tmp_path / "n.keras")


def test_layers_without_a_vocabulary_are_named(tmp_path):
    single(L.StringLookup(name="v")).save(tmp_path / "m.keras")
    with pytest.raises(
        SourceError,
        match=r"v \(StringLookup\): the source has no vocabulary; pass one or adapt the layer",
    ):
        KerasConverter().convert(tmp_path / "m.keras")


def test_random_strings_cover_all_characters():
    texts = "".join(texts_of(0, (2000,)))
    assert {"\0", "\ufeff", "\u2028", "İ"} <= set(texts)
    assert len({unicodedata.category(character) for character in texts}) > 20
