"""Quantised files against what their framework computes: `python -m tests.fuzz.quantized_files
[onnx|tflite] [number] [--seed first]`.

The reference of the converted graph is compared, before and after all passes; `tests/fuzz/fuzz.py`
compares backends with it.
"""

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.frontends.onnx.running import converted, onnxruntime_outputs
from tests.frontends.tflite.loading import graph_of
from tests.frontends.tflite.operator_model import model_bytes
from tests.fuzz import quantized_onnx, quantized_tflite
from tests.passes.running import optimised
from webkiln.errors import UserError
from webkiln.frontends.tflite.reference import Interpreted
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph

TOLERANCE = 2e-5
DYNAMIC_TOLERANCE = 2e-2
"""Of products of activations that are quantised at run time: one of 8 bits may be another one."""
FEW = 0.01
"""The part of codes that may be on the other side of a tie."""


@dataclass(frozen=True)
class Outcome:
    """`kind` is equal, refused (by webkiln), rejected (by the framework) or wrong."""

    kind: str
    text: str = ""


def difference(got: np.ndarray, expected: np.ndarray, compare: str) -> str:
    """What is wrong with a result, or an empty text."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return f"{got.dtype}{list(got.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if not np.isfinite(np.asarray(expected, np.float64)).all():
        return "the framework computes no numbers"
    apart = np.abs(got.astype(np.float64) - expected.astype(np.float64))
    if compare == quantized_onnx.EXACT:
        is_right = bool((apart == 0).all())
    elif compare == quantized_onnx.CODES:
        is_right = bool((apart <= 1).all()) and (apart > 0).sum() <= max(1, FEW * apart.size)
    else:
        part = TOLERANCE if compare == quantized_onnx.FLOAT else DYNAMIC_TOLERANCE
        is_right = bool((apart <= part * max(np.abs(expected).max(initial=0), 1e-30)).all())
    if is_right:
        return ""
    at = np.unravel_index(int(np.argmax(np.where(np.isnan(apart), np.inf, apart))), apart.shape)
    return (
        f"{(apart > 0).sum()} of {apart.size} differ; at {list(map(int, at))}"
        f" {got[at]}, expected {expected[at]}"
    )


def compared(
    graph: Graph, inputs: dict[str, np.ndarray], expected: np.ndarray, compare: str
) -> Outcome:
    for title, item in (("converted", graph), ("after all passes", optimised(graph))):
        ((_, got),) = run_graph(item, inputs, graph.weights)[0].items()
        if text := difference(got, expected, compare):
            return Outcome("wrong", f"{title}: {text}")
    return Outcome("equal")


def onnx_outcome(seed: int, at: quantized_onnx.Point | None = None) -> tuple[str, Outcome]:
    """The operator of a file, and how its result compares with onnxruntime's."""
    point, file = quantized_onnx.draw(seed, at)
    try:
        ((_, expected),) = onnxruntime_outputs(file.model, file.inputs).items()
    except Exception as error:  # noqa: BLE001 (onnxruntime's exceptions have no common class)
        return point.operator, Outcome("rejected", str(error))
    try:
        graph = converted(file.model)
    except UserError as error:
        return point.operator, Outcome("refused", str(error))
    return point.operator, compared(graph, file.inputs, np.asarray(expected), file.compare)


def tflite_outcome(seed: int, at: quantized_tflite.Point | None = None) -> tuple[str, Outcome]:
    """The operator of a file, and how its result compares with the reference kernel's."""
    point, single, inputs, compare = quantized_tflite.draw(seed, at)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.tflite"
        path.write_bytes(model_bytes(single))
        try:
            ((_, expected),) = Interpreted(path)(inputs)[0].items()
        except UserError as error:
            return point.operator, Outcome("rejected", str(error))
        try:
            graph = graph_of(path)
        except UserError as error:
            return point.operator, Outcome("refused", str(error))
    return point.operator, compared(graph, inputs, expected, compare)


FORMATS: dict[str, Callable[[int], tuple[str, Outcome]]] = {
    "onnx": onnx_outcome,
    "tflite": tflite_outcome,
}


def main() -> int:
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("format", choices=FORMATS)
    parser.add_argument("number", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts: Counter[tuple[str, str]] = Counter()
    for seed in range(options.seed, options.seed + options.number):
        operator, outcome = FORMATS[options.format](seed)
        if outcome.kind != "equal" and not counts[operator, outcome.kind]:
            print(f"seed {seed}, {operator}: {outcome.kind}: {outcome.text}", flush=True)
        elif outcome.kind == "wrong":
            print(f"seed {seed}, {operator}: wrong: {outcome.text}", flush=True)
        counts[operator, outcome.kind] += 1
    for (operator, kind), count in sorted(counts.items()):
        print(f"{operator}: {count} {kind}")
    return 1 if any(kind == "wrong" for _, kind in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
