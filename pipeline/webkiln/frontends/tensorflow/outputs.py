"""The outputs of nodes: their number, their indices, and those that no node reads."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from webkiln.errors import SourceError
from webkiln.frontends.nodes.reading import tensors_read
from webkiln.frontends.nodes.spec import GraphSpec
from webkiln.frontends.tensorflow.dtypes import PARSERS
from webkiln.frontends.tensorflow.source import PARTS, GraphSource


def output_count(program: GraphSource, node: Any, attrs: Mapping[str, Any]) -> int:
    for name in ("num_split", "num", "N_out", "N"):
        if name in attrs and node.op in ("Split", "SplitV", "Unpack", "ShapeN"):
            return int(attrs[name])
    if node.op in PARSERS:
        ragged = len(node.attr["ragged_value_types"].list.type)
        sparse = int(node.attr[PARSERS[node.op]].i)
        return 3 * sparse + len(node.attr["Tdense"].list.type) + 2 * ragged
    listed = program.operators.get(node.op)
    if listed is not None and not any(item.is_list for item in listed):
        return len(listed)
    return max(len(PARTS.get(node.op, ())), 1)


def output_index(program: GraphSource, node: Any, part: str, number: int, count: int) -> int:
    """The index of an output within a named output, which may be a list."""
    listed = program.operators.get(node.op)
    names = (
        [item.name for item in listed] if listed is not None else list(PARTS.get(node.op, (part,)))
    )
    if part not in names:
        raise SourceError(f"{program.name}: {node.name} ({node.op}) has no output {part!r}")
    before = names.index(part)
    longer = count - len(names)
    is_after_list = listed is not None and any(item.is_list for item in listed[:before])
    return before + number + (longer if is_after_list else 0)


def drop_unread_outputs(graph: GraphSpec) -> GraphSpec:
    """Remove the names of outputs that no node reads. These are not computed: for example, outputs
    that are only used in training.
    """
    read = tensors_read(graph.nodes) | {item.tensor for item in graph.outputs}

    def dropped(part: GraphSpec) -> GraphSpec:
        nodes = []
        for node in part.nodes:
            attrs = {
                key: dropped(value) if isinstance(value, GraphSpec) else value
                for key, value in node.attrs.items()
            }
            nodes.append(
                replace(
                    node,
                    outputs=tuple(name if name in read else "" for name in node.outputs),
                    attrs=attrs,
                )
            )
        return replace(part, nodes=tuple(nodes))

    return dropped(graph)
