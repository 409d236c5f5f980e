"""Weights that are quantized in several tensors of a file: as by GPTQ, AWQ and bitsandbytes."""

from collections import defaultdict
from collections.abc import Callable, Mapping

import torch

from webkiln.errors import SourceError
from webkiln.frontends.torch import bitsandbytes, integer_words
from webkiln.frontends.torch.block_weights import BlockWeights
from webkiln.frontends.torch.quantization_config import LayoutError, QuantizationConfig

Tensors = dict[str, torch.Tensor]
SHOWN = 8
WEIGHT = "weight"
UNREAD = {
    "weight_packed": "compressed-tensors",
    "q_weight": "EXL2",
    "trellis": "EXL3",
    "W_q": "HQQ",
    "workspace": "Marlin",
}
"""Layouts that are not read, by the name of a tensor that only they have."""
ADVICE = (
    "GPTQ with 2, 3, 4 or 8 bits (gptq, gptq_v2), AWQ (gemm) and bitsandbytes are read; save the"
    " model in one of these layouts, or dequantised"
)


def decoded(
    state: Tensors, config: QuantizationConfig, where: str
) -> tuple[Tensors, dict[str, BlockWeights]]:
    """The tensors of a file, with one weight in place of the parts of each quantized weight, and
    what these weights are computed of. Raises SourceError, which lists all that is not understood.
    """
    rest, found, problems = dict(state), {}, {}
    for name, read in (*_words(state, config), *_four_bits(state), *_rows(state)):
        taken, reader = read
        try:
            found[name] = reader()
        except LayoutError as error:
            problems[name] = str(error)
        clash = name in state and name not in taken
        if clash:
            problems[name] = f"the file also has {name}"
        for part in taken:
            rest.pop(part, None)
    for name in state:
        path, _, leaf = name.rpartition(".")
        if leaf in UNREAD:
            problems[joined(path, WEIGHT)] = f"its layout is that of {UNREAD[leaf]}"
    if problems:
        raise SourceError(f"{where}: {_listed(problems)}; {ADVICE}")
    for name, weights in found.items():
        rest[name] = torch.from_numpy(weights.values())
    return rest, found


def _listed(problems: Mapping[str, str]) -> str:
    """Each problem once, with the weights that have it."""
    by_text: dict[str, list[str]] = defaultdict(list)
    for name, text in problems.items():
        by_text[text].append(name)
    return "; ".join(f"{_first(names)}: {text}" for text, names in by_text.items())


def _first(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def joined(path: str, leaf: str) -> str:
    """The name of a tensor at a path of modules, which is '' for the module itself."""
    return f"{path}.{leaf}" if path else leaf


Found = list[tuple[str, tuple[list[str], Callable[[], BlockWeights]]]]
"""Weights by name: the tensors that they consist of, and how to read them."""


def _parts(state: Tensors, path: str, leaves: tuple[str, ...]) -> Tensors:
    """The tensors at a path by their last names."""
    names = {leaf: joined(path, leaf) for leaf in leaves}
    return {leaf: state[name] for leaf, name in names.items() if name in state}


def _words(state: Tensors, config: QuantizationConfig) -> Found:
    found: Found = []
    for name in state:
        path, _, leaf = name.rpartition(".")
        if leaf != integer_words.PARTS[0]:
            continue
        parts = _parts(state, path, integer_words.PARTS)
        taken = [joined(path, part) for part in parts]

        def read(parts: Tensors = parts) -> BlockWeights:
            return integer_words.read_words(parts, config)

        found.append((joined(path, WEIGHT), (taken, read)))
    return found


def _four_bits(state: Tensors) -> Found:
    found: Found = []
    for name in state:
        path, separator, _ = name.partition(f".{bitsandbytes.STATE}")
        if not separator:
            continue
        parts = _parts(state, path, bitsandbytes.PARTS)
        taken = [path, name, *(joined(path, part) for part in parts)]

        def read(path: str = path, name: str = name, parts: Tensors = parts) -> BlockWeights:
            if path not in state:
                raise LayoutError("its codes are missing")
            return bitsandbytes.read_four_bits(state[path], parts, state[name])

        found.append((path, (taken, read)))
    return found


def _rows(state: Tensors) -> Found:
    found: Found = []
    for name, scales in state.items():
        path, _, leaf = name.rpartition(".")
        weight = joined(path, WEIGHT)
        if leaf != "SCB" or weight not in state or state[weight].dtype != torch.int8:
            continue
        parts = _parts(state, path, ("weight_format",))
        taken = [weight, name, *(joined(path, part) for part in parts)]

        def read(
            weight: str = weight, scales: torch.Tensor = scales, parts: Tensors = parts
        ) -> BlockWeights:
            return bitsandbytes.read_rows(state[weight], scales, parts.get("weight_format"))

        found.append((weight, (taken, read)))
    return found
