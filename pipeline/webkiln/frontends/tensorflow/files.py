"""Read the program of a SavedModel, a frozen graph or a TensorFlow.js graph model."""

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import DecodeError

from webkiln.errors import RecipeError, SourceError, UndecidedError, did_you_mean
from webkiln.frontends.core.tfjs_weights import manifest_weights
from webkiln.frontends.protobuf.large_arrays import strip_arrays
from webkiln.frontends.tensorflow.attributes import has_values, open_shape
from webkiln.frontends.tensorflow.checkpoint import Checkpoint
from webkiln.frontends.tensorflow.legacy import EXITS, ControlFlow
from webkiln.frontends.tensorflow.messages import (
    COMPLEX,
    DTYPES,
    GRAPH_LAYOUT,
    SAVED_LAYOUT,
    GraphDef,
    SavedModelDef,
    SignatureDef,
    dtype_name,
)
from webkiln.frontends.tensorflow.objects import captured_keys
from webkiln.frontends.tensorflow.source import (
    Body,
    GraphSource,
    Interface,
    OperatorDefinitions,
    OutputDefinition,
    StoredValues,
    bodies,
    control_inputs,
    data_inputs,
    nodes_of,
    split_reference,
)
from webkiln.ir.types import Array

SAVED = b"\x08\x01\x12"
"""The first bytes of a SavedModel: the schema version, and its graphs."""
MAX_JSON_BYTES = 256 << 20
NUMBERS = frozenset({*DTYPES.values(), *COMPLEX.values()})
SERVED = "serve"
USUAL = ("serving_default", "serve", "predict", "default")
HIDDEN = "__saved_model_"
ASSERTION = "/AssertGuard/"
"""A part of the names of nodes that remain from TensorFlow 1's assertions."""
INIT = "__saved_model_init_op"


def read_program(path: Path, folder: Path | None, signature: str = "") -> GraphSource:
    """The program of a file. `folder` has further files, such as `variables/variables.index`."""
    start = first_bytes(path)
    if start.startswith(SAVED):
        return _saved_model(path, folder or path.parent, signature)
    if signature:
        raise RecipeError(
            f"{path.name}: has no signature {signature!r};"
            " only SavedModels have signatures, omit it"
        )
    if start.lstrip()[:1] == b"{":
        return _graph_model(path, folder or path.parent)
    return _frozen(path)


def first_bytes(path: Path) -> bytes:
    """Enough of a file to recognise its format."""
    with path.open("rb") as file:
        return file.read(64)


def _parsed(kind: Any, layout: Mapping[int, Any], path: Path) -> Any:
    """A message whose large arrays remain in the file; `read_tensor` reads them."""
    try:
        return kind.FromString(strip_arrays(path, layout))
    except DecodeError as error:
        raise SourceError(
            f"{path.name}: cannot be parsed as a TensorFlow graph: {error}; the file is damaged"
        ) from None


def is_saved_model(path: Path) -> bool:
    return first_bytes(path).startswith(SAVED)


def served_graph(path: Path) -> Any:
    """The serving graph of a SavedModel."""
    saved = _parsed(SavedModelDef, SAVED_LAYOUT, path)
    if not saved.meta_graphs:
        raise SourceError(f"{path.name}: is a SavedModel without a graph")
    return served(saved.meta_graphs)


def served(graphs: Sequence[Any]) -> Any:
    """Of several graphs, the one tagged for serving, or the first."""
    return next((item for item in graphs if SERVED in item.meta_info_def.tags), graphs[0])


def signatures_of(graph: Any) -> dict[str, Any]:
    return {
        name: item
        for name, item in graph.signature_def.items()
        if not name.startswith(HIDDEN) and item.outputs
    }


def _saved_model(path: Path, folder: Path, signature: str) -> GraphSource:
    graph = served_graph(path)
    signatures = signatures_of(graph)
    chosen = signatures[_select_signature(path.name, signatures, signature)]
    main, functions = bodies(graph.graph_def, path.name)
    inputs, outputs = (_interfaces(path.name, items) for items in (chosen.inputs, chosen.outputs))
    variables = folder / "variables" / "variables"
    has_variables = any(
        node.op in ("VarHandleOp", "VariableV2", "Variable") for node in main.nodes.values()
    )
    checkpoint = Checkpoint(variables) if has_variables else None
    initialising = (
        [graph.signature_def[INIT].outputs[INIT].name] if INIT in graph.signature_def else []
    )
    stored = StoredValues(
        checkpoint.read if checkpoint is not None else None,
        captured_keys(graph, main, checkpoint) if checkpoint is not None else {},
        split_reference(graph.saver_def.restore_op_name)[0],
        [split_reference(name)[0] for name in initialising],
    )
    definitions = _operator_definitions(graph.meta_info_def.stripped_op_list)
    return GraphSource(path.name, main, functions, inputs, outputs, definitions, stored)


def _operator_definitions(operators: Any) -> OperatorDefinitions:
    return {
        op.name: [
            OutputDefinition(
                item.name,
                bool(item.number_attr or item.type_list_attr),
                item.type_attr or item.type_list_attr or dtype_name(item.type),
            )
            for item in op.output_arg
        ]
        for op in operators.op
    }


def _select_signature(name: str, signatures: Mapping[str, Any], signature: str) -> str:
    if signature and signature not in signatures:
        raise RecipeError(
            f"{name}: there is no signature {signature!r}{did_you_mean(signature, signatures)};"
            f" there are {', '.join(sorted(signatures)) or 'none'}"
        )
    selected = next((item for item in (signature, *USUAL) if item in signatures), "")
    if not selected and len(signatures) != 1:
        listed = ", ".join(sorted(signatures))
        raise UndecidedError(
            f"{name}: has the signatures {listed}; choose one with --signature"
            if listed
            else f"{name}: has no signature; save it with one:"
            " tf.saved_model.save(model, folder, signatures=...)"
        )
    return selected or next(iter(signatures))


def _interfaces(name: str, items: Mapping[str, Any]) -> list[Interface]:
    interfaces = []
    for key in sorted(items):
        info = items[key]
        if not isinstance(key, str) or not isinstance(info.name, str):
            raise SourceError(f"{name}: the name of {key!r} is not valid text; the file is damaged")
        if not info.name:
            raise SourceError(
                f"{name}: {key} is a sparse or composite tensor;"
                " only dense tensors can be inputs and outputs"
            )
        interfaces.append(
            Interface(key, info.name, dtype_name(info.dtype), open_shape(info.tensor_shape))
        )
    return interfaces


def frozen_version(path: Path) -> int:
    """The GraphDef version of a frozen graph."""
    return int(_parsed(GraphDef, GRAPH_LAYOUT, path).versions.producer)


def _frozen(path: Path) -> GraphSource:
    graph = _parsed(GraphDef, GRAPH_LAYOUT, path)
    if not graph.node:
        raise SourceError(f"{path.name}: is a graph without nodes")
    main, functions = bodies(graph, path.name)
    return GraphSource(
        path.name,
        main,
        functions,
        _placeholders(main),
        _ends(main),
        is_signature=False,
        source=graph,
    )


def _graph_model(path: Path, folder: Path) -> GraphSource:
    """A TensorFlow.js graph model: a GraphDef as JSON, with constants in shards."""
    if (size := path.stat().st_size) > MAX_JSON_BYTES:
        raise SourceError(f"{path.name}: {size} bytes of JSON (at most {MAX_JSON_BYTES}); refused")
    try:
        table = json.loads(path.read_bytes())
        graph = ParseDict(table["modelTopology"], GraphDef(), ignore_unknown_fields=True)
        signature = ParseDict(
            table.get("signature")
            or (table.get("userDefinedMetadata") or {}).get("signature")
            or {},
            SignatureDef(),
            ignore_unknown_fields=True,
        )
        weights = {
            item.name: item for item in manifest_weights(path.name, table, folder, graph=True)
        }
    except (ValueError, TypeError, KeyError, RecursionError, ParseError) as error:
        raise SourceError(
            f"{path.name}: is not a graph model of TensorFlow.js: {type(error).__name__}: {error}"
        ) from None
    if not graph.node:
        raise SourceError(f"{path.name}: is a graph without nodes")
    dtypes = _detach_constants(graph, weights)
    main, functions = bodies(graph, path.name)

    def read(name: str) -> Array:
        if name not in weights:
            raise SourceError(
                f"{path.name}: the constant {name} is not in the manifest; copy all files of the"
                " model"
            )
        array = weights[name].read()
        return array if dtypes[name] not in NUMBERS else array.astype(dtypes[name])

    inputs = _interfaces(path.name, signature.inputs) or _placeholders(main)
    outputs = _interfaces(path.name, signature.outputs) or _ends(main)
    return GraphSource(
        path.name,
        main,
        functions,
        inputs,
        outputs,
        stored=StoredValues(read),
        is_signature=bool(signature.inputs),
        source=graph,
    )


def _detach_constants(graph: Any, stored: Collection[str]) -> dict[str, str]:
    """Remove the tensors of constants that are `stored` in shards, or have no values: the
    converter keeps their dtypes and shapes. Returns the dtype of each constant, which the shards do
    not have: 64-bit numbers are stored in 32 bits.
    """
    dtypes = {}
    for node in nodes_of(graph):
        if node.op != "Const":
            continue
        value = node.attr["value"]
        dtypes[node.name] = dtype_name(node.attr["dtype"].type or value.tensor.dtype)
        if node.name in stored or not has_values(value.tensor):
            value.ClearField("tensor")
    return dtypes


def _placeholders(main: Body) -> list[Interface]:
    interfaces = []
    for node in main.nodes.values():
        if node.op == "Placeholder":
            shape = (
                open_shape(node.attr["shape"].shape)
                if node.attr["shape"].HasField("shape")
                else None
            )
            interfaces.append(
                Interface(
                    _identifier(node.name), node.name, dtype_name(node.attr["dtype"].type), shape
                )
            )
    return interfaces


PIPELINE = frozenset(
    {
        *("IteratorToStringHandle", "MakeIterator", "QueueCloseV2", "QueueEnqueueManyV2"),
        *("QueueEnqueueV2", "QueueSizeV2"),
    }
)
"""Operators that control an input pipeline. A graph does not compute them."""


DATASET = re.compile(r"Dataset(V\d)?$")


def _ends(main: Body) -> list[Interface]:
    """The nodes that no other node reads: the outputs of a graph without a signature. Those that
    loops leave over are excluded if there are others.
    """
    read = Counter(
        split_reference(item)[0]
        for node in main.nodes.values()
        for item in (*data_inputs(node), *control_inputs(node))
    )
    flow = ControlFlow(main, "")
    ends = [
        node
        for node in main.nodes.values()
        if not read[node.name]
        and node.op not in ("NoOp", "Placeholder", "Const", "Assert")
        and node.op not in PIPELINE
        and DATASET.search(node.op) is None
        and ASSERTION not in node.name
        and node.name not in flow.partial
    ]
    others = [node for node in ends if node.op not in EXITS]
    return [Interface(_identifier(node.name), node.name, "", None) for node in others or ends]


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name, flags=re.ASCII)
