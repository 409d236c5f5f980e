"""Writes `exported.zip`, models of PyTorch's, TensorFlow's and Keras's exporters, of PaddlePaddle's
form, and optimised by onnxruntime: `python -m tests.frontends.onnx.exported.make`.

It needs `pip install onnxscript tf2onnx`. Expected outputs are those of onnxruntime.
"""

import io
import logging
import sys
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnx
import onnxruntime
import torch

from tests.frontends.onnx.exported.modules import MODULES, Calls, Module
from tests.frontends.onnx.running import onnxruntime_outputs

ARCHIVE = Path(__file__).parent / "exported.zip"
DATE = (2026, 1, 1, 0, 0, 0)
LEVELS = ("BASIC", "EXTENDED", "ALL")
OLD_OPSET, NEW_OPSET = 17, 20
OPTIMISED = ("encoder", "convolutions", "lstm", "pyramid", "perceptron")
Arrays = Mapping[str, np.ndarray]


def patterned(shape: Sequence[int]) -> np.ndarray:
    """Weights that compress well: sevenths of a small range, in turn."""
    count, fan = int(np.prod(shape)), max(int(np.prod(shape[1:])), 1)
    steps = np.arange(count, dtype=np.int64) * 5 % 7 - 3
    return (steps / (2 * np.sqrt(fan))).astype(np.float32).reshape(shape)


def inputs_of(module: Module, number: int) -> list[np.ndarray]:
    rng = np.random.default_rng(number)
    return [
        rng.integers(0, module.whole, shape)
        if module.whole
        else (np.round(rng.normal(size=shape) * 32) / 32).astype(np.float32)
        for shape in module.shapes[number]
    ]


def built(module: Module) -> torch.nn.Module:
    net = module.build().eval()
    with torch.no_grad():
        for item in net.parameters():
            item.copy_(torch.from_numpy(patterned(item.shape)))
        for name, item in net.named_buffers():
            if name.endswith("running_var"):
                item.fill_(1.5)
    return net


def torch_export(name: str, *, dynamo: bool) -> onnx.ModelProto:
    module = MODULES[name]
    net, arguments = built(module), tuple(map(torch.from_numpy, inputs_of(module, 0)))
    names = [f"x{number}" for number in range(len(arguments))]
    file = io.BytesIO()
    if dynamo:
        shapes = tuple(
            {axis: torch.export.Dim.DYNAMIC for axis in module.open if axis < len(shape)}
            for shape in module.shapes[0]
        )
        arguments = tuple(
            torch.cat([value, value]) if 0 in module.open and value.shape[0] == 1 else value
            for value in arguments
        )
        program = torch.onnx.export(
            net, arguments, dynamo=True, input_names=names,
            dynamic_shapes=(shapes,) if isinstance(net, Calls) else shapes,

            opset_version=NEW_OPSET, verbose=False,
        )  # fmt: skip
        program.save(file)
    else:
        torch.onnx.export(
            net, arguments, file, dynamo=False, input_names=names, opset_version=OLD_OPSET,
            dynamic_axes={item: dict(module.open) for item in names},
        )  # fmt: skip
    return onnx.load_from_string(file.getvalue())


def optimised(proto: onnx.ModelProto, level: str) -> onnx.ModelProto:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "optimised.onnx"
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = getattr(
            onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}"
        )
        options.optimized_model_filepath = str(path)
        onnxruntime.InferenceSession(
            proto.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        return onnx.load(path)


def with_constants(proto: onnx.ModelProto) -> onnx.ModelProto:
    """The model with its weights as Constant nodes, as PaddlePaddle's exporter writes them."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    result.producer_name = "PaddlePaddle"
    nodes = [
        onnx.helper.make_node("Constant", [], [item.name], value=item)
        for item in result.graph.initializer
    ]
    nodes += list(result.graph.node)
    del result.graph.node[:], result.graph.initializer[:]
    result.graph.node.extend(nodes)
    return result


def torch_models() -> Iterator[tuple[str, onnx.ModelProto, list[Arrays]]]:
    for name, module in MODULES.items():
        values = [
            {f"x{index}": array for index, array in enumerate(inputs_of(module, number))}
            for number in (0, 1)
        ]
        for kind in ("script", "dynamo"):
            try:
                proto = torch_export(name, dynamo=kind == "dynamo")
            except Exception as error:  # noqa: BLE001 - the other models are still written
                print(f"{kind} {name}: {type(error).__name__}: {str(error)[:200]}")
                continue
            yield f"torch_{kind}_{name}", proto, values
            if name in OPTIMISED:
                for level in LEVELS if kind == "script" else LEVELS[1:2]:
                    yield (
                        f"optimised_{level.lower()}_{kind}_{name}",
                        optimised(proto, level),
                        values,
                    )
                if kind == "script":
                    yield f"constants_{name}", with_constants(proto), values


def keras_layers() -> dict[str, tuple[Any, Sequence[tuple[int, ...]]]]:
    import keras
    from keras import layers

    def model(shape: tuple[int | None, ...], *steps: Any) -> Any:
        return keras.Sequential([keras.Input(shape), *steps])

    return {
        "dense": (
            model((128,), layers.Dense(160, "swish"), layers.LayerNormalization(), layers.Dense(4)),
            [(3, 128), (1, 128)],
        ),
        "convolutions": (
            model(
                (None, None, 3), layers.Conv2D(96, 5, 2, "same"), layers.BatchNormalization(),
                layers.ReLU(6), layers.DepthwiseConv2D(3, padding="same"), layers.MaxPooling2D(2),
                layers.UpSampling2D(2), layers.Conv2DTranspose(32, 3, 2),
                layers.GlobalAveragePooling2D(),
            ),
            [(1, 16, 20, 3), (2, 24, 12, 3)],
        ),
        "recurrent": (
            model((None, 128), layers.Bidirectional(layers.LSTM(40, return_sequences=True)),
                  layers.GRU(24)),
            [(2, 9, 128), (1, 4, 128)],
        ),
    }  # fmt: skip


def keras_models() -> Iterator[tuple[str, onnx.ModelProto, list[Arrays]]]:
    """Models of Keras, written by its own `export` and by tf2onnx."""
    import tensorflow as tf
    import tf2onnx

    for name, (net, shapes) in keras_layers().items():
        for item in net.weights:
            variance = "variance" in item.path
            item.assign(np.full(item.shape, 1.5) if variance else patterned(item.shape))
        rng = np.random.default_rng(3)
        arrays = [
            (np.round(rng.normal(size=shape) * 32) / 32).astype(np.float32) for shape in shapes
        ]
        net(arrays[0])
        with TemporaryDirectory() as folder:
            path = Path(folder) / "net.onnx"
            for kind in ("keras", "tf2onnx"):
                try:
                    if kind == "keras":
                        net.export(path, format="onnx", verbose=False)
                        proto = onnx.load(path)
                    else:
                        signature = [tf.TensorSpec(net.inputs[0].shape, tf.float32, name="x")]
                        function = tf.function(lambda x, net=net: net(x), signature)
                        proto, _ = tf2onnx.convert.from_function(function, signature, opset=15)
                except Exception as error:  # noqa: BLE001 - the other models are still written
                    print(f"{kind} {name}: {type(error).__name__}: {str(error)[:300]}")
                    continue
                (key,) = [item.name for item in proto.graph.input]
                yield f"{kind}_{name}", proto, [{key: array} for array in arrays]


def members(
    name: str, proto: onnx.ModelProto, sets: Sequence[Arrays]
) -> Iterator[tuple[str, bytes]]:
    """The files of a model: `NAME.onnx`, and `NAME.N.npz` with inputs and outputs."""
    proto.doc_string = ""
    for node in proto.graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
    for item in proto.graph.value_info:
        del item.metadata_props[:]
    yield f"{name}.onnx", proto.SerializeToString(deterministic=True)
    for number, values in enumerate(sets):
        outputs = onnxruntime_outputs(proto, values)
        arrays = {f"in/{key}": value for key, value in values.items()}
        arrays |= {f"out/{key}": value for key, value in outputs.items()}
        file = io.BytesIO()
        np.savez(file, **arrays)
        yield f"{name}.{number}.npz", file.getvalue()


def main() -> int:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    written = 0
    with zipfile.ZipFile(ARCHIVE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for models in (torch_models(), keras_models()):
            for name, proto, sets in models:
                try:
                    files = list(members(name, proto, sets))
                except Exception as error:  # noqa: BLE001 - the other models are still written
                    print(f"{name}: {type(error).__name__}: {str(error)[:300]}")
                    continue
                for path, data in files:
                    info = zipfile.ZipInfo(path, DATE)
                    info.compress_type = zipfile.ZIP_DEFLATED
                    archive.writestr(info, data, compresslevel=9)
                written += 1
    print(f"{written} models, {ARCHIVE.stat().st_size // 1024} KiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
