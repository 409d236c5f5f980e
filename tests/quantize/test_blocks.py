"""Codes and scales of matrices, against the gguf package, and what is refused."""

import numpy as np
import pytest
from gguf import GGMLQuantizationType, quants

from webkiln.errors import SourceError
from webkiln.ir.types import Array
from webkiln.quantize.blocks import ENCODINGS, Blocks, dequantize, quantize
from webkiln.quantize.ranges import METHODS
from webkiln.quantize.weights import FLOAT16, FLOAT32, STATIC
from webkiln.recipe.values import BLOCK_ENCODINGS, LAYER_ENCODINGS, RANGES
from webkiln.recipe.values import STATIC as NAMED_STATIC

SAME_FORM = {
    "int4": GGMLQuantizationType.Q4_0,
    "uint4": GGMLQuantizationType.Q4_1,
    "int8-32": GGMLQuantizationType.Q8_0,
}


def matrix(rows: int, depth: int, kind: str = "normal") -> Array:
    rng = np.random.default_rng(depth)
    values = {
        "normal": rng.standard_normal((rows, depth)),
        "heavy": rng.standard_t(3, (rows, depth)),
        "positive": rng.uniform(1, 2, (rows, depth)),
        "lonely": np.where(rng.random((rows, depth)) < 0.02, 5.0, 0.0),
        "zeros": np.zeros((rows, depth)),
        "equal": np.full((rows, depth), -0.7),
    }[kind]
    return values.astype(np.float32)


def square_error(values: Array, rounded: Array) -> float:
    return float(np.square(values - rounded).sum(dtype=np.float64))


def test_recipes_name_what_there_is() -> None:
    assert {"int8", *BLOCK_ENCODINGS} == ENCODINGS.keys()
    assert set(RANGES) == METHODS.keys()
    assert (NAMED_STATIC, *LAYER_ENCODINGS[:2]) == (STATIC, FLOAT32, FLOAT16)


@pytest.mark.parametrize("kind", ["normal", "heavy", "positive"])
@pytest.mark.parametrize("name", SAME_FORM)
def test_the_error_is_at_most_that_of_gguf(name: str, kind: str) -> None:
    values, form = matrix(60, 192, kind), ENCODINGS[name]
    stored = quants.quantize(values, SAME_FORM[name])
    theirs = quants.dequantize(stored, SAME_FORM[name])
    ours = dequantize(quantize(values, form, "w"), form, 192)
    assert square_error(values, ours) <= 1.001 * square_error(values, theirs)
    assert form.bytes(*values.shape) == stored.nbytes


@pytest.mark.parametrize("kind", ["normal", "heavy", "positive", "lonely", "zeros", "equal"])
@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("depth", [2, 30, 32, 66, 128, 200])
def test_numbers_are_within_half_a_step(name: str, kind: str, depth: int) -> None:
    """Half a step of the plain scales; the chosen ones have a smaller square error."""
    values, form = matrix(7, depth, kind), ENCODINGS[name]
    codes = quantize(values, form, "w")
    rounded = dequantize(codes, form, depth)
    size = form.size(depth)
    assert rounded.shape == values.shape
    assert codes.scales.shape == (7, -(-depth // size))
    for start in range(0, depth, size):
        block, got = values[:, start : start + size], rounded[:, start : start + size]
        spread = np.ptp(block, 1) if form.has_minima else 2 * np.abs(block).max(1)
        steps = 2**form.bits - (1 if form.has_minima else 2)
        step = spread / steps + 2e-3 * np.abs(block).max(1)
        bound = block.shape[1] * np.square(step * (1.1 if form.bits == 4 else 0.55))
        assert np.all(np.square(block - got).sum(1) <= bound + 1e-30)


def test_codes_fill_bytes_low_bits_first() -> None:
    values = np.array([[-8, 7, 0, 1, -1, 2, 3, -4]], np.float32)
    codes = quantize(values, Blocks(4), "w")
    assert codes.scales.tolist() == [[1.0]]
    assert codes.codes.tolist() == [[0xF0, 0x98, 0xA7, 0x4B]]


@pytest.mark.parametrize("values", [np.inf, np.nan, -np.inf])
def test_what_integers_cannot_store_is_refused(values: float) -> None:
    with pytest.raises(SourceError, match="w has infinities or NaNs"):
        quantize(np.array([[1, values]], np.float32), Blocks(8), "w")


@pytest.mark.parametrize(("size", "word"), [(1e8, "large"), (1e-12, "small")])
@pytest.mark.parametrize("name", ["int4", "int8-32", "uint4"])
def test_scales_beyond_float16_are_refused(name: str, size: float, word: str) -> None:
    with pytest.raises(SourceError, match=f"too {word} for it; use encoding int8"):
        quantize(matrix(3, 64) * np.float32(size), ENCODINGS[name], "w")
