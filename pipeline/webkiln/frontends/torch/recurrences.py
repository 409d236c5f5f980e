"""LSTM, GRU and RNN of open length.

torch computes the shapes of their results by unrolling them over the steps, which fixes the length.
Here the shapes follow from those of the operands, and the operators stay in the program.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from traceback import walk_tb
from typing import Any

import torch
from torch import Tensor
from torch._C import DispatchKey
from torch._decomp import decomposition_table
from torch.nn.utils.rnn import PackedSequence

NAMES = ("lstm", "gru", "rnn_tanh", "rnn_relu")
PACKED = "packs sequences of several lengths; pass a padded tensor, whose rows all have its length"
KEYS = (DispatchKey.Autograd, DispatchKey.CompositeImplicitAutograd, DispatchKey.Meta)


@contextmanager
def kept_recurrences() -> Iterator[None]:
    """In the block, recurrent layers are traced as one operator, whatever their length."""
    operators = [getattr(torch.ops.aten, name).input for name in NAMES]
    saved = [dict(operator.py_kernels) for operator in operators]
    unrolled = {operator: decomposition_table[operator] for operator in operators}
    try:
        for operator in operators:
            _set_kernels(operator, operator.py_kernels | dict.fromkeys(KEYS, _results))
            decomposition_table[operator] = _results
        yield
    finally:
        decomposition_table.update(unrolled)
        for operator, kernels in zip(operators, saved, strict=True):
            _set_kernels(operator, kernels)


def _set_kernels(operator: Any, kernels: Mapping[Any, Any]) -> None:
    operator.py_kernels.clear()
    operator.py_kernels.update(kernels)
    operator._dispatch_cache.clear()  # noqa: SLF001 - it has the old kernels


def packs(error: BaseException) -> bool:
    """Whether an error was raised in a function with a packed sequence."""
    return any(
        isinstance(value, PackedSequence)
        for frame, _ in walk_tb(error.__traceback__)
        for value in frame.f_locals.values()
    )


def _results(
    x: Tensor,
    hx: Tensor | Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    """Empty tensors of the shapes of all outputs and the last states."""
    states = [hx] if isinstance(hx, Tensor) else list(hx)
    width = states[0].shape[-1] * (2 if bidirectional else 1)
    return (
        x.new_empty((*x.shape[:-1], width)),
        *(state.new_empty(state.shape) for state in states),
    )
