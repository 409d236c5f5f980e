"""Components of the networks of the family TensorFlow: seeded weights, and saving of functions with
them.
"""

from collections.abc import Callable, Mapping
from math import prod
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from webkiln.random_inputs import natural

Tensors = dict[str, tf.Tensor]
Activation = Callable[[tf.Tensor], tf.Tensor]
Network = Callable[..., Tensors]
"""A function of `Weights` and of tensors."""

Signature = Mapping[str, tuple[tuple[int | None, ...], str]]
"""The shapes (None is open) and dtypes of inputs by name."""

IMAGES = 4
"""The rank of a batch of images."""
SPREAD = 0.2


class Weights(tf.Module):
    """Seeded variables by name, created on first use. A network runs once on samples before it is
    traced; the statistics of its normalisations are those of the samples. No variance is below the
    average of its layer, so that rounding errors do not grow from layer to layer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.generator = np.random.default_rng(20)
        self.by_name: dict[str, tf.Variable] = {}

    def kernel(
        self, name: str, *shape: int, gain: float = 2.0, products: int | None = None
    ) -> tf.Variable:
        """A kernel drawn as by He et al. (2015). `products` is the number of summed products; by
        default the product of all axes but the last.
        """
        spread = np.sqrt(gain / (products or prod(shape[:-1])))
        return self._variable(name, lambda: self.generator.normal(0, spread, shape))

    def vector(self, name: str, size: int, centre: float = 0.0) -> tf.Variable:
        return self._variable(
            name, lambda: self.generator.uniform(centre - SPREAD, centre + SPREAD, size)
        )

    def statistics(self, name: str, x: tf.Tensor) -> tuple[tf.Variable, tf.Variable]:
        """The mean and variance of each channel of the samples."""

        def moments() -> tuple[np.ndarray, np.ndarray]:
            values = np.asarray(x, np.float64).reshape(-1, x.shape[-1])
            variance = values.var(0)
            return values.mean(0), np.maximum(variance, variance.mean())

        mean = self._variable(f"{name}/mean", lambda: moments()[0])
        return mean, self._variable(f"{name}/variance", lambda: moments()[1])

    def _variable(self, name: str, make: Callable[[], np.ndarray]) -> tf.Variable:
        if name not in self.by_name:
            self.by_name[name] = tf.Variable(make().astype(np.float32), name=name)
        return self.by_name[name]


def save_network(
    network: Network, signature: Signature, sizes: tuple[int, ...], folder: Path, *, frozen: bool
) -> Path:
    """The file or folder of a network. `sizes` are the symbolic sizes of the samples that determine
    its weights.
    """
    weights = Weights()
    samples = [
        natural(dtype, _static_shape(shape, sizes), number, 1.0)
        for number, (shape, dtype) in enumerate(signature.values())
    ]
    network(weights, *map(tf.constant, samples))
    specs = [tf.TensorSpec(shape, dtype, name) for name, (shape, dtype) in signature.items()]
    traced = tf.function(
        lambda *arguments: network(weights, *arguments), input_signature=specs
    ).get_concrete_function()
    if frozen:
        return write_graph(convert_variables_to_constants_v2(traced).graph.as_graph_def(), folder)
    tf.saved_model.save(weights, folder / "saved", signatures=traced)
    return folder / "saved"


def write_graph(graph: tf.compat.v1.GraphDef, folder: Path) -> Path:
    path = folder / "frozen.pb"
    path.write_bytes(graph.SerializeToString())
    return path


def _static_shape(shape: tuple[int | None, ...], sizes: tuple[int, ...]) -> tuple[int, ...]:
    remaining = iter(sizes)
    return tuple(next(remaining) if size is None else size for size in shape)


def batch_norm(w: Weights, name: str, x: tf.Tensor) -> tf.Tensor:
    channels = int(x.shape[-1])
    gamma, beta = w.vector(f"{name}/gamma", channels, 0.5), w.vector(f"{name}/beta", channels, 1.0)
    mean, variance = w.statistics(name, x)
    if len(x.shape) == IMAGES:
        return tf.compat.v1.nn.fused_batch_norm(
            x, gamma, beta, mean, variance, 1e-3, is_training=False
        )[0]
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-3)


def layer_norm(w: Weights, name: str, x: tf.Tensor) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    size = int(x.shape[-1])
    return (x - mean) * tf.math.rsqrt(variance + 1e-5) * w.vector(
        f"{name}/gamma", size, 1.0
    ) + w.vector(f"{name}/beta", size)


def dense(
    w: Weights,
    name: str,
    x: tf.Tensor,
    units: int,
    activation: Activation = tf.identity,
    gain: float = 1.0,
) -> tf.Tensor:
    product = tf.tensordot(x, w.kernel(f"{name}/kernel", int(x.shape[-1]), units, gain=gain), 1)
    return activation(tf.nn.bias_add(product, w.vector(f"{name}/bias", units)))


def conv_block(
    w: Weights,
    name: str,
    x: tf.Tensor,
    filters: int,
    size: int = 3,
    stride: int = 1,
    activation: Activation = tf.nn.silu,
) -> tf.Tensor:
    """A convolution over all axes between the first and the last, a batch normalisation, and an
    activation.
    """
    window = (size,) * (len(x.shape) - 2)
    result = tf.nn.convolution(
        x, w.kernel(f"{name}/kernel", *window, int(x.shape[-1]), filters), stride, "SAME"
    )
    return activation(batch_norm(w, name, result))
