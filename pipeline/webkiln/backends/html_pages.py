"""HTML parts with one style and without scripts, for reports and profiles."""

import html

STYLE = """
:root { color-scheme: light dark; --page: #f6f7f9; --card: #ffffff; --ink: #16191d;
  --soft: #5b6470; --line: #e1e5ea; --wasm: #2f6fdb; --js: #c77700; --webgpu: #7a4fd0;
  --webgl: #12866f; --good: #14804a; --bad: #c62f2f; --track: #eceff3; }
@media (prefers-color-scheme: dark) {
  :root { --page: #101316; --card: #181c21; --ink: #e8ebee; --soft: #98a2ae; --line: #2a3037;
    --wasm: #6ea3ff; --js: #f0a63c; --webgpu: #ab8bf5; --webgl: #45c2a6; --good: #4cc38a;
    --bad: #ff7b72; --track: #242a31; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 40px 24px 64px; }
header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 14px; margin-bottom: 24px; }
h1 { font-size: 30px; line-height: 1.15; margin: 0; letter-spacing: -0.02em; }
h2 { font-size: 17px; margin: 0; }
.badge { padding: 3px 12px; border-radius: 99px; font-size: 13px; font-weight: 600;
  color: var(--card); background: var(--good); }
.badge.bad { background: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 14px;
  margin-bottom: 14px; }
.tile, section { background: var(--card); border: 1px solid var(--line); border-radius: 12px; }
.tile { padding: 16px 18px; }
.tile b { display: block; font-size: 25px; font-weight: 650; letter-spacing: -0.02em;
  font-variant-numeric: tabular-nums; }
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


def backend_name(backend: str) -> str:
    """The name of a backend after its colour."""
    return f'<span class="key" style="background:{colour(backend)}"></span>{escape(backend)}'


def size_text(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1000 or unit == "MB":
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    raise AssertionError


def escape(value: object) -> str:
    return html.escape(str(value))


def svg(width: float, height: float, body: str, label: str) -> str:
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="{escape(label)}">{body}</svg>'
    )


def bar(parts: list[tuple[float, str, float]], label: str) -> str:
    """A horizontal bar of (fraction of the width, colour, opacity) layers, the widest first."""
    layers = "".join(
        f'<rect y="4" rx="3" width="{max(share * 100, 0.6):.2f}%" height="14"'
        f' style="fill:{fill};fill-opacity:{opacity}"/>'
        for share, fill, opacity in parts
    )
    track = '<rect class="track" y="4" rx="3" width="100%" height="14"/>'
    return (
        '<svg width="100%" height="22" role="img"'
        f' aria-label="{escape(label)}">{track}{layers}</svg>'
    )


def table(head: list[tuple[str, str]], rows: list[list[str]]) -> str:
    titles = "".join(f'<th class="{kind}">{title}</th>' for title, kind in head)
    cells = (
        "".join(
            f'<td class="{kind}">{cell}</td>' for cell, (_, kind) in zip(row, head, strict=True)
        )
        for row in rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def section(title: str, note: str, body: str) -> str:
    return f'<section><h2>{title}</h2><p class="note">{note}</p>{body}</section>'


def tile(value: str, label: str) -> str:
    return f'<div class="tile"><b>{value}</b><span>{label}</span></div>'


def document(title: str, header: str, tiles: list[str], body: str, footer: str) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport"'
        f' content="width=device-width, initial-scale=1"><title>{escape(title)}</title><link'
        ' rel="icon"'
        f' href="data:,"><style>{STYLE}</style></head><body><main><header>{header}</header><div'
        f' class="tiles">{"".join(tiles)}</div>{body}<footer>Written by webkiln.'
        f" {footer}</footer></main></body></html>\n"
    )
