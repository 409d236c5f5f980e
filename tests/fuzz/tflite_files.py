"""Mutated LiteRT files: nothing ends in a traceback, and none exhausts the machine."""

import random
import struct
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from tests.fuzz import files
from tests.fuzz.files import compile_and_pack, mutate_bytes
from webkiln.frontends.tflite.converter import TfliteConverter
from webkiln.frontends.tflite.load import read_model
from webkiln.frontends.tflite.metadata import output_labels

CORPUS = Path(__file__).parents[1] / "frontends" / "tflite" / "corpus"
LARGEST = 1 << 14
WORDS = (
    0,
    1,
    2,
    3,
    4,
    8,
    0x7F,
    0xFF,
    0x7FFF,
    0xFFFF,
    0x7FFFFFFF,
    0x80000000,
    0xFFFFFFFF,
    0xFFFFFFFC,
)


@cache
def originals() -> tuple[bytes, ...]:
    """The small files of the corpus: entire networks, and single operators."""
    contents = [path.read_bytes() for path in sorted(CORPUS.glob("*.tflite"))]
    with zipfile.ZipFile(CORPUS / "singles.zip") as archive:
        contents += [
            archive.read(name) for name in sorted(archive.namelist()) if name.endswith(".tflite")
        ]
    return tuple(data for data in contents if len(data) < LARGEST)


def mutate_word(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    """Replace a number where an offset, a size, an index or an option may be."""
    result = bytearray(data)
    offset = rng.randrange(0, len(result) - 4) & ~3
    before = struct.unpack_from("<I", result, offset)[0]
    after = (
        rng.choice(
            [
                *WORDS,
                before + 1,
                before - 1,
                before + 4,
                before - 4,
                before * 2,
                rng.randrange(len(result)),
            ]
        )
        & 0xFFFFFFFF
    )
    struct.pack_into("<I", result, offset, after)
    return f"the word at {offset} is {after}, was {before}", bytes(result)


def mutate_pointer(rng: random.Random, data: bytes) -> tuple[str, bytes]:
    """Make offsets point backwards, so that tables contain each other."""
    result = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        offset = rng.randrange(0, len(result) - 4) & ~3
        struct.pack_into("<i", result, offset, rng.randrange(len(result)) - offset)
    return "offsets to other tables", bytes(result)


def make(seed: int, folder: Path) -> str:
    rng = random.Random(seed)
    data = rng.choice(originals())
    mutations: list[str] = []
    for _ in range(rng.randint(1, 3)):
        mutation: Callable[[random.Random, bytes], tuple[str, bytes]] = rng.choice(
            [
                mutate_word,
                mutate_word,
                mutate_pointer,
                lambda generator, content: ("bytes", mutate_bytes(generator, content)),
            ]
        )
        description, data = mutation(rng, data) if len(data) > 8 else ("nothing", data)
        mutations.append(description)
    (folder / "net.tflite").write_bytes(data)
    return ", ".join(mutations)


def attempt(folder: Path, phase: Callable[[str], None]) -> None:
    phase("reading")
    model, blobs = read_model(folder / "net.tflite")
    output_labels(folder / "net.tflite")
    phase("converting")
    with np.errstate(all="ignore"):
        graph = TfliteConverter().convert(model, blobs)
    compile_and_pack(graph, phase)


FORMAT = files.Format(make, attempt, lambda folder: None)
