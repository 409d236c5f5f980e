"""The part of an ONNX model between some of its tensors and others, as a model of its own."""

from collections import Counter
from copy import deepcopy

import onnx
import onnx.shape_inference

from webkiln.errors import RecipeError
from webkiln.frontends.core.subgraph import Subgraph, Vertex, check_names, needed_vertices
from webkiln.frontends.onnx.check import graphs_of, inlined
from webkiln.frontends.onnx.sort import reads, sorted_nodes

INFERRED = "unk__"
"""How the inference begins its names for sizes that it does not know."""


def cut_model(
    model: onnx.ModelProto, cut: Subgraph, name: str, *, labels: dict[str, str]
) -> onnx.ModelProto:
    """What computes the tensors, or the outputs of the nodes, `cut.ends` from those of
    `cut.starts`.
    Tensors keep their names. `labels` has the first output of every node by what messages call the
    node.

    RecipeError where the cut leaves a tensor undefined.
    """
    model = inlined(model, name)
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
    known = _tensors(nodes, inputs, labels)
    check_names(name, cut, list(known))
    starts = [tensor for item in cut.starts for tensor in known[item] if tensor in read]
    ends = [
        tensor
        for item in cut.ends
        for tensor in known[item]
        if tensor in read or tensor == known[item][0]
    ] or outputs
    if unread := [item for item in cut.starts if not set(known[item]) & set(starts)]:
        raise RecipeError(
            f"{name}: nothing reads what {', '.join(unread)} gives; leave it out of --from-layer"
        )
    needed, used = needed_vertices(name, vertices, starts, ends, str)
    kept = [node for number, node in enumerate(nodes) if number in needed]
    taken = {tensor for node in kept for tensor in reads(node)} | set(ends)
    types = _types(model)
    if untyped := [tensor for tensor in (*used, *ends) if tensor not in types]:
        raise RecipeError(
            f"{name}: the dtype of {untyped[0]} is not known, which an operator of another domain"
            " makes; cut elsewhere"
        )
    entering = (
        [tensor for tensor in starts if tensor in used]
        if cut.starts
        else [tensor for tensor in inputs if tensor in taken]
    )
    result = onnx.ModelProto()
    result.CopyFrom(model)
    for items in (
        result.graph.node,
        result.graph.input,
        result.graph.output,
        result.graph.initializer,
    ):
        del items[:]
    result.graph.node.extend(kept)
    result.graph.input.extend(types[tensor] for tensor in entering)
    result.graph.input.extend(item for item in graph.input if item.name in weights & taken)
    result.graph.initializer.extend(item for item in graph.initializer if item.name in taken)
    result.graph.output.extend(types[tensor] for tensor in dict.fromkeys(ends))
    return result


def _tensors(
    nodes: list[onnx.NodeProto], inputs: list[str], labels: dict[str, str]
) -> dict[str, list[str]]:
    """The tensors that a name stands for: the outputs of a node by its name in the file, or in
    messages; else the one that is called so.
    """
    made = {output: [output] for node in nodes for output in node.output if output}
    outputs = {node.output[0]: [*filter(None, node.output)] for node in nodes if node.output}
    by_label = {label: outputs[output] for label, output in labels.items() if output in outputs}
    once = Counter(node.name for node in nodes)
    by_name = {
        node.name: outputs[node.output[0]]
        for node in nodes
        if node.name and node.output and once[node.name] == 1
    }
    return {**{item: [item] for item in inputs}, **by_label, **made, **by_name}


def _types(model: onnx.ModelProto) -> dict[str, onnx.ValueInfoProto]:
    """The types of tensors: what follows from the inputs; where nothing does, what the file says."""
    clean = onnx.ModelProto()
    clean.CopyFrom(model)
    for graph in graphs_of(clean.graph):
        del graph.value_info[:]
    for item in clean.graph.output:
        item.type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(clean, data_prop=True).graph
    stated = {item.name: item for item in (*model.graph.value_info, *model.graph.output)}
    found = {
        item.name: item
        for item in (*inferred.value_info, *inferred.output, *model.graph.input)
        if item.type.tensor_type.elem_type
    }
    return {
        name: _plain(item)
        for name, item in {**stated, **found}.items()
        if item.type.tensor_type.elem_type
    }


def _plain(item: onnx.ValueInfoProto) -> onnx.ValueInfoProto:
    """The item without the names that the inference makes up."""
    made = deepcopy(item)
    for size in made.type.tensor_type.shape.dim:
        if size.dim_param.startswith(INFERRED):
            size.ClearField("dim_param")
    return made
