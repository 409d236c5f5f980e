"""The charts of a report that compare encodings."""

import re
from typing import Any

from webkiln.backends.encoding_report import (
    Point,
    choice_section,
    encodings_section,
    points,
)


def result(backend: str, ms: float, *errors: float | None, variant: str = "") -> dict[str, Any]:
    return {
        "backend": backend,
        "variant": variant,
        "ms": {"a": ms, "b": ms * 3, "c": ms * 2},
        "outputs": [{"relative": error} for error in errors],
    }


def test_the_fastest_result_of_a_backend_counts() -> None:
    results = [
        result("wasm", 5.0, 0.1, 0.3, variant="simd"),
        result("wasm", 4.0, 0.1, 0.2, variant="relaxed"),
        result("js", 50.0, 0.1, None),
        {"backend": "webgpu", "not_run": "there is no GPU", "outputs": []},
    ]
    assert points("int8", 1000, results) == [
        Point("int8", "wasm", 1000, 0.2, 8.0),
        Point("int8", "js", 1000, None, 100.0),
    ]


FOUND = [
    Point("float32", "wasm", 4_000_000, 1e-7, 10.0),
    Point("float32", "js", 4_000_000, 0.0, 100.0),
    Point("<int8>", "wasm", 1_000_000, 0.01, 5.0),
    Point("int4", "wasm", 510_000, None, 4.0),
]


def test_every_point_is_in_the_charts_and_the_table() -> None:
    text = encodings_section(FOUND)
    errors, times = text.split("<svg")[1:]
    assert errors.count("<circle") == 3
    assert times.count("<circle") == 4
    for chart in (errors, times):
        places = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', chart)
        assert all(0 < float(x) < 480 and 0 < float(y) < 310 for x, y in places)
    assert "&lt;int8&gt;" in errors
    assert "<int8>" not in text
    table = text.split("<table>")[1]
    assert len(re.findall("<tr>", table)) == 5
    assert "differs" in table


def test_larger_weights_and_errors_are_further_out() -> None:
    errors, times = (
        re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)"', chart)
        for chart in encodings_section(FOUND).split("<svg")[1:]
    )
    (large, low), (_, zero), (small, high) = [(float(x), float(y)) for x, y in errors]
    assert large > small
    assert zero >= low > high
    assert float(times[1][1]) < float(times[0][1]) < float(times[2][1])


def test_one_encoding_is_compared_with_nothing() -> None:
    assert encodings_section(FOUND[:2]) == ""
    assert choice_section(None) == ""


def test_layers_are_listed_with_the_largest_error_first() -> None:
    rows = [
        {"layer": name, "weight": f"{name}/w", "error": error, "chosen": "int4"}
        for name, error in (("a", 0.1), ("b<", 0.3), ("c", 0.2))
    ]
    text = choice_section({"error": 0.25, "measured": rows})
    assert re.findall(r"(a|b&lt;|c)/w", text) == ["b&lt;", "c", "a"]
    assert "0.25" in text
