"""Hold caches of keys and values (`caches.py`) in float16, or as int8 codes with a scale for each
row. New rows are rounded when they are written. Products read the narrow elements; the scales of
rows, which are constant along a row, multiply the other factor of a product or its result.

before:
    graph g
    input q: float32[2,8]
    input k: float32[2,8]
    slot zeros: float32[16,8]
    state keys zeros new -> last: float32[16,8]
    old: float32[14,8] = Slice(last) {"sizes":[14,8],"starts":[2,0],"steps":[1,1]}
    new: float32[16,8] = Concat(old, k) {"axis":0}
    y: float32[2,16] = MatMul(q, new) {"transpose_b":true} @scores
    output out = y

after:
    graph g
    input q: float32[2,8]
    input k: float32[2,8]
    slot zeros: float32[16,8]
    state keys zeros/codes new/elements -> last/elements: int8[16,8]
    state keys/scales zeros/scales new/scales -> last/scales: float32[16,1]
    old/elements: int8[14,8] = Slice(last/elements) {"sizes":[14,8],"starts":[2,0],"steps":[1,1]}
    old/scales: float32[14,1] = Slice(last/scales) {"sizes":[14,1],"starts":[2,0],"steps":[1,1]}
    k/codes: int8[2,8]; k/scales: float32[2,1] = QuantizeBlocks(k) {"block":8}
    new/elements: int8[16,8] = Concat(old/elements, k/codes) {"axis":0}
    new/scales: float32[16,1] = Concat(old/scales, k/scales) {"axis":0}
    y/cache: float32[16,8] = Cast(new/elements) {"dtype":"float32"} @scores
    y/scales: float32[1,16] = Reshape(new/scales) {"shape":[1,16]} @scores
    y/codes: float32[2,16] = MatMul(q, y/cache) {"transpose_b":true} @scores
    y: float32[2,16] = Mul(y/codes, y/scales) @scores
    zeros/codes: int8[16,8]; zeros/scales: float32[16,1] = QuantizeBlocks(zeros) {"block":8}
    output out = y
"""

from dataclasses import dataclass, replace

from webkiln.ir.graph import Graph, Node, State
from webkiln.ir.rewrite import remove_unused
from webkiln.lower.cache_moves import MOVES, replaced_rows
from webkiln.lower.cache_products import Scaled, scaled_product
from webkiln.lower.cache_rows import KINDS, Rows, RowWriter
from webkiln.lower.caches import Caches, find_caches
from webkiln.ops.conversion import Cast
from webkiln.ops.linear import MatMul
from webkiln.ops.shape import Reshape, Transpose

SCALES = "/scales"
"""What follows the name of a state in that of its scales."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A graph with narrow caches, and the Variables with their elements."""

    graph: Graph
    elements: frozenset[str] = frozenset()


def run(graph: Graph, dtype: str = "int8") -> Narrowed:
    """`dtype`: that of the elements of caches: `float32`, `float16` or `int8`."""
    found = find_caches(graph) if dtype != "float32" and graph.states else None
    if found is None or not found.states(graph):
        return Narrowed(graph)
    return _Rewriter(graph, found, dtype).rewritten()


class _Rewriter:
    """Writes the nodes of the new graph. `known`: the narrow rows of what has rows of caches."""

    def __init__(self, graph: Graph, caches: Caches, dtype: str) -> None:
        self.graph, self.caches = graph, caches
        self.writer = RowWriter(graph, dtype)
        self.producers = graph.producers()
        self.made = self.writer.made
        self.known: dict[str, Rows] = {}

    def rewritten(self) -> Narrowed:
        caches = self.caches.states(self.graph)
        for state in caches:
            self.known[state.input] = self._declared(state)
        for node in self.graph.nodes:
            if node.name in self.caches.rows:
                self.known[node.name] = self._moved(node, self.caches.rows[node.name])
            elif any(name in self.known for name in node.inputs):
                self._multiply(node)
            else:
                self.made.keep(node)
        states: list[State] = []
        for state in self.graph.states:
            states += self._states(state) if state in caches else [state]
        elements = {rows.parts[0] for rows in self.known.values()}
        elements |= self.writer.elements
        return Narrowed(remove_unused(self.made.graph(states)), frozenset(elements))

    def _declared(self, state: State) -> Rows:
        """The narrow parts of a state."""
        row = self.caches.rows[state.input]
        types = self.writer.types(self.graph.type(state.input), row)
        names = (f"{state.input}/{kind}" for kind in KINDS)
        return Rows(tuple(map(self.made.declare, names, types)), row)

    def _states(self, state: State) -> list[State]:
        """A state of elements, and one of scales."""
        before, after = self.known[state.input], self.known[state.output]
        initial = self.writer.entered(state.initial, before.row, "")
        names = (state.name, state.name + SCALES)
        parts = zip(names, initial.parts, before.parts, after.parts, strict=False)
        return [State(*part) for part in parts]

    def _moved(self, node: Node, row: int) -> Rows:
        """Move the elements and scales as a node moves the values."""
        positions = MOVES[node.op].operands(node)
        rows = {n: self._rows(node.inputs[n], row, node.layer) for n in positions}
        where = replaced_rows(self.graph, node, row)
        if where is not None:
            return self.writer.replaced(node, rows[0], rows[2], where)
        parts = []
        for number, (kind, _) in enumerate(rows[positions[0]].named):
            attrs = MOVES[node.op].scaled(node.attrs, row) if number else node.attrs
            inputs = [rows[n].parts[number] if n in rows else v for n, v in enumerate(node.inputs)]
            parts.append(self.made.add(f"{node.name}/{kind}", node.op, inputs, attrs, node.layer))
        return Rows(tuple(parts), row)

    def _rows(self, name: str, row: int, layer: str) -> Rows:
        return self.known.get(name) or self.writer.entered(name, row, layer)

    def _multiply(self, node: Node) -> None:
        """A product that widens the elements, and multiplies the other factor or the result by the
        scales.
        """
        position = next(n for n, name in enumerate(node.inputs) if name in self.known)
        node = self._unturned(node, position)
        rows = self.known[node.inputs[position]]
        how = scaled_product(self.graph, node, position, rows.row)
        assert how is not None
        factors, (name,) = list(node.inputs), node.outputs
        wide, float32 = f"{name}/cache", Cast("float32")
        factors[position] = self.made.add(wide, "Cast", rows.parts[:1], float32, node.layer)
        if len(rows.parts) > 1:
            scales = self._aligned(name, rows.parts[1], how, node.layer)
            if how.after:
                product = self.made.add(f"{name}/codes", node.op, factors, node.attrs, node.layer)
                self.made.keep(Node("Mul", (product, scales), node.outputs, layer=node.layer))
                return
            other = factors[1 - position]
            scaled = self.made.add(f"{name}/scaled", "Mul", [other, scales], layer=node.layer)
            factors[1 - position] = scaled
        self.made.keep(replace(node, inputs=tuple(factors)))

    def _unturned(self, node: Node, position: int) -> Node:
        """The product that reads the operand of a transpose of the last two axes."""
        source = self.producers.get(node.inputs[position])
        if node.op != "MatMul" or source is None or source.op != "Transpose":
            return node
        perm, attrs = source.attrs_as(Transpose).perm, node.attrs_as(MatMul)
        rank = len(perm)
        if perm != (*range(rank - 2), rank - 1, rank - 2):
            return node
        inputs = list(node.inputs)
        inputs[position] = source.inputs[0]
        if position:
            attrs = replace(attrs, transpose_b=not attrs.transpose_b)
        else:
            attrs = replace(attrs, transpose_a=not attrs.transpose_a)
        return replace(node, inputs=tuple(inputs), attrs=attrs)

    def _aligned(self, name: str, scales: str, how: Scaled, layer: str) -> str:
        """The scales with the axes of what they multiply."""
        sizes, axes = self.made.type(scales).shape, how.perm[:-1]
        if list(axes) != sorted(axes):
            turned = Transpose(how.perm)
            scales = self.made.add(f"{name}/turned", "Transpose", [scales], turned, layer)
        shape = tuple(1 if axis is None else sizes[axis] for axis in how.shape)
        return self.made.add(f"{name}/scales", "Reshape", [scales], Reshape(shape), layer)
