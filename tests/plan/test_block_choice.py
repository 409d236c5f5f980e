"""Which products the cost model computes by quantized activations, without a word in the recipe."""

import pytest

from webkiln.backends.table import REGISTRY
from webkiln.ir import symbols
from webkiln.ir.dim import Size
from webkiln.ir.types import Type
from webkiln.lower.block_products import DOT, EXACT
from webkiln.lower.block_weights import BlockWeights, Codes, Parameter
from webkiln.plan.block_choice import chooser

TARGET = REGISTRY["wasm"].target


def weights(bits: int = 4, block: int = 32) -> BlockWeights:
    scales, codes = Parameter("s", block), Codes("q", bits)
    return BlockWeights(codes, block or 32, scales, 8, None, None, transposed=False)


def chooses(found: BlockWeights, rows: Size, depth: int = 2048, columns: int = 2048) -> str | None:
    types = Type("float32", (rows, depth)), Type("float32", (rows, columns))
    return chooser(TARGET)(found, types)


@pytest.mark.parametrize("rows", [1, 5, 128, symbols.placeholder("N")])
def test_large_matrices(rows: Size) -> None:
    assert chooses(weights(), rows) == DOT


def test_small_matrices_stay_exact() -> None:
    assert chooses(weights(), 1, 64, 64) == EXACT


@pytest.mark.parametrize("found", [weights(8), weights(4, 0)], ids=["8 bits", "columns"])
def test_finer_weights_stay_exact(found: BlockWeights) -> None:
    assert chooses(found, 1) == EXACT


def test_rows_of_tables_are_decoded_after_they_are_selected() -> None:
    assert chooser(TARGET)(weights(), ()) is not None
