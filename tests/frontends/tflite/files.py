"""Packing and editing of model files."""

import io
import zipfile
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.frontends.tflite.operator_model import Single, f, options, weights


def packed(model: Any) -> bytes:
    builder = flatbuffers.Builder(1 << 12)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def unpacked(data: bytes) -> Any:
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))


def dense() -> Single:
    return Single(
        "dense",
        "FULLY_CONNECTED",
        [f(2, 6), weights(1, 4, 6), weights(2, 4)],
        [f(2, 4)],
        options("FullyConnectedOptions"),
    )


def with_metadata(data: bytes, lines: str) -> bytes:
    """A model whose metadata name a file of labels, with that file in an archive at its end."""
    builder = flatbuffers.Builder(256)
    text = builder.CreateString("labels.txt")

    def table(count: int, *fields: tuple[int, Any, str]) -> int:
        builder.StartObject(count)
        for number, value, kind in fields:
            (builder.PrependInt8Slot if kind == "byte" else builder.PrependUOffsetTRelativeSlot)(
                number, value, 0
            )
        return int(builder.EndObject())

    def vector(*items: int) -> int:
        builder.StartVector(4, len(items), 4)
        for item in reversed(items):
            builder.PrependUOffsetTRelative(item)
        return int(builder.EndVector())

    associated = table(5, (0, text, "offset"), (2, 2, "byte"))
    files = vector(associated)
    tensor = table(7, (6, files, "offset"))
    tensors = vector(tensor)
    graph = table(5, (3, tensors, "offset"))
    graphs = vector(graph)
    builder.Finish(table(8, (3, graphs, "offset")), b"M001")
    model = unpacked(data)
    buffer, entry = schema.BufferT(), schema.MetadataT()
    buffer.data = np.frombuffer(bytes(builder.Output()), np.uint8)
    model.buffers.append(buffer)
    entry.name, entry.buffer = "TFLITE_METADATA", len(model.buffers) - 1
    model.metadata = [entry]
    output = io.BytesIO()
    output.write(packed(model))
    with zipfile.ZipFile(output, "a") as archive:
        archive.writestr("labels.txt", lines)
    return output.getvalue()


def weight_bytes(path: Path) -> int:
    """The bytes of the values of all tensors of a file, with scales and zero points."""
    model = unpacked(path.read_bytes())
    tensors = [tensor for graph in model.subgraphs for tensor in graph.tensors]
    buffers = [model.buffers[n].data for n in {tensor.buffer for tensor in tensors}]
    scales = [item.quantization for item in tensors if item.quantization is not None]
    parameters = [part for item in scales for part in (item.scale, item.zeroPoint)]
    sizes = [np.asarray(item).nbytes for item in parameters if item is not None]
    return sum(len(data) for data in buffers if data is not None) + sum(sizes)
