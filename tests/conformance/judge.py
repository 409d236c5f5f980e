"""Run cases on a backend and report their failures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.bulk import Failed, Ran, run_graphs
from tests.conformance.cases import Conformance, Prepared, mismatch, prepare
from webkiln.errors import WebkilnError


@dataclass(frozen=True)
class Verdict:
    """The fault of a case, or None; whether it used the host, and whether operands were
    constants.
    """

    case: Conformance
    wrong: str | None
    host: bool = False
    has_constants: bool = False


def judge(
    cases: Sequence[Conformance],
    backend: str,
    folder: Path,
    browser: str = "chromium",
    adapter: Mapping[str, str] | None = None,
) -> list[Verdict]:
    """The verdicts of cases. `adapter`: what the page tells about its GPU."""
    prepared: list[Prepared] = []
    broken: dict[str, str] = {}
    for case in cases:
        try:
            prepared += prepare(case)
        except WebkilnError as error:
            broken[case.name] = f"{type(error).__name__}: {error}"
    outcomes = run_graphs(
        [item.graph for item in prepared],
        [item.inputs for item in prepared],
        backend,
        folder,
        browser,
        adapter=adapter,
    )
    wrong: dict[str, str] = dict(broken)
    host: set[str] = set()
    for item, outcome in zip(prepared, outcomes, strict=True):
        if (reason := objection(item, outcome)) is not None:
            wrong.setdefault(item.case.name, reason)
        if isinstance(outcome, Ran) and outcome.host:
            host.add(item.case.name)
    with_constants = {item.case.name for item in prepared if item.constant_inputs}
    return [
        Verdict(case, wrong.get(case.name), case.name in host, case.name in with_constants)
        for case in cases
    ]


def objection(item: Prepared, outcome: Ran | Failed) -> str | None:
    if isinstance(outcome, Failed):
        return outcome.message
    for name, reference in item.outputs.items():
        if (reason := mismatch(item.case, outcome.outputs[name], reference)) is not None:
            return f"{name} {reason}"
    return None
