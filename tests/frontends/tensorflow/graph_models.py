"""Writes graph models of TensorFlow.js."""

import json
from pathlib import Path

import tensorflow as tf
from google.protobuf.json_format import MessageToDict


def graph_model(frozen: Path, folder: Path, *, named: bool) -> Path:
    """Write a graph model like the TensorFlow.js converter: the graph as JSON, and the constants in
    two shards.
    """
    graph = tf.compat.v1.GraphDef.FromString(frozen.read_bytes())
    weights, data = [], b""
    for node in graph.node:
        if node.op == "Const" and node.attr["dtype"].type in (
            tf.float32.as_datatype_enum,
            tf.int32.as_datatype_enum,
        ):
            array = tf.make_ndarray(node.attr["value"].tensor)
            weights.append(
                {"name": node.name, "shape": list(array.shape), "dtype": array.dtype.name}
            )
            data += array.tobytes()
            node.attr["value"].ClearField("value")
    names = [
        node.name
        for node in graph.node
        if node.name == "Identity" or node.name.startswith("Identity_")
    ]
    table = {
        "format": "graph-model",
        "generatedBy": "2.20.0",
        "modelTopology": MessageToDict(graph),
    }
    if named:
        inputs = {
            "picture:0": {
                "name": "x0:0",
                "dtype": "DT_FLOAT",
                "tensorShape": {"dim": [{"size": str(n)} for n in (-1, 9, 8, 4)]},
            }
        }
        table["signature"] = {
            "inputs": {"picture": inputs["picture:0"]},
            "outputs": {name: {"name": f"{name}:0", "dtype": "DT_FLOAT"} for name in names},
        }
    table["weightsManifest"] = [
        {"paths": ["group1-shard1of2.bin", "group1-shard2of2.bin"], "weights": weights}
    ]
    folder.mkdir()
    (folder / "model.json").write_text(json.dumps(table))
    (folder / "group1-shard1of2.bin").write_bytes(data[: len(data) // 2])
    (folder / "group1-shard2of2.bin").write_bytes(data[len(data) // 2 :])
    return folder / "model.json"
