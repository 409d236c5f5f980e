"""Modules that a function of the user's returns, with weights from a file where it only knows the structure."""

import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from webkiln.errors import RecipeError, SourceError, WebkilnError
from webkiln.frontends.exported import check_parameters
from webkiln.frontends.torch.source import examples, exported, first_line

DTYPES = {
    "F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8, "U8": np.uint8, "BOOL": np.bool_, "U16": np.uint16,
    "U32": np.uint32, "U64": np.uint64,
}  # fmt: skip
"""By the names of safetensors."""
LARGEST_HEADER = 100 << 20


def made_program(
    made: Mapping[str, Any], shapes: Mapping[str, Sequence[int | str]], weights: Path | None = None
) -> torch.export.ExportedProgram:
    """What `function` of `module` returns as a program: a module, or a module and example inputs; those may also come from the recipe's input shapes."""
    where = f"{made['module']}:{made['function']}"
    module, inputs = _called(made, where)
    if weights is not None:
        _fill(module, read_state(weights), where, weights.name)
    module.eval()
    if shapes or inputs is None:
        names = _names(module)
        given = names[: len(inputs)] if inputs is not None else [name for name in names if name in shapes] or names[:1]
        dtypes = [item.dtype for item in inputs] if inputs is not None else [torch.float32] * len(given)
        own = {name: list(item.shape) for name, item in zip(given, inputs or (), strict=False)}
        inputs, dynamic = examples(given, {**own, **shapes} if "" not in shapes or len(given) > 1 else shapes, dtypes, where)
        return exported(module, inputs, dynamic, where)
    return exported(module, inputs, None, where)


def _called(made: Mapping[str, Any], where: str) -> tuple[torch.nn.Module, tuple[Any, ...] | None]:
    try:
        make = getattr(importlib.import_module(made["module"]), made["function"], None)
    except WebkilnError:
        raise
    except Exception as error:
        raise SourceError(f"{where}: {first_line(error)}") from error
    if not callable(make):
        raise RecipeError(
            f"{where}: the module has no function {made['function']!r}; it returns a torch.nn.Module, or one and its example inputs"
        )
    check_parameters(where, make, **made["parameters"])
    torch.manual_seed(0)
    try:
        found = make(**made["parameters"])
    except WebkilnError:
        raise
    except Exception as error:
        raise SourceError(f"{where}: {first_line(error)}") from error
    module, inputs = found if isinstance(found, tuple) and len(found) == 2 else (found, None)
    if not isinstance(module, torch.nn.Module):
        raise SourceError(f"{where}: returned {type(module).__name__}, expected a torch.nn.Module, or one and its example inputs")
    if inputs is not None and not isinstance(inputs, list | tuple):
        inputs = (inputs,)
    return module, None if inputs is None else tuple(inputs)


def _names(module: torch.nn.Module) -> list[str]:
    import inspect

    return [
        name
        for name, parameter in inspect.signature(module.forward).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]


def read_state(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a safetensors file, or of one of torch.save that holds nothing but tensors."""
    with path.open("rb") as file:
        start = file.read(9)
    length = int.from_bytes(start[:8], "little")
    if start[8:9] == b"{" and 2 <= length <= min(LARGEST_HEADER, path.stat().st_size - 8):
        return read_safetensors(path)
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise SourceError(
            f"{path.name}: holds more than weights, or is damaged ({first_line(error)}); save model.state_dict() alone"
        ) from None
    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(found, dict) and isinstance(found.get(key), dict):
            found = found[key]
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        raise SourceError(f"{path.name}: holds no state dict; save model.state_dict()")
    return dict(found)


def read_safetensors(path: Path) -> dict[str, torch.Tensor]:
    """https://github.com/huggingface/safetensors: the length of a header, the header in JSON, bytes."""
    try:
        data = path.read_bytes()
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        body, found, taken = memoryview(data)[8 + length :], {}, 0
        for name, item in header.items():
            if name == "__metadata__":
                continue
            first, last = item["data_offsets"]
            if item["dtype"] == "BF16":
                raw = torch.frombuffer(bytearray(body[first:last]), dtype=torch.bfloat16).float() if last > first else torch.zeros(0)
                found[name] = raw.reshape(item["shape"])
                continue
            dtype = np.dtype(DTYPES[item["dtype"]])
            count = int(np.prod(item["shape"], dtype=object))
            if not 0 <= first <= last <= len(body) or last - first != count * dtype.itemsize:
                raise SourceError(
                    f"{path.name}: {name} lies at {first} to {last} of {len(body)} bytes, expected {count * dtype.itemsize}; the file is damaged"
                )
            found[name] = torch.from_numpy(np.frombuffer(body[first:last], dtype).reshape(item["shape"]).copy())
            taken += last - first
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SourceError(f"{path.name}: is no safetensors file ({first_line(error)}); save it again") from None
    return found


def _fill(module: torch.nn.Module, state: Mapping[str, torch.Tensor], where: str, name: str) -> None:
    own = module.state_dict()
    missing, spare = sorted(own.keys() - state.keys()), sorted(state.keys() - own.keys())
    if missing:
        hint = f"; it has {', '.join(spare[:3])}, which the model has not" if spare else ""
        raise SourceError(f"{name}: lacks {len(missing)} of the {len(own)} weights of {where}, such as {missing[0]}{hint}")
    for key, value in own.items():
        if value.shape != state[key].shape:
            raise SourceError(f"{name}: {key} is {list(state[key].shape)}, {where} has {list(value.shape)} there")
    module.load_state_dict({key: state[key].to(own[key].dtype) for key in own})
