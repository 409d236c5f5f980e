"""Chains that run in blocks: which chains do, which do not, and that results are bit-identical."""

import random
from itertools import pairwise

import numpy as np
import pytest

from tests.lower.chain_graphs import (
    OTHER_PRODUCTS,
    PRODUCT_CHAINS,
    attention,
    check_no_bit_changes,
    job,
    parsed,
    random_values,
)
from tests.lower.convolution_graphs import (
    LAYOUTS,
    OTHER_CONVOLUTIONS,
    SYMBOLIC_WINDOW_CHAINS,
    WINDOW_CHAINS,
    WINDOW_SIZES,
    net,
)
from tests.lower.fused_calls import run_calls, values_of
from tests.programs import program, rewritten, with_target
from tests.sampling import representative
from webkiln.backends.table import REGISTRY
from webkiln.codegen.steps import flops
from webkiln.ir import symbols
from webkiln.ir.dim import is_symbolic
from webkiln.ir.text import print_graph
from webkiln.nest.steps import Repeat, calls

PRODUCTS, SYMBOLIC_PRODUCTS, WINDOWS = 16 << 10, 128 << 10, 6 << 10
"""Limits in bytes. Symbolic sizes are assumed to be large."""
OTHERS = {name: (parsed(text), {"products": PRODUCTS}) for name, text in OTHER_PRODUCTS.items()} | {
    name: (network.graph, {"windows": WINDOWS}) for name, network in OTHER_CONVOLUTIONS.items()
}


def limited(backend="js", **limits):
    return with_target(REGISTRY[backend], chain_bytes=limits)


def repeats(graph, **limits):
    return [step for step in rewritten(graph, limited(**limits)).steps if isinstance(step, Repeat)]


def check_same_bits(graph, seed, **limits):
    values = values_of(graph, seed)
    untiled, tiled = (
        run_calls(graph, values, limited(**kinds)) for kinds in (dict.fromkeys(limits, 0), limits)
    )
    assert all(np.array_equal(untiled[key], tiled[key]) for key in untiled), (
        f"seed {seed}\n{print_graph(graph)}"
    )


@pytest.mark.parametrize("backend", representative(["js", "wasm", "webgpu", "webgl"], "js", "wasm"))
@pytest.mark.sample("js")
def test_blocks_of_products_change_no_bit(backend, tmp_path, monkeypatch):
    graphs = {name: parsed(text) for name, text in (PRODUCT_CHAINS | OTHER_PRODUCTS).items()}
    check_no_bit_changes(
        {name: job(graph, random_values(graph)) for name, graph in graphs.items()},
        backend,
        [limited(backend, products=limit) for limit in (0, PRODUCTS, SYMBOLIC_PRODUCTS)],
        tmp_path,
        monkeypatch,
    )


@pytest.mark.parametrize(
    ("backend", "every"), representative([("js", 4), ("js", 1), ("wasm", 1)], ("js", 4))
)
def test_blocks_with_windows_change_no_bit(backend, every, tmp_path, monkeypatch):
    graphs = {
        name: (network.graph, WINDOW_SIZES[0])
        for name, network in (WINDOW_CHAINS | OTHER_CONVOLUTIONS).items()
    }
    graphs |= {
        f"{name}, {sizes}": (network.graph, sizes)
        for name, network in SYMBOLIC_WINDOW_CHAINS.items()
        for sizes in WINDOW_SIZES
    }
    jobs = {
        name: job(graph, random_values(graph, sizes=sizes))
        for name, (graph, sizes) in list(graphs.items())[::every]
    }
    variants = [limited(backend, windows=limit) for limit in (0, WINDOWS)]
    check_no_bit_changes(jobs, backend, variants, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", OTHERS)
def test_other_chains_are_not_tiled(name):
    graph, limits = OTHERS[name]
    assert not repeats(graph, **limits)


@pytest.mark.parametrize("name", PRODUCT_CHAINS)
def test_intermediate_results_fit_the_limit(name):
    graph = parsed(PRODUCT_CHAINS[name])
    is_symbolic_graph = any(
        is_symbolic(size) for input_ in graph.inputs for size in graph.type(input_).shape
    )
    limit = SYMBOLIC_PRODUCTS if is_symbolic_graph else PRODUCTS
    lowered = rewritten(graph, limited(products=limit))
    inside = [call for step in lowered.steps if isinstance(step, Repeat) for call in calls([step])]
    results = {call.outputs[0].name for call in inside} & {
        lowered.root(name) for name in graph.outputs.values()
    }
    assert sum(call.nest.is_contraction for call in inside) >= 2
    between = {view for call in inside for view in call.outputs if view.name not in results}
    assert between
    sizes = [
        symbols.substitute(
            view.type.size, {"B": 1, "T": 1024, "S": 1024} if is_symbolic_graph else {}
        )
        * 4
        for view in between
    ]
    assert max(sizes) <= limit


def check_even_blocks(heads, size, limit, length):
    """Check that blocks cover all rows, and few of them twice."""
    (rows,) = repeats(parsed(attention(1, heads, size, size, 16)), products=limit)
    (product, *_) = rows.steps
    count = symbols.substitute(rows.count, {"T": length})
    (first,) = (arg for arg in product.args.values() if rows.counter in symbols.names([arg]))
    starts = [
        symbols.substitute(first, {"T": length, rows.counter: number}) for number in range(count)
    ]
    extent = symbols.substitute(product.outputs[0].shape[-2], {"T": length})
    assert starts[0] == 0
    assert starts[-1] + extent == length
    assert all(0 <= next_start - start <= extent for start, next_start in pairwise(starts))
    assert count * extent <= 1.2 * length + 6


@pytest.mark.parametrize(
    "length", [1, 5, 24, 64, 127, 128, 130, 252, 256, 300, 512, 1000, 2048, 5000]
)
def test_blocks_of_symbolic_sizes_are_even(length):
    check_even_blocks(4, "T", 1 << 20, length)


@pytest.mark.parametrize("length", [120, 127, 197, 256, 577, 1001])
@pytest.mark.parametrize("rows", [31, 60, 100])
def test_blocks_of_known_sizes_are_even(rows, length):
    check_even_blocks(1, length, 4 * length * rows, length)


def test_memory_grows_linearly_with_the_length():
    """Scores of a sequence twice as long take twice the memory, not four times."""
    sizes = []
    for length in (2048, 4096):
        document = program(parsed(attention(1, 8, length, length, 64)), REGISTRY["wasm"], "float32")
        given_ = 4 * 8 * length * 64 * 4
        sizes.append(document["memory"] - given_)
    assert sizes[1] < 2.1 * max(sizes[0], 1 << 20)
    assert sizes[1] < 4 << 20


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_products_in_blocks(start):
    repeats_found = 0
    for seed in range(start, start + 20):
        draw = random.Random(seed)
        queries, keys = draw.randint(1, 90), draw.randint(20, 60)
        sizes = draw.randint(1, 3), draw.randint(1, 4), queries, keys, draw.randint(2, 9)
        graph = parsed(attention(*sizes, mask=draw.random() < 0.5))
        limit = 4 * draw.randint(24, 60) * keys
        check_same_bits(graph, seed, products=limit)
        repeats_found += len(repeats(graph, products=limit))
    assert repeats_found > 5


@pytest.mark.parametrize("name", WINDOW_CHAINS)
def test_intermediate_results_are_halved(name):
    network = WINDOW_CHAINS[name]
    full_sizes = {
        call.outputs[0].name: call.outputs[0].type.size
        for call in rewritten(network.graph, limited(windows=0)).calls
    }
    between = [
        call.outputs[0]
        for step in repeats(network.graph, windows=WINDOWS)
        for call in step.steps[:-1]
    ]
    assert between
    assert 2 * sum(view.type.size for view in between) <= sum(
        full_sizes[view.name] for view in between
    )


@pytest.mark.parametrize("name", SYMBOLIC_WINDOW_CHAINS)
def test_intermediate_results_do_not_grow_with_the_rows(name):
    """Twice the rows, or images, leave the intermediate results at the same size."""
    network = SYMBOLIC_WINDOW_CHAINS[name]
    (size, *_) = (
        size for size in ("N", "H", "W") if size in symbols.names(network.graph.type("image").shape)
    )
    between = [
        view
        for step in repeats(network.graph, windows=WINDOWS)
        for call in step.steps[:-1]
        for view in call.outputs
    ]
    assert between
    for view in between:
        long, longer = (
            symbols.substitute(view.type.size, {"N": 1, "H": 256, "W": 256} | {size: length})
            for length in (512, 1024)
        )
        assert longer < 1.1 * long


@pytest.mark.parametrize("name", WINDOW_CHAINS)
def test_few_operations_are_repeated(name):
    untiled, tiled = (
        flops(program(WINDOW_CHAINS[name].graph, limited(windows=limit), "float32")["main"])
        for limit in (0, WINDOWS)
    )
    assert tiled <= 1.13 * untiled


def test_intermediate_results_that_fit_are_not_tiled():
    network = WINDOW_CHAINS["a window of three"]
    assert not repeats(network.graph, windows=28 * 14 * 48 * 4)
    assert repeats(network.graph, windows=28 * 14 * 48 * 4 - 4)


def test_outer_dimensions_are_tiled_first():
    """Of images, rows and columns, the first dimension that saves enough."""
    for layout in LAYOUTS:
        (step,) = repeats(net(24, 60, 8, layout).inverted(48, 8).graph, windows=WINDOWS)
        assert all(call.outputs[0].type.size % 60 == 0 for call in step.steps)
    (step,) = repeats(net(8, 8, 8, batch=9).inverted(48, 8).graph, windows=16 << 10)
    assert step.count == 9


def test_a_long_chain_becomes_several_repeats():
    network = net(64, 16, 24)
    for _ in range(60):
        network.depthwise((5, 5), low=2, high=2).conv(24)
    assert len(repeats(network.graph, windows=WINDOWS)) > 10


def test_memory_excludes_wide_intermediate_results():
    """A block whose wide tensors take 38 MB needs less than 8 MB when tiled."""
    network = net(448, 112, 8).inverted(96, 8)
    assert program(network.graph, limited("wasm", windows=0), "float32")["memory"] > 36 << 20
    assert program(network.graph, REGISTRY["wasm"], "float32")["memory"] < 8 << 20


@pytest.mark.parametrize("start", range(0, 240, 40))
@pytest.mark.sample(3)
def test_random_convolutions_in_blocks(start):
    repeats_found = 0
    for seed in range(start, start + 40):
        draw = random.Random(seed)
        network = net(
            draw.randint(3, 40),
            draw.choice([1, 2, 5, 9, 20, 60]),
            draw.randint(1, 6),
            draw.choice(["last", "first"]),
            draw.choice([1, 1, 2]),
        )
        for _ in range(draw.randint(1, 3)):
            rows, columns = (network.shape(network.x)[network.images[d]] for d in (2, 3))
            kernel, dilation = (draw.randint(1, 5), draw.randint(1, 3)), draw.randint(1, 2)
            reach = (kernel[0] - 1) * dilation + 1, kernel[1]
            low, high = (tuple(draw.randint(0, 3) for _ in range(2)) for _ in range(2))
            if rows + low[0] + high[0] < reach[0] or columns + low[1] + high[1] < reach[1]:
                break
            if draw.random() < 0.7:
                network.conv(draw.randint(1, 24))
            network.depthwise(
                kernel, stride=draw.randint(1, 3), low=low, high=high, dilation=dilation
            )
            if draw.random() < 0.7:
                network.conv(draw.randint(1, 12), act=None)
        if not network.nodes:
            continue
        check_same_bits(network.graph, seed, windows=256)
        repeats_found += len(repeats(network.graph, windows=256))
    assert repeats_found > 5
