"""The cases that pass on each backend: docs/operators.md, and its header of digests."""

import ast
import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from tests.backends.harness import ROOT
from tests.conformance.cases import Conformance, cases, cases_in_scope
from webkiln.backends.browsers import BROWSERS
from webkiln.recipe.values import BACKENDS

SKIPS = Path(__file__).with_name("skips.toml")
USUAL = "chromium"
"""The browser of the published page."""
OPERATORS = ROOT / "pipeline" / "webkiln" / "ops"
HEAD = """# ONNX operators

The node tests of the `onnx` package: for each operator, the number of its cases that pass on each
backend, in TITLE. `make conformance` runs them and writes this page;
`make conformance backend=js` updates one column.

* *n of m*: some cases fail. [Skipped](#skipped) lists them with the reasons.
* *host*: a GPU backend computes the operator on the CPU, fully or in part: it reads the operands
  back, computes and uploads the result. These are sorts and operators with data-dependent sizes.
* *built in*: cases whose test gives an operand that determines shapes (the shape of a Reshape, the
  axes of a reduction) as an input. It is compiled into the program, like the initializers of
  exported models.

[onnx.md](onnx.md) describes how models are read.
"""
STATED = re.compile(
    r"^\* (\w+): operators `(\w+)`, skips `(\w+)`, onnx ([\w.]+?)(?:, \w+ ([\w.]+))?$", re.MULTILINE
)


@dataclass(frozen=True)
class Cell:
    """One operator on one backend: the number of cases, the number that pass, and whether some run
    on the host.
    """

    total: int
    passed: int
    host: bool = False

    def __str__(self) -> str:
        count = str(self.total) if self.passed == self.total else f"{self.passed} of {self.total}"
        return f"{count} host" if self.host else count


@dataclass(frozen=True)
class Skip:
    """A case that backends fail, in every browser (skips.toml) or in one (skips-BROWSER.toml)."""

    case: str
    backends: tuple[str, ...]
    reason: str


def page_of(browser: str) -> Path:
    """The page of a browser. That of Chromium is published in docs/."""
    return (
        ROOT / "docs" / "operators.md"
        if browser == USUAL
        else ROOT / "build" / f"operators-{browser}.md"
    )


def skip_files(browser: str) -> list[Path]:
    browser_skips = SKIPS.with_name(f"skips-{browser}.toml")
    return [SKIPS, browser_skips] if browser_skips.exists() else [SKIPS]


def skips(browser: str = USUAL) -> list[Skip]:
    rows = [
        row
        for path in skip_files(browser)
        for row in tomllib.loads(path.read_text()).get("skip", [])
    ]
    return [Skip(row["case"], tuple(row["backends"]), row["reason"]) for row in rows]


def skip_reasons(backend: str, browser: str = USUAL) -> dict[str, str]:
    """Case -> reason."""
    return {row.case: row.reason for row in skips(browser) if backend in row.backends}


def digest(paths: Iterable[Path]) -> str:
    """A digest of file contents; of Python modules without comments, docstrings and formatting."""
    joined = hashlib.sha256()
    for path in sorted(paths):
        content = (
            _code(path.read_text("utf-8")) if path.suffix == ".py" else path.read_text("utf-8")
        )
        joined.update(f"{path.name}\0{content}".encode())
    return joined.hexdigest()[:16]


def _code(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [item for item in node.body if not _is_text(item)]
    return ast.dump(tree)


def _is_text(item: ast.stmt) -> bool:
    """Whether a statement is the docstring of a definition or an attribute."""
    return isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)


def state(browser: str = USUAL) -> tuple[str, str, str]:
    """The digests of everything that determines results: operators, skips, cases."""
    return digest(OPERATORS.glob("*.py")), digest(skip_files(browser)), onnx.__version__


def recorded_states(browser: str = USUAL) -> dict[str, tuple[str, ...]]:
    """The state in which each column of the page was computed, and the version of the browser."""
    page = page_of(browser)
    return (
        {backend: tuple(rest) for backend, *rest in STATED.findall(page.read_text("utf-8"))}
        if page.exists()
        else {}
    )


def columns(browser: str) -> dict[str, dict[str, str]]:
    """The columns of the page: backend -> operator -> cell."""
    page = page_of(browser)
    if not page.exists():
        return {}
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.read_text("utf-8").splitlines()
        if line.startswith("|")
    ]
    heads = [row for row in rows if row[0] == "operator"]
    if not heads:
        return {}
    names = heads[0][3:]
    return {
        name: {
            row[0].strip("`"): row[3 + position]
            for row in rows
            if len(row) == len(heads[0]) and row[0] not in ("operator", "---")
        }
        for position, name in enumerate(names)
    }


def count_exclusions(case_list: Sequence[Conformance]) -> dict[str, int]:
    """The number of cases out of scope, by reason."""
    reasons: dict[str, int] = {}
    for case in case_list:
        if case.excluded is not None:
            reasons[case.excluded] = reasons.get(case.excluded, 0) + 1
    return dict(sorted(reasons.items(), key=lambda item: (-item[1], item[0])))


def write_page(
    fresh: Mapping[str, Mapping[str, Cell]],
    constant_counts: Mapping[str, int],
    at: tuple[str, ...],
    browser: str,
    version: str,
) -> None:
    """Write the page; columns that were computed in the state `at` replace old ones.
    `constant_counts`: the number of cases with constant operands, by operator.
    """
    table = {backend: dict(column) for backend, column in columns(browser).items()}
    table |= {
        backend: {name: str(cell) for name, cell in column.items()}
        for backend, column in fresh.items()
    }
    states = recorded_states(browser) | dict.fromkeys(fresh, (*at, version))
    title = BROWSERS[browser].title
    head = (
        HEAD
        if browser == USUAL
        else HEAD.replace("make conformance", f"make conformance browser={browser}")
    )
    heads = [name for name in BACKENDS if name not in BROWSERS[browser].lacks]
    totals: dict[str, int] = {}
    for case in cases_in_scope():
        totals[case.operator] = totals.get(case.operator, 0) + 1
    reasons = count_exclusions(cases())
    lines = [head.replace("TITLE", title), "Computed at:\n"]
    for name in (name for name in heads if name in states):
        operators, rows, cases_, tested_version = states[name]
        lines.append(
            f"* {name}: operators `{operators}`, skips `{rows}`, onnx"
            f" {cases_}{f', {title} {tested_version}' if tested_version else ''}"
        )
    lines += [f"* {name}: {reason}" for name, reason in BROWSERS[browser].lacks.items()]
    lines.append(
        f"\n{len(cases())} cases: {sum(totals.values())} kept, {sum(reasons.values())} excluded.\n"
    )
    lines += [
        f"| operator | cases | built in | {' | '.join(heads)} |",
        f"|---|---|---|{'---|' * len(heads)}",
    ]
    for name in sorted(totals, key=lambda name: (name.startswith("("), name)):
        cells = [table.get(backend, {}).get(name, "") for backend in heads]
        lines.append(
            f"| `{name}` | {totals[name]} | {constant_counts.get(name, 0) or ''} |"
            f" {' | '.join(cells)} |"
        )
    lines += [
        "\n## Excluded\n",
        "Cases that are not inference on dense numeric tensors, counted by rule.\n",
        "| reason | cases |",
        "|---|---|",
    ]
    lines += [f"| {reason} | {count} |" for reason, count in reasons.items()]
    lines += ["\n## Skipped\n", "| case | backends | reason |", "|---|---|---|"]
    lines += [
        f"| {row.case} | {', '.join(row.backends)} | {row.reason} |" for row in skips(browser)
    ]
    page = page_of(browser)
    page.parent.mkdir(exist_ok=True)
    page.write_text("\n".join(lines) + "\n", "utf-8")
