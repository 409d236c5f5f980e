"""Replace weights of a graph by codes and scales that are decoded.

A quantized graph has slots that the model lacks; stage `encode` computes their values. Weights that
the model itself stores as codes stay as they are.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from webkiln.ir import rewrite
from webkiln.ir.dim import known_shape
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ir.types import Type
from webkiln.ops.codes import BYTE, Repeat, UnpackBits
from webkiln.ops.conversion import Cast
from webkiln.ops.linear import MatMul
from webkiln.ops.load_time import SAVED_BYTES, load_time_nodes
from webkiln.ops.replacement import Replacement
from webkiln.ops.shape import Gather, Reshape, Transpose
from webkiln.ops.table import find
from webkiln.quantize.blocks import CENTER, ENCODINGS, Blocks

FLOAT32, FLOAT16 = "float32", "float16"
STATIC = "int8-static"
"""The encoding of a weight of 8 bits whose products round activations too."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A constant of floats that a node of a program reads, and the `layer` of the first that does.

    It is quantized as a matrix: its axes `rows` are those of the rows, and blocks lie along the
    others, in their order.
    """

    name: str
    layer: str
    shape: tuple[int, ...]
    rows: tuple[int, ...]

    @property
    def depth(self) -> int:
        """The length of a row."""
        return prod(self.shape) // max(self.count, 1)

    @property
    def count(self) -> int:
        """The number of rows."""
        return prod(self.shape[axis] for axis in self.rows)

    @property
    def perm(self) -> tuple[int, ...]:
        """The axes, those of rows first."""
        others = (axis for axis in range(len(self.shape)) if axis not in self.rows)
        return (*self.rows, *others)

    def encoding(self, name: str) -> str:
        """The closest encoding that the weight can have, of an encoding by name: what a scale for
        less than a block describes has 8 bits, and what is small stays float32.
        """
        if name in ENCODINGS and ENCODINGS[name].bits < BYTE and not self._has_blocks(name):
            name = "int8"
        return name if self._saves(name) else FLOAT32

    def can_have(self, name: str) -> bool:
        """Whether the weight can have an encoding: STATIC, or one of those of layers."""
        return name == STATIC or (self.encoding(name) == name and self._has_blocks(name))

    def _has_blocks(self, name: str) -> bool:
        form = ENCODINGS.get(name)
        if form is None:
            return True
        return self.depth >= form.block and (form.bits == BYTE or self.depth % 2 == 0)

    def _saves(self, name: str) -> bool:
        return self.bytes(FLOAT32) - self.bytes(name) >= SAVED_BYTES

    def bytes(self, name: str) -> int:
        """The bytes of the weight in an encoding that it can have."""
        name = "int8" if name == STATIC else name
        if name in ENCODINGS:
            return ENCODINGS[name].bytes(self.count, self.depth)
        return prod(self.shape) * (2 if name == FLOAT16 else 4)


@dataclass(frozen=True, slots=True)
class Encoded:
    """The slots that have the codes, scales and minima of a weight."""

    weight: Weight
    form: Blocks

    @property
    def codes(self) -> str:
        return f"{self.weight.name}/codes"

    @property
    def scales(self) -> str:
        return f"{self.weight.name}/scales"

    @property
    def minima(self) -> str:
        return f"{self.weight.name}/minima"

    @property
    def scale_shape(self) -> tuple[int, ...]:
        """The shape of scales of rows that broadcasts to the weight."""
        shape, rows = self.weight.shape, self.weight.rows
        return tuple(size if axis in rows else 1 for axis, size in enumerate(shape))

    @property
    def in_place(self) -> bool:
        """Whether codes and scales have the axes of the weight, instead of rows and blocks."""
        return self.form.bits == BYTE and self.form.count(self.weight.depth) == 1

    def slots(self) -> Iterator[Variable]:
        rows, depth, form = self.weight.count, self.weight.depth, self.form
        if self.in_place:
            yield Variable(self.codes, Type("int8", self.weight.shape))
            yield Variable(self.scales, Type(FLOAT32, self.scale_shape))
            return
        if form.bits < BYTE:
            yield Variable(self.codes, Type("uint8", (rows, depth * form.bits // BYTE)))
        else:
            yield Variable(self.codes, Type("int8", (rows, depth)))
        scale = Type(form.scale_dtype(depth), (rows, form.count(depth)))
        yield Variable(self.scales, scale)
        if form.has_minima:
            yield Variable(self.minima, scale)


def weights_of(graph: Graph) -> dict[str, Weight]:
    """The weights of a graph that can be quantized, by name, in the order of first use."""
    folded = {node.name for node in graph.constant_subgraph()}
    fixed = graph.slots | graph.constants.keys()
    fixed |= {name for node in graph.nodes if node.name in folded for name in node.outputs}
    decoded = {name for node in load_time_nodes(graph) for name in node.outputs}
    found: dict[str, Weight] = {}
    for node in graph.nodes if fixed else ():
        if node.name in folded:
            continue
        for position, name in enumerate(node.inputs):
            type_ = graph.type(name)
            if name not in fixed or name in decoded or type_.dtype != FLOAT32 or type_.rank < 2:
                continue
            rows = _row_axes(node, position, type_.rank)
            if name not in found or (node.op != "Gather" and position == 1):
                layer = found[name].layer if name in found else node.layer or node.name
                found[name] = Weight(name, layer, known_shape(type_.shape, name), rows)
    return found


def _row_axes(node: Node, position: int, rank: int) -> tuple[int, ...]:
    """The axes of a constant operand along which a node does not sum: all but the last, if the
    operator does not tell.
    """
    if node.op == "MatMul":
        attrs = node.attrs_as(MatMul)
        turned = attrs.transpose_b if position else not attrs.transpose_a
        summed = rank - 1 if turned else rank - 2
        return tuple(axis for axis in range(rank) if axis != summed)
    channel = find(node.op).traits.weight_channel_axis(node.attrs, position, rank)
    if channel is not None and node.op != "Gather":
        return (channel,)
    return tuple(range(rank - 1))


def quantized(graph: Graph, choice: Mapping[str, str]) -> tuple[Graph, tuple[Encoded, ...]]:
    """The graph with weights in other encodings, and the slots that this adds. `choice`: encodings
    by the names of weights. They may be float16; weights without one stay float32.
    """
    weights = weights_of(graph)
    encoded = {
        name: Encoded(weights[name], ENCODINGS[encoding])
        for name, encoding in choice.items()
        if encoding in ENCODINGS
    }
    halves = {name for name, encoding in choice.items() if encoding == FLOAT16}
    graph = with_slots(graph, [slot for item in encoded.values() for slot in item.slots()])
    rows_only = _selected_only(graph, encoded.keys())
    decoded: dict[str, str] = {}

    def rule(view: GraphView, node: Node) -> Edit | None:
        changed = [name for name in node.inputs if name in encoded or name in halves]
        if not changed or node.name in view.constant_names:
            return None
        made = Replacement(view, node)
        if node.op == "Gather" and node.inputs[0] in rows_only:
            item = encoded[node.inputs[0]]
            return made.finish("Identity", [_selected(made, item, node.inputs[1])])
        for name in changed:
            if name not in decoded:
                decoded[name] = (
                    _whole(made, encoded[name]) if name in encoded else _half(made, name)
                )
        inputs = [decoded.get(name, name) for name in node.inputs]
        return made.finish(node.op, inputs, node.attrs)

    result = rewrite.apply(graph, rule)
    return result, tuple(encoded.values())


def with_slots(graph: Graph, added: Iterable[Variable]) -> Graph:
    variables = {variable.name: variable for variable in added}
    return graph.edit(
        slots=graph.slots | variables.keys(), variables={**graph.variables, **variables}
    )


def _selected_only(graph: Graph, names: Collection[str]) -> set[str]:
    """The matrices of which nodes only select rows."""
    other = {
        name
        for node in graph.nodes
        for position, name in enumerate(node.inputs)
        if node.op != "Gather" or position or node.attrs_as(Gather).axis
    }
    return {name for name in names if name not in other and graph.type(name).rank == 2}


def _half(made: Replacement, name: str) -> str:
    stored = made.add(f"{name}/half", "Cast", [name], Cast(FLOAT16))
    return made.add(f"{name}/decoded", "Cast", [stored], Cast(FLOAT32))


def _selected(made: Replacement, item: Encoded, indices: str) -> str:
    """Rows of a matrix, decoded after they are selected."""

    def rows(name: str) -> str:
        return made.add(f"{name}/rows", "Gather", [name, indices], Gather(0))

    minima = rows(item.minima) if item.form.has_minima else None
    return _decoded(made, item, rows(item.codes), rows(item.scales), minima)


def _whole(made: Replacement, item: Encoded) -> str:
    """A weight in its own layout."""
    weight = item.weight
    if item.in_place:
        real = made.add(f"{weight.name}/real", "Cast", [item.codes], Cast(FLOAT32))
        return made.add(f"{weight.name}/value", "Mul", [real, item.scales])
    minima = item.minima if item.form.has_minima else None
    value = _decoded(made, item, item.codes, item.scales, minima)
    perm = weight.perm
    moved = tuple(weight.shape[axis] for axis in perm)
    if len(moved) != 2 or len(weight.rows) != 1:
        value = made.add(f"{weight.name}/unfolded", "Reshape", [value], Reshape(moved))
    if perm == tuple(range(len(perm))):
        return value
    back = tuple(perm.index(axis) for axis in range(len(perm)))
    return made.add(f"{weight.name}/turned", "Transpose", [value], Transpose(back))


def _decoded(made: Replacement, item: Encoded, codes: str, scales: str, minima: str | None) -> str:
    """Rows [..., k] of codes and scales, decoded."""
    form, depth, prefix = item.form, item.weight.depth, item.weight.name
    if form.bits < BYTE:
        codes = made.add(f"{prefix}/unpacked", "UnpackBits", [codes], UnpackBits(form.bits))
    real = made.add(f"{prefix}/real", "Cast", [codes], Cast(FLOAT32))
    if form.bits < BYTE and not form.has_minima:
        center = made.constant(f"{prefix}/center", float(CENTER), FLOAT32)
        real = made.add(f"{prefix}/centered", "Sub", [real, center])

    def spread(name: str, values: str) -> str:
        if made.type(values).dtype != FLOAT32:
            values = made.add(f"{prefix}/{name}_real", "Cast", [values], Cast(FLOAT32))
        if form.count(depth) == 1:
            return values
        repeat = Repeat(made.type(values).rank - 1, form.size(depth), depth)
        return made.add(f"{prefix}/{name}_spread", "Repeat", [values], repeat)

    value = made.add(f"{prefix}/value", "Mul", [real, spread("scales", scales)])
    if minima is None:
        return value
    return made.add(f"{prefix}/shifted", "Add", [value, spread("minima", minima)])
