"""make conformance [backend=js,wasm] [browser=firefox]: run the cases of the onnx package on
backends, in a browser, and write its table in docs/.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.backends.adapters import ADAPTERS
from tests.conformance.cases import cases, cases_in_scope
from tests.conformance.judge import Verdict, judge
from tests.conformance.report import USUAL, Cell, count_exclusions, skip_reasons, state, write_page
from webkiln.backends.browsers import BROWSERS, version, why_not
from webkiln.recipe.values import BACKENDS, choose


def cells(verdicts: Sequence[Verdict], backend: str) -> dict[str, Cell]:
    table: dict[str, Cell] = {}
    for verdict in verdicts:
        before = table.get(verdict.case.operator, Cell(0, 0))
        host = before.host or (verdict.host and backend not in ("js", "wasm"))
        table[verdict.case.operator] = Cell(
            before.total + 1, before.passed + (verdict.wrong is None), host
        )
    return table


def surprises(verdicts: Sequence[Verdict], backend: str, browser: str) -> list[str]:
    """Cases that fail without a row in the skip file, and those that pass with one."""
    expected = skip_reasons(backend, browser)
    names = {verdict.case.name for verdict in verdicts}
    lines = [
        f"{verdict.case.name} fails: {verdict.wrong}"
        for verdict in verdicts
        if verdict.wrong and verdict.case.name not in expected
    ]
    lines += [
        f"{v.case.name} passes, but is skipped: {expected[v.case.name]}"
        for v in verdicts
        if not v.wrong and v.case.name in expected
    ]
    return lines + [
        f"{name} is skipped, but is no kept case" for name in expected if name not in names
    ]


def main() -> int:
    parser = argparse.ArgumentParser(prog="make conformance", description=__doc__)
    parser.add_argument(
        "backend", nargs="?", default="", help=f"some of {','.join(BACKENDS)}; all by default"
    )
    parser.add_argument("--browser", default=USUAL, choices=BROWSERS)
    parser.add_argument(
        "--multiprocessors",
        type=int,
        choices=ADAPTERS,
        help="run the code for GPUs of this class on webgpu, and write no page",
    )
    options = parser.parse_args()
    adapter = ADAPTERS.get(options.multiprocessors)
    chosen, browser = options.backend, options.browser
    supported = [name for name in BACKENDS if why_not(browser, name) is None]
    at, all_cases, selected = state(browser), cases(), cases_in_scope()
    reasons = count_exclusions(all_cases)
    print(f"{len(all_cases)} cases: {len(selected)} kept, {sum(reasons.values())} excluded")
    print("\n".join(f"  {count:4} {reason}" for reason, count in reasons.items()))
    failed = False
    fresh, constant_counts = {}, {}
    for backend in (
        choose("backend", chosen.split(","), supported, BROWSERS[browser].title)
        if chosen
        else supported
    ):
        start = time.perf_counter()
        with TemporaryDirectory() as folder:
            verdicts = judge(selected, backend, Path(folder), browser, adapter)
        fresh[backend] = cells(verdicts, backend)
        constant_counts = {
            name: sum(v.has_constants for v in verdicts if v.case.operator == name)
            for name in fresh[backend]
        }
        lines = surprises(verdicts, backend, browser)
        passed = sum(verdict.wrong is None for verdict in verdicts)
        print(
            f"{backend}: {passed} of {len(verdicts)} pass, {len(skip_reasons(backend, browser))}"
            f" skipped, {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        print("".join(f"  {line}\n" for line in lines), end="")
        failed = failed or bool(lines)
        if adapter is None:
            write_page(fresh, constant_counts, at, browser, version(browser))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
