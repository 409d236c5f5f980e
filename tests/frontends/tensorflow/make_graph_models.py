"""Converts the SavedModels of the corpus with the converter of TensorFlow.js, to
`graph_models.zip`:

    python -m venv /tmp/tfjs
    /tmp/tfjs/bin/pip install --no-deps tensorflowjs==4.22.0
    /tmp/tfjs/bin/pip install tensorflow tf_keras tensorflow_hub "setuptools<81"
    /tmp/tfjs/bin/python tests/frontends/tensorflow/make_graph_models.py

It needs an environment of its own, since it pins versions of its dependencies. What it imports for
other formats (JAX, decision forests) is replaced by mocks, and the names that numpy 2 removed are
restored.
"""

import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import MagicMock

import numpy as np

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
for name in ("object", "bool"):
    if not hasattr(np, name):
        setattr(np, name, {"object": object, "bool": np.bool_}[name])
for name in (
    "tensorflow_decision_forests",
    "jax",
    "jax.experimental",
    "jax.experimental.jax2tf",
    "flax",
    "importlib_resources",
):
    sys.modules[name] = MagicMock()

import tensorflow as tf  # noqa: E402 - after the mocks
from tensorflowjs.converters import tf_saved_model_conversion_v2  # noqa: E402

CORPUS = Path(__file__).parent / "corpus"
SHARD_BYTES = 1000
"""Small, so that weights begin and end inside of shards."""
QUANTIZED = {
    "residual": {"uint8": "*"},
    "mobile": {"uint16": "*"},
    "styled": {"float16": "*"},
}
OPTIONS = {"called": {"control_flow_v2": True}, "loops": {"control_flow_v2": True}}
ACTIVATIONS: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    "none": tf.identity,
    "relu": tf.nn.relu,
    "relu6": tf.nn.relu6,
    "elu": tf.nn.elu,
    "leaky": lambda x: tf.nn.leaky_relu(x, 0.3),
    "sigmoid": tf.nn.sigmoid,
    "tanh": tf.nn.tanh,
    "prelu": lambda x: tf.nn.relu(x) + -weights(int(x.shape[-1])) * tf.nn.relu(-x),
}


def weights(*shape: int) -> tf.Tensor:
    """Random constants. A size of the shape seeds them."""
    values = np.random.default_rng(sum(shape)).normal(0, 0.5, shape)
    return tf.constant(values.astype(np.float32))


def fused(product: Callable[[tf.Tensor], tf.Tensor]) -> Callable[[tf.Tensor], dict[str, tf.Tensor]]:
    """The product with a bias, and with a batch normalization, and each activation."""

    def graph(x: tf.Tensor) -> dict[str, tf.Tensor]:
        outputs = {}
        for name, activation in ACTIVATIONS.items():
            y = product(x)
            outputs[name] = activation(tf.nn.bias_add(y, weights(int(y.shape[-1]))))
            if y.shape.rank == 4:
                scale, offset, mean = (weights(int(y.shape[-1])) for _ in range(3))
                normed, _, _ = tf.compat.v1.nn.fused_batch_norm(
                    product(x), scale, offset, mean, tf.abs(mean) + 0.5, 0.01, is_training=False
                )
                outputs[f"normed_{name}"] = activation(normed)
        return outputs

    return graph


def numbers(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Constants of each dtype, a string among them."""
    with tf.control_dependencies([tf.debugging.assert_greater(tf.size(x), 0, "is empty")]):
        y = x * tf.constant(2.5)
    return {
        "float": y + tf.constant(float("nan")) * 0.0,
        "half": tf.cast(x, tf.float16) * tf.constant(0.5, tf.float16),
        "int": tf.cast(x, tf.int32) + tf.constant([1, 2, 3]),
        "long": tf.cast(x, tf.int64) * tf.constant([4, 5, 6], tf.int64),
        "bytes": tf.cast(tf.abs(x), tf.uint8) + tf.constant([7, 8, 9], tf.uint8),
        "bool": tf.logical_and(x > 0, tf.constant([True, False, True])),
        "complex": tf.abs(tf.cast(x, tf.complex64) * tf.constant([1 + 2j, 3j, 4], tf.complex64)),
        "double": tf.cast(x, tf.float64) + tf.constant([0.5, 0.25, 0.125], tf.float64),
        "empty": tf.concat([x, tf.zeros([2, 0])], 1),
    }


GRAPHS: dict[str, tuple[Callable[[tf.Tensor], dict[str, tf.Tensor]], list[int | None]]] = {
    "fused_conv": (
        fused(lambda x: tf.nn.conv2d(x, weights(3, 3, 3, 4), [1, 2, 2, 1], "SAME")),
        [None, 7, 6, 3],
    ),
    "fused_depthwise": (
        fused(lambda x: tf.nn.depthwise_conv2d(x, weights(3, 2, 3, 2), [1, 1, 1, 1], "VALID")),
        [None, 7, 6, 3],
    ),
    "fused_matmul": (fused(lambda x: tf.matmul(x, weights(5, 4))), [None, 5]),
    "numbers": (numbers, [2, 3]),
}
"""Graphs of this corpus alone, and the shape of their input. None is the batch."""


def save(name: str, folder: Path) -> dict[str, np.ndarray]:
    """Save a graph of `GRAPHS`, and return its input and its outputs, by `in/` and `out/` names."""
    function, shape = GRAPHS[name]
    module = tf.Module()
    module.function = tf.function(function, input_signature=[tf.TensorSpec(shape, name="x0")])
    concrete = module.function.get_concrete_function()
    tf.saved_model.save(module, str(folder), signatures=concrete)
    x = np.random.default_rng(3).normal(size=[size or 2 for size in shape]).astype(np.float32)
    outputs = concrete(tf.constant(x))
    return {"in/x0": x, **{f"out/{key}": value.numpy() for key, value in outputs.items()}}


def convert(name: str, folder: Path) -> None:
    if name in GRAPHS:
        np.savez(folder / "arrays.npz", **save(name, folder / "saved"))
    else:
        with zipfile.ZipFile(CORPUS / f"{name}.zip") as archive:
            archive.extractall(folder / "saved")
    tf_saved_model_conversion_v2.convert_tf_saved_model(
        str(folder / "saved"),
        str(folder / "graph"),
        skip_op_check=True,
        weight_shard_size_bytes=SHARD_BYTES,
        quantization_dtype_map=QUANTIZED.get(name),
        **OPTIONS.get(name, {}),
    )


def main() -> int:
    saved = {path.stem for path in CORPUS.glob("*.zip")}
    chosen = sys.argv[1:] or sorted(saved | set(GRAPHS))
    with zipfile.ZipFile(
        Path(__file__).with_name("graph_models.zip"), "w", zipfile.ZIP_DEFLATED
    ) as archive:
        for name in chosen:
            with TemporaryDirectory() as folder:
                try:
                    convert(name, Path(folder))
                except Exception as error:  # noqa: BLE001 - the converter raises of all kinds
                    print(f"{name}: {type(error).__name__}: {error}".splitlines()[0][:300])
                    continue
                for path in sorted([*Path(folder, "graph").iterdir(), *Path(folder).glob("*.npz")]):
                    archive.writestr(
                        zipfile.ZipInfo(f"{name}/{path.name}"),
                        path.read_bytes(),
                        zipfile.ZIP_DEFLATED,
                    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
