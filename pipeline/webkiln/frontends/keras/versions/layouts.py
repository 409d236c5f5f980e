"""Convert the weight layouts of older versions of Keras to the current ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from webkiln.frontends.core.stored_weight import StoredWeight, joined
from webkiln.ir.types import Array


@dataclass(frozen=True, slots=True)
class Era:
    """The origin of weights: the version of Keras, and whether Theano computed the convolutions;
    its kernels are rotated by 180 degrees.
    """

    version: tuple[int, ...] = (3,)
    theano: bool = False

    @property
    def first(self) -> bool:
        return self.version < (2,)


Layout = Callable[[Sequence[StoredWeight], Mapping[str, Any], Era], list[StoredWeight]]


def _first(config: Mapping[str, Any]) -> bool:
    return config.get("data_format") == "channels_first"


def _conv(rank: int, last: tuple[int, ...] = (), first: tuple[int, ...] = ()) -> Layout:
    """Convolutions over `rank` axes: permutations of Keras 1's kernel axes, for channels last and
    first.
    """

    def layout(
        stored: Sequence[StoredWeight], config: Mapping[str, Any], era: Era
    ) -> list[StoredWeight]:
        kernel, *rest = stored
        axes = (
            (first if _first(config) else last)
            if era.first and len(kernel.shape) == rank + 2
            else ()
        )
        kernel = kernel.transposed(axes) if axes else kernel
        return [kernel.rotated(rank) if era.theano else kernel, *rest]

    return layout


def _conv_1d(
    stored: Sequence[StoredWeight], config: Mapping[str, Any], era: Era
) -> list[StoredWeight]:
    """Keras 1 has an axis of size 1 after that of the steps; before 1.1, its kernels are [filters,
    in, steps, 1].
    """
    kernel, *rest = stored
    if len(kernel.shape) == 4:
        size = config["kernel_size"]
        steps = size[0] if isinstance(size, list) else size
        if kernel.shape[:2] != (steps, 1) or kernel.shape[3] != config["filters"]:
            kernel = kernel.transposed((2, 3, 1, 0))
        kernel = kernel.reshaped((kernel.shape[0], *kernel.shape[2:]))
    return [kernel.rotated(1) if era.theano else kernel, *rest]


def _separable(
    stored: Sequence[StoredWeight], config: Mapping[str, Any], era: Era
) -> list[StoredWeight]:
    reordered = era.first and _first(config)
    return [
        item.transposed((2, 3, 1, 0)) if reordered and len(item.shape) == 4 else item
        for item in stored
    ]


GATES = {"LSTM": (0, 2, 1, 3), "GRU": (0, 1, 2), "ConvLSTM2D": (0, 2, 1, 3)}
"""The positions of the current order of gates in Keras 1's: input, candidate, forget and output;
update, reset and candidate.
"""


def _gates(class_name: str, stored: Sequence[StoredWeight]) -> list[StoredWeight]:
    """Concatenate the kernels and biases of gates that are stored separately."""
    order = GATES[class_name]
    if len(stored) != 3 * len(order):
        return list(stored)
    return [joined([stored[3 * gate + part] for gate in order]) for part in range(3)]


def _cudnn(gates: int, biases: Callable[[StoredWeight, int], StoredWeight]) -> Layout:
    """A recurrent layer, possibly with cuDNN's weights: kernels are transposed by gate, and each
    gate has two biases.
    """
    class_name = {4: "LSTM", 3: "GRU"}[gates]

    def layout(
        stored: Sequence[StoredWeight], config: Mapping[str, Any], era: Era
    ) -> list[StoredWeight]:
        parts = _gates(class_name, stored)
        if len(parts) != 3 or parts[2].shape != (2 * gates * parts[1].shape[0],):
            return parts
        kernel, recurrent, bias = parts
        return [
            kernel.mapped(_by_gate(gates, _from_columns)),
            recurrent.mapped(_by_gate(gates, np.transpose)),
            biases(bias, gates),
        ]

    return layout


def _by_gate(gates: int, function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda kernel: np.concatenate([function(part) for part in np.split(kernel, gates, 1)], 1)


def _from_columns(kernel: Array) -> Array:
    """cuDNN's matrix is [units, in] in the memory of [in, units]."""
    return kernel.reshape(kernel.shape[::-1]).T


def _summed(bias: StoredWeight, gates: int) -> StoredWeight:
    return bias.mapped(lambda value: value.reshape(2, -1).sum(0), (bias.shape[0] // 2,))


def _separate(bias: StoredWeight, gates: int) -> StoredWeight:
    return bias.reshaped((2, bias.shape[0] // 2))


def _conv_lstm(
    stored: Sequence[StoredWeight], config: Mapping[str, Any], era: Era
) -> list[StoredWeight]:
    if len(stored) == 12 and era.first and _first(config):
        stored = [
            item.transposed((2, 3, 1, 0)) if len(item.shape) == 4 else item for item in stored
        ]
    parts = _gates("ConvLSTM2D", stored)
    return [part.rotated(2) if era.theano and len(part.shape) == 4 else part for part in parts]


def _normalization(
    stored: Sequence[StoredWeight], config: Mapping[str, Any], era: Era
) -> list[StoredWeight]:
    """Up to 1.0.5, the last weight is a standard deviation, to which epsilon is added."""
    if not era.first or era.version >= (1, 0, 6) or len(stored) != 4:
        return list(stored)
    epsilon = float(config.get("epsilon", 1e-3))
    return [*stored[:3], stored[3].mapped(lambda deviation: (deviation + epsilon) ** 2 - epsilon)]


LAYOUTS: Mapping[str, Layout] = {
    "BatchNormalization": _normalization,
    "Conv1D": _conv_1d,
    "Conv2D": _conv(2, first=(2, 3, 1, 0)),
    "Conv2DTranspose": _conv(2, last=(0, 1, 3, 2), first=(2, 3, 0, 1)),
    "Conv3D": _conv(3, first=(2, 3, 4, 1, 0)),
    "ConvLSTM2D": _conv_lstm,
    "GRU": _cudnn(3, _separate),
    "LSTM": _cudnn(4, _summed),
    "SeparableConv2D": _separable,
}
"""Classes, by current names, whose weights had another layout."""


def modern(
    class_name: str, stored: Sequence[StoredWeight], config: Mapping[str, Any], era: Era
) -> list[StoredWeight]:
    """The weights of a layer in the current layout."""
    layout = LAYOUTS.get(class_name)
    return list(stored) if layout is None or not stored else layout(stored, config, era)


def count(class_name: str, config: Mapping[str, Any], era: Era, names: int) -> int:
    """The number of weights in the file for a layer that has `names` now."""
    separate = era.first and class_name in GATES and config.get("consume_less", "cpu") != "gpu"
    return 3 * len(GATES[class_name]) if separate else names
