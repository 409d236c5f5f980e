"""Mutated TensorFlow graphs, as SavedModels, frozen graphs and graph models: each is built or
refused, and nothing ends in a traceback.
"""

import json
import random
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict, ParseDict

from tests.frontends.tensorflow.graph_models import ARCHIVE, NAMES, graph_model
from tests.fuzz import files
from tests.fuzz.files import compile_and_pack, mutate_bytes
from tests.fuzz.onnx_files import NUMBERS
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model
from webkiln.frontends.tensorflow.messages import GraphDef, SavedModelDef

CORPUS = Path(__file__).parents[1] / "frontends" / "tensorflow" / "corpus"
SMALL = 60_000


@cache
def originals() -> tuple[tuple[str, bytes], ...]:
    """The kind and the bytes of saved models, frozen graphs and graph models. The kind of a graph
    model is its name.
    """
    frozen = [("frozen", path.read_bytes()) for path in sorted(CORPUS.glob("*.pb"))]
    saved = []
    for path in sorted(CORPUS.glob("*.zip")):
        with zipfile.ZipFile(path) as archive:
            saved.append(("saved", archive.read("saved_model.pb")))
    with zipfile.ZipFile(ARCHIVE) as archive:
        graphs = [(name, archive.read(f"{name}/model.json")) for name in NAMES]
    return tuple((kind, data) for kind, data in (*frozen, *saved, *graphs) if len(data) < SMALL)


def graph_of(kind: str, data: bytes) -> tuple[Any, Any]:
    """The entire message, and the graph in it."""
    if kind in NAMES:
        table = json.loads(data)
        return table, ParseDict(table["modelTopology"], GraphDef(), ignore_unknown_fields=True)
    if kind == "frozen":
        graph = GraphDef.FromString(data)
        return graph, graph
    model = SavedModelDef.FromString(data)
    return model, model.meta_graphs[0].graph_def


def mutate(rng: random.Random, graph: Any) -> str:
    """Change the name, operator, inputs or an attribute of one node."""
    bodies = [graph.node, *(function.node_def for function in graph.library.function)]
    nodes = rng.choice([body for body in bodies if body])
    node, other = rng.choice(nodes), rng.choice(nodes)
    match rng.choice(
        [
            "operator",
            "input",
            "input",
            "inputs",
            "remove",
            "double",
            "attribute",
            "attribute",
            "attribute",
            "constant",
            "constant",
        ]
    ):
        case "operator":
            node.op = rng.choice(
                [
                    other.op,
                    "Enter",
                    "Merge",
                    "Switch",
                    "Exit",
                    "While",
                    "RestoreV2",
                    "Const",
                    "TensorListReserve",
                    f"{node.op}x",
                ]
            )
        case "input" if node.input:
            node.input[rng.randrange(len(node.input))] = rng.choice(
                [
                    other.name,
                    f"{other.name}:1",
                    f"{other.name}:y:0",
                    f"^{other.name}",
                    node.name,
                    "nobody",
                    "",
                ]
            )
        case "inputs":
            appends = rng.random() < 0.5
            node.input.append(other.name) if appends else node.ClearField("input")
        case "remove":
            nodes.remove(node)
        case "double":
            nodes.add().CopyFrom(node)
        case "attribute" if node.attr:
            name = rng.choice(sorted(node.attr))
            other_name = rng.choice(sorted(other.attr)) if other.attr else name
            if rng.random() < 0.4:
                del node.attr[name]
            elif rng.random() < 0.5 and other.attr:
                node.attr[name].CopyFrom(other.attr[other_name])
            else:
                mutate_value(rng, node.attr[name])
        case "constant":
            constants = [item for item in nodes if item.op == "Const"]
            if constants:
                mutate_tensor(rng, rng.choice(constants).attr["value"].tensor)
    return f"{node.name} ({node.op})"


def mutate_value(rng: random.Random, value: Any) -> None:
    for name in ("i", "f", "b", "s", "type"):
        if value.HasField(name):
            number = rng.choice(NUMBERS)
            setattr(
                value,
                name,
                {
                    "i": number,
                    "f": float(number % 99),
                    "b": not value.b,
                    "s": bytes([number % 256]) * 3,
                    "type": rng.choice([1, 3, 7, 20]),
                }[name],
            )
    for item in value.list.i:
        value.list.i.append(rng.choice([item, 0, -1, 99]))
        break


def mutate_tensor(rng: random.Random, tensor: Any) -> None:
    match rng.choice(["type", "size", "grow", "content"]):
        case "type":
            tensor.dtype = rng.choice([1, 3, 9, 7, 10, 19])
        case "size" if tensor.tensor_shape.dim:
            rng.choice(tensor.tensor_shape.dim).size = rng.choice(NUMBERS)
        case "grow":
            tensor.tensor_shape.dim.add(size=rng.choice([0, 1, 2, -1, 1 << 40]))
        case "content":
            tensor.tensor_content = mutate_bytes(rng, tensor.tensor_content or b"1234")


def make(seed: int, folder: Path) -> str:
    rng = random.Random(seed)
    kind, data = rng.choice(originals())
    message, graph = graph_of(kind, data)
    if rng.random() < 0.15:
        changed, mutations = mutate_bytes(rng, data), ["bytes"]
    else:
        mutations = [mutate(rng, graph) for _ in range(rng.choice([1, 1, 2, 3]))]
        if kind in NAMES:
            changed = json.dumps({**message, "modelTopology": MessageToDict(graph)}).encode()
        else:
            changed = message.SerializeToString()
    if kind in NAMES:
        for path in graph_model(kind, folder).parent.glob("*.bin"):
            path.rename(folder / path.name)
    (folder / "net.pb").write_bytes(changed)
    return ", ".join(mutations)


def attempt(folder: Path, phase: Callable[[str], None]) -> None:
    """Build up to the printed program of js."""
    phase("loading")
    spec, blobs = read_model(folder / "net.pb", folder)
    phase("converting")
    graph = TensorFlowConverter().convert(spec, blobs)
    compile_and_pack(graph, phase)
    phase("judging")


FORMAT = files.Format(make, attempt, lambda folder: None)
