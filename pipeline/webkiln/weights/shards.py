"""The layout of weights in shards: which bytes of which shard contain which piece of which weight.
It follows from names, shapes and encoding, without the values.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from webkiln.ir.dim import known_shape
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array, Type
from webkiln.ops.load_time import load_time_nodes
from webkiln.ops.table import find
from webkiln.weights.encoding import BY_NAME, Stored, choose, storage_dtype
from webkiln.weights.scales import scales_of_codes

SHARD_BYTES = 6 << 20
PIECE_ALIGNMENT = 4


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows `start` to `start + rows` (of the first axis) of a weight, at `offset` of shard number
    `shard`. The header comes first.
    """

    weight: Stored
    encoding: str
    start: int
    rows: int
    shard: int
    offset: int
    bytes: int


def stored(graph: Graph) -> tuple[Stored, ...]:
    """The weights that the browser needs, in the order of first use: what the program reads of
    slots, constants and the constant subgraph. In place of a constant that is decoded when the
    model is loaded, these are the codes, scales and zero points.
    """
    folded = {node.name for node in graph.constant_subgraph()}
    fixed = graph.slots | graph.constants.keys()
    fixed |= {name for node in graph.nodes if node.name in folded for name in node.outputs}
    decoded = {name: node for node in load_time_nodes(graph) for name in node.outputs}
    scales = scales_of_codes(graph, fixed)
    found: dict[str, Stored] = {}

    def add(name: str, axis: int | None, *, keep: bool = False) -> None:
        """Add a weight, or what it is decoded from."""
        if name in decoded:
            for operand in decoded[name].inputs:
                add(operand, None, keep=True)
        elif name in fixed and not _is_scalar(graph, name):
            is_kept = keep or name in scales
            found.setdefault(name, _stored(name, graph.type(name), axis, keep=is_kept))

    for node in graph.nodes:
        traits = find(node.op).traits
        for position, name in enumerate(node.inputs if node.name not in folded else ()):
            rank = graph.type(name).rank
            add(name, traits.weight_channel_axis(node.attrs, position, rank))
    for name in (
        *graph.outputs.values(),
        *(s for state in graph.states for s in (state.initial, state.output)),
    ):
        if name in decoded:
            add(name, None)
        elif name in fixed:
            found.setdefault(name, _stored(name, graph.type(name), None))
    return tuple(found.values())


def _is_scalar(graph: Graph, name: str) -> bool:
    """Whether a name is a constant that kernels contain as a literal."""
    return name in graph.constants and graph.constants[name].is_scalar


def _stored(name: str, type_: Type, channel_axis: int | None, *, keep: bool = False) -> Stored:
    """A weight without leading dimensions of 1, so that there are rows to split it by, for example
    for the kernel of a 1x1 convolution.
    """
    lead = next(
        (axis for axis, size in enumerate(type_.shape[:-1]) if size != 1), max(type_.rank - 1, 0)
    )
    axis = None if channel_axis is None or channel_axis < lead else channel_axis - lead
    return Stored(name, type_.dtype, known_shape(type_.shape[lead:], name), axis, keep)


def pieces(weights: Sequence[Stored], encoding: str, limit: int = SHARD_BYTES) -> tuple[Piece, ...]:
    """Split weights into pieces of full rows, assigned to shards of at most `limit` bytes."""
    result: list[Piece] = []
    shard = offset = 0
    for weight in weights:
        name = choose(weight, encoding)
        code = BY_NAME[name]
        total = weight.shape[0] if weight.shape else 1
        start = 0
        while start < total:
            rows = total - start
            room = limit - offset
            if code.bytes(weight, rows) > room:
                rows = _rows_that_fit(weight, name, room, rows)
                if rows == 0:
                    if offset:
                        shard, offset = shard + 1, 0
                        continue
                    rows = 1
            size = code.bytes(weight, rows)
            result.append(Piece(weight, name, start, rows, shard, offset, size))
            offset += -(-size // PIECE_ALIGNMENT) * PIECE_ALIGNMENT
            start += rows
    return tuple(result)


def _rows_that_fit(weight: Stored, name: str, room: int, most: int) -> int:
    """The rows that fit in `room` bytes. Two rows of float16 stay together: elements of both may
    share words of memory.
    """
    empty, one = BY_NAME[name].bytes(weight, 0), BY_NAME[name].bytes(weight, 1)
    rows = max(0, min(most, (room - empty) // max(one - empty, 1)))
    together = 2 if storage_dtype(weight, BY_NAME[name]) == "float16" else 1
    return rows if rows == most else rows - rows % together


def write(layout: Sequence[Piece], value: Callable[[str], Array]) -> Iterator[bytes]:
    """The bytes of each shard. `value` is called once for each weight, in layout order."""
    shard, number = bytearray(), 0
    for weight, group in groupby(layout, lambda piece: piece.weight):
        parts = list(group)
        header, elements = BY_NAME[parts[0].encoding].encode(
            weight, value(weight.name).reshape(weight.shape)
        )
        for piece in parts:
            if piece.shard != number:
                yield bytes(shard)
                shard, number = bytearray(), piece.shard
            shard.extend(b"\0" * (piece.offset - len(shard)))
            shard.extend(np.ascontiguousarray(header.astype("<f4")).tobytes())
            shard.extend(
                np.ascontiguousarray(
                    elements.reshape(weight.shape or (1,))[piece.start : piece.start + piece.rows]
                ).tobytes()
            )
    if layout:
        yield bytes(shard)
