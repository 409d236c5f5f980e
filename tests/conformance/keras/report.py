"""build/keras-conformance.md: the result of every call in the tests of Keras."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import keras

from tests.backends.harness import ROOT
from tests.conformance.keras.judge import Refused, summary
from tests.conformance.keras.recorded import Left
from tests.conformance.report import digest
from webkiln.recipe.values import BACKENDS

PAGE = ROOT / "build" / "keras-conformance.md"
FRONTEND = ROOT / "pipeline" / "webkiln" / "frontends" / "keras"
HEAD = """# Keras's own tests

Keras's wheel contains its tests. `make conformance-keras` (about two hours; with `backend=js`,
about 15 minutes) runs those of layers and of `keras.ops` with a plugin that records every
successful outermost call with dense numbers. Each call becomes a model of that layer or operation
with random weights. The model is converted, executed on each backend, and compared with Keras's
results for the recorded inputs: within 1e-4 in float32, exactly for integers. Calls that differ in
the values of tensors only count once. *Refused* calls raise an error in the conversion; the reasons
are below. *No model* counts calls of which Keras builds no inference model, and
[not counted](#not-counted) lists those without dense numbers.
"""
STATED = re.compile(r"^\* (\w+): handlers `(\w+)`, Keras ([\w.]+)$", re.MULTILINE)


COUNTS = 3
"""The number of columns between the name and those of backends."""
WRONG = "Converted, not right"


class Wrong(NamedTuple):
    """A converted call, and its error on a backend."""

    name: str
    backend: str
    reason: str


@dataclass
class Row:
    """The calls of one layer or operation: all, refused ones, those without a model, and those that
    are right by backend.
    """

    calls: int = 0
    refused: int = 0
    none: int = 0
    right: Counter[str] = field(default_factory=Counter)


def state() -> tuple[str, str]:
    """The state on which results depend: handlers and Keras. `make conformance` tests operators."""
    handlers = [
        path for room in ("layers", "operations") for path in (FRONTEND / room).glob("*.py")
    ]
    return digest(handlers), keras.__version__


def stated() -> dict[str, tuple[str, ...]]:
    """The state at which each column of the page was computed."""
    return (
        {backend: tuple(rest) for backend, *rest in STATED.findall(PAGE.read_text("utf-8"))}
        if PAGE.exists()
        else {}
    )


def tables() -> dict[str, list[list[str]]]:
    """The rows of the tables of the page by heading."""
    rows: dict[str, list[list[str]]] = {"": []}
    heading = ""
    for line in PAGE.read_text("utf-8").splitlines() if PAGE.exists() else ():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("| `"):
            rows.setdefault(heading, []).append(
                [cell.strip().strip("`") for cell in line.strip("|").split("|")]
            )
    return rows


def keep_columns(rows: Mapping[str, Row], wrong: Counter[Wrong], retained: Sequence[str]) -> None:
    """Keep existing columns of the page."""
    before = list(stated())
    page = tables()
    for name, *cells in page[""]:
        for backend in retained if name in rows else ():
            rows[name].right[backend] = int(cells[COUNTS + before.index(backend)])
    wrong.update(
        {
            Wrong(name, backend, reason): int(count)
            for name, backend, reason, count in page.get(WRONG, ())
            if backend in retained
        }
    )


def on_a_line(reason: str) -> str:
    """A reason as a table cell."""
    return " ".join(reason.replace("|", "/").split())


def name_of(kind: str, name: str) -> str:
    return name if kind == "layer" else f"ops.{name}"


def share(rows: Mapping[str, Row], backend: str, *, layers: bool) -> tuple[int, int]:
    """The number of right calls, and of those that have a model."""
    chosen = [row for name, row in rows.items() if name.startswith("ops.") != layers]
    return sum(row.right[backend] for row in chosen), sum(row.calls - row.none for row in chosen)


def write_page(
    rows: Mapping[str, Row],
    refused: Sequence[Refused],
    wrong: Counter[Wrong],
    left: Iterable[Left],
    backends: Sequence[str],
    at: tuple[str, str],
) -> None:
    """Write the page, and replace the columns that were computed in the state `at`."""
    states = stated() | dict.fromkeys(backends, at)
    shown = [backend for backend in BACKENDS if backend in states]
    keep_columns(rows, wrong, [backend for backend in shown if backend not in backends])
    lines = [HEAD, "Computed at:\n"]
    lines += [
        f"* {backend}: handlers `{states[backend][0]}`, Keras {states[backend][1]}"
        for backend in shown
    ]
    lines += ["", f"| | {' | '.join(shown)} |", f"|---|{'---|' * len(shown)}"]
    for title, layers in (("layers", True), ("operations", False)):
        shares = [share(rows, backend, layers=layers) for backend in shown]
        cells = [
            f"{right} of {total} ({100 * right / max(total, 1):.1f} %)" for right, total in shares
        ]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    counts = [
        sum(count for found, count in wrong.items() if found.backend == backend)
        for backend in shown
    ]
    lines.append(
        f"| [converted, not right](#converted-not-right) | {' | '.join(map(str, counts))} |"
    )
    lines += [
        "",
        (
            "| call of | calls | no model | refused |"
            f" {' | '.join(f'right on {backend}' for backend in shown)} |"
        ),
    ]
    lines.append(f"|---|---|---|---|{'---|' * len(shown)}")
    for name in sorted(rows, key=lambda name: (name.startswith("ops."), name.lower())):
        row = rows[name]
        cells = " | ".join(str(row.right[backend]) for backend in shown)
        lines.append(
            f"| `{name}` | {row.calls} | {row.none or ''} | {row.refused or ''} | {cells} |"
        )
    lines += [f"\n## {WRONG}\n", "| call of | backend | what | calls |", "|---|---|---|---|"]
    lines += [
        f"| `{name}` | {backend} | {on_a_line(reason)} | {count} |"
        for (name, backend, reason), count in sorted(wrong.items())
    ]
    for title, kind in (("Refused", "refused"), ("No model", "not a model")):
        reasons = Counter(
            (name_of(item.call.kind, item.call.name), summary(item.reason))
            for item in refused
            if item.kind == kind
        )
        lines += [f"\n## {title}\n", "| call of | reason | calls |", "|---|---|---|"]
        lines += [
            f"| `{name}` | {on_a_line(reason)} | {count} |"
            for (name, reason), count in sorted(reasons.items())
        ]
    lines += ["\n## Not counted\n", "| call of | reason | calls |", "|---|---|---|"]
    totals = Counter(
        {
            (name, reason): count
            for part in left
            for name, reasons in part.items()
            for reason, count in reasons.items()
        }
    )
    lines += [
        f"| `{name}` | {reason} | {count} |" for (name, reason), count in sorted(totals.items())
    ]
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text("\n".join(lines) + "\n", "utf-8")
