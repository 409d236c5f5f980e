"""A profile as an HTML page: a flame chart of the fastest run, tables of launches and layers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from webkiln.backends.html_pages import (
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
from webkiln.commands.figures import (
    NO_LAYER,
    Figures,
    largest_first,
    launches_of,
    layers_of,
    milliseconds,
    remarks,
    rounded,
    summed,
    where,
)

WIDTH, MOST_WIDTH = 990, 12000
"""The width of the overview in pixels, and the maximum width of the detailed chart."""
EACH = 60
"""Pixels per launch in the detailed chart."""
ROW, GAP = 22, 2
NARROW = 0.4
"""Bars below this width in pixels are not drawn."""
CHARACTER, LABEL = 7, 48
"""Approximate widths of a character and of a time label, in pixels."""
STYLE = (
    "<style>.name { fill: var(--ink); pointer-events: none; } .cut { max-width: 320px; overflow:"
    " hidden; text-overflow: ellipsis; } td.kernel { font-family: ui-monospace, monospace;"
    " font-size: 12.5px; } .wide { width: 14%; min-width: 90px; } .near { overflow-x: auto;"
    " margin-top: 12px; }</style>"
)


@dataclass(frozen=True, slots=True)
class Flame:
    """A bar of the chart, in milliseconds, `depth` rows below the first."""

    depth: int
    start: float
    ms: float
    text: str
    tooltip: str
    strength: float


def page(name: str, profile: Mapping[str, Any]) -> str:
    launches = launches_of(profile)
    layers = layers_of(launches)
    total = summed(launches, "", "")
    peak, tint = profile["peakGflops"], colour(profile["backend"])
    tiles = [
        tile(f"{milliseconds(profile['runMs'], total)} ms", "per run, with inputs and outputs"),
        tile(
            f"{milliseconds(total.ms, total)} ms",
            f"{total.count:g} launches, {_percent(total.ms, profile['runMs'])} of it",
        ),
        tile(
            f"{total.gflops or 0:.3g}",
            f"GFLOP/s, {_percent(total.gflops or 0, peak)} of {rounded(peak)}"
            if peak
            else "GFLOP/s",
        ),
        tile(size_text(total.bytes or 0), "read and written by launches"),
    ]
    header = f'<h1>{escape(name)}</h1><span class="note">{escape(where(profile))}</span>'
    body = [
        section(
            "Flame chart",
            "The fastest run: layers, and below them their launches; then the same in detail. The"
            " stronger the colour, the closer a launch is to the peak. Hover over a bar for"
            " details.",
            _chart(profile, launches, tint),
        ),
        section(
            "Launches",
            f"{len(launches)} in a program, largest first; {_means(profile)}",
            _table(largest_first(launches), total, peak, tint),
        ),
    ]
    if len(layers) < len(launches):
        body.append(
            section(
                "Layers",
                "The same launches, by layer.",
                _table(largest_first(layers), total, peak, tint),
            )
        )
    return document(
        f"{name}: profile",
        header,
        tiles,
        f"{STYLE}{''.join(body)}",
        " ".join(f"{remark[0].upper()}{remark[1:]}." for remark in remarks(profile)),
    )


def _means(profile: Mapping[str, Any]) -> str:
    return f"means over the faster half of {profile['runs']} runs."


def _percent(part: float, duration: float | None) -> str:
    return f"{100 * part / duration:.0f} %" if duration else "-"


def _boxes(profile: Mapping[str, Any], launches: Sequence[Figures]) -> Iterator[Flame]:
    timeline, peak = profile["timeline"], profile["peakGflops"]
    parts = [(launches[entry["launch"]].layer.split("/"), entry) for entry in timeline]
    yield from _nested(parts, 0)
    deepest = {index: len(path) for index, (path, _) in enumerate(parts)}
    for index, entry in enumerate(timeline):
        launch = launches[entry["launch"]]
        # The timeline has the times one by one; the table has their sums.
        speed = launch.gflops or 0.0
        tooltip = [
            f"{launch.layer}, {launch.kernel}",
            f"{entry['ms']:.4g} ms",
            *_speeds(launch, peak),
        ]
        yield Flame(
            deepest[index],
            entry["startMs"],
            entry["ms"],
            launch.kernel,
            "\n".join(tooltip),
            min(speed / peak, 1.0) if peak else 0.0,
        )


def _nested(parts: Sequence[tuple[list[str], Mapping[str, Any]]], depth: int) -> Iterator[Flame]:
    """A bar for each sequence of launches whose layer names are equal up to this depth, with nested
    bars.
    """
    for name, group in groupby(
        parts, key=lambda part: part[0][depth] if depth < len(part[0]) else None
    ):
        inside = list(group)
        if name is None:
            continue
        begin = inside[0][1]["startMs"]
        ms = max(entry["startMs"] + entry["ms"] for _, entry in inside) - begin
        count = f"{len(inside)} launch{'es' if len(inside) > 1 else ''}"
        yield Flame(
            depth,
            begin,
            ms,
            name,
            f"{'/'.join(inside[0][0][: depth + 1])}\n{ms:.4g} ms, {count}",
            0.0,
        )
        yield from _nested(inside, depth + 1)


def _chart(profile: Mapping[str, Any], launches: Sequence[Figures], tint: str) -> str:
    boxes = list(_boxes(profile, launches))
    duration = max((box.start + box.ms for box in boxes), default=0.0)
    if not duration:
        return '<p class="note">All launches took less than a clock tick.</p>'
    far = _drawn(boxes, duration, WIDTH, tint)
    width = min(EACH * len(profile["timeline"]), MOST_WIDTH)
    return (
        far
        if width <= WIDTH
        else f'{far}<div class="near">{_drawn(boxes, duration, width, tint)}</div>'
    )


def _drawn(boxes: Sequence[Flame], duration: float, width: float, tint: str) -> str:
    scale, rows = width / duration, max(box.depth for box in boxes) + 1
    drawn = "".join(_bar(box, scale, tint) for box in boxes if box.ms * scale >= NARROW)
    marks = "".join(_mark(at, scale, rows) for at in _ticks(duration, width))
    return svg(width, rows * ROW + 20, marks + drawn, "flame chart")


def _bar(box: Flame, scale: float, tint: str) -> str:
    x, y, width = box.start * scale, box.depth * ROW + 18, max(box.ms * scale - 0.6, NARROW)
    fill = (
        f"fill:{tint};fill-opacity:{0.18 + 0.72 * box.strength:.2f}"
        if box.strength
        else "fill:var(--track)"
    )
    room = int((width - 8) / CHARACTER)
    text = box.text if len(box.text) <= room else f"{box.text[: room - 1]}…" if room > 3 else ""
    label = f'<text class="name" x="{x + 4:.1f}" y="{y + 14}">{escape(text)}</text>' if text else ""
    return (
        f'<g><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - GAP}" rx="2"'
        f' style="{fill}"><title>{escape(box.tooltip)}</title></rect>{label}</g>'
    )


def _ticks(duration: float, width: float) -> list[float]:
    """Round times in milliseconds, about 120 pixels apart."""
    rough = duration * 120 / width
    power = 10.0 ** (
        len(str(int(rough))) - 1
        if rough >= 1
        else -next(n for n in range(1, 12) if rough * 10**n >= 1)
    )
    step = next(step * power for step in (1, 2, 5, 10) if step * power >= rough)
    return [
        index * step
        for index in range(int(duration / step) + 1)
        if width * (1 - index * step / duration) > LABEL
    ]


def _mark(at: float, scale: float, rows: int) -> str:
    x = at * scale
    line = f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{rows * ROW + 18}"/>'
    return f'{line}<text x="{x + 3:.1f}" y="11">{at:.4g} ms</text>'


def _speeds(item: Figures, peak: float | None) -> list[str]:
    share = f", {_percent(item.gflops or 0, peak)} of the peak" if peak else ""
    found = [f"{item.gflops:.3g} GFLOP/s{share}"] if item.gflops else []
    return [*found, *([f"{item.gigabytes:.3g} GB/s"] if item.gigabytes else [])]


def _table(figures: Sequence[Figures], total: Figures, peak: float | None, tint: str) -> str:
    longest = max([item.ms for item in figures] + [1e-9])
    head = [
        ("layer", "cut"),
        ("kernel", "kernel"),
        ("count", "n"),
        ("ms", "n"),
        ("share", "n"),
        ("GFLOP/s", "n"),
        ("peak", "n"),
        ("GB/s", "n"),
        ("", "wide"),
    ]
    return table(
        head,
        [
            [
                (
                    f'<span title="{escape(item.layer)}">{escape(item.layer)}</span>'
                    if item.layer != NO_LAYER
                    else f'<span class="soft">{NO_LAYER}</span>'
                ),
                escape(item.kernel),
                f"{item.count:g}",
                milliseconds(item.ms, total),
                _percent(item.ms, total.ms),
                f"{item.gflops:.1f}" if item.gflops else "",
                _percent(item.gflops, peak) if item.gflops else "",
                f"{item.gigabytes:.1f}" if item.gigabytes else "",
                bar([(item.ms / longest, tint, 1.0)], f"{milliseconds(item.ms, total)} ms"),
            ]
            for item in figures
        ],
    )
