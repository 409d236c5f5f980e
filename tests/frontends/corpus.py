"""Compare models of other formats with the outputs of their frameworks, on every backend.

A corpus is a folder of model files, each next to an `.npz` of the same stem with the arrays
`in/<input>` and `out/<output>`, recorded when the corpus was built (`python -m
tests.frontends.<format>.make`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.conformance.bulk import VARIANT, Failed, run_graphs
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph

BACKEND_STRIDES = representative(
    [("wasm", 15), ("wasm", 1), ("js", 1), ("webgpu", 1), ("webgl", 1)], ("wasm", 15)
)
"""Backends, and the stride with which each samples the corpus. numpy computes all samples."""
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Sample:
    """A converted model, and the outputs of its framework for some inputs."""

    name: str
    graph: Graph
    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    tolerance: float = TOLERANCE


def read_sample(
    model: Path, convert: Callable[[Path], Graph], tolerance: float = TOLERANCE
) -> Sample:
    """Read a model file and the arrays next to it."""
    with np.load(model.with_suffix(".npz"), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    inputs, outputs = (
        {name.partition("/")[2]: array for name, array in arrays.items() if name.startswith(role)}
        for role in ("in/", "out/")
    )
    assert outputs, model
    return Sample(model.stem, convert(model), inputs, outputs, tolerance)


def mismatch(sample: Sample, got: Mapping[str, np.ndarray]) -> str | None:
    """The first difference in names, dtypes, shapes or numbers of outputs; None if they agree.
    Integers and bools must be equal.
    """
    if set(got) != set(sample.outputs):
        return f"gives {', '.join(got)}, expected {', '.join(sample.outputs)}"
    for name, expected in sample.outputs.items():
        actual = got[name]
        if actual.shape != expected.shape or actual.dtype != expected.dtype:
            return (
                f"{name} is {actual.dtype}{list(actual.shape)}, expected"
                f" {expected.dtype}{list(expected.shape)}"
            )
        if expected.dtype.kind != "f":
            if not np.array_equal(actual, expected):
                return f"{name}: {np.mean(actual != expected):.3%} of the elements differ"
            continue
        error = relative_error(actual, expected)
        if np.isinf(error):
            return f"{name}: other elements are infinite or NaN"
        if not error <= sample.tolerance:
            return (
                f"{name} is off by {error:.2g} of its largest value, expected at most"
                f" {sample.tolerance}"
            )
    return None


def reference_mismatch(sample: Sample) -> str | None:
    """The mismatch of the operators' numpy references."""
    outputs, _ = run_graph(sample.graph, sample.inputs)
    return mismatch(sample, outputs)


def mismatches(
    samples: Sequence[Sample],
    backend: str,
    folder: Path,
    browser: str = "chromium",
    variant: str = VARIANT,
) -> dict[str, str]:
    """The mismatches on a backend, by sample."""
    outcomes = run_graphs(
        [sample.graph for sample in samples],
        [sample.inputs for sample in samples],
        backend,
        folder,
        browser,
        variant,
    )
    results = {
        sample.name: (
            outcome.message if isinstance(outcome, Failed) else mismatch(sample, outcome.outputs)
        )
        for sample, outcome in zip(samples, outcomes, strict=True)
    }
    return {name: wrong for name, wrong in results.items() if wrong is not None}


def write_sample(
    model: Path, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> None:
    """Store the inputs and outputs of a framework next to a model file."""
    arrays = {f"in/{name}": np.asarray(value) for name, value in inputs.items()} | {
        f"out/{name}": np.asarray(value) for name, value in outputs.items()
    }
    np.savez_compressed(model.with_suffix(".npz"), **arrays)


def corpus(folder: Path, suffixes: Iterable[str]) -> list[Path]:
    """The model files of a corpus."""
    return sorted(path for suffix in suffixes for path in folder.glob(f"*{suffix}"))
