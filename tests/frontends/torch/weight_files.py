"""Weight files, packed by hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

GGUF = Path(__file__).parent / "corpus" / "types.gguf"


def gguf(
    tensors: Mapping[str, np.ndarray],
    *,
    version: int = 3,
    kind: int = 0,
    alignment: int = 32,
    shape: list[int] | None = None,
) -> bytes:
    """A file of float32 tensors. `kind` is the type code in the header."""

    def text(value: str) -> bytes:
        return len(value).to_bytes(8, "little") + value.encode()

    def numbers(*values: int, size: int = 8) -> bytes:
        return b"".join(value.to_bytes(size, "little") for value in values)

    header, data = b"", b""
    for name, value in tensors.items():
        sizes = list(value.shape) if shape is None else shape
        header += (
            text(name)
            + numbers(len(sizes), size=4)
            + numbers(*sizes[::-1])
            + numbers(kind, size=4)
            + numbers(len(data))
        )
        data += value.astype("<f4").tobytes()
        data += bytes(-len(data) % alignment)
    pair = text("general.alignment") + numbers(4, alignment, size=4)
    head = b"GGUF" + numbers(version, size=4) + numbers(len(tensors), 1) + pair + header
    return head + bytes(-len(head) % alignment) + data


def safetensors(entries: Mapping[str, tuple[str, Any, Any]], body: bytes) -> bytes:
    text = json.dumps(
        {
            name: {"dtype": dtype, "shape": shape, "data_offsets": offsets}
            for name, (dtype, shape, offsets) in entries.items()
        }
    ).encode()
    return len(text).to_bytes(8, "little") + text + body
