"""The parts of a report that compare the encodings of a model."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from webkiln.backends.html_pages import backend_name, colour, escape, section, size_text, svg, table

WIDTH, HEIGHT = 480, 310
LEFT, RIGHT, TOP, BOTTOM = 60, 84, 34, 40
LABEL_SPACE = 13
"""The least distance of two labels, in pixels."""


@dataclass(frozen=True, slots=True)
class Point:
    """What verification measured of one encoding on one backend. `bytes` are those of the weights,
    `error` is the largest relative error, None if it is not finite, and `ms` the time of a run.
    """

    encoding: str
    backend: str
    bytes: int
    error: float | None
    ms: float


def largest(relatives: Sequence[float | None]) -> float | None:
    """The largest relative error. None if one is not finite."""
    return (
        None
        if None in relatives
        else max((value for value in relatives if value is not None), default=0.0)
    )


def points(encoding: str, size: int, results: Iterable[Mapping[str, Any]]) -> list[Point]:
    """The points of one encoding, one for each backend: its fastest variant and browser."""
    found: dict[str, Point] = {}
    for result in results:
        if "not_run" in result:
            continue
        error = largest([row["relative"] for row in result["outputs"]])
        ms = statistics.median(result["ms"].values())
        backend = result["backend"]
        if backend not in found or ms < found[backend].ms:
            found[backend] = Point(encoding, backend, size, error, ms)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class Axis:
    """A logarithmic axis from pixel `start` to pixel `end`."""

    low: float
    high: float
    start: float
    end: float

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float) -> "Axis":
        positive = [value for value in values if value > 0] or [1.0]
        low, high = math.log10(min(positive)), math.log10(max(positive))
        middle, half = (low + high) / 2, max((high - low) / 2 * 1.15, 0.2)
        return cls(middle - half, middle + half, start, end)

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.low) / (self.high - self.low) if value > 0 else 0.0
        return self.start + min(max(share, 0.0), 1.0) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """1, 2 and 5 times powers of ten; only these powers if there are many."""
        decades = range(math.floor(self.low), math.ceil(self.high) + 1)
        factors = (1, 2, 5) if self.high - self.low < 2 else (1,)
        step = max(1, math.ceil((self.high - self.low) / 6))
        every = [factor * 10.0**decade for decade in decades for factor in factors]
        inside = [tick for tick in every if self.low <= math.log10(tick) <= self.high]
        return inside if len(factors) > 1 else inside[::step]


def chart(
    found: Sequence[Point], value: Callable[[Point], float | None], title: str, text: str
) -> str:
    """A value of each point over the size of its weights."""
    shown = [(point, y) for point in found if (y := value(point)) is not None]
    across = Axis.over([point.bytes for point in found], LEFT, WIDTH - RIGHT)
    up = Axis.over([y for _, y in shown], HEIGHT - BOTTOM, TOP)
    parts = [
        f'<line class="grid" x1="{across.place(tick):.1f}" x2="{across.place(tick):.1f}"'
        f' y1="{TOP}" y2="{HEIGHT - BOTTOM}"/><text x="{across.place(tick):.1f}"'
        f' y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{size_text(tick)}</text>'
        for tick in across.ticks()
    ]
    parts += [
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up.place(tick):.1f}"'
        f' y2="{up.place(tick):.1f}"/><text x="{LEFT - 8}" y="{up.place(tick) + 4:.1f}"'
        f' text-anchor="end">{tick:g}</text>'
        for tick in up.ticks()
    ]
    parts.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">'
        f'weights</text><text x="{LEFT}" y="12">{escape(text)}</text>'
    )
    labels: dict[str, tuple[float, float]] = {}
    for point, y in shown:
        x, height = across.place(point.bytes), up.place(y)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{height:.1f}" r="5"'
            f' style="fill:{colour(point.backend)}"><title>{escape(point.encoding)},'
            f" {escape(point.backend)}: {size_text(point.bytes)}, {y:.3g}</title></circle>"
        )
        labels.setdefault(point.encoding, (x, height))
    parts += _labels(labels)
    return svg(WIDTH, HEIGHT, "".join(parts), title)


def _labels(places: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names of encodings to the right of their first points, moved up until they are apart."""
    drawn: list[tuple[float, float]] = []
    parts = []
    for encoding, (x, y) in sorted(places.items(), key=lambda item: -item[1][1]):
        height = y + 4
        while any(abs(x - other) < 90 and abs(height - at) < LABEL_SPACE for other, at in drawn):
            height -= LABEL_SPACE
        drawn.append((x, height))
        parts.append(f'<text x="{x + 9:.1f}" y="{height:.1f}">{escape(encoding)}</text>')
    return parts


def encodings_section(found: Sequence[Point]) -> str:
    """Size against error and time, for all encodings that were verified together."""
    if len({point.encoding for point in found}) < 2:
        return ""
    charts = "".join(
        (
            chart(found, lambda point: point.error, "Error by size", "relative error"),
            chart(found, lambda point: point.ms, "Time by size", "ms"),
        )
    )
    head = [("encoding", ""), ("weights", "n"), ("backend", ""), ("relative error", "n")]
    body = [
        [
            escape(point.encoding),
            size_text(point.bytes),
            backend_name(point.backend),
            '<span class="failed">differs</span>' if point.error is None else f"{point.error:.2g}",
            f"{point.ms:.2f}",
        ]
        for point in sorted(found, key=lambda item: (-item.bytes, item.encoding, item.backend))
    ]
    note = (
        "The weights of each encoding, the largest relative error of its outputs, and the median"
        " time of a run. Of browsers and variants, the fastest counts."
    )
    return section(
        "Encodings",
        note,
        f'<div style="display:flex;flex-wrap:wrap;gap:8px">{charts}</div>'
        + table([*head, ("run, ms", "n")], body),
    )


def choice_section(errors: Mapping[str, Any] | None) -> str:
    """The measured errors of layers, and the encodings that were chosen."""
    if errors is None:
        return ""
    head = [("layer", ""), ("weight", ""), ("error", "n"), ("chosen", "")]
    body = [
        [
            escape(row["layer"]),
            f'<span class="soft">{escape(row["weight"])}</span>',
            f"{row['error']:.2g}",
            escape(row["chosen"]),
        ]
        for row in sorted(errors["measured"], key=lambda row: -row["error"])
    ]
    note = (
        "What the coarsest encoding of each weight alone changes in the outputs of the samples, as"
        f" a root of mean squares, and what was chosen. The choice has an error of"
        f" {errors['error']:.2g}."
    )
    return section("Layers", note, table(head, body))
