"""Every operator in every dtype that it accepts, at critical values: ties, signs, both ends of the
range, infinities.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.backends.dtype_cases import EXACT, OWN_VALUES, DtypeCase, cases_of, edges
from tests.backends.harness import Job, run
from tests.sampling import representative
from webkiln.ir.graph import Graph, Node, Variable
from webkiln.ir.types import DTYPES, Type, is_integer
from webkiln.ops.operator import Case
from webkiln.ops.table import OPERATORS, attributes_of, evaluate, infer

TOLERANCE = {"float16": 1e-3, "float32": 1e-5, "float64": 1e-6}
LEAST = {"float16": 1e-6, "float32": 1e-7, "float64": 1e-7}
CANCELLING = {"Interpolate", "Resize"}
"""Operators whose terms may cancel almost completely. Their error is relative to the largest
element, as in their own cases.
"""


def graph_of(cases: list[DtypeCase]) -> tuple[Job, dict[str, tuple[DtypeCase, np.ndarray]]]:
    """One graph with an independent node for each case."""
    nodes, variables, inputs, outputs, expected = [], {}, {}, {}, {}
    for number, item in enumerate(cases):
        attrs = {
            **item.case.attrs,
            **({"count": f"u{number}"} if "count" in item.case.attrs else {}),
        }
        names = [f"x{number}_{position}" for position in range(len(item.case.inputs))]
        types = [Type(str(value.dtype), value.shape) for value in item.case.inputs]
        node = Node(item.op, tuple(names), ("?",), attributes_of(item.op, attrs), item.label)
        results = infer(node, types)
        output_names = tuple(f"y{number}_{position}" for position in range(len(results)))
        nodes.append(replace(node, outputs=output_names))
        variables |= {
            name: Variable(name, type_)
            for name, type_ in zip((*names, *output_names), (*types, *results), strict=True)
        }
        inputs |= zip(names, item.case.inputs, strict=True)
        outputs |= {name: name for name in output_names}
        expected |= {
            name: (item, value)
            for name, value in zip(output_names, evaluate(node, item.case.inputs), strict=True)
        }
    return Job(Graph("dtypes", tuple(nodes), variables, tuple(inputs), outputs), inputs), expected


def difference(item: DtypeCase, got: np.ndarray, expected: np.ndarray) -> str | None:
    """The elements that differ by more than the dtype allows. Non-finite elements must be equal."""
    if (got.dtype, got.shape) != (expected.dtype, expected.shape):
        return (
            f"{item.label}: gives {got.dtype}{list(got.shape)}, expected"
            f" {expected.dtype}{list(expected.shape)}"
        )
    same = got == expected
    if expected.dtype.kind == "f":
        same |= np.isnan(got) & np.isnan(expected)
        dtype = str(expected.dtype)
        if item.op not in EXACT:
            a, b = got.astype(np.float64), expected.astype(np.float64)
            with np.errstate(all="ignore"):
                bound = TOLERANCE[dtype] * np.abs(b) + LEAST[dtype]
                if item.op in CANCELLING:
                    largest = np.abs(b[np.isfinite(b)]).max(initial=0)
                    bound = np.maximum(bound, item.case.tolerance * largest)
                same |= np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= bound)
    if same.all():
        return None
    at = tuple(int(axis_indices[0]) for axis_indices in np.nonzero(~same))
    return (
        f"{item.label}: {got[at]!r} at {at}, expected {expected[at]!r}; {np.mean(~same):.1%} differ"
    )


CROSSES = [(backend, every) for backend in ("js", "wasm") for every in (False, True)]


@pytest.mark.parametrize(
    ("backend", "every"), representative(CROSSES, ("js", False), ("wasm", False))
)
def test_operators_in_every_dtype(backend: str, every: bool, tmp_path: Path) -> None:
    """One graph for each operator."""
    graphs = [
        graph_of(cases)
        for op in OPERATORS
        if op not in OWN_VALUES and (cases := list(cases_of(op, every=every)))
    ]
    results = run([job for job, _ in graphs], backend, tmp_path)
    assert not [
        message
        for (_, expected), outputs in zip(graphs, results, strict=True)
        for name, (item, value) in expected.items()
        if (message := difference(item, outputs[name], value))
    ]
    assert sum(len(expected) for _, expected in graphs) > 700


CASTS = [(source, target) for source in DTYPES for target in DTYPES if source != target]


def cast_reference(x: np.ndarray, target: str) -> np.ndarray:
    """Floats to integers truncate and saturate, NaN becomes 0. Integers wrap. Conversions to floats
    round to even.
    """
    if target == "bool":
        return x != 0
    if x.dtype.kind != "f" or not is_integer(target):
        with np.errstate(over="ignore"):
            return x.astype(target)
    limits = np.iinfo(target)
    return np.array(
        [
            (
                0
                if np.isnan(v)
                else limits.max
                if v >= limits.max
                else limits.min
                if v <= limits.min
                else int(v)
            )
            for v in x.tolist()
        ],
        target,
    )


@pytest.mark.parametrize("backend", ["js", "wasm"])
def test_casts_between_all_dtypes(backend: str, tmp_path: Path) -> None:
    """Against a separate definition. Vectors and remainders use different code, so each edge value
    occurs more than once.
    """
    cases = [
        (
            DtypeCase(
                f"{source} to {target}",
                "Cast",
                Case((np.tile(edges(source), 3),), {"dtype": target}),
            )
        )
        for source, target in CASTS
    ]
    job, _ = graph_of(cases)
    (outputs,) = run([job], backend, tmp_path)
    differences = [
        difference(
            item, outputs[f"y{n}_0"], cast_reference(item.case.inputs[0], item.case.attrs["dtype"])
        )
        for n, item in enumerate(cases)
    ]
    assert not [message for message in differences if message]
