"""Models of other formats with the outputs that their frameworks gave, run as webkiln computes them
on
every backend.

A corpus is a folder of model files, each beside an `.npz` of the same stem with `in/<input>` and
`out/<output>`: what the framework took and gave when the corpus was made (`python -m
tests.frontends.<format>.make`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.conformance.bulk import Failed, run_graphs
from tests.sampling import representative
from webkiln.backends.compare import relative_error
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph

A_PART_AND_ALL = representative(
    [("wasm", 15), ("wasm", 1), ("js", 1), ("webgpu", 1), ("webgl", 1)], ("wasm", 15)
)
"""Backends, and of how many samples each tries one. All samples are compared as numpy computes
them.
"""
TOLERANCE = 1e-4


@dataclass(frozen=True)
class Sample:
    """A model as it was converted, and what its framework gave for some inputs."""

    name: str
    graph: Graph
    inputs: Mapping[str, np.ndarray]
    outputs: Mapping[str, np.ndarray]
    tolerance: float = TOLERANCE


def read_sample(
    model: Path, convert: Callable[[Path], Graph], tolerance: float = TOLERANCE
) -> Sample:
    """The model of a file, with the arrays beside it."""
    with np.load(model.with_suffix(".npz"), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    inputs, outputs = (
        {name.partition("/")[2]: array for name, array in arrays.items() if name.startswith(role)}
        for role in ("in/", "out/")
    )
    assert outputs, model
    return Sample(model.stem, convert(model), inputs, outputs, tolerance)


def objection(sample: Sample, got: Mapping[str, np.ndarray]) -> str | None:
    """What is wrong with some outputs: their names, types, shapes, or numbers. Whole numbers and
    truth values have to be equal.
    """
    if set(got) != set(sample.outputs):
        return f"gives {', '.join(got)}, expected {', '.join(sample.outputs)}"
    for name, expected in sample.outputs.items():
        found = got[name]
        if found.shape != expected.shape or found.dtype != expected.dtype:
            return (
                f"{name} is {found.dtype}{list(found.shape)}, expected"
                f" {expected.dtype}{list(expected.shape)}"
            )
        if expected.dtype.kind != "f":
            if not np.array_equal(found, expected):
                return f"{name}: {np.mean(found != expected):.3%} of the elements differ"
            continue
        error = relative_error(found, expected)
        if np.isinf(error):
            return f"{name}: other elements are infinite or NaN"
        if not error <= sample.tolerance:
            return (
                f"{name} is off by {error:.2g} of its largest value, expected at most"
                f" {sample.tolerance}"
            )
    return None


def interpreted(sample: Sample) -> str | None:
    """What is wrong where the operators' numpy references compute the model."""
    outputs, _ = run_graph(sample.graph, sample.inputs)
    return objection(sample, outputs)


def objections(
    samples: Sequence[Sample], backend: str, folder: Path, browser: str = "chromium"
) -> dict[str, str]:
    """What is wrong with which sample on a backend."""
    outcomes = run_graphs(
        [sample.graph for sample in samples],
        [sample.inputs for sample in samples],
        backend,
        folder,
        browser,
    )
    found = {
        sample.name: (
            outcome.message if isinstance(outcome, Failed) else objection(sample, outcome.outputs)
        )
        for sample, outcome in zip(samples, outcomes, strict=True)
    }
    return {name: wrong for name, wrong in found.items() if wrong is not None}


def write_sample(
    model: Path, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> None:
    """Put what a framework took and gave beside a model file."""
    arrays = {f"in/{name}": np.asarray(value) for name, value in inputs.items()} | {
        f"out/{name}": np.asarray(value) for name, value in outputs.items()
    }
    np.savez_compressed(model.with_suffix(".npz"), **arrays)


def corpus(folder: Path, suffixes: Iterable[str]) -> list[Path]:
    """The model files of a corpus."""
    return sorted(path for suffix in suffixes for path in folder.glob(f"*{suffix}"))
