"""Write the report of a verified bundle, as a page and as JSON: errors, times and sizes."""

import math
import re
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import brotli

from webkiln import canonical
from webkiln.backends.encoding_report import (
    Point,
    choice_section,
    encodings_section,
    largest,
    points,
)
from webkiln.backends.html_pages import (
    backend_name,
    bar,
    colour,
    document,
    escape,
    section,
    size_text,
    svg,
    table,
    tile,
)
from webkiln.build import stage
from webkiln.build.page_files import loaded_files

DATA = ()

FULL_EFFORT_BYTES = 1 << 20
WINOGRAD = "winograd"
"""Prefixes of kernels of fast convolutions (plan/fast_convolutions.py)."""
STRIP_WIDTH, STRIP_HEIGHT = 320, 22


def where(result: dict[str, Any]) -> str:
    more = [escape(result["variant"])] if result["variant"] else []
    more += [f"products in {escape(result['products'])}"] if "products" in result else []
    soft = f' <span class="soft">{", ".join(more)}</span>' if more else ""
    return f"{backend_name(result['backend'])}{soft}"


class LogAxis:
    """A strip with a logarithmic axis for relative errors, one decade per tick. Zero is at the left
    end.
    """

    def __init__(self, values: Iterable[float]) -> None:
        positive = [value for value in values if value > 0] or [1e-6]
        self.low = min(math.floor(math.log10(min(positive))), -8)
        self.high = max(math.ceil(math.log10(max(positive))), self.low + 1)

    def x(self, value: float) -> float:
        place = (math.log10(value) - self.low) / (self.high - self.low) if value > 0 else 0.0
        return 20 + min(max(place, 0.0), 1.0) * (STRIP_WIDTH - 40)

    def ticks(self) -> list[int]:
        step = max(1, math.ceil((self.high - self.low) / 6))
        return list(range(self.low, self.high + 1, step))

    def header(self) -> str:
        marks = "".join(
            f'<text x="{self.x(10.0**tick):.1f}" y="12"'
            f' text-anchor="middle">{f"1e{tick}" if tick else "1"}</text>'
            for tick in self.ticks()
        )
        return svg(STRIP_WIDTH, 16, marks, "relative error, logarithmic")

    def strip(self, row: dict[str, Any], backend: str) -> str:
        middle = STRIP_HEIGHT / 2
        lines = "".join(
            f'<line class="grid" x1="{self.x(10.0**t):.1f}" x2="{self.x(10.0**t):.1f}" y1="0"'
            f' y2="{STRIP_HEIGHT}"/>'
            for t in self.ticks()
        )
        bound = self.x(row["bound"])
        mark = (
            f'<line class="bound" x1="{bound:.1f}" x2="{bound:.1f}" y1="3"'
            f' y2="{STRIP_HEIGHT - 3}"/>'
        )
        if row["relative"] is None:
            return svg(STRIP_WIDTH, STRIP_HEIGHT, lines + mark, "non-finite values differ")
        dot = (
            f'<circle cx="{self.x(row["relative"]):.1f}" cy="{middle}" r="5"'
            f' style="fill:{colour(backend)}"/>'
        )
        return svg(
            STRIP_WIDTH,
            STRIP_HEIGHT,
            lines + mark + dot,
            f"{row['relative']:.3g}, bound {row['bound']:.3g}",
        )


def number(value: float | None, digits: int = 3) -> str:
    return '<span class="failed">differs</span>' if value is None else f"{value:.{digits}g}"


def errors_section(results: list[dict[str, Any]]) -> str:
    rows = [(result, row) for result in results for row in result["outputs"]]
    axis = LogAxis([v for _, row in rows for v in (row["bound"], row["relative"] or 0.0)])
    head = [
        ("backend", ""),
        ("browser", ""),
        ("inputs", ""),
        ("output", ""),
        ("max abs", "n"),
        ("relative", "n"),
        ("cosine", "n"),
    ]
    body = [
        [
            where(result),
            escape(result["browser"]),
            escape(row["set"]),
            escape(row["output"]),
            number(row["max_abs"]),
            (
                number(row["relative"])
                if row["passed"]
                else f'<span class="failed">{number(row["relative"])}</span>'
            ),
            "-" if row["cosine"] is None else f"{row['cosine']:.7f}",
            axis.strip(row, result["backend"]),
        ]
        for result, row in rows
    ]
    recorded = sorted({result["reference"] for result in results if "reference" in result})
    origin = (
        f", as recorded in {escape(', '.join(recorded))}; layers are not compared"
        if recorded
        else ""
    )
    note = (
        f"Largest difference from the framework's output{origin}, relative to the output's largest"
        " value. The red mark is the bound."
    )
    return section("Errors", note, table([*head, (axis.header(), "")], body))


def timings_section(results: list[dict[str, Any]]) -> str:
    medians = [statistics.median(result["ms"].values()) for result in results]
    longest = max([*medians, 1e-9])
    head = [
        ("backend", ""),
        ("browser", ""),
        ("version", ""),
        ("load, ms", "n"),
        ("run, ms", "n"),
        ("", "wide"),
    ]
    body = [
        [
            where(result),
            escape(result["browser"]),
            f'<span class="soft">{escape(result["browser_version"])}</span>',
            f"{result['load_ms']:.1f}",
            f"{median:.2f}",
            bar([(median / longest, colour(result["backend"]), 1.0)], f"{median:.2f} ms"),
        ]
        for result, median in zip(results, medians, strict=True)
    ]
    note = (
        "The median over the input sets of single runs, including inputs and outputs. Not a"
        " benchmark: the machine was verifying."
    )
    return section("Timings", note, table(head, body))


def sizes_section(sizes: dict[str, dict[str, int]]) -> str:
    largest = max([size["bytes"] for size in sizes.values()] + [1])
    head = [("file", ""), ("raw", "n"), ("brotli", "n"), ("", "wide")]
    body = [
        [
            escape(name),
            size_text(size["bytes"]),
            size_text(size["brotli"]),
            bar(
                [
                    (size["bytes"] / largest, "var(--wasm)", 0.35),
                    (size["brotli"] / largest, "var(--wasm)", 1.0),
                ],
                f"{size['bytes']} bytes, {size['brotli']} with Brotli",
            ),
        ]
        for name, size in sorted(sizes.items(), key=lambda item: -item[1]["bytes"])
    ]
    return section("Sizes", "Pale: raw. Full: with Brotli.", table(head, body))


def fast_convolutions(
    launches: dict[str, list[dict[str, Any]]], results: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """By backend and algorithm: the layers whose convolutions need fewer multiplications, and the
    largest error of an output. None if it is not finite.
    """
    layers: dict[tuple[str, str], dict[str, None]] = {}
    for backend, steps in launches.items():
        for step in steps:
            for item in step.get("decided", ()):
                if item["chosen"].startswith(WINOGRAD):
                    layers.setdefault((backend, item["chosen"]), {})[step["layer"]] = None
    errors_by_form = []
    for (backend, form), names in layers.items():
        errors = [
            row["relative"]
            for result in results
            if result["backend"] == backend
            for row in result["outputs"]
        ]
        if errors:
            errors_by_form.append(
                {
                    "backend": backend,
                    "form": form,
                    "layers": list(names),
                    "relative": largest(errors),
                }
            )
    return errors_by_form


def convolutions_section(fast: list[dict[str, Any]]) -> str:
    if not fast:
        return ""
    head = [("backend", ""), ("tiles", ""), ("layers", "n"), ("largest error", "n"), ("", "wide")]
    body = [
        [
            where({"backend": item["backend"], "variant": None}),
            escape(item["form"]),
            str(len(item["layers"])),
            number(item["relative"], 2),
            f'<span class="soft">{escape(", ".join(item["layers"]))}</span>',
        ]
        for item in fast
    ]
    note = (
        "Layers that are computed by fewer multiplications, and the largest relative error of the"
        ' network\'s outputs on that backend, which theirs are part of. winograd = "off" in the'
        " recipe computes them directly."
    )
    return section("Fast convolutions", note, table(head, body))


def not_run_section(results: list[dict[str, Any]]) -> str:
    """The browsers and backends that were requested but cannot run, and are not verified."""
    if not results:
        return ""
    head = [("backend", ""), ("browser", ""), ("version", ""), ("why", "wide")]
    body = [
        [
            where(result),
            escape(result["browser"]),
            escape(result["browser_version"]),
            escape(result["not_run"]),
        ]
        for result in results
    ]
    return section("Not run", "Requested, but not verified.", table(head, body))


def page(
    name: str,
    passed: bool,
    results: list[dict[str, Any]],
    sizes: dict[str, dict[str, int]],
    fast: list[dict[str, Any]],
    encodings: str = "",
) -> str:
    """`encodings`: the sections on encodings."""
    all_results, results = results, ran(results)
    relatives = [row["relative"] for result in results for row in result["outputs"]]
    code = sum(size["brotli"] for file, size in sizes.items() if file.endswith((".js", ".wasm")))
    weights = sum(size["bytes"] for file, size in sizes.items() if file.endswith(".bin"))
    fastest = min(
        results, key=lambda result: statistics.median(result["ms"].values()), default=None
    )
    tiles = [
        tile(number(largest(relatives), 2), "largest relative error"),
        tile(size_text(code), "code with Brotli, all backends"),
        tile(size_text(weights), "weights"),
    ]
    if fastest:
        tiles.insert(
            1,
            tile(
                f"{statistics.median(fastest['ms'].values()):.2f} ms",
                f"fastest run, {escape(fastest['backend'])}",
            ),
        )
    badge = (
        '<span class="badge">verified</span>'
        if passed
        else '<span class="badge bad">differs</span>'
    )
    return document(
        f"{name}: verification",
        f"<h1>{escape(name)}</h1>{badge}",
        tiles,
        "".join(
            (
                not_run_section([result for result in all_results if "not_run" in result]),
                errors_section(results),
                encodings,
                convolutions_section(fast),
                timings_section(results),
                sizes_section(sizes),
            )
        ),
        "verification.json has the same numbers.",
    )


def ran(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [result for result in results if "not_run" not in result]


def brotli_size(data: bytes) -> int:
    return len(brotli.compress(data, quality=11 if len(data) <= FULL_EFFORT_BYTES else 5))


def results_of(inputs: dict[str, Path], prefix: str) -> list[dict[str, Any]]:
    """The results of verification whose roles are `prefix` and a number, in order."""
    roles = [role for role in inputs if re.fullmatch(rf"{re.escape(prefix)}\.\d+\.json", role)]
    roles.sort(key=lambda role: int(role.split(".")[-2]))
    return [canonical.read(inputs[role]) for role in roles]


def compared(
    inputs: dict[str, Path],
    params: dict[str, Any],
    manifest: dict[str, Any],
    results: list[dict[str, Any]],
) -> list[Point]:
    """The points of this encoding, and of the others that are verified with it."""
    found = points(manifest["encoding"], sum(row["bytes"] for row in manifest["shards"]), results)
    for place, encoding in enumerate(params["compared"]):
        shards = canonical.read(inputs[f"shards.{place}.json"])["shards"]
        others = results_of(inputs, f"result.{place}")
        found += points(encoding, sum(row["bytes"] for row in shards), others)
    return found


def run(inputs: dict[str, Path], outputs: dict[str, Path], params: dict[str, Any]) -> None:
    results = results_of(inputs, "result")
    bundle = inputs["bundle/"]
    manifest = canonical.read(bundle / "manifest.json")
    shipped = [bundle / name for name in loaded_files(manifest)]
    sizes = {
        path.name: {"bytes": path.stat().st_size, "brotli": brotli_size(path.read_bytes())}
        for path in shipped
    }
    passed = bool(ran(results)) and all(
        row["passed"] for result in results for row in result["outputs"]
    )
    fast = fast_convolutions(manifest["launches"], ran(results))
    errors = canonical.read(inputs["errors.json"]) if "errors.json" in inputs else None
    found = compared(inputs, params, manifest, results)
    text = page(
        params["name"],
        passed,
        results,
        sizes,
        fast,
        encodings_section(found) + choice_section(errors),
    )
    outputs["report.html"].write_text(text, "utf-8")
    files = {
        "report.html": {
            "bytes": outputs["report.html"].stat().st_size,
            "sha256": canonical.file_digest(outputs["report.html"]),
        }
    }
    summary = {
        "schema": "webkiln.verification/1",
        "name": params["name"],
        "passed": passed,
        "results": results,
        "sizes": sizes,
        "fast_convolutions": fast,
        "files": files,
    }
    canonical.write(outputs["verification.json"], summary)


if __name__ == "__main__":
    stage.main()
