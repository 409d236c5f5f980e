"""Subgraphs of models of nodes: two consecutive subgraphs compute the same as the entire model, and
references of subgraphs agree.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch

from tests.frontends.corpus import TOLERANCE
from tests.frontends.tensorflow.graph_models import graph_model
from tests.frontends.tensorflow.modules import old, stepping
from tests.frontends.tensorflow.samples import FOLDER as TENSORFLOW
from tests.frontends.tensorflow.samples import saved
from tests.frontends.tflite.make import CORPUS as TFLITE
from webkiln.backends.compare import relative_error
from webkiln.errors import RecipeError
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import ENTIRE_MODEL, Subgraph
from webkiln.frontends.nodes.converter import NodeConverter
from webkiln.frontends.nodes.sample_inputs import sampled_inputs
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.frontends.tensorflow.converter import TensorFlowConverter
from webkiln.frontends.tensorflow.load import read_model as of_graph
from webkiln.frontends.tensorflow.reference import compute_reference as compute_tensorflow
from webkiln.frontends.tflite.converter import TfliteConverter
from webkiln.frontends.tflite.load import read_model
from webkiln.frontends.tflite.reference import compute_reference
from webkiln.frontends.torch.converter import TorchConverter
from webkiln.frontends.torch.program import read_program
from webkiln.frontends.torch.reference import compute_reference as compute_torch
from webkiln.frontends.torch.source import TracedProgram
from webkiln.ir.bind import bind, placeholders
from webkiln.ops.evaluate import run_graph

FOLDER = TemporaryDirectory()
PARAMS: dict[str, Any] = {"dims": {}, "input_shapes": {}}
Reading = Callable[[Subgraph], tuple[NodeModel, Blobs]]
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Source:
    """How a model is read, converted, and run by its framework."""

    read: Reading
    converter: type[NodeConverter]
    reference: Callable[[NodeModel, Any], tuple[Arrays, Arrays]]


def of_tflite(name: str) -> Source:
    path = TFLITE / f"{name}.tflite"
    return Source(
        lambda cut: read_model(path, cut=cut),
        TfliteConverter,
        lambda part, inputs: compute_reference(path, part, inputs),
    )


class Net(torch.nn.Module):
    """A step around a layer; with `keeps`, a sum over runs behind it."""

    def __init__(self, *, keeps: bool) -> None:
        super().__init__()
        self.first, self.second, self.last = (
            torch.nn.Linear(4, 6),
            torch.nn.Linear(6, 6),
            torch.nn.Linear(6, 3),
        )
        self.keeps = keeps
        self.register_buffer("total", torch.ones(6))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        y = torch.tanh(y + self.second(y))
        if self.keeps:
            self.total += y.sum(0)
            y = y * self.total
        return self.last(y)


def of_tensorflow(name: str) -> Source:
    folder = Path(FOLDER.name, name)
    makers: Mapping[str, Callable[[], Path]] = {
        "old": lambda: old(folder),
        "tfjs": lambda: graph_model("residual", folder),
        "spectrogram": lambda: saved("spectrogram", folder),
        "residual.pb": lambda: TENSORFLOW / "residual.pb",
    }
    path = makers.get(name, lambda: stepping(folder, name))()
    return Source(
        lambda cut: of_graph(path, cut=cut),
        TensorFlowConverter,
        lambda part, inputs: compute_tensorflow(path, None, "", part, inputs),
    )


def of_torch(name: str) -> Source:
    torch.manual_seed(5)
    opened = ({0: torch.export.Dim.DYNAMIC},) if name == "open" else None
    program = torch.export.export(
        Net(keeps=name == "states").eval(), (torch.rand(2, 4),), dynamic_shapes=opened
    )
    return Source(
        lambda cut: read_program(program, name, cut=cut),
        TorchConverter,
        lambda part, inputs: compute_torch(TracedProgram(program), part, name, inputs),
    )


@cache
def source(kind: str, name: str) -> Source:
    return {"tflite": of_tflite, "torch": of_torch, "tensorflow": of_tensorflow}[kind](name)


def computed(source: Source, subgraph: Subgraph, inputs: Arrays) -> Arrays:
    model, blobs = source.read(subgraph)
    shapes = {
        item.name: inputs[item.name].shape for item in model.graph.inputs if item.shape is None
    }
    graph = source.converter(None, shapes).convert(model, blobs)
    own_inputs = {name: inputs[name] for name in graph.inputs}
    return run_graph(
        bind(graph, placeholders(graph, own_inputs)),
        own_inputs,
    )[0]


def assert_equal(got: Arrays, expected: Arrays) -> None:
    assert set(got) == set(expected)
    for name, value in expected.items():
        assert (got[name].dtype, got[name].shape) == (value.dtype, value.shape), name
        assert relative_error(got[name], value) <= TOLERANCE, name


def names(model: NodeModel) -> Sequence[str]:
    return [node.name for node in model.graph.nodes if any(node.outputs)]


def suggested_node(model: Source, node: str) -> str | None:
    try:
        model.read(Subgraph((node,)))
    except RecipeError as error:
        return str(error)
    return None


CASES = [
    *(
        ("tflite", name)
        for name in (
            "branches.float",
            "branches.int8",
            "residual.float",
            "attention.float",
            "open_batch.float",
            "dense.dynamic",
        )
    ),
    *(("tensorflow", name) for name in ("stepping", "keeping", "old", "tfjs", "residual.pb")),
    *(("torch", name) for name in ("plain", "open", "states")),
]


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_two_consecutive_subgraphs_equal_the_model(kind: str, name: str) -> None:
    """At every node that splits the model in two; at others, the message suggests another node."""
    model = source(kind, name)
    entire, _ = model.read(ENTIRE_MODEL)
    reference, layers = model.reference(entire, sampled_inputs(entire, PARAMS, {}))
    inputs = {item.name: reference[f"natural0/in/{item.name}"] for item in entire.graph.inputs}
    expected = computed(model, ENTIRE_MODEL, inputs)
    suggestions = {node: suggested_node(model, node) for node in names(entire)[:-1]}
    wrong = [message for message in suggestions.values() if message is not None]
    assert all(
        re.search(r"--from-layer|--to-layer|no layer between|not known", message)
        for message in wrong
    )
    possible = [node for node, message in suggestions.items() if message is None]
    assert possible
    for node in {possible[0], possible[len(possible) // 2], possible[-1]}:
        head, tail = Subgraph((), (node,)), Subgraph((node,))
        between = computed(model, head, inputs)
        assert_equal(between, {node: layers[f"natural0/{node}"]})
        assert_equal(computed(model, tail, between), expected)
        part, blobs = model.read(tail)
        assert len(blobs) <= len(model.read(ENTIRE_MODEL)[1])
        arrays, layers_of_part = model.reference(part, sampled_inputs(entire, PARAMS, {}, part))
        assert {key for key in arrays if key.startswith("natural1/in/")} == {f"natural1/in/{node}"}
        assert_equal(
            computed(model, tail, {node: arrays[f"natural1/in/{node}"]}),
            {key: arrays[f"natural1/out/{key}"] for key in expected},
        )
        assert {key.partition("/")[2] for key in layers_of_part} <= {
            item.name for item in part.graph.nodes
        }


STEPS = [("torch", "states", "second"), ("tensorflow", "keeping", "MatMul.2")]
"""Models with a running sum after a step, and a node that is computed in parallel with `relu`."""


@pytest.mark.parametrize(("kind", "name", "parallel"), STEPS)
def test_a_subgraph_keeps_the_states_that_it_reads(kind: str, name: str, parallel: str) -> None:
    model = source(kind, name)
    head, _ = model.read(Subgraph((), ("tanh",)))
    tail, blobs = model.read(Subgraph(("tanh",)))
    kept_states = [
        [node.op for node in part.graph.nodes if node.op in ("STATE", "SET_STATE")]
        for part in (head, tail)
    ]
    assert kept_states == [[], ["STATE", "SET_STATE"]]
    graph = model.converter().convert(tail, blobs)
    assert [state.name for state in graph.states] == ["total"]
    with pytest.raises(
        RecipeError,
        match=(
            r"the subgraph leaves relu undefined, which add"
            r" reads from outside it; add --from-layer relu"
        ),
    ):
        model.read(Subgraph((parallel,), ("tanh",)))


def test_open_sizes_are_named_after_the_inputs_of_the_subgraph() -> None:
    model = source("tensorflow", "stepping")
    part, blobs = model.read(Subgraph(("tanh",)))
    (part_input,) = part.graph.inputs
    assert (part_input.dtype, part_input.shape) == ("float32", (None, 6))
    assert [
        str(size) for size in TensorFlowConverter().convert(part, blobs).type("tanh").shape
    ] == ["tanh_0", "6"]
    assert [
        str(size)
        for size in TensorFlowConverter({"tanh_0": "N"}).convert(part, blobs).type("tanh").shape
    ] == ["N", "6"]


def test_tensorflow_identity_nodes_are_valid_bounds() -> None:
    model = source("tensorflow", "stepping")
    entire, _ = model.read(ENTIRE_MODEL)
    reference, layers = model.reference(entire, sampled_inputs(entire, PARAMS, {}))
    inputs = {item.name: reference[f"natural0/in/{item.name}"] for item in entire.graph.inputs}
    between = computed(model, Subgraph((), ("middle",)), inputs)
    assert_equal(between, {"middle": layers["natural0/relu"]})
    assert_equal(
        computed(model, Subgraph(("middle",)), between), computed(model, ENTIRE_MODEL, inputs)
    )
    for cut in (Subgraph((), ("middle",)), Subgraph(("middle",))):
        part, _ = model.read(cut)
        arrays, _ = model.reference(part, sampled_inputs(entire, PARAMS, {}, part))
        side = "in" if cut.starts else "out"
        np.testing.assert_array_equal(arrays[f"natural0/{side}/middle"], layers["natural0/relu"])


@pytest.mark.parametrize(
    ("name", "node", "message"),
    [
        (
            "old",
            "cond/more",
            "cond/more runs conditionally; name a node before or after the condition",
        ),
        (
            "old",
            "turns/turned",
            (
                r"there is no 'turns/turned'.* \(it is inside turns/while_context; a subgraph"
                r" cannot start or end there\)"
            ),
        ),
        (
            "old",
            "TensorArray",
            "TensorArray outputs a list of tensors, which cannot be an input or output of a bundle",
        ),
        ("keeping", "total", "total is the initial value of a state; name a node that reads it"),
        (
            "spectrogram",
            "stft/rfft",
            (
                "stft/rfft outputs complex numbers, which cannot be inputs or outputs of a bundle;"
                " name a node before or after it"
            ),
        ),
    ],
)
@pytest.mark.parametrize("end", [False, True])
def test_invalid_bounds_are_errors(name: str, node: str, message: str, end: bool) -> None:
    with pytest.raises(RecipeError, match=message):
        source("tensorflow", name).read(Subgraph((), (node,)) if end else Subgraph((node,)))
