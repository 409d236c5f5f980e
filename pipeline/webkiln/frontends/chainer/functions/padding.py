"""Functions that pad and stack sequences."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from webkiln.errors import SourceError
from webkiln.frontends.chainer.functions.shape import stack
from webkiln.frontends.chainer.sizes import bare
from webkiln.frontends.chainer.variable import ChainVariable, as_variable, node, sizes


def pad(x: Any, pad_width: Any, mode: str, **keywords: Any) -> ChainVariable:
    x = as_variable(x)
    widths = (
        np.broadcast_to(np.asarray(pad_width), (x.ndim, 2))
        if np.ndim(pad_width) < 2 or len(pad_width) == 1
        else np.asarray(pad_width)
    )
    flat = [int(width) for width in (*widths[:, 0], *widths[:, 1])]
    if mode not in ("constant", "reflect", "edge", "wrap"):
        raise SourceError(
            f"F.pad: mode {mode!r} is not supported, expected constant, reflect, edge or wrap"
        )
    values = keywords.pop("constant_values", 0)
    if keywords or np.size(values) != 1:
        raise SourceError(
            f"F.pad: {', '.join(keywords) or 'several constant_values'}"
            " is not supported; use one constant value"
        )
    fill = float(np.asarray(values).reshape(-1)[0])
    return node("Pad", x, sizes(flat), fill if mode == "constant" else None, mode=mode)


def pad_sequence(xs: Any, length: Any = None, padding: float = 0) -> ChainVariable:
    variables = [as_variable(x) for x in xs]
    longest = max(x.shape[0] for x in variables) if length is None else length
    rows = [
        pad(
            x,
            [(0, bare(longest - x.shape[0])), *[(0, 0)] * (x.ndim - 1)],
            "constant",
            constant_values=padding,
        )
        for x in variables
    ]
    return stack(rows, 0)


def concat_examples(batch: Any, device: Any = None, padding: float | None = None) -> Any:
    """chainer.dataset.concat_examples: stack items, or each field of tuples or dicts, with optional
    padding.
    """
    first = batch[0]
    if isinstance(first, tuple):
        return tuple(
            concat_examples([item[index] for item in batch], device, padding)
            for index in range(len(first))
        )
    if isinstance(first, dict):
        return {
            key: concat_examples([item[key] for item in batch], device, padding) for key in first
        }
    variables = [as_variable(item) for item in batch]
    if padding is None:
        return stack(variables, 0)
    longest = [max(x.shape[axis] for x in variables) for axis in range(variables[0].ndim)]
    widths = [
        [(0, bare(size - length)) for length, size in zip(x.shape, longest, strict=True)]
        for x in variables
    ]
    return stack(
        [
            pad(x, width, "constant", constant_values=padding)
            for x, width in zip(variables, widths, strict=True)
        ],
        0,
    )


def transpose_sequence(xs: Any) -> tuple[ChainVariable, ...]:
    """Sequences of decreasing lengths as one batch per step."""
    variables = [as_variable(x) for x in xs]
    longest = max((len(x) for x in variables), default=0)
    return tuple(stack([x[step] for x in variables if len(x) > step], 0) for step in range(longest))


PADDING: Mapping[str, Callable[..., Any]] = {
    "pad": pad,
    "pad_sequence": pad_sequence,
    "transpose_sequence": transpose_sequence,
}
