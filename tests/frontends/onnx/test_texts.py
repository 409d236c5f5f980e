"""Strings in ONNX models: the numbers of a bundle are those of onnxruntime, for random strings and
all options of the operators.
"""

import unicodedata
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.frontends.onnx.running import onnxruntime_outputs
from tests.frontends.text_indices import asked_of, indices_of, random_texts
from tests.sampling import representative
from webkiln.errors import UnsupportedError
from webkiln.frontends.nodes.spec import to_json
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.load import describe_model
from webkiln.frontends.onnx.stage_convert import converted
from webkiln.ops.evaluate import run_graph

FILES = sorted((Path(__file__).parent / "texts").glob("*.onnx"))
WORDS = (
    "film",
    "Good",
    "bad",
    "plot",
    "the",
    "a1",
    "_x",
    "naïve",
    "ÉCLAIR",
    "Straße",
    "東京",
    "\x02",
)
LOCALE = "C.UTF-8"


def portable(model):
    """The model in a locale that every machine has; its letters are those of en_US."""
    for node in model.graph.node:
        if node.op_type == "StringNormalizer":
            node.attribute.append(helper.make_attribute("locale", LOCALE))
    return model


def texts_model(nodes, shape, output=TensorProto.FLOAT, constants=()):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.STRING, shape)],
        [helper.make_tensor_value_info("y", output, None)],
        constants,
    )
    opsets = [
        helper.make_opsetid(domain, version)
        for domain, version in (("", 19), ("com.microsoft", 1), ("ai.onnx.ml", 3))
    ]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def normalizer(source="x", target="n", **options):
    return helper.make_node("StringNormalizer", [source], [target], locale=LOCALE, **options)


def tokenizer(source="x", target="t", **options):
    options = {"mark": 0, "mincharnum": 1, "pad_value": "#", **options}
    return helper.make_node("Tokenizer", [source], [target], domain="com.microsoft", **options)


def counter(words, source="t", lengths=(1, 1), skip=0, **options):
    """All different words and, for longer n-grams, neighbours in the list of words."""
    pool, starts, total = [], [], 0
    for length in range(1, lengths[1] + 1):
        starts.append(len(pool))
        grams = dict.fromkeys(
            tuple(words[at : at + length]) for at in range(len(words) - length + 1)
        )
        pool += [word for gram in grams for word in gram]
        total += len(grams)
    return helper.make_node(
        "TfIdfVectorizer", [source], ["y"], mode="TF", max_skip_count=skip, pool_strings=pool,
        min_gram_length=lengths[0], max_gram_length=lengths[1], ngram_counts=starts,
        ngram_indexes=list(range(total)), **options,
    )  # fmt: skip


def flat(source="t", target="f"):
    return helper.make_node("Flatten", [source], [target])


def encoder(words, source="x"):
    return helper.make_node(
        "LabelEncoder", [source], ["y"], domain="ai.onnx.ml", keys_strings=words,
        values_int64s=[7 * number for number, _ in enumerate(words)], default_int64=-5,
    )  # fmt: skip


class Bundle:
    """The graph of a model, and the indices that its JavaScript makes."""

    def __init__(self, model, **options):
        self.model = model
        self.spec, blobs = describe_model(model, "m.onnx")
        self.graph = OnnxConverter(**options).convert(self.spec, blobs)
        params = {"dims": {}, "input_shapes": {}, "values": {}, "plugins": [], **options}
        with converted(to_json(self.spec), {}, params) as conversion:
            self.texts = conversion.files["texts.json"]["texts"]

    def indices(self, values, folder, host="node"):
        asked = [
            asked_of(text, np.asarray(values[text["input"]]).tolist(), folder)
            for text in self.texts
        ]
        return indices_of(host, asked, folder)

    def run(self, values, folder, host="node"):
        strings = {text["input"] for text in self.texts}
        inputs = {name: value for name, value in values.items() if name not in strings}
        for text, answer in zip(self.texts, self.indices(values, folder, host), strict=True):
            assert "error" not in answer, answer
            sizes = dict(answer["sizes"])
            if not text["list"]:
                sizes |= zip(map(str, text["shape"]), np.shape(values[text["input"]]), strict=True)
            shape = [
                size if type(size) is int else sizes[str(size)]
                for size in self.graph.type(text["tensor"]).shape
            ]
            inputs[text["tensor"]] = np.array(answer["indices"], np.int32).reshape(shape)
        results, _ = run_graph(self.graph, inputs)
        return results


def agree(model, values, folder, host="node"):
    expected = onnxruntime_outputs(model, values)
    results = Bundle(model).run(values, folder, host)
    assert list(results) == list(expected)
    for name, result in results.items():
        want = expected[name]
        if want.dtype.kind == "f":
            np.testing.assert_allclose(result, want, rtol=2e-5, atol=1e-6)
        elif want.dtype == object:
            labels = sorted({*want.ravel()})
            np.testing.assert_array_equal(np.array(labels)[result], want)
        else:
            np.testing.assert_array_equal(result, want)


TOKENIZERS = {
    "words": {"tokenexp": "[a-zA-Z0-9_]+"},
    "long_words": {"tokenexp": r"\w+", "mincharnum": 3},
    "boundaries": {"tokenexp": r"\b\w\w+\b"},
    "alternatives": {"tokenexp": "(film|[0-9]{2,3}|T)x?"},
    "posix": {"tokenexp": "[[:alpha:]]+"},
    "not_ascii": {"tokenexp": "[^\\x00-\\x7F]+"},
    "not_spaces": {"tokenexp": r"\S+", "mark": 1},
    "any": {"tokenexp": "."},
    "any_twice": {"tokenexp": "..", "mincharnum": 2},
    "short_matches": {"tokenexp": r"\w\w?", "mincharnum": 2},
    "characters": {"separators": [""], "mark": 1},
    "space": {"separators": [" "]},
    "spaces": {"separators": [r"\s+"], "mincharnum": 2},
    "several": {"separators": [" ", "[.]", ",", r"\!", "film"], "mark": 1},
}
NORMALIZERS = {
    "none": None,
    "lower": {"case_change_action": "LOWER", "is_case_sensitive": 0},
    "upper": {"case_change_action": "UPPER", "is_case_sensitive": 1},
    "plain": {"case_change_action": "NONE"},
}


@pytest.mark.parametrize("tokens", TOKENIZERS)
@pytest.mark.parametrize("case", representative([*NORMALIZERS], "none", "lower"))
@pytest.mark.parametrize("shape", [(40,), (13, 3)])
def test_tokens(tokens, case, shape, tmp_path):
    """Half of the tokens are in the vocabulary. onnxruntime normalises lists only."""
    options = NORMALIZERS[case]
    nodes = [tokenizer("n" if options else "x", **TOKENIZERS[tokens])]
    if options:
        shape = shape[:1]
        nodes.insert(0, normalizer(**options))
    texts = random_texts(len(tokens), shape, WORDS)
    strings = texts_model(nodes, [None] * len(shape), TensorProto.STRING)
    strings.graph.output[0].name = "t"
    found = onnxruntime_outputs(strings, {"x": texts})["t"]
    known = sorted({*found.ravel()})[::2]
    model = texts_model([*nodes, encoder(known, "t")], [None] * len(shape), TensorProto.INT64)
    agree(model, {"x": texts}, tmp_path)


def test_letters_change_as_in_the_c_library(tmp_path):
    """Unicode 16 gave capitals to four old letters."""
    letters = [
        chr(code)
        for code in range(0x110000)
        if unicodedata.category(chr(code)) in ("Lu", "Ll", "Lt", "Nl", "So", "Mn")
        and code not in (0x19B, 0x264, 0xA7D3, 0xA7D5)
    ]
    texts = np.array(letters, object)
    for action in ("LOWER", "UPPER"):
        node = normalizer(case_change_action=action)
        strings = texts_model([node], [None], TensorProto.STRING)
        strings.graph.output[0].name = "n"
        known = list(dict.fromkeys(onnxruntime_outputs(strings, {"x": texts})["n"]))
        model = texts_model([node, encoder(known, "n")], [None], TensorProto.INT64)
        agree(model, {"x": texts}, tmp_path)


@pytest.mark.parametrize("lengths", [(1, 1), (1, 2), (2, 3)])
@pytest.mark.parametrize("skip", [0, 2])
@pytest.mark.parametrize("tokens", ["words", "characters"])
def test_ngrams_of_short_and_empty_strings(lengths, skip, tokens, tmp_path):
    words = ["a", "b", "#", "a", "c"] if tokens == "words" else list("ab b")
    model = texts_model(
        [tokenizer(**TOKENIZERS[tokens]), flat(), counter(words, "f", lengths, skip)], [None]
    )
    for texts in (["a b", "b a b c", "", "c"], ["a"], ["", " "], ["a b c a a b b c a"]):
        agree(model, {"x": np.array(texts, object)}, tmp_path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
@pytest.mark.parametrize("host", representative(["node", "chromium"], "node"))
def test_models_of_scikit_learn(path, host, tmp_path):
    model = portable(onnx.load(path))
    values = {}
    for seed, item in enumerate(model.graph.input):
        shape = [size.dim_value or 9 for size in item.type.tensor_type.shape.dim]
        texts = random_texts(seed, shape, ("a", "b", "x", "y", "film", "Good", "actors", "plot"))
        is_text = item.type.tensor_type.elem_type == TensorProto.STRING
        values[item.name] = texts if is_text else np.ones(shape, np.float32)
    agree(model, values, tmp_path, host)


def test_the_corpus_of_models_is_present():
    assert len(FILES) >= 13


STOP = {"stopwords": ["The", "bad", "İ"], "case_change_action": "NONE"}


@pytest.mark.parametrize("case", [0, 1])
@pytest.mark.parametrize("shape", [[None], [1, None]])
@pytest.mark.parametrize("texts", [["the", "film", "BAD", "bad", "a"], ["bad", "the"], ["the"]])
def test_stop_words_are_removed_from_a_list(case, shape, texts, tmp_path):
    nodes = [normalizer(**STOP, is_case_sensitive=case), counter(["film", "the", "", "a"], "n")]
    model = texts_model(nodes, shape)
    values = np.array(texts, object).reshape([-1] if len(shape) == 1 else [1, -1])
    agree(model, {"x": values}, tmp_path)


def test_a_list_may_be_reshaped_before(tmp_path):
    nodes = [
        helper.make_node("Reshape", ["x", "flat"], ["r"]),
        normalizer("r", **STOP),
        counter(["film", "a"], "n"),
    ]
    constants = [helper.make_tensor("flat", TensorProto.INT64, [1], [-1])]
    model = texts_model(nodes, [None, 2], constants=constants)
    agree(model, {"x": np.array([["the", "film"], ["a", "film"]], object)}, tmp_path)


def test_a_string_that_is_a_stop_word_is_refused(tmp_path):
    model = texts_model(
        [normalizer(**STOP), tokenizer("n", tokenexp=r"\w+"), flat(), counter(["a", "b"], "f")],
        [None],
    )
    agree(model, {"x": np.array(["a the", "b bad a"], object)}, tmp_path)
    (answer,) = Bundle(model).indices({"x": ["a", "THE"]}, tmp_path)
    assert answer == {
        "error": "WrongValue: input 'x': 'THE' is one of the stop words, which the model would"
        " remove; leave it out"
    }


def test_strings_without_tokens_are_refused_where_tokens_are_needed(tmp_path):
    nodes = [tokenizer(tokenexp=r"\w+"), encoder(["a", "b"], "t")]
    model = texts_model(nodes, [None], TensorProto.INT64)
    agree(model, {"x": np.array(["a", ""], object)}, tmp_path)
    (answer,) = Bundle(model).indices({"x": ["!", ""]}, tmp_path)
    assert answer["error"].startswith("WrongLength: input 'x': the strings contain no words")


MOVES = {
    "transpose": [helper.make_node("Transpose", ["x"], ["m"], perm=[1, 0])],
    "gather": [helper.make_node("Gather", ["x", "two"], ["m"], axis=1)],
    "slice": [helper.make_node("Slice", ["x", "zero", "one", "axis"], ["m"])],
    "chain": [
        helper.make_node("Gather", ["x", "two"], ["g"], axis=1),
        helper.make_node("Transpose", ["g"], ["h"]),
        helper.make_node("Flatten", ["h"], ["m"]),
    ],
    "squeeze": [
        helper.make_node("Unsqueeze", ["x", "axis"], ["g"]),
        helper.make_node("Squeeze", ["g", "axis"], ["m"]),
    ],
}
NUMBERS = [
    helper.make_tensor("two", TensorProto.INT64, [2], [2, 0]),
    helper.make_tensor("zero", TensorProto.INT64, [1], [0]),
    helper.make_tensor("one", TensorProto.INT64, [1], [2]),
    helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
]


@pytest.mark.parametrize("moves", MOVES)
@pytest.mark.parametrize("step", ["tokens", "words"])
def test_strings_are_moved_before_they_are_read(moves, step, tmp_path):
    last = [tokenizer("m", pad_value="b", tokenexp=r"\w+"), encoder(["a", "b", "d"], "t")]
    nodes = [*MOVES[moves], *(last if step == "tokens" else [encoder(["b", "a b"], "m")])]
    model = texts_model(nodes, [None, 3], TensorProto.INT64, NUMBERS)
    texts = np.array([["a b", "c", "d a"], ["b", "a", "a b"]], object)
    agree(model, {"x": texts}, tmp_path)


def test_category_mapper(tmp_path):
    mapper = helper.make_node(
        "CategoryMapper", ["x"], ["y"], domain="ai.onnx.ml", cats_strings=["a", "b"],
        cats_int64s=[4, 9], default_int64=-7,
    )  # fmt: skip
    model = texts_model([mapper], [None], TensorProto.INT64)
    agree(model, {"x": np.array(["b", "a", "c"], object)}, tmp_path)


def test_sizes_and_shapes_may_be_given():
    model = texts_model([tokenizer(tokenexp=r"\w+"), flat(), counter(["a"], "f")], [None])
    assert [str(size) for size in Bundle(model).texts[0]["shape"]] == ["x_0"]
    for options in (
        {"dims": {"x_0": 4}},
        {"input_shapes": {"x": [4]}},
        {"input_shapes": {"": [4]}},
    ):
        made = Bundle(model, **options)
        assert made.texts[0]["shape"] == [4]
        assert made.texts[0]["length"] == "x_length"
        assert str(made.graph.type("x").shape[1]) == "x_length"
    fixed = Bundle(model, dims={"x_length": 8, "x_0": "rows"})
    assert (fixed.texts[0]["shape"], fixed.texts[0]["length"]) == (["rows"], 8)


def test_longer_rows_than_a_fixed_length_are_refused(tmp_path):
    model = texts_model([tokenizer(tokenexp=r"\w+"), flat(), counter(["a"], "f")], [None])
    (answer,) = Bundle(model, dims={"x_length": 2}).indices({"x": ["a b c"]}, tmp_path)
    assert answer["error"].startswith("WrongSize: input 'x': the longest string has 3 words")


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([tokenizer(tokenexp="a|ab"), encoder(["a"], "t")], "in more than one way"),
        ([tokenizer(tokenexp="a*"), encoder(["a"], "t")], "it matches the empty string"),
        ([tokenizer(separators=["a+?"]), encoder(["a"], "t")], "the separator 'a[+][?]'"),
        (
            [
                helper.make_node("StringNormalizer", ["x"], ["n"], locale="tr_TR"),
                encoder(["a"], "n"),
            ],
            "changes letters as in the locale tr_TR",
        ),
        (
            [normalizer(), encoder(["a"], "n"), helper.make_node("Identity", ["n"], ["s"])],
            "is an output of strings that come from an input",
        ),
        (
            [
                helper.make_node(
                    "LabelEncoder", ["x"], ["z"], domain="ai.onnx.ml", keys_strings=["a"],
                    values_strings=["b"],
                ),
                encoder(["b"], "z"),
            ],
            "maps strings to strings",
        ),
        ([helper.make_node("StringSplit", ["x"], ["s", "y"])], "computes with strings"),
        (
            [
                tokenizer(tokenexp="a"),
                helper.make_node("Reshape", ["t", "flat"], ["r"]),
                normalizer("r"),
                encoder(["a"], "n"),
            ],
            "reads strings of tokenizer",
        ),
    ],
)  # fmt: skip
def test_unsupported_strings_are_refused(nodes, problem):
    constants = [helper.make_tensor("flat", TensorProto.INT64, [1], [-1])]
    model = texts_model(nodes, [None], TensorProto.INT64, constants)
    if nodes[-1].output[0] == "s":
        model.graph.output.append(helper.make_tensor_value_info("s", TensorProto.STRING, None))
    if nodes[-1].op_type == "StringSplit":
        model.opset_import[0].version = 20
    with pytest.raises(UnsupportedError, match=problem):
        describe_model(model, "m.onnx")
