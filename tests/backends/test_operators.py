"""Every operator, sample case and backend against the numpy references."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.backends.harness import disagreement, expected, node_job, run
from tests.sampling import representative
from tests.shared_files import create_once
from webkiln import npz
from webkiln.ir.types import Array
from webkiln.ops.operator import Case
from webkiln.ops.table import OPERATORS


@dataclass(frozen=True)
class Leg:
    """A backend; one of `step` cases of each operator is tested on it."""

    backend: str
    variant: str
    step: int
    browser: str = ""

    def __str__(self) -> str:
        return "-".join(
            filter(None, (self.backend, self.variant, "" if self.step == 1 else f"1of{self.step}"))
        )


# Node 20 has relaxed SIMD behind a flag only, and its dot products are wrong in loops.
EVERY = [
    Leg("js", "", 1),
    Leg("wasm", "relaxed", 1, "chromium"),
    Leg("wasm", "simd", 1),
    Leg("webgpu", "", 1),
    Leg("webgl", "", 1),
]
A_SIXTH = [Leg("webgpu", "", 6), Leg("webgl", "", 6)]
"""On software GPUs, the first case of each operator and every sixth of the others."""


@dataclass(frozen=True)
class SampleCase:
    """A sample case; if `trained`, every operand but the first is a weight."""

    number: int
    case: Case
    reference: Mapping[str, Array]
    trained: bool

    def __str__(self) -> str:
        return (
            f"{self.case.name or self.number} {'trained' if self.trained else 'given'}"
            f" {self.case.attrs}"
        )


@cache
def sample_cases(operator: str) -> Sequence[SampleCase]:
    cases = list(enumerate(OPERATORS[operator].cases()))
    assert cases, f"{operator} has no sample case"
    references = [expected(operator, case) for _, case in cases]
    return [
        SampleCase(number, case, reference, trained)
        for (number, case), reference in zip(cases, references, strict=True)
        for trained in ((False, True) if len(case.inputs) > 1 else (False,))
    ]


def cases_on(leg: Leg, operator: str) -> list[SampleCase]:
    return [item for item in sample_cases(operator) if item.number % leg.step == 0]


def run_all(leg: Leg, operators: Sequence[str], folder: Path, path: Path) -> None:
    """Write the outputs of the cases of operators to `path`, computed in one batch: one compiler
    call, one Node process or page.
    """
    rows = {
        (operator, number): item
        for operator in operators
        for number, item in enumerate(cases_on(leg, operator))
    }
    jobs = [
        node_job(operator, item.case, trained=item.trained) for (operator, _), item in rows.items()
    ]
    results = run(jobs, leg.backend, folder, leg.variant, leg.browser)
    arrays = {
        f"{operator}/{number}/{name}": value
        for (operator, number), outputs in zip(rows, results, strict=True)
        for name, value in outputs.items()
    }
    npz.write(path, arrays)


@pytest.fixture(scope="module")
def leg(
    request: pytest.FixtureRequest, run_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Leg, Mapping[str, Array]]:
    """A leg with the outputs of all cases of the operators whose tests run on it, computed by one
    worker.
    """
    chosen: Leg = request.param
    calls = [
        item.callspec.params
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    ]
    selected = {params["operator"] for params in calls if params.get("leg") == chosen}
    operators = [name for name in OPERATORS if name in selected]
    folder = tmp_path_factory.mktemp("operators")
    path = create_once(
        run_folder / f"operators-{chosen}.npz",
        lambda path: run_all(chosen, operators, folder, path),
    )
    return chosen, npz.read(path)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize(
    "leg", representative([*EVERY, *A_SIXTH], *EVERY[:2], *A_SIXTH), indirect=True, ids=str
)
def test_an_operator_agrees_with_its_reference(
    leg: tuple[Leg, Mapping[str, Array]], operator: str
) -> None:
    chosen, arrays = leg
    outputs: dict[int, dict[str, Array]] = {}
    for key, value in arrays.items():
        name, number, output = key.split("/")
        if name == operator:
            outputs.setdefault(int(number), {})[output] = value
    rows = cases_on(chosen, operator)
    assert rows
    assert outputs.keys() == set(range(len(rows)))
    disagreements = {
        f"{number}: {item}": disagreement(outputs[number], item.reference, item.case.tolerance)
        for number, item in enumerate(rows)
    }
    assert not {row: wrong for row, wrong in disagreements.items() if wrong}
