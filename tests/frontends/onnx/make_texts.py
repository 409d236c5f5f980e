"""Writes text models of scikit-learn, converted by skl2onnx: `python -m
tests.frontends.onnx.make_texts`.

It needs `pip install scikit-learn skl2onnx pandas`.
"""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

TEXTS = Path(__file__).parent / "texts"
REVIEWS = np.array(
    [
        "A great film, with GREAT actors", "what a bad film", "What a film!", "really, really bad",
        "good good actors; a good plot", "the plot is dull", "it's a naïve plot (but good)",
        "not good. Not bad", "dull dull actors", "I saw it at 20:15, great",
    ]
)  # fmt: skip
GOOD = [1, 0, 1, 0, 1, 0, 1, 0, 0, 1]
NAMES = ["bad", "good"]
ROWS = pd.DataFrame(
    {
        "kind": list("abacbabcab"),
        "place": list("xyxxyxyyxx"),
        "review": REVIEWS,
        "minutes": np.arange(10.0) * 7,
    }
)
TEXT = [("text", StringTensorType([None, 1]))]
LINE = [("text", StringTensorType([None]))]


def vectorised(vectoriser: object, types: object, y: object = GOOD, **options: object) -> bytes:
    classifier = LogisticRegression()
    model = make_pipeline(vectoriser, classifier).fit(REVIEWS, y)
    chosen = {id(vectoriser): options, id(classifier): {"zipmap": False}}
    return to_onnx(model, initial_types=types, options=chosen).SerializeToString()


def columns(parts: list[tuple[str, object, object]], table: object, types: object) -> bytes:
    transformer = ColumnTransformer([(name, part, chosen) for name, part, chosen in parts])
    model = make_pipeline(transformer, LogisticRegression()).fit(table, GOOD)
    return to_onnx(model, initial_types=types, options={"zipmap": False}).SerializeToString()


def models() -> dict[str, bytes]:
    kinds = OneHotEncoder(handle_unknown="ignore")
    named = [(name, StringTensorType([None, 1])) for name in ("kind", "place", "review")]
    bayes = make_pipeline(CountVectorizer(binary=True), MultinomialNB()).fit(REVIEWS, GOOD)
    present = to_onnx(bayes, initial_types=TEXT, options={"zipmap": False})
    return {
        "words": vectorised(TfidfVectorizer(), TEXT),
        "line": vectorised(TfidfVectorizer(), LINE),
        "pairs": vectorised(TfidfVectorizer(ngram_range=(1, 2)), LINE),
        "stop_words": vectorised(TfidfVectorizer(ngram_range=(1, 3), stop_words="english"), TEXT),
        "characters": vectorised(CountVectorizer(analyzer="char", ngram_range=(1, 3)), TEXT),
        "cased": vectorised(TfidfVectorizer(lowercase=False, sublinear_tf=True), TEXT),
        "expression": vectorised(TfidfVectorizer(), TEXT, tokenexp="[[:alpha:]]+"),
        "separators": vectorised(
            CountVectorizer(token_pattern="[a-zA-Z]+"), TEXT, separators=[" ", "[.]", ",", "\\!"]
        ),
        "class_names": vectorised(TfidfVectorizer(), TEXT, [NAMES[label] for label in GOOD]),
        "present": present.SerializeToString(),
        "columns": columns(
            [
                ("kind", kinds, ["kind"]),
                ("place", OrdinalEncoder(), ["place"]),
                ("review", TfidfVectorizer(), "review"),
                ("minutes", StandardScaler(), ["minutes"]),
            ],
            ROWS,
            [*named, ("minutes", FloatTensorType([None, 1]))],
        ),
        "joined": columns([("both", kinds, ["kind", "place"])], ROWS, named[:2]),
        "matrix": columns(
            [("both", kinds, [0, 1]), ("review", TfidfVectorizer(), 2)],
            ROWS[["kind", "place", "review"]].to_numpy(),
            [("x", StringTensorType([None, 3]))],
        ),
    }


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    TEXTS.mkdir(exist_ok=True)
    for name, data in models().items():
        (TEXTS / f"{name}.onnx").write_bytes(data)
