"""Mutated weight files, safetensors and GGUF, with quantised weights: accepted files are readable,
and nothing ends in a traceback.
"""

import random
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np

from tests.frontends.torch.weight_files import GGUF, gguf, safetensors
from tests.fuzz import files
from tests.fuzz.files import mutate_bytes
from webkiln.frontends.torch.weights import read_state

NUMBERS = (0, 1, 7, 255, 1 << 16, 1 << 31, (1 << 32) - 1, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)
WORDS = (b"-1", b"1e9", b"99999999999999999999", b"null", b"[]", b"{}", b'"w"', b"true")

QUANTISED = ("gptq", "awq", "bitsandbytes")


@cache
def originals() -> tuple[bytes, ...]:
    values = {f"w{n}": np.arange(4 + n, dtype=np.float32) for n in range(3)}
    entries = {
        "a": ("F32", [2, 2], [0, 16]),
        "b": ("BF16", [3], [16, 22]),
        "c": ("F8_E4M3", [2], [22, 24]),
    }
    return (
        GGUF.read_bytes(),
        gguf(values),
        gguf(values, version=2, alignment=64),
        safetensors(entries, bytes(range(24))),
        *(GGUF.with_name(f"{name}.safetensors").read_bytes() for name in QUANTISED),
    )


def mutate_number(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Replace a number of four or eight bytes near the start of the file."""
    size = rng.choice((4, 8))
    at, value = rng.randrange(min(len(data) - size, 400)), rng.choice(NUMBERS) % (1 << 8 * size)
    return data[:at] + struct.pack("<I" if size == 4 else "<Q", value) + data[
        at + size :
    ], f"{value} at {at}"


def mutate_some(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    return mutate_bytes(rng, data), "bytes"


def mutate_word(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Replace a word in a header with one of the same length."""
    digits = [at for at in range(8, min(len(data), 400)) if chr(data[at]).isdigit()]
    if not digits or data[8:9] != b"{":
        return mutate_some(rng, data)
    at, word = rng.choice(digits), rng.choice(WORDS)
    changed = data[:at] + word + data[at + 1 :]
    return (int.from_bytes(data[:8], "little") + len(word) - 1).to_bytes(8, "little") + changed[
        8:
    ], f"{word!r} at {at}"


def make(seed: int, folder: Path) -> str:
    rng = random.Random(seed)
    number = rng.randrange(len(originals()))
    data, mutation = rng.choice((mutate_some, mutate_number, mutate_number, mutate_word))(
        rng, originals()[number]
    )
    (folder / "net.weights").write_bytes(data)
    return f"{number}: {mutation}"


def attempt(folder: Path, phase: Callable[[str], None]) -> None:
    phase("converting")
    state = read_state(folder / "net.weights")
    assert sum(value.numel() for value in state.values()) < 1 << 20


FORMAT = files.Format(make, attempt, lambda folder: None)
