"""Extraction of a subgraph from a model of nodes, and its reference."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from webkiln.errors import RecipeError, SourceError
from webkiln.frontends.core.arrays import Blobs, Weight
from webkiln.frontends.core.subgraph import Subgraph, Vertex, check_names, needed_vertices
from webkiln.frontends.nodes.noise import noise_name
from webkiln.frontends.nodes.reading import all_graphs, nested_graphs, tensors_read
from webkiln.frontends.nodes.sample_inputs import SampledInputs
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.ir.types import Array
from webkiln.random_inputs import ModelRun, reference_arrays

TypeOf = Callable[[str, str], Declared | None]
"""(name, tensor) -> the dtype and shape of a tensor, if the format knows them. Open sizes may be
called after the name.
"""


def extract_subgraph(
    model: NodeModel,
    blobs: Blobs,
    bounds: Subgraph,
    name: str,
    type_of: TypeOf,
    tensor_names: Mapping[str, str] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> tuple[NodeModel, Blobs]:
    """The subgraph that computes the first outputs of the nodes `bounds.ends` from those of
    `bounds.starts`, with its weights. Bounds may also be inputs or outputs of the model. A state is
    updated by the subgraph that reads it.

    `tensor_names` maps names to tensors if the names are not those of nodes; `aliases` has
    additional names. Raise RecipeError if the subgraph leaves a tensor undefined.
    """
    if not bounds:
        return model, blobs
    graph = model.graph
    nodes = [node for node in graph.nodes if node.op != "SET_STATE"]
    primary = _names(graph, nodes, tensor_names)
    secondary = _secondary_names(graph, nodes, primary, aliases or {})
    tensors = {**secondary, **primary}
    check_names(name, bounds, [*primary, *secondary], lambda item: _enclosing_node(graph, item))
    labels = {tensor: item for item, tensor in tensors.items()}
    starts = [tensors[item] for item in bounds.starts]
    start_types = {item: _input_at(item, tensors[item], type_of, name) for item in bounds.starts}
    ends = [tensors[item] for item in bounds.ends] or [item.tensor for item in graph.outputs]
    vertices = _vertices(graph, nodes)

    def label(tensor: str) -> str:
        return labels.get(tensor, tensor)

    needed, used = needed_vertices(name, vertices, starts, ends, label)
    states = _states(nodes, needed)
    while new_values := [item for item in _new_values(graph, states) if item not in ends]:
        ends += new_values
        needed, used = needed_vertices(name, vertices, starts, ends, label)
        states = _states(nodes, needed)
    node_names = {node.name for number, node in enumerate(nodes) if number in needed}
    body = tuple(
        node
        for node in graph.nodes
        if (node.attrs["state"] in states if node.op == "SET_STATE" else node.name in node_names)
    )
    outputs = (
        tuple(_output_at(item, tensors[item], type_of) for item in bounds.ends)
        if bounds.ends
        else graph.outputs
    )
    inputs = (
        tuple(start_types[item] for item in bounds.starts if tensors[item] in used)
        if bounds.starts
        else None
    )
    return _model_of(model, blobs, body, inputs, outputs)


def _model_of(
    model: NodeModel,
    blobs: Blobs,
    body: tuple[NodeSpec, ...],
    inputs: tuple[Declared, ...] | None,
    outputs: tuple[Declared, ...],
) -> tuple[NodeModel, Blobs]:
    """The model of some nodes, with the constants and weights that they read. Without `inputs`, the
    inputs of the entire model that they read.
    """
    graph = model.graph
    read = tensors_read(body) | {item.tensor for item in outputs}
    if inputs is None:
        inputs = tuple(item for item in graph.inputs if item.tensor in read)
    constants = {item: value for item, value in graph.tensors.items() if item in read}
    subgraph = GraphSpec(inputs, outputs, constants, body)
    weights = {item.digest for item in _weights(subgraph)}
    return replace(model, graph=subgraph), {
        digest: array for digest, array in blobs.items() if digest in weights
    }


def _secondary_names(
    graph: GraphSpec,
    nodes: Sequence[NodeSpec],
    primary: Collection[str],
    aliases: Mapping[str, str],
) -> dict[str, str]:
    """The aliases of tensors of the graph that are not `primary` names."""
    defined = {
        *(item.tensor for item in graph.inputs),
        *(tensor for node in nodes for tensor in node.outputs),
    }
    return {
        item: tensor
        for item, tensor in aliases.items()
        if item not in primary and tensor in defined
    }


def _names(
    graph: GraphSpec, nodes: Sequence[NodeSpec], tensor_names: Mapping[str, str] | None
) -> dict[str, str]:
    """Name -> tensor: inputs, outputs, and nodes, which stand for their first output."""
    of_nodes = tensor_names or {
        node.name: next(filter(None, node.outputs)) for node in nodes if any(node.outputs)
    }
    inputs, outputs = (
        {item.name: item.tensor for item in items} for items in (graph.inputs, graph.outputs)
    )
    return {**inputs, **outputs, **of_nodes, **inputs}


def _enclosing_node(graph: GraphSpec, name: str) -> str:
    """A remark about a node inside another one, which cannot be a bound."""
    outer = [
        node.name
        for node in graph.nodes
        for inside in nested_graphs(node)
        if any(item.name == name for item in inside.nodes)
    ]
    return f" (it is inside {outer[0]}; a subgraph cannot start or end there)" if outer else ""


def _reads(node: NodeSpec) -> tuple[str, ...]:
    """The tensors that a node reads, without those defined in its nested graphs."""
    own = {""}
    for graph in nested_graphs(node):
        own |= {
            *graph.tensors,
            *(item.tensor for item in graph.inputs),
            *(name for inner in graph.nodes for name in inner.outputs),
        }
    return tuple(sorted(tensors_read([node]) - own))


def _vertices(graph: GraphSpec, nodes: Sequence[NodeSpec]) -> list[Vertex[str]]:
    """The nodes, and the constants and weights of the graph."""
    return [
        *(Vertex(node.name, _reads(node), tuple(filter(None, node.outputs))) for node in nodes),
        *(Vertex(item, (), (item,)) for item in graph.tensors),
    ]


def _new_values(graph: GraphSpec, states: set[str]) -> list[str]:
    """The tensors that become the values of these states."""
    return [
        node.inputs[0]
        for node in graph.nodes
        if node.op == "SET_STATE" and node.attrs["state"] in states
    ]


def _states(nodes: Sequence[NodeSpec], needed: set[int]) -> set[str]:
    return {
        node.attrs["state"]
        for number, node in enumerate(nodes)
        if number in needed and node.op == "STATE"
    }


def _input_at(name: str, tensor: str, type_of: TypeOf, where: str) -> Declared:
    item = type_of(name, tensor)
    if item is None:
        raise RecipeError(
            f"{where}: the dtype of the output of {name} is unknown; choose other bounds for"
            " the subgraph"
        )
    return replace(item, name=name, tensor=tensor)


def _output_at(name: str, tensor: str, type_of: TypeOf) -> Declared:
    item = type_of(name, tensor)
    return Declared(name, tensor, "" if item is None else item.dtype, None)


def _weights(graph: GraphSpec) -> Iterable[Weight]:
    return (
        item
        for one in all_graphs(graph)
        for item in one.tensors.values()
        if isinstance(item, Weight)
    )


def subgraph_run(subgraph: NodeModel, name: str, run: ModelRun) -> ModelRun:
    """A run of a subgraph that uses `run` of the entire model: it returns the values at the
    subgraph's outputs, and all values that the framework reports.
    """

    def run_part(values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        outputs, inner = run(values)
        values_by_name = {**outputs, **inner, **values}
        return {
            item.name: _value(item.name, values_by_name, name) for item in subgraph.graph.outputs
        }, values_by_name

    return run_part


def subgraph_reference(
    subgraph: NodeModel,
    inputs: SampledInputs,
    sets: Mapping[str, Mapping[str, Array]],
    name: str,
    runs: Sequence[ModelRun],
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The arrays of reference.npz and of layers.npz of a model or subgraph, for the input sets
    `sets`. The first of `runs` computes the reference, the others measure its noise; all run the
    entire model.
    """
    run, *others = (subgraph_run(subgraph, name, other) for other in runs)
    reference, all_values = reference_arrays(sets, run, others)
    node_names = {node.name for node in subgraph.graph.nodes}
    names = [item.name for item in subgraph.graph.inputs if item.name not in inputs.fixed]
    noises = sorted(inputs.noises.keys() & set(map(noise_name, node_names)))
    input_arrays = {
        f"{kind}/in/{item}": _value(f"{kind}/{item}", all_values, name)
        for kind in sets
        for item in (*names, *noises)
    }
    layers = {
        key: value for key, value in all_values.items() if key.partition("/")[2] in node_names
    }
    return {
        **{key: value for key, value in reference.items() if key.split("/")[1] != "in"},
        **input_arrays,
    }, layers


def _value(item: str, values: Mapping[str, Array], name: str) -> Array:
    if item not in values:
        raise SourceError(
            f"{name}: its framework does not report the output of"
            f" {item.rpartition('/')[2]}; choose other bounds for the subgraph"
        )
    return values[item]
