"""Samples of inputs, in every form."""

from typing import Any

import numpy as np
import pytest

from webkiln.errors import RecipeError
from webkiln.ir.notation import parse_size
from webkiln.quantize.samples import from_arrays, from_function

SIGNATURE = {"image": ("float32", (1, 4, 4, 3)), "ids": ("int32", (parse_size("B"), 5))}
IMAGES = np.random.default_rng(0).random((6, 4, 4, 3), np.float32)
IDS = np.arange(30).reshape(6, 5)


def test_samples_along_the_first_axis_of_each_input() -> None:
    samples = from_arrays({"image": IMAGES, "ids": IDS}, SIGNATURE, "s.npz")
    assert len(samples) == 6
    np.testing.assert_array_equal(samples[2]["image"], IMAGES[2:3])
    np.testing.assert_array_equal(samples[5]["ids"], IDS[5:])
    assert samples[0]["ids"].dtype == np.int32


def test_samples_along_an_axis_of_their_own() -> None:
    samples = from_arrays(
        {"image": IMAGES[:, None], "ids": IDS.reshape(6, 1, 5)}, SIGNATURE, "s.npz"
    )
    np.testing.assert_array_equal(samples[3]["image"], IMAGES[3:4])
    pairs = from_arrays({"image": IMAGES[:3, None], "ids": IDS.reshape(3, 2, 5)}, SIGNATURE, "")
    np.testing.assert_array_equal(pairs[1]["ids"], IDS[2:4])


def test_a_folder_for_each_sample() -> None:
    arrays = {}
    for name, count in (("short", 1), ("long", 4)):
        arrays[f"{name}/inputs/image"] = IMAGES[:1]
        arrays[f"{name}/inputs/ids"] = IDS[:count]
    samples = from_arrays(arrays, SIGNATURE, "s.npz")
    assert [len(sample["ids"]) for sample in samples] == [4, 1]


def test_what_a_function_returns() -> None:
    made = [{"image": IMAGES[n : n + 1], "ids": IDS[n : n + 1]} for n in range(3)]
    for result in (made, iter(made), {"image": IMAGES[:3], "ids": IDS[:3]}):
        samples = from_function(result, SIGNATURE, "s.py:make")
        assert len(samples) == 3
        np.testing.assert_array_equal(samples[1]["image"], IMAGES[1:2])


def endless() -> Any:
    while True:
        yield {"image": IMAGES[:1], "ids": IDS[:1]}


def test_too_many_samples_are_refused() -> None:
    with pytest.raises(RecipeError, match="1025 samples, expected at most 1024"):
        from_function(endless(), SIGNATURE, "s.py:make")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"imag": IMAGES, "ids": IDS}, "imag is no input; did you mean image"),
        ({"image": IMAGES}, "sample 0000 lacks ids"),
        ({"image": IMAGES[:3], "ids": IDS}, "sample 0003 lacks image"),
        ({"image": IMAGES[..., :2], "ids": IDS}, r"image is \[6, 4, 4, 2\], expected samples of"),
        ({"image": IMAGES[0], "ids": IDS}, r"image is \[4, 4, 3\], expected samples of"),
        ({"image": IMAGES, "ids": IDS + 0.5}, "ids is float64, expected int32"),
        ({"image": IMAGES, "ids": IDS + (1 << 40)}, "ids has values that int32 does not have"),
        ({"image": IMAGES * np.inf, "ids": IDS}, "image has infinities or NaNs"),
        ({"image": IMAGES.astype("U5"), "ids": IDS}, "image is <U5, expected float32"),
        ({}, "there are no samples"),
    ],
)
def test_samples_that_do_not_fit_are_refused(arrays: dict[str, Any], message: str) -> None:
    with np.errstate(invalid="ignore"), pytest.raises(RecipeError, match=message):
        from_arrays(arrays, SIGNATURE, "s.npz")


@pytest.mark.parametrize("result", [3, None, [1, 2]])
def test_functions_that_return_something_else_are_refused(result: Any) -> None:
    with pytest.raises(RecipeError, match=r"s.py:make returned (int|NoneType)"):
        from_function(result, SIGNATURE, "s.py:make")
