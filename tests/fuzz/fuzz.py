"""Differential fuzzing: random graphs on every backend against the numpy references.

`python -m tests.fuzz.fuzz [number] [backend,...] [--seed first] [--draw mixed,cross,quantized]`.
Disagreeing graphs are printed in text form with their seed, reduced to the first wrong Variables.
Add such a graph to `tests/backends/test_corner_graphs.py`.
"""

import argparse
import sys
import tempfile
import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from tests.backends.harness import Job, run
from tests.fuzz import cross, graphs, quantized
from tests.fuzz.graphs import values_for
from tests.passes.graphs import evaluate_graph
from tests.passes.running import optimised
from webkiln.backends.compare import relative_errors
from webkiln.backends.table import REGISTRY
from webkiln.errors import ShapeError
from webkiln.ir.constraints import needs
from webkiln.ir.graph import Graph
from webkiln.ir.text import print_graph
from webkiln.ops.evaluate import run_graph
from webkiln.ops.table import infer
from webkiln.program_builder.backend import Options
from webkiln.recipe.values import VARIANTS

BATCH = 100
SIZES = (1, 5, 64)
TOLERANCE = 1e-4
NUDGE = 3e-6
MANY_GOPS = 1e6
ROUNDING = 0.05
"""The largest mean change of products of which one factor is rounded to 8 bits."""
DRAWS = {"mixed": graphs.graph, "cross": cross.graph, "quantized": quantized.graph}
"""Sources of graphs: operators of all families; the cross product of layers with layouts, sizes
and epilogues; that of products of codes with granularities, zero points and sizes.
"""


@dataclass(frozen=True)
class Example:
    """A graph with values. `expected`: the reference outputs. `stable`: the elements that small
    changes of the input do not move far. `integers`: the least and largest integer that nodes read,
    by dtype. `compiled`: the graph, or an equivalent one. `products`: the option of the recipe.
    """

    seed: int
    graph: Graph
    values: dict[str, np.ndarray]
    expected: dict[str, np.ndarray]
    stable: dict[str, np.ndarray]
    integers: dict[str, tuple[int, int]]
    compiled: Graph
    products: str = "exact"

    @property
    def job(self):
        values = self.values
        return Job(
            self.compiled,
            {n: values[n] for n in self.compiled.inputs},
            {n: values[n] for n in self.compiled.slots},
            products=self.products,
        )


def example(seed, draw="mixed"):
    graph = DRAWS[draw](seed)
    return example_of(graph, seed) if graph.nodes else None


def example_of(graph, seed):
    """Return None if a size is rejected, such as 1 for a size that must equal another one, which
    numpy would broadcast. Every other graph with weights is compiled after all passes, and two of
    four by products of 4-bit weights as they are stored.
    """
    sizes = {"T": SIZES[seed % len(SIZES)]}
    if not all(need.holds(sizes) for need in needs(graph, infer) if need.names <= sizes.keys()):
        return None
    try:
        draw = quantized.values_for if graph.weights else values_for
        values = draw(graph, seed, sizes)
        expected, computed = run_graph(graph, values, values)
    except ShapeError:
        return None
    stable = stable_elements(graph, values, expected, seed)
    if stable is None:
        return None
    passes, dot = (seed % 2, seed // 2 % 2) if graph.weights else (0, 0)
    return Example(
        seed,
        graph,
        values,
        expected,
        stable,
        extremes(computed[name] for name in {name for node in graph.nodes for name in node.inputs}),
        optimised(graph) if passes else graph,
        "dot" if dot else "exact",
    )


def stable_elements(graph, values, expected, seed):
    """The elements of the outputs that are the same when float inputs and weights move a little, at
    random or all of them in one direction: comparisons, casts, roundings and sorting jump. None if
    shapes change.
    """
    rng = np.random.default_rng(seed + 1)
    stable = {name: np.ones(array.shape, bool) for name, array in expected.items()}
    for low, high in ((-NUDGE, NUDGE), (-NUDGE, NUDGE), (NUDGE, NUDGE), (-NUDGE, -NUDGE)):
        perturbed = {
            n: (
                (v * (1 + rng.uniform(low, high, v.shape))).astype(v.dtype)
                if v.dtype == np.float32
                else v
            )
            for n, v in values.items()
        }
        perturbed_outputs = run_graph(graph, perturbed, perturbed)[0]
        for name, array in expected.items():
            if perturbed_outputs[name].shape != array.shape:
                return None
            stable[name] &= agrees(perturbed_outputs[name], array)
    return stable


def extremes(arrays):
    limits = {}
    for array in arrays:
        if array.dtype.kind in "iu" and array.size:
            least, largest = limits.get(str(array.dtype), (0, 0))
            limits[str(array.dtype)] = min(least, int(array.min())), max(largest, int(array.max()))
    return limits


def holds(backend, case):
    """Whether a backend represents all integers that nodes of an example read. A backend without
    64-bit integers computes with other values.
    """
    limits = {dtype: np.iinfo(REGISTRY[backend].target.stored(dtype)) for dtype in case.integers}
    return all(
        limits[dtype].min <= least and largest <= limits[dtype].max
        for dtype, (least, largest) in case.integers.items()
    )


def agrees(got, expected):
    """Per element: equal, or near relative to the largest."""
    if got.dtype.kind != "f":
        return got == expected
    return relative_errors(got, expected) <= max(TOLERANCE, float(np.finfo(got.dtype).eps) * 4)


def clip_to_storage(array, backend):
    """Clip integers to the range of a backend's storage. Reductions of nothing return the limits of
    the dtype, which 32-bit storage does not have.
    """
    limits = (
        np.iinfo(REGISTRY[backend].target.stored(str(array.dtype)))
        if array.dtype.kind in "iu"
        else None
    )
    return (
        array
        if limits is None
        else np.clip(
            array,
            max(limits.min, np.iinfo(array.dtype).min),
            min(limits.max, np.iinfo(array.dtype).max),
        )
    )


def rounded_on(case, backend):
    """The example with the reference of the graph that a backend makes of it, if results differ
    because of the option of the recipe.
    """
    configured = REGISTRY[backend].configured(Options(products=case.products))
    graph = configured.prepared(case.compiled).graph
    if graph == case.compiled:
        return case
    expected, _ = run_graph(graph, case.values, case.values)
    stable = stable_elements(graph, case.values, expected, case.seed)
    return replace(case, graph=graph, expected=expected, stable=stable)


def far_from(rounded, exact):
    """The outputs that the option of the recipe changes by more than a rounding to 8 bits does."""
    far = []
    for name, expected in exact.expected.items() if rounded is not exact else ():
        apart, size = np.abs(rounded.expected[name] - expected).mean(), np.abs(expected).mean()
        if not apart <= ROUNDING * size:
            far.append(f"{name} is changed by {apart} on average, of {size}")
    return far


def expected_on(case, backend):
    """The reference outputs; in float32 where a backend holds float16 values as float32."""
    target = REGISTRY[backend].target
    if not target.holds_float16 or not any(
        variable.dtype == "float16" for variable in case.graph.variables.values()
    ):
        return case.expected
    return evaluate_graph(case.graph, case.values, target)


def differences(case, outputs, backend):
    """The wrong outputs, each with one wrong element."""
    exact, case = case, rounded_on(case, backend)
    wrong = far_from(case, exact)
    for name, reference in expected_on(case, backend).items():
        got, expected = outputs[name], clip_to_storage(reference, backend)
        if got.shape != expected.shape or got.dtype != expected.dtype:
            wrong.append(
                f"{name} is {got.dtype}{list(got.shape)}, expected"
                f" {expected.dtype}{list(expected.shape)}"
            )
        elif not (agrees(got, expected) | ~case.stable[name]).all():
            at = tuple(np.argwhere(~(agrees(got, expected) | ~case.stable[name]))[0])
            wrong.append(f"{name}{list(map(int, at))} is {got[at]}, expected {expected[at]}")
    return wrong


def with_templates(backend):
    """The change of a target that makes kernel templates the choice wherever they fit."""
    templates = REGISTRY[backend].target.templates
    return {"templates": tuple(replace(item, gops=MANY_GOPS) for item in templates)}


def disagreements(examples, backend, variant="simd", **changes):
    """Return (example, differences) pairs on one variant of a backend, with changes of its target.
    A batch that fails is divided. The variant `relaxed` needs a browser: the dot products of
    Node 20, where it is an experiment, are wrong.
    """
    if not examples:
        return []
    browser = "chromium" if variant == "relaxed" else ""
    with tempfile.TemporaryDirectory() as folder:
        try:
            results = run(
                [case.job for case in examples], backend, Path(folder), variant, browser, **changes
            )
        except Exception as error:  # noqa: BLE001 (any failure is a finding)
            if len(examples) == 1:
                return [(examples[0], [f"{type(error).__name__}: {error}"])]
            middle = len(examples) // 2
            return [
                item
                for part in (examples[:middle], examples[middle:])
                for item in disagreements(part, backend, variant, **changes)
            ]
    return [
        (case, wrong)
        for case, outputs in zip(examples, results, strict=True)
        if (wrong := differences(case, outputs, backend))
    ]


def reduce(case, backend, check=None):
    """Reduce the graph to the nodes up to the first wrong value. `check` is how to get the
    disagreements of examples, by default those on the first variant.
    """
    for count in range(1, len(case.graph.nodes) + 1):
        nodes = case.graph.nodes[:count]
        last = dict.fromkeys(nodes[-1].outputs)
        prefix = case.graph.edit(nodes=nodes, outputs={name: name for name in last})
        used = {
            *prefix.inputs,
            *prefix.slots,
            *prefix.constants,
            *(name for node in nodes for name in node.outputs),
        }
        reduced = example_of(
            prefix.edit(variables={n: v for n, v in prefix.variables.items() if n in used}),
            case.seed,
        )
        if reduced is not None and (check or disagreements)([reduced], backend):
            return reduced
    return case


def settings(examples, backend):
    """The settings in which examples run: each variant, and for every other pair of seeds kernel
    templates wherever they fit. Yields a title, the examples and how to check them.
    """
    for variant in VARIANTS[backend] or ("simd",):
        for templates in (False, True):
            changes = with_templates(backend) if templates else {}
            chosen = [
                case
                for case in examples
                if holds(backend, case) and (case.seed // 4 % 2 == 1) == templates
            ]
            title = f"{backend} ({variant}{', templates' * templates})"
            yield title, chosen, partial(disagreements, variant=variant, **changes)


def main():
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("number", nargs="?", type=int, default=2000)
    parser.add_argument("backends", nargs="?", default=",".join(REGISTRY))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draw", default=",".join(DRAWS))
    options = parser.parse_args()
    failed, total = 0, 0
    for first in range(options.seed, options.seed + options.number, BATCH):
        seeds = range(first, min(first + BATCH, options.seed + options.number))
        draws = options.draw.split(",")
        examples = [
            case for seed in seeds if (case := example(seed, draws[seed % len(draws)])) is not None
        ]
        total += len(examples)
        for backend in options.backends.split(","):
            for title, chosen, check in settings(examples, backend):
                for case, wrong in check(chosen, backend):
                    failed += 1
                    print(
                        f"seed {case.seed} on {title}: {'; '.join(wrong)}\n"
                        f"{print_graph(reduce(case, backend, check).compiled)}",
                        flush=True,
                    )
        print(
            f"{total} graphs of {seeds.stop - options.seed} seeds, {failed} disagreements",
            flush=True,
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
