"""Which products the cost model computes by quantized activations, without a word in the recipe."""

import pytest

from webkiln.backends.table import REGISTRY
from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.types import Type
from webkiln.lower.block_products import DOT, EXACT
from webkiln.lower.block_weights import BlockWeights, Codes, Parameter
from webkiln.plan.block_choice import chooser
from webkiln.plan.vector_products import MOST_CODED_ROWS

TARGET, GPU = REGISTRY["wasm"].target, REGISTRY["webgpu"].target


def weights(bits: int = 4, block: int = 32) -> BlockWeights:
    scales, codes = Parameter("s", block), Codes("q", bits)
    return BlockWeights(codes, block or 32, scales, 8, None, None, transposed=False)


def chooses(found: BlockWeights, rows: Size, depth: int = 2048, columns: int = 2048) -> str | None:
    types = Type("float32", (rows, depth)), Type("float32", (rows, columns))
    return chooser(TARGET, "auto")(found, types)


@pytest.mark.parametrize("rows", [1, 5, 128, symbols.placeholder("N")])
def test_large_matrices(rows: Size) -> None:
    assert chooses(weights(), rows) == DOT


def test_small_matrices_stay_exact() -> None:
    assert chooses(weights(), 1, 64, 64) == EXACT


@pytest.mark.parametrize("found", [weights(8), weights(4, 0)], ids=["8 bits", "columns"])
def test_finer_weights_stay_exact(found: BlockWeights) -> None:
    assert chooses(found, 1) == EXACT


def test_rows_of_tables_are_decoded_after_they_are_selected() -> None:
    assert chooser(TARGET, "auto")(weights(), ()) is not None


HEAD = 768, 50304
"""The sum and the columns of the head of GPT-2."""


@pytest.mark.parametrize(
    ("found", "rows", "sizes", "expected"),
    [
        (weights(), 1, HEAD, DOT),
        (weights(block=128), 1, HEAD, DOT),
        (weights(), 2, HEAD, EXACT),
        (weights(), symbols.placeholder("N"), HEAD, EXACT),
        (weights(8), 1, HEAD, EXACT),
        (weights(4, 0), 1, HEAD, EXACT),
        (weights(), 1, (768, 3072), EXACT),
        (weights(), 1, (2048, 2048), EXACT),
    ],
)
def test_gpus_round_the_rows_of_large_heads(
    found: BlockWeights, rows: Size, sizes: tuple[int, int], expected: str
) -> None:
    depth, columns = sizes
    types = Type("float32", (rows, depth)), Type("float32", (rows, columns))
    assert chooser(GPU, "auto")(found, types) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [(1, DOT), (MOST_CODED_ROWS, DOT), (MOST_CODED_ROWS + 1, EXACT)],
)
def test_gpus_round_few_rows(rows: int, expected: str) -> None:
    for found in (weights(), weights(8), weights(4, 0)):
        types = Type("float32", (rows, 64)), Type("float32", (rows, 64))
        assert chooser(GPU, "dot")(found, types) == expected
        assert chooser(GPU, "exact")(found, types) == EXACT


def test_tables_are_exact_on_gpus() -> None:
    assert chooser(GPU, "dot")(weights(), ()) == EXACT
