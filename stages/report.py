"""Writes the report of a verified bundle: errors, timings and sizes, as one page and as JSON."""

import html
import math
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import brotli

from webkiln import canonical
from webkiln.build import stage

DATA = ()

FULL_EFFORT_BYTES = 1 << 20
STRIP_WIDTH, STRIP_HEIGHT = 320, 22

STYLE = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --ink: #16191d; --soft: #5b6470; --line: #e1e5ea;
  --wasm: #2f6fdb; --js: #c77700; --webgpu: #7a4fd0; --webgl: #12866f; --good: #14804a; --bad: #c62f2f; --track: #eceff3; }
@media (prefers-color-scheme: dark) {
  :root { --page: #101316; --card: #181c21; --ink: #e8ebee; --soft: #98a2ae; --line: #2a3037;
    --wasm: #6ea3ff; --js: #f0a63c; --webgpu: #ab8bf5; --webgl: #45c2a6; --good: #4cc38a; --bad: #ff7b72; --track: #242a31; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 24px 64px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 14px; margin-bottom: 24px; }
h1 { font-size: 30px; line-height: 1.15; margin: 0; letter-spacing: -0.02em; }
h2 { font-size: 17px; margin: 0; }
.badge { padding: 3px 12px; border-radius: 99px; font-size: 13px; font-weight: 600; color: var(--card); background: var(--good); }
.badge.bad { background: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 14px; margin-bottom: 14px; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.tile { padding: 16px 18px; }
.tile b { display: block; font-size: 25px; font-weight: 650; letter-spacing: -0.02em; font-variant-numeric: tabular-nums; }
.tile span, .note { color: var(--soft); font-size: 13px; }
section { padding: 18px 20px 10px; margin-top: 14px; overflow-x: auto; }
.note { margin: 2px 0 12px; }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; font-size: 12.5px; color: var(--soft); }
th { padding: 4px 12px 6px 0; white-space: nowrap; vertical-align: bottom; }
td { padding: 6px 12px 6px 0; border-top: 1px solid var(--line); white-space: nowrap; }
td.n, th.n { text-align: right; }
td:last-child, th:last-child { padding-right: 0; }
.key { display: inline-block; width: 9px; height: 9px; border-radius: 3px; margin-right: 8px; }
.soft { color: var(--soft); }
.failed { color: var(--bad); font-weight: 600; }
svg { display: block; }
svg text { fill: var(--soft); font-size: 11px; }
.track { fill: var(--track); }
.grid { stroke: var(--line); }
.bound { stroke: var(--bad); stroke-width: 2; }
.wide { width: 40%; min-width: 260px; }
footer { margin-top: 20px; color: var(--soft); font-size: 13px; }
"""


def colour(backend: str) -> str:
    return f"var(--{backend})"


def size_text(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000 or unit == "MB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def escape(value: object) -> str:
    return html.escape(str(value))


def where(result: dict[str, Any]) -> str:
    variant = f' <span class="soft">{escape(result["variant"])}</span>' if result["variant"] else ""
    return f'<span class="key" style="background:{colour(result["backend"])}"></span>{escape(result["backend"])}{variant}'


class LogAxis:
    """Places relative errors on a strip, one decade apart; errors of zero sit at its left end."""

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
            f'<text x="{self.x(10.0**tick):.1f}" y="12" text-anchor="middle">{f"1e{tick}" if tick else "1"}</text>' for tick in self.ticks()
        )
        return svg(STRIP_WIDTH, 16, marks, "relative error, logarithmic")

    def strip(self, row: dict[str, Any], backend: str) -> str:
        middle = STRIP_HEIGHT / 2
        lines = "".join(
            f'<line class="grid" x1="{self.x(10.0**t):.1f}" x2="{self.x(10.0**t):.1f}" y1="0" y2="{STRIP_HEIGHT}"/>' for t in self.ticks()
        )
        bound = self.x(row["bound"])
        mark = f'<line class="bound" x1="{bound:.1f}" x2="{bound:.1f}" y1="3" y2="{STRIP_HEIGHT - 3}"/>'
        if row["relative"] is None:
            return svg(STRIP_WIDTH, STRIP_HEIGHT, lines + mark, "non-finite values differ")
        dot = f'<circle cx="{self.x(row["relative"]):.1f}" cy="{middle}" r="5" style="fill:{colour(backend)}"/>'
        return svg(STRIP_WIDTH, STRIP_HEIGHT, lines + mark + dot, f"{row['relative']:.3g}, bound {row['bound']:.3g}")


def svg(width: float, height: float, body: str, label: str) -> str:
    return f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">{body}</svg>'


def bar(parts: list[tuple[float, str, float]], label: str) -> str:
    """A horizontal bar of (share of the width, colour, opacity) layers, the widest first."""
    layers = "".join(
        f'<rect y="4" rx="3" width="{max(share * 100, 0.6):.2f}%" height="14" style="fill:{fill};fill-opacity:{opacity}"/>'
        for share, fill, opacity in parts
    )
    track = '<rect class="track" y="4" rx="3" width="100%" height="14"/>'
    return f'<svg width="100%" height="22" role="img" aria-label="{escape(label)}">{track}{layers}</svg>'


def table(head: list[tuple[str, str]], rows: list[list[str]]) -> str:
    titles = "".join(f'<th class="{kind}">{title}</th>' for title, kind in head)
    cells = ("".join(f'<td class="{kind}">{cell}</td>' for cell, (_, kind) in zip(row, head, strict=True)) for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{''.join(f'<tr>{row}</tr>' for row in cells)}</tbody></table>"


def section(title: str, note: str, body: str) -> str:
    return f'<section><h2>{title}</h2><p class="note">{note}</p>{body}</section>'


def number(value: float | None, digits: int = 3) -> str:
    return '<span class="failed">differs</span>' if value is None else f"{value:.{digits}g}"


def errors_section(results: list[dict[str, Any]]) -> str:
    rows = [(result, row) for result in results for row in result["outputs"]]
    axis = LogAxis([v for _, row in rows for v in (row["bound"], row["relative"] or 0.0)])
    head = [("backend", ""), ("browser", ""), ("inputs", ""), ("output", ""), ("max abs", "n"), ("relative", "n"), ("cosine", "n")]
    body = [
        [
            where(result),
            escape(result["browser"]),
            escape(row["set"]),
            escape(row["output"]),
            number(row["max_abs"]),
            number(row["relative"]) if row["passed"] else f'<span class="failed">{number(row["relative"])}</span>',
            "-" if row["cosine"] is None else f"{row['cosine']:.7f}",
            axis.strip(row, result["backend"]),
        ]
        for result, row in rows
    ]
    recorded = sorted({result["reference"] for result in results if "reference" in result})
    origin = f", as it was recorded in {escape(', '.join(recorded))}; layers are not compared" if recorded else ""
    note = f"Largest difference from the framework's output{origin}, relative to the output's largest value. The red mark is the bound."
    return section("Errors", note, table([*head, (axis.header(), "")], body))


def timings_section(results: list[dict[str, Any]]) -> str:
    medians = [statistics.median(result["ms"].values()) for result in results]
    longest = max([*medians, 1e-9])
    head = [("backend", ""), ("browser", ""), ("version", ""), ("load, ms", "n"), ("run, ms", "n"), ("", "wide")]
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
    note = "One run, the median over the input sets, from the call to the answer; the machine that verified is not a benchmark."
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
                [(size["bytes"] / largest, "var(--wasm)", 0.35), (size["brotli"] / largest, "var(--wasm)", 1.0)],
                f"{size['bytes']} bytes, {size['brotli']} with brotli",
            ),
        ]
        for name, size in sorted(sizes.items(), key=lambda item: -item[1]["bytes"])
    ]
    return section("Sizes", "Pale: raw. Full: with brotli.", table(head, body))


def not_run_section(results: list[dict[str, Any]]) -> str:
    """What a browser was asked for and does not run: it is not verified there."""
    if not results:
        return ""
    head = [("backend", ""), ("browser", ""), ("version", ""), ("why", "wide")]
    body = [[where(result), escape(result["browser"]), escape(result["browser_version"]), escape(result["not_run"])] for result in results]
    return section("Not run", "These were asked for and are not verified.", table(head, body))


def tile(value: str, label: str) -> str:
    return f'<div class="tile"><b>{value}</b><span>{label}</span></div>'


def page(name: str, passed: bool, results: list[dict[str, Any]], sizes: dict[str, dict[str, int]]) -> str:
    asked, results = results, ran(results)
    relatives = [row["relative"] for result in results for row in result["outputs"]]
    worst = None if None in relatives else max(relatives, default=0.0)
    code = sum(size["brotli"] for file, size in sizes.items() if file.endswith((".js", ".wasm")))
    weights = sum(size["bytes"] for file, size in sizes.items() if file.endswith(".bin"))
    fastest = min(results, key=lambda result: statistics.median(result["ms"].values()), default=None)
    tiles = [
        tile(number(worst, 2), "largest relative error"),
        tile(size_text(code), "code with brotli, all backends"),
        tile(size_text(weights), "weights"),
    ]
    if fastest:
        tiles.insert(1, tile(f"{statistics.median(fastest['ms'].values()):.2f} ms", f"fastest run, {escape(fastest['backend'])}"))
    badge = '<span class="badge">verified</span>' if passed else '<span class="badge bad">differs</span>'
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(name)}: verification</title><link rel="icon" href="data:,"><style>{STYLE}</style></head><body><main>'
        f'<header><h1>{escape(name)}</h1>{badge}</header><div class="tiles">{"".join(tiles)}</div>'
        f"{not_run_section([result for result in asked if 'not_run' in result])}{errors_section(results)}{timings_section(results)}{sizes_section(sizes)}"
        "<footer>Written by webkiln. The same figures are in verification.json.</footer></main></body></html>\n"
    )


def ran(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [result for result in results if "not_run" not in result]


def brotli_size(data: bytes) -> int:
    return len(brotli.compress(data, quality=11 if len(data) <= FULL_EFFORT_BYTES else 5))


def run(inputs: dict[str, Path], outputs: dict[str, Path], params: dict[str, Any]) -> None:
    roles = sorted((role for role in inputs if role.startswith("result.")), key=lambda role: int(role.split(".")[1]))
    results = [canonical.read(inputs[role]) for role in roles]
    bundle = inputs["bundle/"]
    shipped = [bundle / name for name in canonical.read(bundle / "manifest.json")["files"]]
    sizes = {path.name: {"bytes": path.stat().st_size, "brotli": brotli_size(path.read_bytes())} for path in shipped}
    passed = bool(ran(results)) and all(row["passed"] for result in results for row in result["outputs"])
    outputs["report.html"].write_text(page(params["name"], passed, results, sizes), "utf-8")
    files = {"report.html": {"bytes": outputs["report.html"].stat().st_size, "sha256": canonical.file_digest(outputs["report.html"])}}
    summary = {
        "schema": "webkiln.verification/1",
        "name": params["name"],
        "passed": passed,
        "results": results,
        "sizes": sizes,
        "files": files,
    }
    canonical.write(outputs["verification.json"], summary)


if __name__ == "__main__":
    stage.main()
