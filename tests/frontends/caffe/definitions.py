"""Writes definitions of nets."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

OPENCV, NUMPY = "opencv", "numpy"


@dataclass(frozen=True)
class NetCase:
    """A net of the corpus. `text` is its definition. `current` is the same net in the current
    format, for the oracle, if that differs. `values` generate inputs that must not be arbitrary
    numbers. `single_file`: the weight file contains the definition.
    """

    text: str
    inputs: Mapping[str, tuple[int, ...]]
    oracle: str = OPENCV
    current: str = ""
    values: Mapping[str, Callable[[np.random.Generator], np.ndarray]] = field(default_factory=dict)
    single_file: bool = False


def layer(type_: str, name: str, bottoms: str, tops: str = "", **params: str) -> str:
    fields = " ".join(f"{key} {{ {value} }}" for key, value in params.items())
    bottom = "".join(f' bottom: "{item}"' for item in bottoms.split())
    top = "".join(f' top: "{item}"' for item in (tops or name).split())
    return f'layer {{ name: "{name}" type: "{type_}"{bottom}{top} {fields} }}\n'


def input_layers(**shapes: tuple[int, ...]) -> str:
    return "".join(
        layer(
            "Input",
            name,
            "",
            name,
            input_param="shape { " + " ".join(f"dim: {n}" for n in shape) + " }",
        )
        for name, shape in shapes.items()
    )


def net(
    *layers: str,
    oracle: str = OPENCV,
    values: Mapping[str, Any] | None = None,
    **shapes: tuple[int, ...],
) -> NetCase:
    return NetCase(input_layers(**shapes) + "".join(layers), shapes, oracle, values=values or {})


def random_integers(
    low: int, high: int, *shape: int
) -> Callable[[np.random.Generator], np.ndarray]:
    return lambda rng: rng.integers(low, high, shape).astype(np.float32)


def continuation_markers(*shape: int) -> Callable[[np.random.Generator], np.ndarray]:
    """Random sequence markers: 0 where a sequence starts, as in the first step, otherwise 1."""

    def make(rng: np.random.Generator) -> np.ndarray:
        markers = (rng.random(shape) < 0.7).astype(np.float32)
        markers[0] = 0
        return markers

    return make


X = (2, 6, 9, 8)


def conv(name: str, bottom: str, features: int, size: int, more: str = "", top: str = "") -> str:
    return layer(
        "Convolution",
        name,
        bottom,
        top or name,
        convolution_param=f"num_output: {features} kernel_size: {size} {more}",
    )
