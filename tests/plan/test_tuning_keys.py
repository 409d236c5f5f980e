"""Keys of measurements: equal for calls that take the same time, different for others."""

from itertools import combinations

from tests.programs import lower
from webkiln.ops.table import parse
from webkiln.plan.tuning_keys import device_of, tuning_key, without_device

PLAIN = ("float32[6,4]", "float32[4,8]", "float32[6,8]", "MatMul({x}, {w})")


def key(
    x: str,
    w: str,
    y: str,
    call: str,
    *more: str,
    kind: str = "contraction",
    constants: tuple[str, ...] = ("w",),
    names: str = "xwm",
) -> str:
    """The key of the first kernel of a graph that computes `call` and possibly more."""
    first, second, result = names
    lines = [
        f"input {first}: {x}",
        f"slot {second}: {w}",
        f"{result}: {y} = {call.format(x=first, w=second)}",
    ]
    lines += [*more, f"output out = {'y' if more else result}"]
    return tuning_key(kind, lower(parse("\n".join(["graph g", *lines, ""]))).calls[0], constants)


DIFFERENT = {
    "plain": key(*PLAIN),
    "kind": key(*PLAIN, kind="convolution"),
    "columns": key("float32[6,4]", "float32[4,9]", "float32[6,9]", "MatMul({x}, {w})"),
    "rows": key("float32[7,4]", "float32[4,8]", "float32[7,8]", "MatMul({x}, {w})"),
    "sum": key("float32[6,5]", "float32[5,8]", "float32[6,8]", "MatMul({x}, {w})"),
    "layout": key(
        "float32[6,4]", "float32[8,4]", "float32[6,8]", 'MatMul({x}, {w}) {{"transpose_b":true}}'
    ),
    "weights that are computed": key(*PLAIN, constants=()),
}


def test_calls_of_different_cost_have_different_keys() -> None:
    for (name, first), (other_name, second) in combinations(DIFFERENT.items(), 2):
        assert first != second, f"{name} and {other_name}"


def test_epilogues_and_names_do_not_change_the_key() -> None:
    plain = DIFFERENT["plain"]
    assert key(*PLAIN, "y: float32[6,8] = Relu(m)") == plain
    assert key(*PLAIN, "slot b: float32[8]", "y: float32[6,8] = Add(m, b)") == plain
    assert key(*PLAIN, constants=("w", "others")) == plain
    assert key(*PLAIN, names="abc", constants=("b",)) == plain


def test_keys_name_the_class_of_gpus_that_runs() -> None:
    call = lower(
        parse(
            "graph g\ninput x: float32[6,4]\nslot w: float32[4,8]\n"
            "y: float32[6,8] = MatMul(x, w)\noutput out = y\n"
        )
    ).calls[0]
    plain = tuning_key("product", call, ("w",))
    own = tuning_key("product", call, ("w",), "data centre")
    assert plain.startswith("product 6x8 of 4 #")
    assert own == plain.replace(" #", " on data centre #")
    assert (device_of(own), device_of(plain)) == ("data centre", "")
    assert (without_device(own), without_device(plain)) == (plain, plain)
    assert tuning_key("product", call, ("w",), facts=[True]) != plain
