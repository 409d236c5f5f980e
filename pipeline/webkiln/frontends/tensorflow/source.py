"""The common form of TensorFlow's files: a graph with functions, inputs, outputs and variables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.protobuf.large_arrays import array_bytes
from webkiln.frontends.tensorflow.attributes import store_tensor
from webkiln.ir.types import Array

PARTS = {
    "TopKV2": ("values", "indices"),
    "TopK": ("values", "indices"),
    "FusedBatchNorm": ("y", "batch_mean", "batch_variance"),
    "FusedBatchNormV2": ("y", "batch_mean", "batch_variance"),
    "FusedBatchNormV3": ("y", "batch_mean", "batch_variance"),
    "_FusedBatchNormEx": ("y", "batch_mean", "batch_variance"),
    "Unique": ("y", "idx"),
    "UniqueV2": ("y", "idx"),
    "UniqueWithCounts": ("y", "idx", "count"),
    "Switch": ("output_false", "output_true"),
    "Merge": ("output", "value_index"),
    "NonMaxSuppressionV4": ("selected_indices", "valid_outputs"),
    "NonMaxSuppressionV5": ("selected_indices", "selected_scores", "valid_outputs"),
    "CombinedNonMaxSuppression": (
        "nmsed_boxes",
        "nmsed_scores",
        "nmsed_classes",
        "valid_detections",
    ),
    "Qr": ("q", "r"),
    "Svd": ("s", "u", "v"),
    "SelfAdjointEigV2": ("e", "v"),
    "Lu": ("lu", "p"),
    "MaxPoolWithArgmax": ("output", "argmax"),
    "ListDiff": ("out", "idx"),
    "TensorArrayConcatV3": ("value", "lengths"),
    "TensorListConcat": ("tensor", "lengths"),
    "TensorListConcatV2": ("tensor", "lengths"),
    "TensorListPopBack": ("output_handle", "tensor"),
    "TensorArrayV3": ("handle", "flow"),
    "CudnnRNNV3": ("output", "output_h", "output_c"),
    "Moments": ("mean", "variance"),
    "LinSpace": ("output",),
    "SparseFillEmptyRows": ("output_indices", "output_values"),
    **dict.fromkeys(
        ("BlockLSTM", "BlockLSTMV2", "LSTMBlockCell"), ("i", "cs", "f", "o", "ci", "co", "h")
    ),
    "GRUBlockCell": ("r", "u", "c", "h"),
    **dict.fromkeys(
        ("SoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits"),
        ("loss", "backprop"),
    ),
    "LogMatrixDeterminant": ("sign", "log_abs_determinant"),
}
"""Operators with several named outputs, for files that do not list operator definitions."""


@dataclass(frozen=True)
class Body:
    """The nodes of a graph or a function, by name. A function has `arguments`, and `results`, which
    are references to its nodes' outputs.
    """

    nodes: Mapping[str, Any]
    arguments: Sequence[tuple[str, int]] = ()
    results: Sequence[str] = ()
    is_function: bool = True


@dataclass(frozen=True)
class Interface:
    """A signature's input or output: its name, tensor and type."""

    name: str
    tensor: str
    dtype: str
    shape: tuple[int | str | None, ...] | None


@dataclass(frozen=True)
class OutputDefinition:
    """An output, or a list of outputs, in an operator's definition. `dtype` is a dtype, or the
    attribute that determines it.
    """

    name: str
    is_list: bool
    dtype: str


OperatorDefinitions = Mapping[str, Sequence[OutputDefinition]]
"""Operator -> its outputs."""


@dataclass(frozen=True)
class StoredValues:
    """Values that are stored outside of the graph, and the nodes that load them.

    `read` returns the value of a variable by its checkpoint key, or of an externally stored
    constant by its node's name. `keys` has the checkpoint keys of variables that the node
    `restoring` does not restore.
    """

    read: Callable[[str], Array] | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    restoring: str = ""
    initialising: Sequence[str] = ()


@dataclass(frozen=True)
class GraphSource:
    """A model."""

    name: str
    main: Body
    functions: Mapping[str, Body]
    inputs: Sequence[Interface]
    outputs: Sequence[Interface]
    operators: OperatorDefinitions = field(default_factory=dict)
    """The operator definitions in the file."""
    stored: StoredValues = field(default_factory=StoredValues)
    source: Any = None
    """The GraphDef of a frozen graph."""
    is_signature: bool = True
    """Whether a signature declares the inputs. If so, unused inputs are kept."""

    @property
    def node_count(self) -> int:
        """The nodes of the file before functions are inlined."""
        return len(self.main.nodes) + sum(len(body.nodes) for body in self.functions.values())

    def frozen(self) -> Any:
        """The GraphDef of a frozen graph, including externally stored values."""
        for node in nodes_of(self.source):
            if node.op != "Const":
                continue
            value = node.attr["value"]
            if value.HasField("tensor"):
                if value.tensor.tensor_content:
                    value.tensor.tensor_content = array_bytes(value.tensor.tensor_content)
            elif self.stored.read is not None:
                store_tensor(value.tensor, self.stored.read(node.name))
        return self.source


def nodes_of(graph: Any) -> Iterator[Any]:
    """The nodes of a GraphDef and of its functions."""
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def bodies(graph: Any, name: str) -> tuple[Body, dict[str, Body]]:
    """The nodes and functions of a GraphDef."""
    functions = {}
    for function in graph.library.function:
        texts = [
            function.signature.name,
            *(
                item.name
                for item in (*function.signature.input_arg, *function.signature.output_arg)
            ),
            *function.ret.values(),
        ]
        if not all(isinstance(text, str) for text in texts):
            raise SourceError(
                f"{name}: the names in the function {function.signature.name!r}"
                " are not valid text; the file is damaged"
            )
        arguments = [(item.name, item.type) for item in function.signature.input_arg]
        results = [
            function.ret[item.name]
            for item in function.signature.output_arg
            if item.name in function.ret
        ]
        if len(results) != len(function.signature.output_arg):
            raise SourceError(
                f"{name}: the function {function.signature.name}"
                " does not return its declared results"
            )
        functions[function.signature.name] = Body(
            _by_name(function.node_def, f"{name}: function {function.signature.name}"),
            arguments,
            results,
        )
    return Body(_by_name(graph.node, name), is_function=False), functions


def _by_name(nodes: Sequence[Any], where: str) -> dict[str, Any]:
    by_name: dict[str, Any] = {}
    for node in nodes:
        if not all(isinstance(text, str) for text in (node.name, node.op, *node.input, *node.attr)):
            raise SourceError(
                f"{where}: the names of node {len(by_name)} are not valid text; the file is damaged"
            )
        if not node.name or node.name in by_name:
            raise SourceError(f"{where}: there are two nodes called {node.name!r}")
        by_name[node.name] = node
    return by_name


def split_reference(text: str) -> tuple[str, str, int]:
    """`node`, `node:1`, or in functions `node:part:1` -> the node, the part, the number in the
    part.
    """
    node, _, rest = text.partition(":")
    part, _, number = rest.rpartition(":")
    return node, part, int(number) if number.isdecimal() else 0


def data_inputs(node: Any) -> Iterator[str]:
    return (item for item in node.input if not item.startswith("^"))


def data_input(node: Any, number: int = 0) -> str:
    inputs = [*data_inputs(node)]
    if number >= len(inputs):
        raise SourceError(
            f"{node.name} ({node.op}): has {len(inputs)} inputs, but"
            f" its input {number} is read; the graph is damaged"
        )
    return inputs[number]


def control_inputs(node: Any) -> Iterator[str]:
    return (item[1:] for item in node.input if item.startswith("^"))
