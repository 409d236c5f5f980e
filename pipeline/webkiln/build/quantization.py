"""How the weights of a model are quantised, and how a bundle multiplies by them, in words."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from webkiln import canonical
from webkiln.backends.table import REGISTRY
from webkiln.build.action import Input, Product
from webkiln.build.cache_report import described_caches
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph
from webkiln.build.quantized_graph import CHOSEN
from webkiln.build.scalar_kernels import few
from webkiln.ir.dim import known_shape
from webkiln.ir.graph import Graph, Node
from webkiln.ir.rewrite import GraphView
from webkiln.ir.serial import SCHEMA
from webkiln.ir.types import itemsize
from webkiln.lower import block_products
from webkiln.ops.block_products import MatMulBlocks
from webkiln.ops.codes import Repeat, UnpackBits
from webkiln.ops.load_time import load_time_nodes
from webkiln.ops.plugins import defined_by
from webkiln.ops.table import find, from_json
from webkiln.plan import block_choice
from webkiln.plan.vector_products import MOST_CODED_ROWS
from webkiln.plugins import import_files
from webkiln.recipe.values import CODED_BACKENDS, DOT_BACKENDS

BYTE = 8
INTEGERS = ("int", "uint")


@dataclass(frozen=True, slots=True)
class Form:
    """How a weight is stored: the bits of a code, 0 if it is a float, its dtype, and the length of
    the blocks that share a scale, 0 if there are none.
    """

    bits: int
    dtype: str
    block: int = 0

    def __str__(self) -> str:
        if not self.bits:
            return self.dtype
        blocks = f", blocks of {self.block}" if self.block else ""
        return f"{self.bits} bit{'s' * (self.bits > 1)}{blocks}"


@dataclass(frozen=True, slots=True)
class Multiplication:
    """A product or convolution with a weight: its layer, and why it is not computed in integers:
    None if it is, "" if the weight is not quantised. `by_block`: the bits of the codes that
    backends of `CODED_BACKENDS` read; 0 if they are decoded when the model is loaded. `rounding`:
    the backends that round activations, each with an option of the recipe.
    """

    layer: str
    obstacle: str | None
    by_block: int
    rounding: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True, slots=True)
class Quantization:
    """The number of weights by form, and the products and convolutions with them."""

    weights: Counter[Form]
    products: tuple[Multiplication, ...]


def described(engine: Engine, actions: ModelGraph, encoding: str = "float32") -> dict[str, str]:
    """Sentences by label about the graph of a recipe in an encoding. Empty if no weight is
    quantised and there are no caches, or if the graph is not up to date here. Executes nothing, and
    asks no other cache.
    """
    data = _present(engine, actions.graph(encoding))
    if data.get("schema") != SCHEMA:
        return {}
    with defined_by(None):
        import_files(actions.recipe.user_code.operators)
        graph = from_json(dict(data))
        found = quantization(graph)
    computation = actions.computation(encoding)
    caches = dict(described_caches(graph, computation.caches))
    if not any(form.bits for form in found.weights):
        return caches
    rows = _rows(found, actions.recipe.backends, computation.products) | caches
    if encoding in CHOSEN:
        errors = _present(engine, Product(actions.choose(encoding), "errors.json"))
        rows |= {"error": f"{errors['error']:.2g} on the samples"} if errors else {}
    return rows


def _present(engine: Engine, source: Input) -> Mapping[str, Any]:
    """A JSON document, if it is up to date here."""
    assert isinstance(source, Product)
    result = engine.current(source.action)
    if result is None or not engine.cache.store.is_here(result.outputs[source.path]):
        return {}
    found: Mapping[str, Any] = canonical.read(engine.cache.store.file(result.outputs[source.path]))
    return found


def _rows(found: Quantization, backends: Sequence[str], products: str) -> dict[str, str]:
    reading = [name for name in backends if name in CODED_BACKENDS]
    coded = [item for item in found.products if reading and item.by_block]
    kept = coded if reading == list(backends) else []
    rows = {"storage": _weights(found.weights)}
    if text := _products([item for item in found.products if item not in kept]):
        rows["products"] = text
    names: dict[str, list[str]] = {}
    for name in reading:
        names.setdefault(_coded(coded, name, products), []).append(name)
    return rows | {f"on {' and '.join(names[text])}": text for text in names if text}


def _coded(products: Sequence[Multiplication], backend: str, option: str) -> str:
    """How a backend computes products of codes."""
    rounded, read = "by activations rounded to 8 bits", "decoded as they are read"
    groups: dict[str, list[Multiplication]] = {}
    for item in sorted(products, key=lambda item: (backend, option) not in item.rounding):
        if (backend, option) in item.rounding:
            how = rounded
        elif (backend, "dot") in item.rounding:
            how = f"{read}; with --products dot, {rounded}"
        else:
            limited = option == "dot"
            how = f"{read}: {backend} rounds at most {MOST_CODED_ROWS} rows" if limited else read
        groups.setdefault(how, []).append(item)
    return "; ".join(f"{_codes(items)}, {how}" for how, items in groups.items())


def _codes(products: Sequence[Multiplication]) -> str:
    """The number of products with codes of each width."""
    counts = Counter(item.by_block for item in products)
    parts = [f"{count} of {bits}-bit codes" for bits, count in sorted(counts.items())]
    return " and ".join(parts).replace(" of", f" product{'s' * (len(products) > 1)} of", 1)


def quantization(graph: Graph) -> Quantization:
    """Examine an optimised graph."""
    from webkiln.passes import integer_products  # only graphs that passes have written need it

    decoded = {name: node for node in load_time_nodes(graph) for name in node.outputs}
    view = GraphView(graph)
    able, rounding = _block_products(block_products.run(graph)), _rounding(graph)
    forms: dict[tuple[str, ...], Form] = {}
    products = []
    for node, name in _weighted(graph, view):
        form, codes = stored_form(graph, decoded, name)
        if form.bits or not form.dtype.startswith(INTEGERS):
            forms[codes] = form
        if find(node.op).traits.decodes:
            continue
        obstacle = None
        if not graph.type(node.name).dtype.startswith(INTEGERS):
            obstacle = (integer_products.obstacle(view, node) or "") if form.bits else ""
        layer, bits = node.layer or node.name, able.get(node.name, 0)
        using = frozenset(key for key, names in rounding.items() if node.name in names)
        products.append(Multiplication(layer, obstacle, bits, using))
    return Quantization(Counter(forms.values()), tuple(products))


def _rounding(graph: Graph) -> dict[tuple[str, str], Collection[str]]:
    """The products whose activations a backend rounds with an option of the recipe."""
    choosers = {
        (backend, option): block_choice.chooser(REGISTRY[backend].target, option)
        for backend in DOT_BACKENDS
        for option in ("auto", "dot")
    }
    return {
        key: _block_products(block_products.run(graph, chooses))
        for key, chooses in choosers.items()
    }


def _block_products(graph: Graph) -> dict[str, int]:
    """The bits of the codes of each product of blocks of rounded activations."""
    return {
        node.name: node.attrs_as(MatMulBlocks).bits
        for node in graph.nodes
        if node.op == "MatMulBlocks" and graph.type(node.inputs[0]).dtype == "int8"
    }


def _weighted(graph: Graph, view: GraphView) -> Iterator[tuple[Node, str]]:
    """The nodes that multiply by a constant or select from one, and the constant. Of tables that
    one layer reads at the same indices, as codes, scales and zero points are, the largest counts.
    """
    tables: dict[tuple[str, ...], tuple[Node, str]] = {}
    for node in graph.nodes:
        if view.constant_names.issuperset(node.outputs):
            continue
        traits = find(node.op).traits
        for position, name in enumerate(node.inputs):
            rank = graph.type(name).rank
            if (
                name not in view.constant_names
                or rank < 2
                or traits.weight_channel_axis(node.attrs, position, rank) is None
            ):
                continue
            if not traits.decodes:
                yield node, name
                continue
            key = (node.layer or node.name, *node.inputs[1:])
            if key not in tables or graph.type(tables[key][1]).size < graph.type(name).size:
                tables[key] = node, name
    yield from tables.values()


def stored_form(
    graph: Graph, decoded: Mapping[str, Node], name: str
) -> tuple[Form, tuple[str, ...]]:
    """How a constant is stored, and the names of its codes, or of itself. Scales and zero points
    of blocks have less than a bit per weight. `decoded`: the nodes that run when the model is
    loaded, by what they compute.
    """
    size = prod(known_shape(graph.type(name).shape, name))
    bits: dict[str, int] = {}
    blocks: list[int] = []
    stack = [(name, 0)]
    while stack:
        item, unpacked = stack.pop()
        node = decoded.get(item)
        if node is None:
            type_ = graph.type(item)
            whole = BYTE * itemsize(type_.dtype)
            share = round(whole * prod(known_shape(type_.shape, item)) / size)
            if type_.dtype.startswith(INTEGERS) and share:
                bits[item] = unpacked or min(share, whole)
            continue
        attrs = node.attrs
        if isinstance(attrs, Repeat) and graph.type(item).size == size:
            blocks.append(attrs.times)
        if isinstance(attrs, UnpackBits):
            unpacked = attrs.bits
        stack += [(operand, unpacked) for operand in node.inputs]
    total = sum(bits.values())
    if 0 < total <= BYTE:
        return Form(total, "", min(blocks, default=0)), tuple(sorted(bits))
    return Form(0, _float_dtype(graph, decoded, name)), (name,)


def _float_dtype(graph: Graph, decoded: Mapping[str, Node], name: str) -> str:
    """The dtype of the floats from which a constant is computed."""
    while name in decoded:
        name = max(decoded[name].inputs, key=lambda operand: graph.type(operand).size)
    return {"uint16": "bfloat16"}.get(graph.type(name).dtype, graph.type(name).dtype)


def _weights(forms: Counter[Form]) -> str:
    ordered = sorted(forms, key=lambda form: (not form.bits, -forms[form], str(form)))
    first, *others = ordered
    head = f"{forms[first]} of {forms.total()} weight tensors quantised to {first}"
    return "; ".join([head, *(f"{forms[form]} in {form}" for form in others)])


def _products(products: Sequence[Multiplication]) -> str:
    """Layers are named where some products are computed in integers and others are not."""
    layers: dict[str | None, list[str]] = {}
    for item in products:
        layers.setdefault(item.obstacle, []).append(item.layer)
    in_integers = layers.pop(None, [])
    parts = [f"{len(in_integers)} in 8-bit integers"] if in_integers else []
    for obstacle, names in sorted(layers.items(), key=lambda item: (item[0] == "", str(item[0]))):
        text = (
            f"{len(names)} of dequantised weights, decoded when the model is loaded ({obstacle})"
            if obstacle
            else f"{len(names)} of float weights"
        )
        parts.append(f"{text}: {few(names)}" if in_integers else text)
    return "; ".join(parts)
