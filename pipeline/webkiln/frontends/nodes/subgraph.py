"""The part of a model of nodes between what some of its nodes give first and what others do."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from webkiln.errors import RecipeError, SourceError
from webkiln.frontends.core.arrays import Blobs, Weight
from webkiln.frontends.core.subgraph import Cut, Vertex, check_names, needed_vertices
from webkiln.frontends.nodes.reading import all_graphs, graphs_of, read_by
from webkiln.frontends.nodes.sample_inputs import SampledInputs
from webkiln.frontends.nodes.spec import Declared, GraphSpec, NodeModel, NodeSpec
from webkiln.ir.types import Array
from webkiln.random_inputs import ModelRun, reference_arrays

TypeOf = Callable[[str, str], Declared | None]
"""What a format knows of the dtype and shape of a tensor, whose sizes may be called after a name.
"""


def part_of(
    model: NodeModel,
    blobs: Blobs,
    cut: Cut,
    name: str,
    known: TypeOf,
    called: Mapping[str, str] | None = None,
    also: Mapping[str, str] | None = None,
) -> tuple[NodeModel, Blobs]:
    """What computes the first outputs of the nodes `cut.ends` from those of `cut.starts`, which may
    be
    inputs or outputs of the model, too, with its weights. What is kept from run to run is kept by
    the part that reads it. `called` says which tensors names stand for, where those are not the
    names of nodes, and `also` for which there are other names besides. RecipeError where the cut
    leaves a tensor undefined.
    """
    if not cut:
        return model, blobs
    graph = model.graph
    nodes = [node for node in graph.nodes if node.op != "SET_STATE"]
    named = _named(graph, nodes, called)
    here = {
        *(item.tensor for item in graph.inputs),
        *(tensor for node in nodes for tensor in node.outputs),
    }
    others = {
        item: tensor
        for item, tensor in (also or {}).items()
        if item not in named and tensor in here
    }
    tensors = {**others, **named}
    check_names(name, cut, [*named, *others], lambda item: _where(graph, item))
    labels = {tensor: item for item, tensor in tensors.items()}
    starts = [tensors[item] for item in cut.starts]
    entering = {item: _entering(item, tensors[item], known, name) for item in cut.starts}
    ends = [tensors[item] for item in cut.ends] or [item.tensor for item in graph.outputs]
    vertices = [
        Vertex(node.name, _reads(node), tuple(filter(None, node.outputs))) for node in nodes
    ]
    vertices += [Vertex(item, (), (item,)) for item in graph.tensors]

    def say(tensor: str) -> str:
        return labels.get(tensor, tensor)

    needed, used = needed_vertices(name, vertices, starts, ends, say)
    kept = _states(nodes, needed)
    while more := [
        node
        for node in graph.nodes
        if node.op == "SET_STATE" and node.attrs["state"] in kept and node.inputs[0] not in ends
    ]:
        ends += [node.inputs[0] for node in more]
        needed, used = needed_vertices(name, vertices, starts, ends, say)
        kept = _states(nodes, needed)
    chosen = {node.name for number, node in enumerate(nodes) if number in needed}
    body = tuple(
        node
        for node in graph.nodes
        if (node.attrs["state"] in kept if node.op == "SET_STATE" else node.name in chosen)
    )
    outputs = (
        tuple(_leaving(item, tensors[item], known) for item in cut.ends)
        if cut.ends
        else graph.outputs
    )
    read = read_by(body) | {item.tensor for item in outputs}
    inputs = tuple(item for item in graph.inputs if item.tensor in read)
    if cut.starts:
        inputs = tuple(entering[item] for item in cut.starts if tensors[item] in used)
    part = GraphSpec(
        inputs,
        outputs,
        {item: value for item, value in graph.tensors.items() if item in read},
        body,
    )
    weights = {item.digest for item in _weights(part)}
    return replace(model, graph=part), {
        digest: array for digest, array in blobs.items() if digest in weights
    }


def _named(
    graph: GraphSpec, nodes: Sequence[NodeSpec], called: Mapping[str, str] | None
) -> dict[str, str]:
    """What the names of a cut stand for."""
    made = called or {
        node.name: next(filter(None, node.outputs)) for node in nodes if any(node.outputs)
    }
    inputs, outputs = (
        {item.name: item.tensor for item in items} for items in (graph.inputs, graph.outputs)
    )
    return {**inputs, **outputs, **made, **inputs}


def _where(graph: GraphSpec, name: str) -> str:
    """Of a node inside another, what it is inside of."""
    outer = [
        node.name
        for node in graph.nodes
        for inside in graphs_of(node)
        if any(item.name == name for item in inside.nodes)
    ]
    return f" (it is inside {outer[0]}, which cannot be cut)" if outer else ""


def _reads(node: NodeSpec) -> tuple[str, ...]:
    """The tensors that a node reads, those of the graphs inside it left out."""
    own = {""}
    for graph in graphs_of(node):
        own |= {
            *graph.tensors,
            *(item.tensor for item in graph.inputs),
            *(name for inner in graph.nodes for name in inner.outputs),
        }
    return tuple(sorted(read_by([node]) - own))


def _states(nodes: Sequence[NodeSpec], needed: set[int]) -> set[str]:
    return {
        node.attrs["state"]
        for number, node in enumerate(nodes)
        if number in needed and node.op == "STATE"
    }


def _entering(name: str, tensor: str, known: TypeOf, where: str) -> Declared:
    item = known(name, tensor)
    if item is None:
        raise RecipeError(f"{where}: the dtype of what {name} gives is not known; cut elsewhere")
    return replace(item, name=name, tensor=tensor)


def _leaving(name: str, tensor: str, known: TypeOf) -> Declared:
    item = known(name, tensor)
    return Declared(name, tensor, "" if item is None else item.dtype, None)


def _weights(graph: GraphSpec) -> Iterable[Weight]:
    return (
        item
        for one in all_graphs(graph)
        for item in one.tensors.values()
        if isinstance(item, Weight)
    )


def of_part(part: NodeModel, name: str, run: ModelRun) -> ModelRun:
    """What `run`, the whole model, gives at the outputs of a part; and inside, all that it tells."""

    def computed(values: Mapping[str, Array]) -> tuple[dict[str, Array], dict[str, Array]]:
        outputs, inside = run(values)
        found = {**outputs, **inside, **values}
        return {item.name: _value(item.name, found, name) for item in part.graph.outputs}, found

    return computed


def reference_of(
    part: NodeModel,
    inputs: SampledInputs,
    sets: Mapping[str, Mapping[str, Array]],
    name: str,
    runs: Sequence[ModelRun],
) -> tuple[dict[str, Array], dict[str, Array]]:
    """The arrays of reference.npz and of layers.npz of a model, or of a part of it: what the first
    of
    `runs`, which all compute the whole model, gives there for the `sets` of its inputs.
    """
    run, *others = (of_part(part, name, one) for one in runs)
    reference, every = reference_arrays(sets, run, others)
    given = {
        f"{kind}/in/{item.name}": _value(f"{kind}/{item.name}", every, name)
        for kind in sets
        for item in part.graph.inputs
        if item.name not in inputs.fixed
    }
    inside = {node.name for node in part.graph.nodes}
    layers = {key: value for key, value in every.items() if key.partition("/")[2] in inside}
    return {
        **{key: value for key, value in reference.items() if key.split("/")[1] != "in"},
        **given,
    }, layers


def _value(item: str, found: Mapping[str, Array], name: str) -> Array:
    if item not in found:
        raise SourceError(
            f"{name}: its framework does not tell what {item.rpartition('/')[2]} gives; cut"
            " elsewhere"
        )
    return found[item]
