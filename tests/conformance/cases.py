"""The cases of the onnx package: selection by rule, and conversion to graphs with data."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests

from tests.frontends.onnx.running import source_inputs
from webkiln.frontends.nodes.call import DataDependentError
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.load import describe_model
from webkiln.frontends.onnx.tensors import dtype_name
from webkiln.ir.graph import Graph
from webkiln.ir.types import DTYPES

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
LOSSES = frozenset({"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"})
RANDOM = frozenset(
    {
        "Bernoulli",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
    }
)
TRAINING_DOMAINS = frozenset({"ai.onnx.training", "ai.onnx.preview.training"})
DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
SEQUENCES = ("Sequence", "ConcatFromSequence", "SplitToSequence")


@dataclass(frozen=True)
class Conformance:
    """One case. `operator` is the tested operator, also if the case is its expanded function."""

    name: str
    kind: str
    operator: str
    model: onnx.ModelProto
    source: TestCase
    excluded: str | None

    @property
    def data(self) -> list[tuple[list[np.ndarray], list[np.ndarray]]]:
        """The inputs and outputs of each data set."""
        if self.source.data_sets is not None:
            return [
                ([*map(as_array, inputs)], [*map(as_array, outputs)])
                for inputs, outputs in self.source.data_sets
            ]
        folders = sorted(Path(self.source.model_dir).glob("test_data_set_*"))
        return [([*read_all(folder, "input")], [*read_all(folder, "output")]) for folder in folders]


def as_array(value: object) -> np.ndarray:
    return (
        numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)
    )


def read_all(folder: Path, role: str) -> Iterator[np.ndarray]:
    for number in range(len(list(folder.glob(f"{role}_*.pb")))):
        yield numpy_helper.to_array(
            onnx.TensorProto.FromString((folder / f"{role}_{number}.pb").read_bytes())
        )


@cache
def cases() -> tuple[Conformance, ...]:
    """All cases of the installed package, in its order."""
    result: list[Conformance] = []
    operators: dict[str, tuple[str, str | None]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sources = [source for kind in KINDS for source in load_model_tests(kind=kind)]
    for source in sources:
        model = source.model or onnx.load(
            Path(source.model_dir) / "model.onnx", load_external_data=False
        )
        base, expanded, _ = source.name.partition("_expanded")
        operators_of_model = {node.op_type for node in model.graph.node}
        if expanded and base in operators:
            operator, reason = operators[base]
            reason = reason or excluded(model)
        else:
            operator, reason = (
                (min(operators_of_model) if len(operators_of_model) == 1 else "(several)"),
                excluded(model),
            )
            operators[source.name] = operator, reason
        operator = operator if source.kind == "node" else f"({source.kind})"
        result.append(Conformance(source.name, source.kind, operator, model, source, reason))
    return tuple(result)


def cases_in_scope() -> list[Conformance]:
    return [case for case in cases() if case.excluded is None]


def nodes(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for item in node.attribute:
            if item.type == onnx.AttributeProto.GRAPH:
                yield from nodes(item.g)


def excluded(model: onnx.ModelProto) -> str | None:
    """Why a case is out of scope, or None. Out of scope is everything but inference on dense
    numbers.
    """
    all_nodes = [node for part in (model.graph, *model.functions) for node in nodes(part)]
    names, domains = (
        {node.op_type for node in all_nodes},
        {node.domain for node in all_nodes} - {item.domain for item in model.functions},
    )
    if domains & TRAINING_DOMAINS or any(is_training(node) for node in all_nodes):
        return "training"
    if names & LOSSES:
        return "loss"
    if names & RANDOM:
        return "random"
    if "ImageDecoder" in names:
        return "image decoding"
    kinds = {item.type.WhichOneof("value") for item in (*model.graph.input, *model.graph.output)}
    if "optional_type" in kinds or any(name.startswith("Optional") for name in names):
        return "optional"
    if "sequence_type" in kinds or any(name.startswith(SEQUENCES) for name in names):
        return "sequence"
    if foreign := sorted(set(element_types(model, all_nodes)) - set(DTYPES)):
        return foreign[0]
    if foreign := sorted(domains - DOMAINS):
        return f"domain {foreign[0]}"
    return None


def is_training(node: onnx.NodeProto) -> bool:
    if node.op_type == "Dropout":
        return len(node.input) > 2 and bool(node.input[2])
    return any(item.name == "training_mode" and item.i for item in node.attribute)


def element_types(model: onnx.ModelProto, all_nodes: list[onnx.NodeProto]) -> Iterator[str]:
    for item in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        if item.type.HasField("tensor_type"):
            yield dtype_name(item.type.tensor_type.elem_type)
    for tensor in model.graph.initializer:
        yield dtype_name(tensor.data_type)
    for node in all_nodes:
        for item in node.attribute:
            if item.type == onnx.AttributeProto.TENSOR:
                yield dtype_name(item.t.data_type)
            elif (
                item.name in ("to", "dtype", "output_dtype")
                and item.type == onnx.AttributeProto.INT
                and item.i
            ):
                yield dtype_name(item.i)


@dataclass(frozen=True)
class Prepared:
    """A case at one data set: its graph, inputs and expected outputs. `constant_inputs` determine
    shapes and are constants of the graph.
    """

    case: Conformance
    number: int
    graph: Graph
    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    constant_inputs: tuple[str, ...]


def prepare(case: Conformance) -> list[Prepared]:
    """Load and convert the case for each of its data sets."""
    folder = Path(case.source.model_dir) if case.source.model_dir else None
    spec, blobs = describe_model(case.model, case.name, folder)
    names, results = (
        [item.name for item in spec.graph.inputs],
        [item.name for item in spec.graph.outputs],
    )
    prepared = []
    for number, (inputs_of_set, expected) in enumerate(case.data):
        values = dict(zip(names, inputs_of_set, strict=True))
        shapes = {
            item.name: item.shape
            for item in spec.graph.inputs
            if item.shape is None or not all(type(s) is int for s in item.shape)
        }
        shapes = {name: values[name].shape for name in shapes}
        constant_inputs = {name: values[name] for name in spec.sizes}
        while True:
            try:
                graph = OnnxConverter(input_shapes=shapes, values=constant_inputs).convert(
                    spec, blobs
                )
                break
            except DataDependentError as error:
                sources = [
                    name
                    for name in source_inputs(spec.graph, error.tensor)
                    if name not in constant_inputs
                ]
                if not sources:
                    raise
                constant_inputs |= {name: values[name] for name in sources}
        inputs = {name: value for name, value in values.items() if name in graph.inputs}
        outputs = dict(zip(results, expected, strict=True))
        prepared.append(Prepared(case, number, graph, inputs, outputs, tuple(constant_inputs)))
    return prepared


def mismatch(case: Conformance, got: np.ndarray, reference: np.ndarray) -> str | None:
    """The objection of onnx's test runner, if any."""
    if got.shape != reference.shape or got.dtype != reference.dtype:
        return f"is {got.dtype}{list(got.shape)}, expected {reference.dtype}{list(reference.shape)}"
    try:
        np.testing.assert_allclose(got, reference, rtol=case.source.rtol, atol=case.source.atol)
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return None
