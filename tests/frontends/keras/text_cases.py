"""Layers with strings as inputs, and their options in tests with random strings. docs/keras.md is
generated from them, too.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from tests.frontends.keras.cases import LayerCase

WORDS = (
    "the",
    "Cat",
    "DOG",
    "naïve",
    "ÉCOLE",
    "straße",
    "東京",
    "e\u0301te",
    "🙂",
    "👩\u200d👧",
    "it's",
    "x-y",
    "[UNK]",
    "of",
    "İ",
    "ﬁ",
    "[MASK]",
)
WEIGHTS = tuple(0.1 * index for index, _ in enumerate(WORDS))


def on(*shape: int, **options: Any) -> LayerCase:
    return LayerCase(options, (shape,), dtype="string")


def vectorizations() -> Iterator[LayerCase]:
    modes = itertools.cycle(
        [{"output_mode": "multi_hot"}, {"output_mode": "count"}, {"output_mode": "tf_idf"}]
    )
    standards = (None, "lower", "strip_punctuation", "lower_and_strip_punctuation")
    for standardize, split, ngrams in itertools.product(
        standards, (None, "whitespace", "character"), (None, 2, (3,), (1, 3))
    ):
        options = {"standardize": standardize, "split": split, "ngrams": ngrams}
        for more in ({}, {"output_sequence_length": 5}, next(modes)):
            yield on(4 if split is None else 1, **options, **more)
    yield on(1, output_mode="multi_hot", max_tokens=400, pad_to_max_tokens=True)
    yield on()


def lookups() -> Iterator[LayerCase]:
    for options in (
        {},
        {"num_oov_indices": 3},
        {"num_oov_indices": 4, "salt": 5},
        {"mask_token": ""},
        {"mask_token": "", "num_oov_indices": 2},
        {"output_mode": "one_hot"},
        {"output_mode": "multi_hot", "mask_token": ""},
        {"output_mode": "count", "num_oov_indices": 2},
        {"output_mode": "tf_idf"},
        {"output_mode": "count", "max_tokens": 40, "pad_to_max_tokens": True},
    ):
        yield on(4, **options)
        yield on(1, **options)


def hashings() -> Iterator[LayerCase]:
    for options in (
        {},
        {"salt": [3, -5]},
        {"mask_value": "of"},
        {"mask_value": "", "output_mode": "count"},
        {"output_mode": "one_hot"},
    ):
        yield on(4, num_bins=13, **options)


TEXTS: Mapping[str, tuple[LayerCase, ...]] = {
    "TextVectorization": tuple(vectorizations()),
    "StringLookup": tuple(lookups()),
    "Hashing": tuple(hashings()),
}
