"""Time and memory to build a bundle from a model of half a gigabyte in each format, with an empty
cache.

    .venv/bin/python -m tests.bench.bench_conversion [onnx pb ...] [--layers 8]

Memory is the maximum over time of the sum of the proportional set sizes of all processes of the
build, sampled ten times a second. It is compared with the size of the weights.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from tests.bench.processes import measure

WIDTH = 4096
"""A layer has a matrix of 64 MiB."""
SECONDS, RATIO = 90.0, 2.5
GENERATOR = np.random.default_rng(0)


def matrix() -> np.ndarray:
    """Random [4096, 4096] weights that preserve the magnitude of values."""
    return (GENERATOR.random((WIDTH, WIDTH), np.float32) - np.float32(0.5)) * np.float32(
        2 * (3 / WIDTH) ** 0.5
    )


def onnx_model(folder: Path, layers: int, *, external: bool = False) -> list[str]:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes, tensors = [], []
    for index in range(layers):
        tensors.append(numpy_helper.from_array(matrix(), f"w{index}"))
        nodes += [
            helper.make_node("MatMul", [f"x{index}", f"w{index}"], [f"y{index}"]),
            helper.make_node("Tanh", [f"y{index}"], [f"x{index + 1}"]),
        ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "large",
        [value("x0", TensorProto.FLOAT, [1, WIDTH])],
        [value(f"x{layers}", TensorProto.FLOAT, [1, WIDTH])],
        tensors,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(
        model,
        folder / "large.onnx",
        save_as_external_data=external,
        location="large.data" if external else None,
    )
    return [str(folder / "large.onnx")]


def onnx_with_data(folder: Path, layers: int) -> list[str]:
    return onnx_model(folder, layers, external=True)


def keras_model(folder: Path, layers: int, suffix: str = ".keras") -> list[str]:
    import keras

    model = keras.Sequential(
        [
            keras.Input((WIDTH,), batch_size=1),
            *(keras.layers.Dense(WIDTH, "tanh", use_bias=False) for _ in range(layers)),
        ]
    )
    path = folder / f"large{suffix}"
    if suffix:
        model.save(path)
    else:
        model.export(path, verbose=False)
    return [str(path)]


def hdf5(folder: Path, layers: int) -> list[str]:
    return keras_model(folder, layers, ".h5")


def saved_model(folder: Path, layers: int) -> list[str]:
    return keras_model(folder, layers, "")


def frozen_graph(folder: Path, layers: int) -> list[str]:
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, [1, WIDTH], "x")
        for _ in range(layers):
            x = tf.tanh(tf.matmul(x, tf.constant(matrix())))
    (folder / "large.pb").write_bytes(graph.as_graph_def().SerializeToString())
    return [str(folder / "large.pb")]


def tflite(folder: Path, layers: int) -> list[str]:
    import tensorflow as tf

    (source,) = saved_model(folder, layers)
    (folder / "large.tflite").write_bytes(
        tf.lite.TFLiteConverter.from_saved_model(source).convert()
    )
    return [str(folder / "large.tflite")]


def torch_module(layers: int) -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        *(
            module
            for _ in range(layers)
            for module in (torch.nn.Linear(WIDTH, WIDTH, bias=False), torch.nn.Tanh())
        )
    ).eval()


def exported_program(folder: Path, layers: int) -> list[str]:
    torch.export.save(
        torch.export.export(torch_module(layers), (torch.zeros(1, WIDTH),)), folder / "large.pt2"
    )
    return [str(folder / "large.pt2")]


def torch_script(folder: Path, layers: int) -> list[str]:
    torch.jit.save(
        torch.jit.trace(torch_module(layers), torch.zeros(1, WIDTH)), folder / "large.pt"
    )
    return [str(folder / "large.pt"), "--trust-source", "--input-shape", f"input=1,{WIDTH}"]


def caffe(folder: Path, layers: int) -> list[str]:
    from webkiln.frontends.caffe.schema import messages

    names = [
        f'layer {{ name: "dense{index}" type: "InnerProduct" bottom: "x" top: "x"'
        f" inner_product_param {{ num_output: {WIDTH} bias_term: false }} }}"
        for index in range(layers)
    ]
    text = (
        'name: "large"\nlayer { name: "x" type: "Input" top: "x" input_param { shape { dim: 1'
        f" dim: {WIDTH} }} }} }}\n" + "\n".join(names)
    )
    (folder / "large.prototxt").write_text(text)
    net = messages()["NetParameter"]()
    for index in range(layers):
        layer = net.layer.add(name=f"dense{index}", type="InnerProduct")
        blob = layer.blobs.add()
        blob.shape.dim.extend((WIDTH, WIDTH))
        blob.data.extend(matrix().ravel())
    (folder / "large.caffemodel").write_bytes(net.SerializeToString())
    return [str(folder / "large.prototxt")]


FORMATS: dict[str, Callable[[Path, int], list[str]]] = {
    "onnx": onnx_model,
    "onnx+data": onnx_with_data,
    "keras": keras_model,
    "h5": hdf5,
    "savedmodel": saved_model,
    "pb": frozen_graph,
    "tflite": tflite,
    "pt2": exported_program,
    "torchscript": torch_script,
    "caffe": caffe,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "formats", nargs="*", metavar="FORMAT", help=f"of {', '.join(FORMATS)}; all by default"
    )
    parser.add_argument("--layers", type=int, default=8)
    options = parser.parse_args()
    size = options.layers * WIDTH * WIDTH * 4
    failed = False
    for name in options.formats or FORMATS:
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            source = FORMATS[name](folder, options.layers)
            command = [
                str(Path(sys.executable).with_name("webkiln")),
                "build",
                *source,
                "--backend",
                "js",
                "-o",
                str(folder / "bundle"),
            ]
            seconds, peak = measure(command, {**os.environ, "WEBKILN_CACHE": str(folder / "cache")})
        within = seconds <= SECONDS and peak <= RATIO * size
        failed |= not within
        print(
            f"{name}: {size / 1e6:.0f} MB in {seconds:.1f} s, {peak / 1e6:.0f} MB,"
            f" {peak / size:.2f} times its size{'' if within else ' MISSED'}",
            flush=True,
        )
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
