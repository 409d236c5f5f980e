"""Mutated definitions and weight files of Caffe: accepted files compile, and nothing ends in a
traceback.
"""

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.frontends.caffe.make import CORPUS
from tests.fuzz import files
from tests.fuzz.files import compile_and_pack, mutate_bytes
from webkiln import canonical
from webkiln.frontends.caffe.companions import companion_of
from webkiln.frontends.caffe.converter import CaffeConverter
from webkiln.frontends.caffe.load import read_model
from webkiln.frontends.nodes.spec import to_json

NUMBERS = (
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "99",
    "-2",
    "2147483647",
    "2147483648",
    "4294967295",
    "-9223372036854775808",
    "1e30",
    "nan",
    "inf",
    "0x10",
    "99999999999999999999",
)
WORDS = ("TRAIN", "MAX", "AVE", "true", "false", "SUM", "data", "x", '"x"', '""', "layer", "dim")
TOKEN = re.compile(r'"[^"]*"|[-+.\w]+|[^\s\w]')


@cache
def originals() -> list[tuple[bytes, bytes]]:
    """Definitions with their weights; a part that a net lacks is empty."""
    texts = sorted(CORPUS.glob("*.prototxt"))
    weights = [path.with_suffix(".caffemodel") for path in texts]
    pairs = [
        (text.read_bytes(), file.read_bytes() if file.exists() else b"")
        for text, file in zip(texts, weights, strict=True)
    ]
    return [*pairs, (b"", (CORPUS / "alone.caffemodel").read_bytes())]


def mutate_text(rng: random.Random, data: bytes) -> bytes:
    text = data.decode()
    tokens = [(token.start(), token.end()) for token in TOKEN.finditer(text)]
    start, end = rng.choice(tokens)
    other = rng.choice(tokens)
    match rng.choice(
        ["number"] * 12 + ["swap"] * 6 + ["word", "other", "drop", "repeat", "deep", "line"]
    ):
        case "number":
            numbers = [(a, b) for a, b in tokens if re.fullmatch(r"-?[\d.]+", text[a:b])] or tokens
            start, end = rng.choice(numbers)
            return (text[:start] + rng.choice(NUMBERS) + text[end:]).encode()
        case "swap":
            strings = [(a, b) for a, b in tokens if text[a] == '"']
            (start, end), other = rng.choice(strings), rng.choice(strings)
            return (text[:start] + text[slice(*other)] + text[end:]).encode()
        case "word":
            return (text[:start] + rng.choice(WORDS) + text[end:]).encode()
        case "other":
            return (text[:start] + text[slice(*other)] + text[end:]).encode()
        case "drop":
            return (text[:start] + text[end:]).encode()
        case "repeat":
            first, last = sorted((start, other[0]))
            return (text[:last] + text[first:last] + text[last:]).encode()
        case "deep":
            return (
                text[:start] + "layer { x { " * rng.choice([1, 20, 5000]) + text[start:]
            ).encode()
    lines = text.splitlines()
    rng.shuffle(lines)
    return "\n".join(lines).encode()


def make(seed: int, folder: Path) -> str:
    rng = random.Random(seed)
    text, weights = rng.choice(originals())
    done = []
    for _ in range(rng.choice([1, 1, 2, 3])):
        if text and (not weights or rng.random() < 0.6):
            mutate = mutate_text if rng.random() < 0.85 else mutate_bytes
            try:
                text = mutate(rng, text)
            except (UnicodeDecodeError, IndexError):
                mutate = mutate_bytes
                text = mutate_bytes(rng, text or b"x")
        else:
            mutate, weights = mutate_bytes, mutate_bytes(rng, weights or b"x")
        done.append(mutate.__name__)
    if text:
        (folder / "net.prototxt").write_bytes(text)
    if weights:
        (folder / "net.caffemodel").write_bytes(weights)
    return ", ".join(done)


def attempt(folder: Path, phase: Callable[[str], None]) -> None:
    """Build up to the printed program of js."""
    phase("loading")
    path = next(
        item for item in (folder / "net.prototxt", folder / "net.caffemodel") if item.exists()
    )
    spec, blobs = read_model(path, next((file for _, file in companion_of(path)), None))
    canonical.write(folder / "spec.json", to_json(spec))
    phase("converting")
    graph = CaffeConverter().convert(spec, blobs)
    compile_and_pack(graph, phase)


FORMAT = files.Format(make, attempt, lambda folder: None)
