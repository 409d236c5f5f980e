"""Weight files without a model: safetensors, GGUF, and state dicts saved with torch.save. Lengths
are checked against the file before they are used.
"""

import json
from collections.abc import Collection, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch

from webkiln.errors import SourceError
from webkiln.frontends.torch.block_weights import BlockWeights
from webkiln.frontends.torch.gguf import MAGIC, read_gguf
from webkiln.frontends.torch.quantization_config import QuantizationConfig, read_config
from webkiln.frontends.torch.quantized_layouts import decoded
from webkiln.frontends.torch.source import first_line
from webkiln.frontends.torch.state_dicts import state_dict_of

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
    "U16": torch.uint16,
    "U32": torch.uint32,
    "U64": torch.uint64,
}
"""By safetensors' names."""
WIDENED = frozenset({torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2})
"""Dtypes that are converted to float32 without loss."""
LARGEST_HEADER = 100 << 20
METADATA = "__metadata__"


def read_state(
    path: Path,
    own: Collection[str] = (),
    *,
    joined: bool = False,
    quantized: dict[int, BlockWeights] | None = None,
    config: Path | None = None,
) -> dict[str, torch.Tensor]:
    """The tensors of a file by name. `own` and `joined` choose between state dicts, as in
    `state_dict_of`. What quantized tensors are computed of is added to `quantized`, by `id`.
    `config` is the JSON file that says how they are stored.
    """
    found = {} if quantized is None else quantized
    with path.open("rb") as file:
        start = file.read(9)
    if start.startswith(MAGIC):
        return _gguf_state(path, found)
    if start[8:9] == b"{":
        metadata, tensors = read_safetensors(path)
        return _decoded(tensors, read_config(config, metadata), path.name, found)
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise SourceError(
            f"{path.name}: contains more than weights, or is damaged ({first_line(error)}); save"
            " model.state_dict() alone"
        ) from None
    tensors = state_dict_of(state, path.name, own, joined=joined)
    return _decoded(tensors, read_config(config, {}), path.name, found)


def _decoded(
    tensors: dict[str, torch.Tensor],
    config: QuantizationConfig,
    where: str,
    quantized: dict[int, BlockWeights],
) -> dict[str, torch.Tensor]:
    state, weights = decoded(tensors, config, where)
    quantized.update({id(state[name]): item for name, item in weights.items()})
    return state


def _gguf_state(path: Path, quantized: dict[int, BlockWeights]) -> dict[str, torch.Tensor]:
    state = {}
    for name, item in read_gguf(path).items():
        if isinstance(item, BlockWeights):
            state[name] = torch.from_numpy(item.values())
            quantized[id(state[name])] = item
        else:
            state[name] = torch.from_numpy(item)
    return state


def read_safetensors(path: Path) -> tuple[Mapping[str, Any], dict[str, torch.Tensor]]:
    """The metadata and the tensors of a file (https://github.com/huggingface/safetensors): the
    length of the header, a JSON header, and the bytes of the tensors.
    """
    data = np.memmap(path, np.uint8, "r")
    length = int.from_bytes(data[:8].tobytes(), "little")
    if length > min(LARGEST_HEADER, len(data) - 8):
        raise SourceError(
            f"{path.name}: its header has {length} bytes, the file {len(data)}; it is damaged,"
            " download it again"
        )
    try:
        header = json.loads(data[8 : 8 + length].tobytes(), object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise SourceError(
            f"{path.name}: its header is not JSON ({first_line(error)}); it is damaged, download"
            " it again"
        ) from None
    entries = {
        name: _entry(item, f"{path.name}: {name}")
        for name, item in header.items()
        if name != METADATA
    }
    if unknown := sorted({dtype for dtype, *_ in entries.values()} - DTYPES.keys()):
        raise SourceError(
            f"{path.name}: has tensors of {', '.join(unknown)}; supported are"
            f" {', '.join(DTYPES)}; convert them before saving"
        )
    body, at = data[8 + length :], 0
    for name, (dtype, shape, first, last) in sorted(entries.items(), key=lambda item: item[1][2:]):
        size = prod(shape) * DTYPES[dtype].itemsize
        if first != at or last - first != size or last > len(body):
            raise SourceError(
                f"{path.name}: {name} is at bytes {first} to {last} of {len(body)}, expected"
                f" {at} to {at + size}; the file is damaged"
            )
        at = last
    if at != len(body):
        raise SourceError(
            f"{path.name}: has {len(body)} bytes of tensors, its header describes {at}; it is"
            " damaged, download it again"
        )
    metadata = header.get(METADATA)
    return metadata if isinstance(metadata, Mapping) else {}, {
        name: _tensor(body[first:last], DTYPES[dtype], shape)
        for name, (dtype, shape, first, last) in entries.items()
    }


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a name occurs twice")
    return table


def _entry(item: Any, where: str) -> tuple[str, tuple[int, ...], int, int]:
    """The dtype, shape and byte range of a tensor."""
    valid = isinstance(item, Mapping) and isinstance(item.get("dtype"), str)
    shape, offsets = (item.get(name) if valid else None for name in ("shape", "data_offsets"))
    if not isinstance(shape, list) or not isinstance(offsets, list) or len(offsets) != 2:
        raise SourceError(
            f"{where}: its dtype, shape or data_offsets are missing or invalid; the file is damaged"
        )
    if not all(type(number) is int and 0 <= number < 1 << 62 for number in (*shape, *offsets)):
        raise SourceError(
            f"{where}: its shape is {str(shape)[:100]}, its data_offsets {str(offsets)[:100]}; the"
            " file is damaged"
        )
    return item["dtype"], tuple(shape), offsets[0], offsets[1]


def _tensor(data: np.ndarray, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    raw = torch.from_numpy(np.array(data)).view(dtype) if data.size else torch.zeros(0, dtype=dtype)
    return (raw.float() if dtype in WIDENED else raw).reshape(shape)
