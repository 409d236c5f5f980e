"""Symbolic sizes: arithmetic agrees with integers, equal expressions compare equal, the text form
round-trips.
"""

import operator
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webkiln.errors import InternalError, ShapeError
from webkiln.ir import dim, symbols
from webkiln.ir.notation import parse_size, parse_sizes, size_from_json, size_to_json
from webkiln.ir.size_checks import guards, require_non_negative
from webkiln.ir.solve import solve

T, S = symbols.placeholder("T"), symbols.placeholder("S")
VALUES = st.fixed_dictionaries({"T": st.integers(1, 50), "S": st.integers(1, 50)})
LEAVES = st.sampled_from([T, S]) | st.integers(-9, 9)
OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": dim.floordiv,
    "max": lambda a, b: dim.maximum([a, b]),
}
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(st.sampled_from(["+", "-", "*", "max"]), inner, inner)
        | st.tuples(st.just("//"), inner, st.sampled_from([2, 3, 4, T]))
    ),
    max_leaves=8,
)


def build(tree: Any, values: dict[str, int] | None = None) -> Any:
    if isinstance(tree, tuple):
        return OPERATIONS[tree[0]](build(tree[1], values), build(tree[2], values))
    return tree if values is None else symbols.substitute(tree, values)


@given(TREES, VALUES)
def test_arithmetic_agrees_with_numbers(tree: Any, values: dict[str, int]) -> None:
    assert symbols.substitute(build(tree), values) == build(tree, values)


@given(TREES)
def test_text_round_trip(tree: Any) -> None:
    size = build(tree)
    assert size_from_json(size_to_json(size)) == size
    assert pickle.loads(pickle.dumps(size)) == size


@given(TREES, VALUES)
def test_lower_bounds_hold(tree: Any, values: dict[str, int]) -> None:
    low = dim.lower_bound(build(tree))
    assert low is None or low <= build(tree, values)


@given(TREES, VALUES)
def test_the_text_form_is_python(tree: Any, values: dict[str, int]) -> None:
    scope = {**values, "floordiv": operator.floordiv, "max": max, "min": min}
    assert eval(str(build(tree)), {"__builtins__": {}}, scope) == build(tree, values)


def test_equal_polynomials_are_one_size() -> None:
    assert (T + 1) * (T - 1) == T * T - 1
    assert T - T == 0
    assert (4 * T + 6) // 2 == 2 * T + 3
    assert (T * S) // S == T
    assert T % 1 == 0
    assert str((T + 2) // 2) == "floordiv(T, 2) + 1"


def test_unprovable_comparisons_raise() -> None:
    assert T >= 1
    assert not T < 1
    assert T + S > T
    assert dim.maximum([T, T + 3, 2]) == T + 3
    with pytest.raises(ShapeError, match="whether T is at least 2 is not known"):
        _ = T < 2


def test_symbolic_sizes_are_not_integers() -> None:
    with pytest.raises(TypeError):
        range(T)  # type: ignore[call-overload]
    with pytest.raises(AttributeError, match="a Dim is immutable"):
        T.terms = ()


@given(st.integers(-9, 9), VALUES)
def test_remainders_of_numbers(number: int, values: dict[str, int]) -> None:
    assert symbols.evaluate(number % T, values) == number % values["T"]


def test_numbers_are_told_from_symbolic_sizes() -> None:
    assert dim.known(3, "a size") == 3
    assert dim.known_shape([2, 3], "x") == (2, 3)
    assert dim.all_known((2, 3)) == (2, 3)
    assert dim.all_known((2, T)) is None
    with pytest.raises(ShapeError, match="the number of rows is 2\\*T, which is not known before"):
        dim.known(2 * T, "the number of rows")
    with pytest.raises(ShapeError, match=r"the shape of x is \[2, T\], which is not known before"):
        dim.known_shape((2, T), "x")
    with pytest.raises(ShapeError, match="a size is S"):
        symbols.evaluate(T + S, {"T": 1})


@pytest.mark.parametrize("text", ["T ** 2", "T / 2", "f(T, 1)", "T +", "__import__('os')"])
def test_invalid_text_is_rejected(text: str) -> None:
    with pytest.raises(InternalError):
        parse_size(text)


@pytest.mark.parametrize("name", ["2T", "in", "None", "T²", "Tﬁ", "Tä", "T\n"])
def test_names_must_be_identifiers_of_all_target_languages(name: str) -> None:
    with pytest.raises(ShapeError, match="is not a valid name for a size"):
        symbols.placeholder(name)


def test_placeholders_cannot_have_names_of_counters() -> None:
    with pytest.raises(ShapeError, match="'i0' is reserved for a loop counter"):
        symbols.placeholder("i0")
    step = symbols.counter("i0")
    assert parse_size(str(T - 1 - step)) == T - 1 - step
    assert parse_size("max(i0, 1)") != step


def test_lists_of_sizes_round_trip() -> None:
    sizes = (dim.maximum([T, (S + 3) // 2]), 3, dim.minimum(T // 2, dim.maximum([S, T])))
    assert parse_sizes(",".join(map(str, sizes))) == sizes
    assert parse_sizes("") == ()
    for text in ("", "1,2", "1] + [2"):
        with pytest.raises(InternalError, match="is not a size"):
            parse_size(text)


def test_bounds_of_quotients_follow_from_their_numerators() -> None:
    assert dim.is_at_least(T - 2 * (T // 2), 0)
    assert dim.is_at_least((T + 1) // 2, T // 2)
    assert dim.is_at_least(-(-T // 2), 1)
    assert not dim.is_at_least(T // 2, 1)
    halved = -(-T // 2)
    quartered = -(-halved // 2)
    assert dim.is_at_least(2 * quartered, halved)
    assert dim.is_at_least(halved + 1, 2 * quartered)
    assert not dim.is_at_least(halved, 2 * quartered)


def test_constraints_are_proven_refuted_or_collected() -> None:
    with guards() as collected:
        require_non_negative(T - 1, "never raised")
        require_non_negative(T - 3, "not proven")
        with guards() as inner:
            require_non_negative(S - 2, "inside")
    assert collected == [T - 3]
    assert inner == [S - 2]
    require_non_negative(T - 3, "outside of `guards`, nothing is collected")
    with pytest.raises(ShapeError, match="the axis has 2"):
        require_non_negative(-T, "the axis has 2")


@given(TREES, TREES, VALUES)
def test_proven_comparisons_hold_for_all_values(
    first: Any, second: Any, values: dict[str, int]
) -> None:
    a, b = build(first), build(second)
    assert not dim.is_at_least(a, b) or symbols.substitute(a, values) >= symbols.substitute(
        b, values
    )
    assert symbols.substitute(dim.minimum(a, b), values) == min(
        symbols.substitute(a, values), symbols.substitute(b, values)
    )


def test_values_follow_from_shapes() -> None:
    values: dict[str, int] = {}
    solve([2, T, 2 * T + 1, S], [2, 5, 11, 3], values)
    assert values == {"T": 5, "S": 3}
    with pytest.raises(ShapeError, match=r"expected the size 2\*T \+ 1, got 12"):
        solve([2 * T + 1], [12], values)
