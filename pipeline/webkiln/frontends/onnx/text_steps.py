"""What StringNormalizer and Tokenizer do to strings, as `TextStep` of the runtime.

Semantics: onnxruntime's operators, core/providers/cpu/text/string_normalizer.cc and
contrib_ops/cpu/tokenizer.cc.
"""

from collections.abc import Mapping
from typing import Any

from webkiln.frontends.onnx.token_patterns import PatternError, javascript_pattern
from webkiln.frontends.onnx.vocabulary_readers import PREPARE, UnsupportedText

LOCALES = ("en_US", "en-US", "en_US.UTF-8", "en_US.utf8", "C.UTF-8", "C.utf8")
"""Locales of the same upper-case and lower-case letters."""
ANY_CHARACTER = "."


def step_of(op: str, raw: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a StringNormalizer or a Tokenizer with these attributes."""
    return _normalizer(raw) if op == "StringNormalizer" else _tokenizer(raw)


def _normalizer(raw: Mapping[str, Any]) -> dict[str, Any]:
    locale = raw.get("locale", LOCALES[0])
    if locale not in LOCALES:
        raise UnsupportedText(
            f"changes letters as in the locale {locale}", f"Supported are {', '.join(LOCALES)}"
        )
    return {
        "change": {"LOWER": "lower", "UPPER": "upper"}.get(raw.get("case_change_action", "NONE")),
        "stopwords": raw.get("stopwords", []),
        "ignore_case": not raw.get("is_case_sensitive", 0),
    }


def _tokenizer(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Without patterns, every character is a token."""
    separators = raw.get("separators") or []
    expressions = separators or [raw.get("tokenexp", "")]
    what = "separator" if separators else "tokenexp"
    if expressions == [""] or (not separators and expressions == [ANY_CHARACTER]):
        expressions = []
    return {
        "separated": bool(separators),
        "patterns": [_pattern(text, what) for text in expressions],
        "least": raw.get("mincharnum", 1),
        "marked": bool(raw.get("mark", 0)),
    }


def _pattern(text: str, what: str) -> str:
    try:
        return javascript_pattern(text)
    except PatternError as error:
        raise UnsupportedText(
            f"has the {what} {text!r}, which has no exact equivalent in JavaScript: {error}",
            PREPARE,
        ) from error
