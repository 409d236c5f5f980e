"""Products whose activations are rounded, their simulation, and corrections of means."""

from importlib import import_module

import numpy as np
import pytest

from tests.quantize.graphs import CONV, GRAPH, weights
from webkiln.errors import SourceError
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.ir.verify import verify
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import evaluate, infer, parse
from webkiln.passes.pipeline import PASSES
from webkiln.quantize.activations import Product, products_of, with_corrections
from webkiln.quantize.encode import Calibration, correction, slot_values
from webkiln.quantize.ranges import METHODS, Observed
from webkiln.quantize.rewriting import integer_products, rewritten, simulation
from webkiln.quantize.simulate import Simulation
from webkiln.quantize.weights import STATIC, weights_of

POINTWISE = CONV.replace('[1,1],"pad_low":[1,1]', '[0,0],"pad_low":[0,0]')
NETWORK = parse(f"""graph g
input x: float32[1,8,9,9]
slot k1: float32[16,8,3,3]
slot k2: float32[16,1,3,3]
slot k3: float32[24,16,1,1]
slot b1: float32[16]
slot w: float32[24,10]
a: float32[1,16,9,9] = Conv(x, k1, b1) {{{CONV},"w_dims":[0,1,2,3]}} @first
r: float32[1,16,9,9] = Relu(a) @first
d: float32[1,16,9,9] = Conv(r, k2) {{{CONV},"w_dims":[0,1,2,3],"groups":16}} @second
s: float32[1,16,9,9] = Add(d, r) @sum
p: float32[1,24,9,9] = Conv(s, k3) {{{POINTWISE},"w_dims":[0,1,2,3]}} @third
m: float32[1,24] = ReduceMean(p) {{"axes":[2,3],"keepdims":false}} @pool
y: float32[1,10] = MatMul(m, w) @head
output y = y
""")


def network_weights() -> dict[str, Array]:
    rng = np.random.default_rng(3)
    return {
        name: (rng.standard_normal(NETWORK.type(name).shape) / 5).astype(np.float32)
        for name in sorted(NETWORK.slots)
    }


def samples(count: int) -> list[dict[str, Array]]:
    rng = np.random.default_rng(4)
    return [
        {"x": rng.standard_normal((1, 8, 9, 9)).astype(np.float32) + np.float32(0.3)}
        for _ in range(count)
    ]


def calibration(graph: Graph, values: dict[str, Array], method: str = "minmax") -> Calibration:
    """Ranges and means by the numpy references."""
    products = products_of(graph, weights_of(graph))
    seen = {product.site: Observed() for product in products}
    given = samples(4)
    for sample in given:
        _, found = run_graph(graph, sample, values)
        for product in {item.site: item for item in products}.values():
            seen[product.site].add(found[product.site], product.channel_axis, len(given))
    ranges = {name: METHODS[method](item) for name, item in seen.items()}
    return Calibration(
        {name: (item.scale, item.zero) for name, item in ranges.items()},
        {product.node: seen[product.site].means for product in products},
    )


def optimised(graph: Graph) -> Graph:
    for name in PASSES:
        graph = import_module(f"webkiln.passes.{name}").run(graph)
    verify(graph, infer)
    return graph


@pytest.mark.parametrize("corrects", [False, True])
def test_products_become_those_of_integers(corrects: bool) -> None:
    values = network_weights()
    measured = calibration(NETWORK, values)
    choice = dict.fromkeys(weights_of(NETWORK), STATIC)
    changed, slots = rewritten(NETWORK, choice, corrects=corrects)
    verify(changed, infer)
    constants = {name: values[name] for name in slots.kept}
    constants |= slot_values(NETWORK, slots, values.__getitem__, measured)
    integers = optimised(changed)
    ops = [node.op for node in integers.nodes]
    assert (ops.count("ConvInteger"), ops.count("MatMulInteger")) == (3, 1)
    assert "Conv" not in ops
    assert "MatMul" not in ops
    (sample,) = samples(1)
    exact, _ = run_graph(NETWORK, sample, values)
    plain, _ = run_graph(changed, sample, constants)
    found, _ = run_graph(integers, sample, {name: constants[name] for name in integers.slots})
    np.testing.assert_allclose(found["y"], plain["y"], rtol=1e-4, atol=1e-5)
    error = np.abs(found["y"] - exact["y"]).max() / np.abs(exact["y"]).max()
    assert 1e-4 < error < 0.03


def test_a_simulation_rounds_what_a_choice_names() -> None:
    """With all switches off it computes what the model does, and with all on what the integers
    do.
    """
    values = network_weights()
    measured = calibration(NETWORK, values)
    simulated, slots = simulation(NETWORK)
    verify(simulated, infer)
    constants = {name: values[name] for name in slots.kept}
    constants |= slot_values(NETWORK, slots, values.__getitem__, measured)
    (sample,) = samples(1)
    exact, _ = run_graph(NETWORK, sample, values)
    off, _ = run_graph(simulated, sample, constants)
    np.testing.assert_array_equal(off["y"], exact["y"])
    simulates = Simulation(NETWORK, simulated, slots, values, measured, corrects=True)
    choice = dict.fromkeys(weights_of(NETWORK), STATIC)
    changed = {
        name: value for name, value in simulates.values(choice).items() if name in simulated.slots
    }
    on, _ = run_graph(simulated, sample, {**constants, **changed})
    real, real_slots = rewritten(NETWORK, choice, corrects=True)
    expected, _ = run_graph(
        real,
        sample,
        {
            **{name: values[name] for name in real_slots.kept},
            **dict(slot_values(NETWORK, real_slots, values.__getitem__, measured)),
        },
    )
    np.testing.assert_allclose(on["y"], expected["y"], rtol=1e-5, atol=1e-5)
    assert np.abs(on["y"] - exact["y"]).max() > 1e-4


def test_values_that_depend_on_ranges_change_with_them() -> None:
    """Zero points and corrections reach a program through constants that are computed of them."""
    values = network_weights()
    measured = calibration(NETWORK, values)
    simulated, slots = simulation(NETWORK)
    simulates = Simulation(NETWORK, simulated, slots, values, measured, corrects=True)
    own = simulated.slots - NETWORK.slots
    derived = {node.name for node in simulated.constant_subgraph() if own.issuperset(node.inputs)}
    assert len(derived) == 8
    assert derived <= simulates.values(dict.fromkeys(weights_of(NETWORK), STATIC)).keys()


def test_float16_is_no_choice_for_larger_weights() -> None:
    """A program would compute with infinities."""
    values = network_weights()
    measured = calibration(NETWORK, values)
    simulated, slots = simulation(NETWORK)
    values["w"] = values["w"] * np.float32(1e6)
    simulates = Simulation(NETWORK, simulated, slots, values, measured, corrects=True)
    with pytest.raises(SourceError, match="weight w of head exceeds float16"):
        simulates.rounded(weights_of(NETWORK)["w"], "float16")


def test_layers_are_those_of_the_activations() -> None:
    simulated, slots = simulation(NETWORK)
    assert {node.layer for node in simulated.nodes} == {"", *slots.sites}
    assert slots.sites == ("x", "r", "s", "m")


@pytest.mark.parametrize("product", products_of(GRAPH, weights_of(GRAPH)), ids=lambda p: p.node)
def test_corrections_restore_the_mean(product: Product) -> None:
    """Of results that no padding takes part in."""
    values = weights()
    rng = np.random.default_rng(5)
    mean = rng.standard_normal(GRAPH.type(product.site).shape[product.channel_axis])
    node = next(node for node in GRAPH.nodes if node.name == product.node)
    spread = [1] * GRAPH.type(product.site).rank
    spread[product.channel_axis] = -1
    site = np.broadcast_to(mean.reshape(spread), GRAPH.type(product.site).shape)
    constants = {"scaled": values["folded"] * values["gain"], **values}
    exact = constants[product.weight]
    change = rng.standard_normal(exact.shape).astype(np.float32) / 100

    def result(weight: Array) -> Array:
        operands = [site.astype(np.float32), weight.astype(np.float32)]
        (found,) = evaluate(node, operands)
        return found

    lost = result(exact) - result(exact - change)
    measured = Calibration({}, {product.node: mean.astype(np.float32)})
    found = correction(GRAPH, product, change, measured)
    if lost.ndim == 4:
        lost = lost[:, :, 2:3, 2:3]
    others = tuple(axis for axis in range(lost.ndim) if axis != product.out_axis)
    np.testing.assert_allclose(found, lost.mean(others), rtol=1e-3, atol=1e-3)


def test_corrections_are_added_along_the_channels() -> None:
    products = products_of(NETWORK, weights_of(NETWORK))
    changed = with_corrections(NETWORK, products)
    verify(changed, infer)
    values = network_weights()
    added = {
        product.correction: np.zeros(NETWORK.type(product.node).shape[product.out_axis], np.float32)
        for product in products
    }
    (sample,) = samples(1)
    exact, _ = run_graph(NETWORK, sample, values)
    same, _ = run_graph(changed, sample, {**values, **added})
    np.testing.assert_array_equal(same["y"], exact["y"])
    added["y/correction"][3] = 2
    more, _ = run_graph(changed, sample, {**values, **added})
    np.testing.assert_allclose(more["y"] - exact["y"], [[0, 0, 0, 2] + [0] * 6], atol=1e-5)


def test_weights_that_something_else_reads_have_no_integer_products() -> None:
    found = integer_products(GRAPH, products_of(GRAPH, weights_of(GRAPH)))
    assert "tied" not in found
    assert {"columns", "rows", "filter", "depthwise", "grouped", "scaled"} <= found.keys()
    assert {"batch", "left_big", "summed", "table"}.isdisjoint(found)
