"""Extraction of a subgraph from an ONNX model, as a model."""

from collections import Counter
from copy import deepcopy

import onnx
import onnx.shape_inference

from webkiln.errors import RecipeError
from webkiln.frontends.core.subgraph import Subgraph, Vertex, check_names, needed_vertices
from webkiln.frontends.onnx.functions import inline_functions
from webkiln.frontends.onnx.graphs import graphs_of
from webkiln.frontends.onnx.sort import reads, sorted_nodes

INFERRED = "unk__"
"""Prefix of the names that shape inference invents for unknown sizes."""


def extract_subgraph(
    model: onnx.ModelProto, bounds: Subgraph, name: str, *, labels: dict[str, str]
) -> onnx.ModelProto:
    """The subgraph that computes the tensors, or node outputs, `bounds.ends` from those of
    `bounds.starts`. Tensors keep their names. `labels` maps node names of messages to first
    outputs.

    Raise RecipeError if the subgraph leaves a tensor undefined.
    """
    model = inline_functions(model, name)
    graph, outputs = model.graph, [item.name for item in model.graph.output]
    nodes = sorted_nodes(graph, set(), name)
    weights = {item.name for item in graph.initializer}
    inputs = [item.name for item in graph.input if item.name not in weights]
    vertices = [
        Vertex(
            node.name or node.op_type.lower(),
            tuple(filter(None, reads(node))),
            tuple(filter(None, node.output)),
        )
        for node in nodes
    ]
    vertices += [Vertex(item, (), (item,)) for item in sorted(weights)]
    read = {tensor for vertex in vertices for tensor in vertex.reads} | set(outputs)
    tensors_of = _tensors(nodes, inputs, labels)
    check_names(name, bounds, list(tensors_of))
    starts = [tensor for item in bounds.starts for tensor in tensors_of[item] if tensor in read]
    ends = [
        tensor
        for item in bounds.ends
        for tensor in tensors_of[item]
        if tensor in read or tensor == tensors_of[item][0]
    ] or outputs
    if unread := [item for item in bounds.starts if not set(tensors_of[item]) & set(starts)]:
        raise RecipeError(
            f"{name}: no node reads the output of {', '.join(unread)}; remove it from --from-layer"
        )
    needed, used = needed_vertices(name, vertices, starts, ends, str)
    kept_nodes = [node for number, node in enumerate(nodes) if number in needed]
    used_tensors = {tensor for node in kept_nodes for tensor in reads(node)} | set(ends)
    types = _types(model)
    if untyped := [tensor for tensor in (*used, *ends) if tensor not in types]:
        raise RecipeError(
            f"{name}: the dtype of {untyped[0]} is unknown, since an operator of another domain"
            " computes it; choose other bounds for the subgraph"
        )
    input_tensors = (
        [tensor for tensor in starts if tensor in used]
        if bounds.starts
        else [tensor for tensor in inputs if tensor in used_tensors]
    )
    initializers = [item for item in graph.initializer if item.name in used_tensors]
    declared = [item for item in graph.input if item.name in weights & used_tensors]
    return _with_graph(
        model,
        kept_nodes,
        [*(types[tensor] for tensor in input_tensors), *declared],
        [types[tensor] for tensor in dict.fromkeys(ends)],
        initializers,
    )


def _with_graph(
    model: onnx.ModelProto,
    nodes: list[onnx.NodeProto],
    inputs: list[onnx.ValueInfoProto],
    outputs: list[onnx.ValueInfoProto],
    initializers: list[onnx.TensorProto],
) -> onnx.ModelProto:
    """A copy of the model with another graph."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    for items in (graph.node, graph.input, graph.output, graph.initializer):
        del items[:]
    graph.node.extend(nodes)
    graph.input.extend(inputs)
    graph.initializer.extend(initializers)
    graph.output.extend(outputs)
    return result


def _tensors(
    nodes: list[onnx.NodeProto], inputs: list[str], labels: dict[str, str]
) -> dict[str, list[str]]:
    """Name -> tensors: the outputs of a node, by its name in the file or in messages, or the tensor
    of that name.
    """
    by_tensor = {output: [output] for node in nodes for output in node.output if output}
    outputs = {node.output[0]: [*filter(None, node.output)] for node in nodes if node.output}
    by_label = {label: outputs[output] for label, output in labels.items() if output in outputs}
    name_counts = Counter(node.name for node in nodes)
    by_name = {
        node.name: outputs[node.output[0]]
        for node in nodes
        if node.name and node.output and name_counts[node.name] == 1
    }
    return {**{item: [item] for item in inputs}, **by_label, **by_tensor, **by_name}


def _types(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """Tensor types: inferred from the inputs, else those declared in the file."""
    clean = onnx.ModelProto()
    clean.CopyFrom(model)
    for graph in graphs_of(clean.graph):
        del graph.value_info[:]
    for item in clean.graph.output:
        if not item.type.HasField("tensor_type"):
            continue
        item.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(clean, data_prop=True).graph
    declared = {item.name: item for item in (*model.graph.value_info, *model.graph.output)}
    inferred_types = {
        item.name: item
        for item in (*inferred.value_info, *inferred.output, *model.graph.input)
        if item.type.tensor_type.elem_type
    }
    return {
        name: _without_inferred_names(item)
        for name, item in {**declared, **inferred_types}.items()
        if item.type.tensor_type.elem_type
    }


def _without_inferred_names(item: onnx.ValueInfoProto) -> onnx.ValueInfoProto:
    """The item without size names invented by the inference."""
    result = deepcopy(item)
    for size in result.type.tensor_type.shape.dim:
        if size.dim_param.startswith(INFERRED):
            size.ClearField("dim_param")
    return result
