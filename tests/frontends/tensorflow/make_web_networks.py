"""Converts networks with the converter of TensorFlow.js, to `web_networks.zip`. In the environment
of `make_graph_models.py`, with tfjs in a folder NODE (`npm install @tensorflow/tfjs`):

    /tmp/tfjs/bin/python -m tests.frontends.tensorflow.make_web_networks NODE [NAME ...]

Outputs are those of the SavedModel. If its weights are quantised, they are those of TensorFlow.js.
"""

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from tests.frontends.tensorflow import make_graph_models  # noqa: F401 - replaces what is missing

# isort: split
import keras
import tensorflow as tf
from tensorflowjs.converters import converter

from tests.frontends.tensorflow import web_pictures as pictures
from tests.frontends.tensorflow import web_sequences as sequences
from tests.frontends.tensorflow.web_layers import Called
from tests.frontends.tensorflow.web_remapped import remapped

ARCHIVE = Path(__file__).with_name("web_networks.zip")
RUNNER = Path(__file__).with_name("run_tfjs.mjs")
Shapes = dict[str, Sequence[int]]


@dataclass(frozen=True)
class Network:
    """A model, the shapes of its inputs in each run, and the options of the converter."""

    build: Callable[[], keras.Model | Called]
    runs: Sequence[Shapes]
    options: Sequence[str] = ()

    @property
    def quantized(self) -> bool:
        return any("quantize" in option for option in self.options)


def frames(sizes: Sequence[Sequence[int]]) -> list[Shapes]:
    """A first frame of each size. The states of the second run come from the first."""
    first = {f"r{n}i": (1, 1, 1, 1) for n in range(1, 5)}
    runs: list[Shapes] = []
    for height, width in sizes:
        runs += [{"src": (1, height, width, 3), **first, "downsample_ratio": ()}] * 2
    return runs


V2 = "--control_flow_v2=True"
NETWORKS = {
    "mobilenet_v2": Network(
        pictures.mobilenet_v2,
        [{"": (1, 64, 64, 3)}, {"": (3, 64, 64, 3)}],
        ["--strip_debug_ops=True"],
    ),
    "mobilenet_v3": Network(
        pictures.mobilenet_v3,
        [{"": (1, 64, 48, 3)}, {"": (2, 33, 70, 3)}],
    ),
    "posenet": Network(
        pictures.posenet,
        [{"image": (1, 65, 97, 3)}, {"image": (1, 96, 64, 3)}],
        [V2, "--quantize_uint16=*"],
    ),
    "ssd": Network(
        pictures.ssd(combined=True), [{"image": (1, 80, 64, 3)}, {"image": (2, 64, 64, 3)}]
    ),
    "ssd_by_class": Network(
        pictures.ssd(combined=False), [{"image": (1, 80, 64, 3)}, {"image": (2, 64, 64, 3)}], [V2]
    ),
    "ssd_loops": Network(
        pictures.ssd(combined=False), [{"image": (2, 64, 64, 3)}, {"image": (1, 50, 64, 3)}]
    ),
    "matting": Network(pictures.matting, frames([(64, 96), (72, 50)])),
    "remapped": Network(remapped, [{"x": (2, 6, 8, 3)}, {"x": (1, 9, 8, 3)}]),
    "bodypix": Network(
        pictures.bodypix,
        [{"image": (1, 64, 48, 3)}, {"image": (2, 45, 70, 3)}],
        ["--quantize_uint8=*"],
    ),
    "styled": Network(
        pictures.styled,
        [{"picture": (1, 32, 40, 3)}, {"picture": (2, 45, 30, 3)}],
        ["--quantize_float16=*"],
    ),
    "blazeface": Network(
        pictures.blazeface,
        [{"image": (1, 64, 64, 3)}, {"image": (1, 100, 80, 3)}],
        ["--strip_debug_ops=True", "--weight_shard_size_bytes=20000"],
    ),
    "sentiment": Network(sequences.sentiment, [{"words": (2, 9)}, {"words": (1, 4)}], [V2]),
    "sentiment_v1": Network(sequences.sentiment, [{"words": (2, 9)}, {"words": (1, 4)}]),
    "series": Network(sequences.series, [{"values": (2, 7, 2)}, {"values": (1, 12, 2)}]),
    "captcha": Network(
        sequences.captcha,
        [{"image": (1, 40, 32, 1)}, {"image": (2, 61, 32, 1)}],
        [V2, "--use_structured_outputs_names=True"],
    ),
    "bert": Network(
        sequences.bert,
        [
            dict.fromkeys(("input_ids", "attention_mask", "token_type_ids"), size)
            for size in ((1, 12), (2, 7))
        ],
        ["--use_structured_outputs_names=True"],
    ),
    "yamnet": Network(sequences.yamnet, [{"waveform": (4000,)}, {"waveform": (900,)}]),
    "commands": Network(
        sequences.commands,
        [{"spectrogram": (1, 43, 64, 1)}, {"spectrogram": (3, 43, 64, 1)}],
        ["--quantize_uint8=*"],
    ),
}


def value(name: str, spec: tf.TensorSpec, shape: Sequence[int], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if name == "downsample_ratio":
        return np.float32(0.5)
    if name == "attention_mask":
        return (np.arange(shape[1]) < np.linspace(shape[1], 4, shape[0])[:, None]).astype(np.int32)
    if name == "token_type_ids":
        return rng.integers(0, 2, shape, np.int32)
    if name == "words":
        words = rng.integers(1, 50, shape, np.int32)
        words[:, shape[1] - 2 :] = 0
        return words
    if spec.dtype in (tf.int32, tf.uint8):
        return rng.integers(0, 60 if spec.dtype == tf.int32 else 256, shape).astype(
            spec.dtype.as_numpy_dtype
        )
    if name.startswith("r") and name.endswith("i"):
        return np.zeros(shape, np.float32)
    if name in ("image", "picture", "keras_tensor") and shape[-1] == 3:
        return rng.integers(0, 256, shape).astype(np.float32)
    return rng.uniform(0 if name == "src" else -1, 1, shape).astype(np.float32)


def record(network: Network, folder: Path) -> dict[str, np.ndarray]:
    """The inputs `in<run>/<name>` and outputs `out<run>/<name>` of a SavedModel."""
    loaded = tf.saved_model.load(str(folder))
    function = loaded.signatures["serving_default"]
    _, specs = function.structured_input_signature
    arrays: dict[str, np.ndarray] = {}
    outputs: dict[str, np.ndarray] = {}
    for run, shapes in enumerate(network.runs):
        inputs = {}
        for name, spec in specs.items():
            inputs[name] = value(name, spec, shapes.get(name, shapes.get("")), 10 * run)
            if run % 2 and name[:1] == "r" and f"{name[:-1]}o" in outputs:
                inputs[name] = outputs[f"{name[:-1]}o"]
        results = function(**{name: tf.constant(array) for name, array in inputs.items()})
        outputs = {name: result.numpy() for name, result in results.items()}
        arrays.update({f"in{run}/{name}": array for name, array in inputs.items()})
        arrays.update({f"out{run}/{name}": array for name, array in outputs.items()})
    return arrays


def run_in_tfjs(node: Path, model: Path, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs of TensorFlow.js, by their places among the names that the signature sorts."""
    order = sorted({key.partition("/")[2] for key in arrays if key.startswith("out")})
    results: dict[str, np.ndarray] = {}
    for run in range(sum(key.startswith("in") for key in arrays)):
        inputs = {
            key.partition("/")[2]: {
                "shape": array.shape,
                "dtype": "float32" if array.dtype.kind == "f" else "int32",
                "values": array.ravel().tolist(),
            }
            for key, array in arrays.items()
            if key.startswith(f"in{run}/")
        }
        if not inputs:
            break
        done = subprocess.run(
            ["node", str(RUNNER), str(node.resolve()), str(model)],
            input=json.dumps(inputs),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "Error" in line]
            raise RuntimeError(lines[0] if lines else done.stderr)
        table = json.loads(done.stdout)
        for name, result in table.items():
            node_name, _, port = name.partition(":")
            if node_name.startswith("Identity"):
                port = node_name.partition("_")[2] or "0"
            key = f"out{run}/{order[int(port)] if port else name}"
            expected = arrays[key]
            results[key] = (
                np.array([np.nan if item is None else item for item in result["values"]])
                .astype(expected.dtype)
                .reshape(result["shape"])
            )
    return results


def convert(name: str, node: Path, folder: Path) -> None:
    network = NETWORKS[name]
    keras.utils.set_random_seed(1)
    model = network.build()
    saved, graph = folder / "saved", folder / "graph"
    if isinstance(model, Called):
        model.save(str(saved))
    else:
        model.export(str(saved), verbose=False)
    arrays = record(network, saved)
    converter.convert(
        [
            "--input_format=tf_saved_model",
            "--output_format=tfjs_graph_model",
            "--skip_op_check",
            *network.options,
            str(saved),
            str(graph),
        ]
    )
    try:
        results = run_in_tfjs(node, graph / "model.json", arrays)
    except RuntimeError as error:
        print(f"{name}: in TensorFlow.js: {error}"[:300])
        if network.quantized:
            raise
    else:
        for key, result in results.items():
            expected = arrays[key]
            same = result.shape == expected.shape
            scale = max(np.abs(expected).max(initial=0).astype(float), 1e-9)
            error = np.abs(result.astype(float) - expected).max(initial=0) / scale if same else "-"
            print(f"{name}: {key} {list(result.shape)}: TensorFlow.js differs by {error}")
        if network.quantized:
            arrays.update(results)
    np.savez_compressed(folder / "arrays.npz", **arrays)


def main() -> int:
    node, *chosen = sys.argv[1:]
    files: dict[str, bytes] = {}
    if ARCHIVE.exists():
        with zipfile.ZipFile(ARCHIVE) as archive:
            files = {item: archive.read(item) for item in archive.namelist()}
    for name in chosen or NETWORKS:
        files = {path: data for path, data in files.items() if path.split("/")[0] != name}
        with TemporaryDirectory() as folder:
            convert(name, Path(node), Path(folder))
            for path in [*Path(folder, "graph").iterdir(), Path(folder, "arrays.npz")]:
                files[f"{name}/{path.name}"] = path.read_bytes()
    with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(files):
            archive.writestr(
                zipfile.ZipInfo(path), files[path], zipfile.ZIP_DEFLATED, compresslevel=9
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
