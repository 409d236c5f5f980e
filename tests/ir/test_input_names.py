"""Short names of inputs in options."""

import pytest

from webkiln.errors import ShapeError
from webkiln.ir.input_names import by_input


@pytest.mark.parametrize(
    ("names", "given", "meant"),
    [
        (["x:0", "y:0"], "x", "x:0"),
        (["x:0"], "x:0", "x:0"),
        (["serving_default_x:0", "y"], "x", "serving_default_x:0"),
        (["serving_default_x:0"], "serving_default_x", "serving_default_x:0"),
        (["serving_default_x"], "x", "serving_default_x"),
        (["x", "x:0"], "x", "x"),
        (["x:0", "serving_default_x:0"], "x", "x"),
        (["x:1"], "x", "x"),
        (["x:0"], "", ""),
    ],
)
def test_a_name_stands_for_the_input_that_alone_could_be_meant(
    names: list[str], given: str, meant: str
) -> None:
    assert by_input({given: 1}, names) == {meant: 1}


def test_an_input_is_named_once() -> None:
    with pytest.raises(ShapeError, match="x:0: is named twice, also as x"):
        by_input({"x": 1, "x:0": 2}, ["x:0"])
