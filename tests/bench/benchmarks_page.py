"""Writes the page and the plot of the benchmarks."""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from tests.bench import bench_first
from tests.bench.bench_networks import ALONE, RIVALS
from tests.bench.bench_sizes import PACKAGES, sizes
from tests.bench.bench_sizes import RIVALS as CODE
from tests.docs.wrapping import wrap
from webkiln.backends import browsers

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "benchmarks.md"
PICTURE = ROOT / "docs" / "images" / "benchmarks.svg"
ORDER = (
    "mobilenetv2",
    "efficientnetb0",
    "resnet50",
    "inceptionv3",
    "vgg16",
    "pix2pix",
    "lstm",
    "gru",
    "transformer",
    "decoder",
)
TITLES = {
    "mobilenetv2": "MobileNetV2",
    "efficientnetb0": "EfficientNetB0",
    "resnet50": "ResNet50",
    "inceptionv3": "Inception-v3",
    "vgg16": "VGG16",
    "pix2pix": "U-Net of pix2pix, 256x256",
    "lstm": "LSTM, 128 units, 100 steps",
    "gru": "GRU, 128 units, 100 steps",
    "transformer": "transformer encoder, 6 x 384, 128 tokens",
    "decoder": "one step of a decoder, 6 x 384, 128 tokens kept",
}
ENGINES = {"onnxruntime": "onnxruntime-web", "litert": "LiteRT.js", "tfjs": "TensorFlow.js"}
PACKAGED = {
    "onnxruntime": "onnxruntime-web",
    "litert": "@litertjs/core",
    "tfjs": "@tensorflow/tfjs-core",
}
WEIGHTS = {"onnxruntime": "model.onnx", "litert": "model.tflite", "tfjs": "calls.bin"}
OTHERS = ("webgpu", "webgl", "js")
EMPTY = "empty"

FEWER = 3
Result = dict[str, Any]


def median(times: Mapping[str, Sequence[float]], engine: str) -> float:
    return float(np.median(times[engine]))


def speedup(times: Mapping[str, Sequence[float]], engines: Sequence[str] = RIVALS) -> float:
    """The median over rounds of the fastest other engine's time divided by ours."""
    fastest = min(engines, key=lambda engine: median(times, engine))
    return float(np.median(np.array(times[fastest]) / np.array(times["webkiln"])))


def mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


def times_table(results: Mapping[str, Result], threads: int) -> list[str]:
    """The table of times with this number of threads."""
    head = [
        "network",
        "webkiln, ms",
        *(f"{title}, ms" for title in ENGINES.values()),
        "fastest of them / webkiln",
    ]
    is_threaded = threads > 1
    rows, speedups = [], []
    for name, result in results.items():
        run = result["runs"][threads]
        times = run["times"]
        speedups.append(speedup(times))
        row = [
            TITLES[name],
            *(f"{median(times, engine):.3g}" for engine in ("webkiln", *RIVALS)),
            f"**{speedups[-1]:.2f}**",
        ]
        if is_threaded:
            rows.append([*row, f"{speedup(times, (ALONE,)):.2f}"])
        else:
            share = result["operations"] / median(times, "webkiln") / 1e6 / run["peak"]
            rows.append(
                [
                    *row,
                    f"{result['operations'] / 1e9:.2g}",
                    f"{100 * share:.0f} %",
                    f"{run['errors']['webkiln']:.1e}",
                ]
            )
    columns = ["one thread / these"] if is_threaded else ["GFLOP", "of the peak", "largest error"]
    return [
        *table([*head, *columns], rows),
        "",
        f"Geometric mean of the speedups: **{mean(speedups):.2f}**.",
    ]


def completed_engines(run: Result) -> list[str]:
    """The other engines that ran."""
    return [engine for engine in RIVALS if engine in run["times"]]


def others(results_of_others: Mapping[str, Mapping[str, Result]], rounds: int) -> list[str]:
    """The section about backends other than wasm."""
    if not results_of_others:
        return []
    head = [
        "network",
        "backend",
        "webkiln, ms",
        *(f"{title}, ms" for title in ENGINES.values()),
        "fastest of them / webkiln",
    ]
    rows = []
    for name, runs in results_of_others.items():
        for backend, run in runs.items():
            times = run["times"]
            cells = [
                (
                    f"{median(times, engine):.3g}"
                    if engine in times
                    else "*refused*"
                    if engine in run["refused"]
                    else ""
                )
                for engine in RIVALS
            ]
            rows.append(
                [
                    TITLES[name],
                    backend,
                    f"{median(times, 'webkiln'):.3g}",
                    *cells,
                    f"**{speedup(times, completed_engines(run)):.2f}**",
                ]
            )
    return [
        "## Other backends",
        "",
        (
            f"Each engine's own backend of the same kind, in {rounds} rounds; for js, TensorFlow.js"
            " runs `cpu`. The GPU backends run on the CPU (SwiftShader), so these times say nothing"
            " about real GPUs. *refused*: the engine does not run the network on this backend."
        ),
        "",
        *table(head, rows),
        "",
    ]


def downloads(results: Mapping[str, Result]) -> list[str]:
    rows = [
        [
            TITLES[name],
            f"{result['code'] / 1e3:.0f}",
            *(f"{result['data'][engine] / 1e6:.1f}" for engine in ("webkiln", *RIVALS)),
        ]
        for name, result in results.items()
    ]
    code = {
        title: sizes([PACKAGES / file for file in CODE["wasm"][title]])[1]
        for title in ENGINES.values()
    }
    others = ", ".join(f"{title} {size / 1e3:,.0f} KB" for title, size in code.items())
    head = [
        "network",
        "code of webkiln, KB with Brotli",
        *(f"data of {title}, MB" for title in ("webkiln", *ENGINES.values())),
    ]
    return [
        *table(head, rows),
        "",
        f"The code of the other engines is the same for every network: {others}.",
    ]


def memories(results: Mapping[str, Result]) -> list[str]:
    head = [
        "network",
        *(f"{title}, MB" for title in ("webkiln", *ENGINES.values())),
        "webkiln / least of them",
        "an empty page, MB",
    ]
    rows = []
    for name, result in results.items():
        memory = result["memory"]
        lowest = min(memory[engine] for engine in RIVALS)
        rows.append(
            [
                TITLES[name],
                *(f"{memory[engine] / 1e6:.0f}" for engine in ("webkiln", *RIVALS)),
                f"{memory['webkiln'] / lowest:.2f}",
                f"{memory[EMPTY] / 1e6:.0f}",
            ]
        )
    return table(head, rows)


def first_results(results: Mapping[str, Result]) -> list[str]:
    """The tables of times from the navigation of a page to the first output."""
    lines = []
    for kind in bench_first.VISITS:
        rows = []
        for name, result in results.items():
            times = bench_first.times(result["visits"][kind])
            share = np.median(
                times["webkiln"] / np.min([times[engine] for engine in RIVALS], axis=0)
            )
            floor_ratio = np.median(times["webkiln"] / bench_first.floor(result["visits"][kind]))
            rows.append(
                [
                    TITLES[name],
                    *(f"{np.median(times[engine]):.0f}" for engine in ("webkiln", *RIVALS)),
                    f"**{share:.2f}**",
                    f"{floor_ratio:.2f}",
                ]
            )
        head = [
            "network",
            "webkiln, ms",
            *(f"{title}, ms" for title in ENGINES.values()),
            "webkiln / fastest of them",
            "webkiln / floor",
        ]
        lines += [f"### {kind.capitalize()} visit", "", *table(head, rows), ""]
    return lines


def waterfalls(results: Mapping[str, Result]) -> list[str]:
    """The end of each step of a first visit, in milliseconds since the navigation."""
    steps_by_network = {
        name: bench_first.steps_of(result["visits"]["first"]) for name, result in results.items()
    }
    steps = list(next(iter(steps_by_network.values()))[0])
    rows = [
        [TITLES[name], *(f"{np.median([visit[step] for visit in visits]):.0f}" for step in steps)]
        for name, visits in steps_by_network.items()
    ]
    return table(["network", *steps], rows)


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return "unknown processor"


def page(
    results: Mapping[str, Result],
    results_of_others: Mapping[str, Mapping[str, Result]],
    threads: Sequence[int],
    rounds: int,
    visits: int,
    command: str,
) -> str:
    versions = ", ".join(
        f"{title}"
        f" {json.loads((PACKAGES / PACKAGED[engine] / 'package.json').read_text())['version']}"
        for engine, title in ENGINES.items()
    )
    peak = float(np.median([result["runs"][threads[0]]["peak"] for result in results.values()]))
    lines = [
        "# Benchmarks",
        "",
        (
            f"Measured with `{command}` on {datetime.now(UTC):%Y-%m-%d}: {processor()},"
            f" {os.cpu_count()} processors, headless {browsers.version('chromium')},"
            f" {versions}, each with its wasm backend. Batch 1, float32, random weights. Times"
            f" include copying inputs and outputs. There are {rounds} rounds. In each, the engines"
            " run in random order. Each waits 50 ms, so that the others' threads"
            " sleep, warms up for"
            " 100 ms (at least one run), and then has three runs measured. Times are medians. A"
            " speedup is the median of the ratios within rounds. The peak of relaxed SIMD was"
            f" {peak:.0f} GFLOP/s on one processor. Errors are relative to the largest value of an"
            " output of Keras."
        ),
        "",
        f"![Time of the fastest other engine divided by webkiln's](images/{PICTURE.name})",
        "",
    ]
    for count in threads:
        lines += [
            f"## {count} thread{'s' if count > 1 else ''}",
            "",
            *times_table(results, count),
            "",
        ]
    lines += [
        (
            "GFLOP counts the operations of direct convolutions. Winograd convolutions"
            " ([kernels.md](kernels.md)) need fewer, so they can exceed the peak."
        ),
        "",
        *others(results_of_others, max(rounds // FEWER, 1)),
        "## What a page downloads",
        "",
        *downloads(results),
        "",
        "## The first result",
        "",
        (
            "The time from the navigation to the first output, with one thread; medians of"
            f" {visits} visits. The first visit has an empty browser profile, the second the same"
            " profile after a restart of the browser. One server on the same machine serves all"
            " files, with headers that let browsers cache them. The floor is the time to download"
            " the weights, plus the first run."
        ),
        "",
        *first_results(results),
        (
            "When each step of a first visit ends, in milliseconds since the navigation. Columns"
            " with dots are durations."
        ),
        "",
        *waterfalls(results),
        "",
        "## Memory",
        "",
        "The peak memory of the page's process while the network loads and runs, with one thread.",
        "",
        *memories(results),
        "",
    ]
    return wrap("\n".join(lines))


def draw(results: Mapping[str, Result], threads: Sequence[int]) -> None:
    """Draw a bar for each network and number of threads."""
    figure = Figure(figsize=(8, 0.45 * len(results) + 1), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.add_subplot()
    thickness = 0.8 / len(threads)
    for position, count in enumerate(threads):
        positions = np.arange(len(results)) + position * thickness
        bars = axes.barh(
            positions,
            [speedup(result["runs"][count]["times"]) for result in results.values()],
            thickness,
            label=f"{count} thread{'s' if count > 1 else ''}",
        )
        axes.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(
        np.arange(len(results)) + thickness * (len(threads) - 1) / 2,
        [TITLES[name] for name in results],
    )
    axes.invert_yaxis()
    axes.set_xlabel("time of the fastest other engine / webkiln's")
    axes.legend()
    figure.savefig(PICTURE, metadata={"Date": None})
