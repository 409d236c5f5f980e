"""A bundle that simulates rounding, and samples -> the encoding of each weight."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from webkiln import canonical, npz
from webkiln.backends import host
from webkiln.backends.compare import relative_error, sets_of
from webkiln.backends.reweighted import Reweighted
from webkiln.build import stage
from webkiln.errors import RecipeError, SourceError
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array
from webkiln.ops.budget import limited
from webkiln.ops.evaluate import ConstantValues
from webkiln.ops.plugins import defined_by
from webkiln.ops.table import from_json
from webkiln.plugins import import_file
from webkiln.quantize.activations import products_of
from webkiln.quantize.choice import by_layer
from webkiln.quantize.encode import Calibration, Slots
from webkiln.quantize.rewriting import integer_products
from webkiln.quantize.search import (
    Candidate,
    Choice,
    Measure,
    Option,
    errors_json,
    search,
    steps,
)
from webkiln.quantize.simulate import Simulation
from webkiln.quantize.weights import FLOAT32, STATIC, Weight, weights_of
from webkiln.weights.blobs import read_slot, stored_size
from webkiln.weights.shards import pieces, stored

DATA = ()
LADDER = ("float16", "int8-32", "int8", "uint4", "int4", "int4-64", "int4-128")
"""The encodings that `mixed` chooses from, besides float32."""
FIRST = 8
"""The samples with which errors of single weights are measured."""
VERIFIED = 16
"""The samples with which a bundle of rounded activations is verified."""
Outputs = list[dict[str, Array]]
Metric = Callable[[Outputs, Outputs], float]


def largest_error(outputs: Outputs, expected: Outputs) -> float:
    """The largest difference of any output, relative to its largest value."""
    pairs = [
        (got[name], want[name])
        for got, want in zip(outputs, expected, strict=True)
        for name in want
    ]
    return max((relative_error(*pair) for pair in pairs), default=0.0)


def mean_error(outputs: Outputs, expected: Outputs) -> float:
    """The root of the mean square difference, relative to that of the outputs."""
    total = [0.0, 0.0]
    for got, want in zip(outputs, expected, strict=True):
        for name in want:
            exact = want[name].astype(np.float64)
            total[0] += float(np.square(got[name] - exact).sum())
            total[1] += float(np.square(exact).sum())
    return sqrt(total[0] / total[1]) if total[1] else sqrt(total[0])


def user_metric(script: Path, function: str) -> Metric:
    found = getattr(import_file(script), function, None)
    if not callable(found):
        raise RecipeError(f"quantize.metric: there is no function {function!r} in it")

    def metric(outputs: Outputs, expected: Outputs) -> float:
        error = float(found(outputs, expected))
        if not error >= 0:
            raise RecipeError(
                f"quantize.metric: {function} returned {error}, expected an error of 0 or more"
            )
        return error

    return metric


def candidates(
    simulation: Simulation, weights: Sequence[Weight], names: Sequence[str], measure: Measure
) -> list[Candidate]:
    """The weights that can have some of the encodings `names`, and what each of these would cost.
    The error of the coarsest is measured.
    """
    found = []
    for number, weight in enumerate(weights):
        stage.report_progress(f"weight {number + 1} of {len(weights)}")
        squares = {}
        for name in names:
            with suppress(SourceError):
                if weight.can_have(name):
                    squares[name] = simulation.square_error(weight, name)
        if not squares:
            continue
        coarsest = max(squares, key=lambda name: squares[name])
        error = measure({weight.name: coarsest})
        options = [Option(FLOAT32, weight.bytes(FLOAT32), 0.0)]
        for name, square in squares.items():
            part = square / squares[coarsest] if squares[coarsest] else 0.0
            options.append(Option(name, weight.bytes(name), error**2 * part))
        found.append(Candidate.of(weight.name, weight.layer, options, error))
    return found


def run(inputs: Mapping[str, Path], outputs: Mapping[str, Path], params: Mapping[str, Any]) -> None:
    table = canonical.read(inputs["weights.json"])
    size = stored_size(table, inputs["weights/"])
    with (
        TemporaryDirectory(prefix="webkiln-choose-") as scratch,
        defined_by(inputs.get("operators/")),
        limited(size),
    ):
        graph = from_json(canonical.read(inputs["graph.json"]))
        simulated = from_json(canonical.read(inputs["simulation.json"]))
        kept = stored(simulated)
        values = ConstantValues(
            simulated,
            lambda name: read_slot(inputs["weights/"], name, table["slots"][name]),
            [item.name for item in kept],
        )
        constants = {item.name: values(item.name) for item in kept}
        layout = pieces(kept, "float32")
        bundle = Reweighted(inputs["bundle/"], Path(scratch) / "bundle", layout, constants)
        simulation = Simulation(
            graph,
            simulated,
            Slots.from_json(canonical.read(inputs["slots.json"])),
            constants,
            Calibration.from_json(canonical.read(inputs["calibration.json"])),
            corrects=params["corrects"],
        )
        samples = sets_of(npz.read(inputs["samples.npz"]), "in")
        run_with = runner(simulation, bundle, params["backend"], list(samples.values()))
        exact = run_with({}, len(samples))
        choice, found = chosen(graph, simulation, run_with, exact, inputs, params)
    canonical.write(outputs["choice.json"], choice.to_json())
    canonical.write(outputs["errors.json"], errors_json(choice, found))
    npz.write(outputs["expected.npz"], expected(samples, exact), compressed=True)


def expected(samples: Mapping[str, Mapping[str, Array]], exact: Outputs) -> dict[str, Array]:
    """The first samples and the outputs of float32, in the form of reference.npz."""
    found: dict[str, Array] = {}
    for (name, inputs), outputs in list(zip(samples.items(), exact, strict=True))[:VERIFIED]:
        found |= {f"{name}/in/{key}": value for key, value in inputs.items()}
        found |= {f"{name}/out/{key}": value for key, value in outputs.items()}
        found |= {f"{name}/noise/{key}": np.array(0.0) for key in outputs}
    return found


def runner(
    simulation: Simulation, bundle: Reweighted, backend: str, samples: Sequence[dict[str, Array]]
) -> Callable[[Mapping[str, str], int], Outputs]:
    """A function that runs a choice on the first samples."""

    def run_with(choice: Mapping[str, str], count: int) -> Outputs:
        folder = bundle.replace(simulation.values(choice).get)
        results = host.run_bundle(folder, backend, samples[:count], host="node")
        return [result.outputs for result in results]

    return run_with


def chosen(
    graph: Graph,
    simulation: Simulation,
    run_with: Callable[[Mapping[str, str], int], Outputs],
    exact: Outputs,
    inputs: Mapping[str, Path],
    params: Mapping[str, Any],
) -> tuple[Choice, list[Candidate]]:
    metric = (
        user_metric(inputs["metric.py"], params["metric"])
        if "metric.py" in inputs
        else largest_error
    )

    weights, static = weights_of(graph), params["encoding"] == STATIC
    fixed = by_layer(weights.values(), params["layers"])
    free = [item for name, item in weights.items() if name not in fixed]
    if static:
        products = integer_products(graph, products_of(graph, weights))
        fixed |= {item.name: item.encoding("int8") for item in free if item.name not in products}
        free = [item for item in free if item.name in products]

    def quick(choice: Mapping[str, str]) -> float:
        return mean_error(run_with(choice, FIRST), exact[:FIRST])

    def whole(choice: Mapping[str, str]) -> float:
        return metric(run_with(choice, len(exact)), exact)

    found = candidates(simulation, free, (STATIC,) if static else LADDER, quick)
    start = {**{item.name: FLOAT32 for item in free}, **fixed}
    return search(start, steps(found), params["max_error"], whole, print), found


if __name__ == "__main__":
    stage.main()
