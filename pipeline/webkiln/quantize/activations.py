"""Products whose activations are rounded to 8 bits, and graphs that simulate it."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from webkiln.ir import rewrite
from webkiln.ir.dim import Size
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.rewrite import Edit, GraphView
from webkiln.ir.types import Type
from webkiln.ops.conv_loops import Conv
from webkiln.ops.conversion import Cast
from webkiln.ops.linear import MatMul
from webkiln.ops.replacement import Replacement
from webkiln.ops.shape import Reshape
from webkiln.quantize.weights import Weight, with_slots

CODES = "uint8"
LARGEST = 255


@dataclass(frozen=True, slots=True)
class Product:
    """A product or convolution of a `site`, which is a Variable of floats, by a weight.
    `channel_axis` is the axis of the site that is summed over, `out_axis` that of the result whose
    elements depend on one row of the weight.
    """

    node: str
    layer: str
    site: str
    weight: str
    channel_axis: int
    out_axis: int

    @property
    def correction(self) -> str:
        """The slot of what is added to the result."""
        return f"{self.node}/correction"


@dataclass(frozen=True, slots=True)
class Site:
    """The slots of an activation of 8 bits, and of a simulated one."""

    name: str

    @property
    def scale(self) -> str:
        return f"{self.name}/scale"

    @property
    def zero(self) -> str:
        return f"{self.name}/zero_point"

    @property
    def switch(self) -> str:
        """Whether a simulation rounds the activation."""
        return f"{self.name}/switch"

    def slots(self) -> Iterator[Variable]:
        yield Variable(self.scale, Type("float32", ()))
        yield Variable(self.zero, Type("int32", ()))


def products_of(graph: Graph, weights: Mapping[str, Weight]) -> tuple[Product, ...]:
    """The products and convolutions of activations by weights with one axis of rows."""
    found = []
    constant = {name for node in graph.constant_subgraph() for name in node.outputs}
    constant |= graph.slots | graph.constants.keys()
    for node in graph.nodes:
        if node.op not in ("Conv", "MatMul") or node.inputs[1] not in weights:
            continue
        site, weight = node.inputs[0], weights[node.inputs[1]]
        if site in constant or graph.type(site).dtype != "float32" or len(weight.rows) != 1:
            continue
        if node.op == "Conv":
            conv = node.attrs_as(Conv)
            axes = conv.x_dims[1], conv.out_dims[1]
        else:
            rank, attrs = graph.type(site).rank, node.attrs_as(MatMul)
            if rank < 2:
                continue
            axes = rank - (2 if attrs.transpose_a else 1), graph.type(node.name).rank - 1
        layer = node.layer or node.name
        found.append(Product(node.name, layer, site, weight.name, *axes))
    return tuple(found)


def simulated(graph: Graph, products: Collection[Product]) -> Graph:
    """The graph in which each site is rounded to 8 bits and back, if its switch is on. Layers are
    those of the sites, whose outputs are the values before rounding.
    """
    switches = [Variable(site.switch, Type("bool", ())) for site in _sites(products).values()]
    graph = with_slots(graph, switches)
    graph = graph.edit(nodes=tuple(replace(node, layer="") for node in graph.nodes))

    def switched(made: Replacement, site: Site) -> str:
        seen = made.add(f"{site.name}/seen", "Identity", [site.name], layer=site.name)
        value = dequantized(made, quantized(made, seen, site), site)
        return made.add(f"{site.name}/simulated", "Where", [site.switch, value, seen])

    return _with_rounding(graph, products, switched)


def with_integers(graph: Graph, products: Collection[Product]) -> Graph:
    """The graph in which the sites of products are rounded to 8 bits. All that reads one reads what
    is rounded, so that a program only stores its codes.
    """
    return _with_rounding(
        graph,
        products,
        lambda made, site: dequantized(made, quantized(made, site.name, site), site),
    )


def _sites(products: Collection[Product]) -> dict[str, Site]:
    return {product.site: Site(product.site) for product in products}


def _with_rounding(
    graph: Graph, products: Collection[Product], rounded: Callable[[Replacement, Site], str]
) -> Graph:
    """The graph in which nodes read `rounded` values of the sites of products."""
    sites = _sites(products)
    graph = with_slots(graph, [slot for site in sites.values() for slot in site.slots()])
    found: dict[str, str] = {}
    added: set[str] = set()

    def rule(view: GraphView, node: Node) -> Edit | None:
        changed = [name for name in node.inputs if name in sites]
        if not changed or node.name in added:
            return None
        made = Replacement(view, node)
        for name in changed:
            if name not in found:
                found[name] = rounded(made, sites[name])
        inputs = [found.get(name, name) for name in node.inputs]
        edit = made.finish(node.op, inputs, node.attrs)
        added.update(item.name for item in edit.nodes if item.name != node.name)
        return edit

    return rewrite.apply(graph, rule)


def quantized(made: Replacement, value: str, site: Site) -> str:
    """round(value / scale) + zero, saturated to 8 bits."""
    prefix = site.name
    quotient = made.add(f"{prefix}/quotient", "RoundedQuotient", [value, site.scale])
    zero = made.add(f"{prefix}/zero", "Cast", [site.zero], Cast("float32"))
    moved = made.add(f"{prefix}/moved", "Add", [quotient, zero])
    return made.add(f"{prefix}/codes", "Cast", [moved], Cast(CODES))


def dequantized(made: Replacement, codes: str, site: Site) -> str:
    prefix = site.name
    wide = made.add(f"{prefix}/wide", "Cast", [codes], Cast("int32"))
    apart = made.add(f"{prefix}/apart", "Sub", [wide, site.zero])
    real = made.add(f"{prefix}/real", "Cast", [apart], Cast("float32"))
    return made.add(f"{prefix}/value", "Mul", [real, site.scale])


def with_corrections(graph: Graph, products: Collection[Product]) -> Graph:
    """The graph in which a slot is added to the result of each product."""
    sizes = {product.node: graph.type(product.node).shape[product.out_axis] for product in products}
    by_node = {product.node: product for product in products}
    slots = [
        Variable(product.correction, Type("float32", (sizes[product.node],)))
        for product in products
    ]
    graph = with_slots(graph, slots)
    done: set[str] = set()

    def rule(view: GraphView, node: Node) -> Edit | None:
        product = by_node.get(node.name)
        if product is None or node.name in done:
            return None
        done.add(node.name)
        made = Replacement(view, node)
        rank = view.type(node.name).rank
        shape: list[Size] = [1] * rank
        shape[product.out_axis] = sizes[node.name]
        result = made.add("uncorrected", node.op, node.inputs, node.attrs)
        spread = made.add("added", "Reshape", [product.correction], Reshape(tuple(shape)))
        return made.finish("Add", [result, spread])

    return rewrite.apply(graph, rule)
