"""Trained values in files by digest, as stage `load` writes them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.ir.types import Array


def stored_size(table: Mapping[str, Any], folder: Path) -> int:
    """The bytes of the weights of a model, by which the evaluation of constants is limited. `table`
    is weights.json.
    """
    return min(int(table["stored_bytes"]), sum(blob.stat().st_size for blob in folder.iterdir()))


def read_slot(folder: Path, name: str, slot: Mapping[str, Any]) -> Array:
    """The value of a slot by its entry in weights.json. Raise SourceError if the file has another
    size.
    """
    data = (folder / slot["digest"]).read_bytes()
    value = np.frombuffer(data, dtype=slot["dtype"])
    if value.size != int(np.prod(slot["shape"], dtype=np.int64)):
        raise SourceError(
            f"{name}: the weight blob has {value.size} elements, its shape is {slot['shape']}"
        )
    return value.reshape(slot["shape"])
