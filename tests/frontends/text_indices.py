"""Random strings, and the indices that a bundle makes of them."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.backends import pages
from webkiln.codegen.bundles import piecewise_digest

HERE = Path(__file__).parent
RUNTIME = HERE.parents[1] / "runtime" / "src"
ODD = (
    "\0\t\n\v\f\r\x1c\x1f"
    " \x7f\x85\xa0\u1680\u2028\u2029\u3000\ufeff\ufffd\ufffe\U0001ffff"
    "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'"
)


def random_text(generator: np.random.Generator, words: Sequence[str]) -> str:
    """Words, separators of every kind, punctuation, and any characters of UTF-8."""
    kinds = (
        lambda: words[generator.integers(len(words))],
        lambda: ODD[generator.integers(len(ODD))],
        lambda: chr(generator.integers(0x20, 0x7F)),
        lambda: chr(generator.integers(0xA0, 0x2000)),
        lambda: chr(
            generator.choice(
                [generator.integers(0x2000, 0xD800), generator.integers(0xE000, 0x110000)]
            )
        ),
        lambda: " ",
    )
    weights = [0.35, 0.1, 0.15, 0.05, 0.05, 0.3]
    return "".join(
        kinds[generator.choice(len(kinds), p=weights)]() for _ in range(generator.integers(0, 24))
    )


def random_texts(seed: int, shape: Sequence[int], words: Sequence[str]) -> np.ndarray:
    generator = np.random.default_rng(seed)
    texts = [random_text(generator, words) for _ in range(int(np.prod(shape)))]
    return np.array(texts, dtype=object).reshape(shape)


def asked_of(entry: Mapping[str, Any], texts: Sequence[Any], folder: Path) -> dict[str, Any]:
    """The request to `text_sets.js` for the indices of strings, by an entry of texts.json."""
    vocabulary = folder / "vocabulary.json"
    vocabulary.write_bytes(
        json.dumps(entry["tokens"], ensure_ascii=False, separators=(",", ":")).encode()
    )
    text = {key: value for key, value in entry.items() if key not in ("tensor", "tokens")}
    return {
        "text": text,
        "tensor": entry["tensor"],
        "tokens": entry["tokens"],
        "texts": texts,
        "digest": piecewise_digest(vocabulary)["digest"],
    }


def indices_of(host: str, asked: Sequence[Any], folder: Path) -> list[Any]:
    """The answers of `text_sets.js` in Node or a browser: indices and sizes, or an error."""
    data = json.dumps(asked).encode()
    if host == "node":
        (folder / "asked.json").write_bytes(data)
        subprocess.run(["node", HERE / "text_sets.js", folder, RUNTIME], check=True, timeout=120)
        answers = (folder / "answers.json").read_bytes()
    else:
        folders = {"/texts/": HERE, "/runtime/": RUNTIME}
        request = {"script": "/texts/text_sets.js", "runtime": "/runtime", "count": 1}
        answers = pages.run_page("texts", folders, request, [data], 120, host)[0]
    result: list[Any] = json.loads(answers)
    return result
