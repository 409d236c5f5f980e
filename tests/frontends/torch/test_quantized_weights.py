"""Quantized weights of GGUF files: they stay as they are stored, in programs and in bundles."""

from collections import Counter

import numpy as np
import pytest
import torch

from tests.frontends.torch.quantized_graphs import MOST, converted, sizes
from tests.frontends.torch.quantized_nets import COLUMNS, ROWS, TYPES
from tests.frontends.torch.weight_files import GGUF
from tests.passes.running import optimised, run
from webkiln.frontends.torch.block_weights import BlockWeights
from webkiln.frontends.torch.factory import factory_program
from webkiln.frontends.torch.framework import quiet
from webkiln.frontends.torch.gguf import BLOCKS, NAMES, read_gguf
from webkiln.frontends.torch.source import read_exported
from webkiln.ops.evaluate import run_graph

MATRICES = GGUF.with_name("matrices.gguf")


def saved(module: str, function: str, tmp_path) -> torch.export.ExportedProgram:
    """The program of a function, saved and read again."""
    source = {"module": f"tests.frontends.torch.{module}", "function": function, "parameters": {}}
    with quiet():
        program = factory_program(source, {}, MATRICES)
        torch.export.save(program, tmp_path / "made.pt2")
        return read_exported(tmp_path / "made.pt2")


def test_products_with_every_type(tmp_path) -> None:
    program = saved("quantized_nets", "products", tmp_path)
    dtypes = {parameter.dtype for _, parameter in program.named_parameters()}
    assert dtypes == {torch.uint8, torch.int8, torch.float16}
    graph = optimised(converted(program))
    total = sum(sizes(graph).values())
    blocks = {NAMES[kind]: block for kind, block in BLOCKS.items()}
    in_file = sum(ROWS * COLUMNS // blocks[name].count * blocks[name].size for name in TYPES)
    assert total <= MOST * in_file
    x = np.random.default_rng(0).normal(size=(3, COLUMNS)).astype(np.float32)
    (name,) = graph.inputs
    outputs, _ = run_graph(graph, {name: x})
    tensors = read_gguf(MATRICES)
    for kind, result in zip(TYPES, outputs.values(), strict=True):
        weights = tensors[f"{kind}.weight"]
        assert isinstance(weights, BlockWeights)
        expected = x.astype(np.float64) @ weights.values().T.astype(np.float64)
        np.testing.assert_allclose(result, expected, atol=1e-5 * np.abs(expected).max())
    with torch.no_grad():
        results = program.module()(torch.from_numpy(x))
    for result, output in zip(results, outputs.values(), strict=True):
        np.testing.assert_allclose(output, result, atol=1e-5 * np.abs(output).max())


def test_a_tied_table_is_stored_once(tmp_path) -> None:
    program = saved("tied_net", "make", tmp_path)
    graph = optimised(converted(program))
    assert sum(sizes(graph).values()) == ROWS * COLUMNS // 32 * 20
    numbers = np.array([[5, 31, 0, 5]])
    (name,) = graph.inputs
    (output,) = run_graph(graph, {name: numbers})[0].values()
    with torch.no_grad():
        expected = program.module()(torch.from_numpy(numbers)).numpy()
    np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("module", "function", "products"),
    [("tied_net", "make", 1), ("quantized_nets", "products", 10)],
)
def test_products_of_blocks_are_found(module: str, function: str, products: int, tmp_path) -> None:
    graph = optimised(converted(saved(module, function, tmp_path)))
    graph = run("block_products", graph, "lower")
    assert Counter(node.op for node in graph.nodes)["MatMulBlocks"] == products
