"""How the time of one bundle grows with its symbolic sizes, in headless Chromium: wasm, one thread.

    .venv/bin/python -m tests.bench.bench_scaling [batch tokens pixels] [--rounds 5]

A series measures several sizes of one placeholder, each after one warm-up run, for 60 ms or at
least one run. The table lists medians of the time per operation, divided by the best of the series.
The bound is 1.3. The plot is docs/images/scaling.svg.
"""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import keras
import numpy as np
from keras import layers
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from tests.bench.bench_networks import optimised
from tests.bench.sequences import WIDTH, encoder
from tests.programs import program
from webkiln.backends import browsers
from webkiln.backends.server import ISOLATED, Server
from webkiln.backends.table import REGISTRY
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.codegen.steps import flops
from webkiln.ir import symbols
from webkiln.recipe.recipe import Inputs, Recipe
from webkiln.recipe.sources import PathSource

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "scaling.svg"
BOUND = 1.3
SIZE = "S"
"""The placeholder of every series."""


@dataclass(frozen=True, slots=True)
class Series:
    """`shape`: the shape of the only input. `sizes`: the sizes of its placeholder."""

    title: str
    make: Callable[[], Any]
    shape: tuple[int | str, ...]
    sizes: Sequence[int]


def images() -> Any:
    """MobileNetV2 for images of any size."""
    image = keras.Input((None, None, 3), name="image")
    features = keras.applications.MobileNetV2(
        input_tensor=image, include_top=False, weights=None, pooling="avg"
    ).output
    return keras.Model(image, layers.Dense(1000, activation="softmax")(features))


SERIES: Mapping[str, Series] = {
    "batch": Series(
        "MobileNetV2, images at once", images, (SIZE, 224, 224, 3), (1, 2, 4, 8, 16, 32)
    ),
    "tokens": Series(
        "transformer encoder, tokens",
        lambda: encoder(None),
        (1, SIZE, WIDTH),
        (16, 32, 64, 128, 256, 512, 1024, 2048),
    ),
    "pixels": Series(
        "MobileNetV2, height and width",
        images,
        (1, SIZE, SIZE, 3),
        (64, 96, 128, 192, 224, 256, 384, 512, 768, 1024),
    ),
}
PAGE = b"<!doctype html><title>scaling</title>"
SCRIPT = """
const done = arguments[arguments.length - 1];
(async (shapes, placeholders, rounds) => {
  const { load } = await import("/bundle/index.js");
  const model = await load({ backends: ["wasm"], worker: false, threads: 1 });
  const [{ name }] = model.manifest.inputs;
  const inputs = shapes.map((shape) =>
    Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) },
    (_, index) => Math.sin(index)));
  const run = async (size) => {
    const begin = performance.now();
    await model.run({ [name]: inputs[size] }, { placeholders: placeholders[size] });
    return performance.now() - begin;
  };
  const times = shapes.map(() => []);
  for (let round = -1; round < rounds; round++) {
    for (let size = 0; size < shapes.length; size++) {
      const runs = Math.ceil(60 / await run(size));
      let ms = 0;
      for (let iteration = 0; iteration < runs; iteration++) ms += await run(size);
      if (round >= 0) times[size].push(ms / runs);
    }
  }
  return times;
})(...Array.from(arguments).slice(0, 3)).then((times) => done({ times }),
  (error) => done({ error: String(error) }));
"""


def measure(series: Series, rounds: int) -> tuple[list[int], list[list[float]]]:
    """The operations of each size, and its times in milliseconds by round."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        keras.utils.set_random_seed(0)
        model = series.make()
        model.save(folder / "network.keras")
        recipe = Recipe(
            name="network",
            source=PathSource(folder / "network.keras"),
            backends=("wasm",),
            inputs=Inputs(shapes={model.inputs[0].name: series.shape}),
        )
        with Engine(folder / "state") as engine:
            actions = ModelGraph(recipe, engine.share)
            engine.publish(actions.bundle(Selection(("wasm",))), "bundle/", folder / "bundle")
            graph, _ = optimised(engine, actions)
        operations = flops(program(graph, REGISTRY["js"], "float32")["main"])
        shapes = [
            [size if extent == SIZE else extent for extent in series.shape] for size in series.sizes
        ]
        with Server(
            {"/bundle/": folder / "bundle"},
            headers=ISOLATED,
            route=lambda path, body: (200, "text/html", PAGE) if path == "/" else None,
        ) as server:
            session = browsers.session("chromium")
            session.set_script_timeout(1800)
            session.get(f"{server.url}/")
            result = session.execute_async_script(
                SCRIPT, shapes, [{SIZE: size} for size in series.sizes], rounds
            )
    if "error" in result:
        raise RuntimeError(f"{series.title}: {result['error']}")
    return [symbols.substitute(operations, {SIZE: size}) for size in series.sizes], result["times"]


def relative_costs(operations: Sequence[int], times: Sequence[Sequence[float]]) -> list[float]:
    """The time per operation of each size, divided by the minimum."""
    costs = [
        float(np.median(size_times)) / count
        for count, size_times in zip(operations, times, strict=True)
    ]
    return [cost / min(costs) for cost in costs]


def draw(results: Mapping[str, Sequence[float]]) -> None:
    figure = Figure(figsize=(8, 3), layout="constrained")
    FigureCanvasSVG(figure)
    for axes, (name, costs) in zip(
        figure.subplots(1, len(results), squeeze=False, sharey=True)[0],
        results.items(),
        strict=True,
    ):
        axes.plot(SERIES[name].sizes, costs, marker="o")
        axes.axhline(BOUND, color="black", linewidth=0.8, linestyle=":")
        axes.set_xscale("log", base=2)
        axes.set_xlabel(SERIES[name].title)
        axes.set_ylim(0, 1.1 * max(BOUND, *map(max, results.values())))
        axes.set_title(f"at most {max(costs):.2f}", fontsize=10)
    figure.supylabel("time per operation / the least", fontsize=10)
    figure.savefig(PICTURE, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "series", nargs="*", choices=[*SERIES, []], metavar="SERIES", help=", ".join(SERIES)
    )
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    results = {}
    for name in options.series or SERIES:
        operations, times = measure(SERIES[name], options.rounds)
        results[name] = relative_costs(operations, times)
        for size, count, runs, cost in zip(
            SERIES[name].sizes, operations, times, results[name], strict=True
        ):
            print(
                f"{name:8} {size:6} {count / 1e9:8.2f} GFLOP {np.median(runs):9.2f} ms"
                f" {json.dumps(round(cost, 2)):>6} of the best",
                flush=True,
            )
    draw(results)


if __name__ == "__main__":
    main()
