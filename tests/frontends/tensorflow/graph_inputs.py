"""The type of the graphs of the corpus, their random weights and their inputs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

Shape = Sequence[int | None]


Graph = tuple[Callable[..., Any], Sequence[tuple[Shape, str]]]
"""A function, and the shape and dtype of each of its inputs. `None` is a dynamic size."""


def weights(*shape: int) -> tf.Tensor:
    return tf.constant(np.random.default_rng(sum(shape)).normal(0, 0.5, shape).astype(np.float32))


def images(*shape: int | None) -> list[tuple[Shape, str]]:
    return [(shape, "float32")]


def sample(shape: Shape, dtype: str, number: int) -> np.ndarray:
    """Random numbers of one input, seeded with its `number`. Integers lie in [1, 8]. Those of
    `[N, 6]`, the operands of arithmetic, have random signs and are never 0.
    """
    sizes = [3 if size is None else size for size in shape]
    rng = np.random.default_rng(number)
    if dtype.startswith("int"):
        return (
            rng.integers(1, 9, sizes)
            * (rng.integers(0, 2, sizes) * 2 - 1 if len(sizes) == 2 and sizes[1] == 6 else 1)
        ).astype(dtype)
    return rng.normal(0, 1, sizes).astype(dtype)
