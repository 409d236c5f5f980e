"""Operators that look up strings: their attributes with indices of a vocabulary in place of the
strings.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from webkiln.errors import WebkilnError

PREPARE = "Prepare the strings before the model, and build the model without this operator"


class UnsupportedText(WebkilnError):
    """A node computes with strings in an unsupported way. The arguments are the problem and what
    helps.
    """


class Vocabulary:
    """The words that the readers of a tensor know, numbered as they are first seen."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def indices(self, words: Sequence[str]) -> list[int]:
        return [self.numbers.setdefault(word, len(self.numbers)) for word in words]


Attributes = Mapping[str, Any]


def _ngrams(raw: Attributes, words: Vocabulary) -> dict[str, Any]:
    if not raw.get("pool_strings"):
        raise UnsupportedText("counts numbers, and its operand has strings", PREPARE)
    return {"pool_int64s": words.indices(raw["pool_strings"])}


def _categories(raw: Attributes, words: Vocabulary) -> dict[str, Any]:
    if not raw.get("cats_strings"):
        raise UnsupportedText("compares with numbers, and its operand has strings", PREPARE)
    return {"cats_int64s": words.indices(raw["cats_strings"])}


def _labels(raw: Attributes, words: Vocabulary) -> dict[str, Any]:
    """A label encoder. In version 1 of the operator, the value of a class is its position."""
    keys = raw.get("keys_strings") or raw.get("keys_tensor") or raw.get("classes_strings")
    if not isinstance(keys, list):
        raise UnsupportedText("compares with numbers, and its operand has strings", PREPARE)
    if raw.get("values_strings") or isinstance(raw.get("values_tensor"), list):
        raise UnsupportedText("maps strings to strings", PREPARE)
    values = {"values_int64s": range(len(keys))} if "classes_strings" in raw else {}
    return {"keys_int64s": words.indices(keys), **values}


def _mapped_categories(raw: Attributes, words: Vocabulary) -> dict[str, Any]:
    """A CategoryMapper, as a label encoder."""
    values = raw.get("cats_int64s", np.zeros(0, np.int64))
    return {"keys_int64s": words.indices(raw.get("cats_strings", [])), "values_int64s": values}


READERS: Mapping[str, Callable[[Attributes, Vocabulary], dict[str, Any]]] = {
    "CategoryMapper": _mapped_categories,
    "LabelEncoder": _labels,
    "OneHotEncoder": _categories,
    "TfIdfVectorizer": _ngrams,
}
REPLACED_BY = {"CategoryMapper": "LabelEncoder"}
"""Operators that become another one once they read indices."""
OF_STRINGS = (
    "pool_strings", "cats_strings", "keys_strings", "keys_tensor", "classes_strings",
    "default_string",
)  # fmt: skip
"""Attributes that readers of indices do not have."""
