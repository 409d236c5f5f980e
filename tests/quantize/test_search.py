"""The choice of encodings by errors and bytes."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pytest

from webkiln.quantize.search import Candidate, Option, search, steps

SIZES = {"float32": 32, "float16": 16, "int8": 8, "int4": 4}
SQUARES = {"float32": 0.0, "float16": 1e-8, "int8": 1e-4, "int4": 1.0}


def candidates(scales: Mapping[str, float], sizes: Mapping[str, int]) -> list[Candidate]:
    return [
        Candidate.of(
            name,
            name,
            [Option(kind, SIZES[kind] * sizes[name], SQUARES[kind] * scale) for kind in SIZES],
        )
        for name, scale in scales.items()
    ]


def total(
    choice: Mapping[str, str], values: Mapping[str, float], table: Mapping[str, float]
) -> float:
    return sum(table[kind] * values[name] for name, kind in choice.items())


def test_options_that_save_less_for_more_error_are_left_out() -> None:
    options = [
        Option("a", 100, 0.0),
        Option("b", 60, 5.0),
        Option("c", 50, 1.0),
        Option("d", 50, 2.0),
    ]
    found = Candidate.of("w", "layer", options)
    assert [item.encoding for item in found.options] == ["a", "c"]


def test_an_option_above_the_hull_is_left_out() -> None:
    options = [Option("a", 100, 0.0), Option("b", 90, 9.0), Option("c", 0, 10.0)]
    assert [item.encoding for item in Candidate.of("w", "", options).options] == ["a", "c"]


@pytest.mark.parametrize("bound", [1e-9, 1e-3, 0.02, 0.3, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(4))
def test_the_choice_is_close_to_the_best(bound: float, seed: int) -> None:
    """By trying every choice: the one that is found has at most the bytes of the best one, plus
    those of the weight whose next step does not fit.
    """
    rng = np.random.default_rng(seed)
    names = [f"w{number}" for number in range(6)]
    scales = dict(zip(names, 10 ** rng.uniform(-3, 1, 6), strict=True))
    sizes = dict(zip(names, rng.integers(1, 9, 6).tolist(), strict=True))

    def measure(choice: Mapping[str, str]) -> float:
        return total(choice, scales, SQUARES)

    start = dict.fromkeys(names, "float32")
    found = search(start, steps(candidates(scales, sizes)), bound, measure, lambda text: None)
    assert found.error == measure(found.weights) <= bound
    best = min(
        total(dict(zip(names, kinds, strict=True)), sizes, SIZES)
        for kinds in product(SIZES, repeat=6)
        if measure(dict(zip(names, kinds, strict=True))) <= bound
    )
    assert best <= total(found.weights, sizes, SIZES) <= best + 16 * max(sizes.values())


def test_without_a_choice_within_the_bound_nothing_is_quantized() -> None:
    found = search(
        {"w": "float32"},
        [("w", "int8")],
        0.1,
        lambda choice: 0.0 if choice["w"] == "float32" else np.inf,
        lambda text: None,
    )
    assert found.weights == {"w": "float32"}


def test_an_error_that_is_no_number_is_no_choice() -> None:
    found = search(
        {"w": "float32"},
        [("w", "int8")],
        0.1,
        lambda choice: 0.0 if choice["w"] == "float32" else np.nan,
        lambda text: None,
    )
    assert found.weights == {"w": "float32"}
