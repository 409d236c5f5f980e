"""Planned program -> program.json: the kernels, launches and memory map of one backend."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from webkiln.ir import dim, symbols
from webkiln.ir.constraints import Need, needs
from webkiln.ir.dim import Size
from webkiln.ir.graph import Divisibility, Graph, State
from webkiln.ir.guards import expand_quotients
from webkiln.ir.notation import size_to_json
from webkiln.ir.serial import distribution_json
from webkiln.lower.narrow_caches import SCALES
from webkiln.nest import custom_kernel as custom_kernels
from webkiln.nest import procedure as procedures
from webkiln.nest.program import Program
from webkiln.nest.target import ARITHMETIC, Target
from webkiln.ops.table import infer
from webkiln.plan import group_kernel as group_kernels
from webkiln.plan import kernel as kernels
from webkiln.plan import parallel_kernel as parallel_kernels
from webkiln.plan.plan_memory import extent_of
from webkiln.program_builder.entries import Entries
from webkiln.weights.shards import Piece

SCHEMA = "webkiln.program/6"


def document(
    graph: Graph,
    planned: Program,
    target: Target,
    layout: Sequence[Piece],
    layers: Mapping[str, str],
) -> dict[str, Any]:
    """The document from which the code of one backend is generated (docs/formats.md). `planned`:
    the program of `graph`. `layout`: the pieces in which weights arrive. `layers`: the Variable
    with the output of each layer that stays readable.
    """
    entries = Entries(planned, target, layout)
    bounds = entries.bounds

    def address(name: str) -> Size:
        return entries.address(planned.root(name))

    init, main = entries.init(), entries.main()
    multiplies_float16 = any(kernel.multiplies_float16 for kernel in entries.all_kernels)
    precision = ARITHMETIC if multiplies_float16 else "float16" if target.stores_float16 else None
    placeholders = _placeholders(graph)
    zeros = [name for name in placeholders if symbols.lowest(name) == 0]
    return {
        "schema": SCHEMA,
        "backend": target.backend,
        **({"precision": precision} if precision else {}),
        "name": graph.name,
        "placeholders": placeholders,
        **({"zeros": zeros} if zeros else {}),
        "data_dependent": list(bounds),
        "divisibility": list(map(_divisibility_json, graph.constraints.divisibility)),
        "guards": [
            _guard_json(need, graph)
            for need in needs(graph, infer)
            if not need.names & bounds.keys()
        ],
        **(planned.memory or {}),
        "inputs": [_tensor_json(name, name, graph, target, address) for name in graph.inputs],
        "outputs": [
            _tensor_json(output, name, graph, target, address)
            for output, name in graph.outputs.items()
        ],
        "states": [_state_json(state, graph, entries, address) for state in graph.states],
        "layers": [
            _layer_json(layer, name, graph, target, address) for layer, name in layers.items()
        ],
        "init": init,
        "main": main,
        "kernels": {name: kernels.to_json(kernel) for name, kernel in entries.kernels.items()},
        "procedures": {
            name: procedures.to_json(procedure) for name, procedure in entries.procedures.items()
        },
        "custom_kernels": {
            name: custom_kernels.to_json(kernel) for name, kernel in entries.custom_kernels.items()
        },
        **_kernels_of_several_calls(entries),
    }


def _kernels_of_several_calls(entries: Entries) -> dict[str, Any]:
    groups = {name: group_kernels.to_json(item) for name, item in entries.group_kernels.items()}
    parallel = {
        name: parallel_kernels.to_json(item) for name, item in entries.parallel_kernels.items()
    }
    tables = {"group_kernels": groups, "parallel_kernels": parallel}
    return {name: table for name, table in tables.items() if table}


def _state_json(
    state: State, graph: Graph, entries: Entries, address: Callable[[str], Size]
) -> dict[str, Any]:
    """`dtype` and `scales_of` describe caches that are rounded."""
    buffer = entries.program.buffers[state.input]
    others = {other.name for other in graph.states} - {state.name}
    scaled = state.name.removesuffix(SCALES)
    return {
        "name": state.name,
        "offset": address(state.input),
        "initial": address(state.initial),
        "next": address(state.output),
        "bytes": extent_of(buffer, entries.bounds).bytes,
        **({"dtype": buffer.storage} if state.input in entries.program.caches else {}),
        **({"scales_of": scaled} if scaled in others else {}),
    }


def _placeholders(graph: Graph) -> list[str]:
    """The sizes that a caller sets."""
    sizes = (
        size
        for name in graph.inputs
        for size in (*graph.type(name).shape, *graph.variables[name].sizes)
    )
    return sorted(symbols.names(sizes))


def layer_outputs(graph: Graph) -> dict[str, str]:
    """Map each layer to the last Variable that it computes and another node reads, in program
    order.
    """
    fixed = {node.name for node in graph.constant_subgraph()}
    uses = graph.uses()
    return {
        node.layer: next((name for name in reversed(node.outputs) if uses[name]), node.outputs[0])
        for node in graph.nodes
        if node.layer and node.name not in fixed
    }


def _divisibility_json(item: Divisibility) -> dict[str, Any]:
    constraint = {
        "name": item.name,
        "modulus": item.modulus,
        "remainders": list(item.remainders),
        "text": str(item),
        "layer": item.layers[0],
    }
    return constraint | (
        {"placeholder": item.quotient, "offset": item.offset} if item.quotient else {}
    )


def _guard_json(need: Need, graph: Graph) -> dict[str, Any]:
    """A guard: the sizes to compute, and their text for messages."""

    def sized(size: Size) -> dict[str, Any]:
        return {
            "size": size_to_json(size),
            "text": dim.abbreviate(expand_quotients(size, graph.constraints.divisibility)),
        }

    equals = {} if need.equals is None else {"equals": sized(need.equals)}
    return {"layer": need.layer, **sized(need.size), **equals}


def _tensor_json(
    name: str, variable: str, graph: Graph, target: Target, address: Callable[[str], Size]
) -> dict[str, Any]:
    value = graph.variables[variable]
    order = str(value.order) if value.order is not None else None
    distribution = (
        {"distribution": distribution_json(value.distribution)}
        if value.distribution is not None
        else {}
    )
    declared_shape = _declared(graph, value.shape)
    return {
        "name": name,
        "dtype": value.dtype,
        "storage": target.stored(value.dtype),
        "shape": list(map(size_to_json, value.shape)),
        "order": order,
        **distribution,
        **({"declared_shape": declared_shape} if graph.constraints.divisibility else {}),
        **({"sizes": sizes} if (sizes := _declared(graph, value.sizes)) else {}),
        "offset": size_to_json(address(variable)),
    }


def _declared(graph: Graph, sizes: Iterable[Size]) -> list[Any]:
    """Sizes in the placeholders of the source model."""
    return [size_to_json(expand_quotients(size, graph.constraints.divisibility)) for size in sizes]


def _layer_json(
    layer: str, variable: str, graph: Graph, target: Target, address: Callable[[str], Size]
) -> dict[str, Any]:
    value = graph.variables[variable]
    return {
        "layer": layer,
        "variable": variable,
        "dtype": value.dtype,
        "storage": target.stored(value.dtype),
        "shape": list(map(size_to_json, value.shape)),
        "offset": size_to_json(address(variable)),
    }
