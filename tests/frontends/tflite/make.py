"""Write the corpus: `python -m tests.frontends.tflite.make [NAME ...]`. TensorFlow's converter
writes the model files; the reference kernels of ai-edge-litert's interpreter compute the outputs.
"""

import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.frontends.corpus import write_sample

CORPUS = Path(__file__).parent / "corpus"
SAMPLES = 8


def converted(network: Any, kind: str) -> bytes:
    import keras
    import tensorflow as tf

    keras.utils.set_random_seed(7)
    model = network.make()
    if isinstance(model, keras.Model):
        converter = tf.lite.TFLiteConverter.from_keras_model(model)
        specs = [(tuple(item.shape), item.dtype) for item in model.inputs]
    else:
        dtypes = network.dtypes or ("float32",) * len(network.shapes)
        specs = list(zip(network.shapes, dtypes, strict=True))
        function = tf.function(
            model, input_signature=[tf.TensorSpec(shape, dtype) for shape, dtype in specs]
        )
        converter = tf.lite.TFLiteConverter.from_concrete_functions(
            [function.get_concrete_function()], function
        )

    def samples() -> Iterator[list[np.ndarray]]:
        for seed in range(SAMPLES):
            yield [random_array(network, shape, dtype, seed + 100) for shape, dtype in specs]

    if kind != "float":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if kind == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if kind in ("int8", "uint8"):
        converter.representative_dataset = samples
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = (
            tf.uint8 if kind == "uint8" else tf.int8
        )
    if kind == "int16x8":
        converter.representative_dataset = samples
        converter.target_spec.supported_ops = [
            tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        ]
        converter.inference_input_type = converter.inference_output_type = tf.int16
    return converter.convert()


def random_array(network: Any, shape: tuple[int | None, ...], dtype: str, seed: int) -> np.ndarray:
    sizes = iter(network.sizes)
    static = tuple(next(sizes, 1) if size is None else size for size in shape)
    generator = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return generator.integers(0, int(network.spread) + 1, static).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return generator.random(static) > 0.5
    return (generator.normal(0, 1, static) * network.spread).astype(dtype)


def corpus_inputs(path: Path, network: Any) -> dict[str, np.ndarray]:
    """Random inputs, by webkiln's names. Quantized integers cover their entire range."""
    from webkiln.frontends.tflite.load import read_model

    model, _ = read_model(path)
    values: dict[str, np.ndarray] = {}
    for number, item in enumerate(model.graph.inputs):
        assert item.shape is not None
        quantized = item.dtype in ("int8", "uint8", "int16")
        if quantized:
            sizes = iter(network.sizes)
            shape = tuple(size if isinstance(size, int) else next(sizes) for size in item.shape)
            limits = np.iinfo(item.dtype)
            values[item.name] = (
                np.random.default_rng(number)
                .integers(limits.min, limits.max + 1, shape)
                .astype(item.dtype)
            )
        else:
            values[item.name] = random_array(network, item.shape, item.dtype, number)
    return values


def single_inputs(single: Any) -> dict[str, np.ndarray]:
    """Random inputs. Quantized integers cover their entire range; a negative spread yields positive
    numbers.
    """
    values: dict[str, np.ndarray] = {}
    for index, item in enumerate(single.inputs):
        if item is None or item.value is not None or item.variable:
            continue
        generator = np.random.default_rng(index + 1)
        if item.dtype == "bool":
            values[f"x{index}"] = generator.random(item.shape) > 0.5
        elif item.scale is not None:
            limits = np.iinfo(item.dtype)
            least = item.zero if item.spread < 0 else limits.min
            values[f"x{index}"] = generator.integers(least, limits.max + 1, item.shape).astype(
                item.dtype
            )
        elif item.dtype == "complex64":
            values[f"x{index}"] = generator.normal(size=(*item.shape, 2)).astype(np.float32)
        elif item.dtype == "float32":
            normals = generator.normal(0, abs(item.spread), item.shape)
            values[f"x{index}"] = (np.abs(normals) + 0.01 if item.spread < 0 else normals).astype(
                np.float32
            )
        else:
            values[f"x{index}"] = generator.integers(0, int(item.spread) + 1, item.shape).astype(
                item.dtype
            )
    return values


def write_singles(path: Path) -> None:
    """Write all models of one operator to an archive, with their outputs."""
    from tests.frontends.tflite.operator_model import model_bytes
    from tests.frontends.tflite.singles.table import INTEGER_SINGLES, SINGLES
    from webkiln.frontends.tflite.reference import Interpreted

    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        tempfile.TemporaryDirectory() as folder,
    ):
        for single in (*SINGLES, *INTEGER_SINGLES):
            model = Path(folder) / f"{single.name}.tflite"
            model.write_bytes(model_bytes(single))
            inputs = single_inputs(single)
            write_sample(model, inputs, Interpreted(model)(inputs)[0])
            for file in (model, model.with_suffix(".npz")):
                archive.writestr(
                    zipfile.ZipInfo(file.name), file.read_bytes(), zipfile.ZIP_DEFLATED
                )


def main() -> int:
    if "singles" in sys.argv[1:]:
        write_singles(CORPUS / "singles.zip")
        return 0
    from tests.frontends.tflite.networks import NETWORKS
    from webkiln.frontends.tflite.reference import Interpreted

    CORPUS.mkdir(exist_ok=True)
    chosen = set(sys.argv[1:])
    for network in NETWORKS:
        for kind in network.kinds:
            name = f"{network.name}.{kind}"
            if chosen and network.name not in chosen and name not in chosen:
                continue
            path = CORPUS / f"{name}.tflite"
            try:
                path.write_bytes(converted(network, kind))
                inputs = corpus_inputs(path, network)
                outputs, _ = Interpreted(path)(inputs)
                write_sample(path, inputs, outputs)
                print(name, path.stat().st_size)
            except Exception as error:  # noqa: BLE001 - the converter raises of all kinds
                path.unlink(missing_ok=True)
                print(name, "FAILED", type(error).__name__, str(error)[:300])
    return 0


if __name__ == "__main__":
    sys.exit(main())
