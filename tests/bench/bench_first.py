"""The time from the navigation of a fresh page to the first output, compared with onnxruntime-web,
LiteRT.js and TensorFlow.js, in headless Chromium.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps onnx==1.23.2
    .venv/bin/python -m tests.bench.bench_first mobilenetv2 resnet50 pix2pix [--rounds 7]
        [--beside DIR] [--state DIR]

The first visit uses an empty browser profile, the second visit the same profile after a restart of
the browser. One server serves all files, with headers that let browsers cache them without limit.
Engines alternate. All run in the main thread with one thread, except two rows: `worker` is `load()`
without options on a page that is not isolated, `kept` is `load()` with `cacheStrategy: 'latest'`
and `saveCache`. The tables list medians, and the median and the extremes of our time divided by the
fastest peer's in the same round. The steps of a load follow, with its floor: the time to download
the weights, plus the first run. `--beside` measures another bundle of the same network. `--state`
keeps the prepared files in a folder.
"""

import argparse
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tests.bench.bench_networks import HERE, PAGE, RIVALS, errors, prepare
from webkiln import npz
from webkiln.backends.chromium import BROWSER
from webkiln.backends.server import ISOLATED, Server
from webkiln.ir.types import Array

OURS = {
    "webkiln": {},
    "worker": {"worker": True},
    "kept": {"cacheStrategy": "latest", "saveCache": True},
}
"""Row of webkiln -> options of `load()`."""
PARTS = ("waterfall", "bytes")
RUN = "... in the run"
VISITS = ("first", "second")
CALM_S = 0.7
"""The pause after a browser has started."""
VISIT = """<script type="module">
const [name, options] = JSON.parse(decodeURIComponent(location.search.slice(1)));
import { visit } from "/bench_first.mjs";
globalThis.visited = await visit(name, options).catch((error) => ({ error: String(error) }));
</script>"""
KEEP = {"Cache-Control": "public, max-age=31536000, immutable"}


def visit(url: str, profile: Path) -> dict[str, Any]:
    """The result of the page, in a newly started browser."""
    driver = BROWSER.start(BROWSER.find(), profile)
    try:
        driver.set_page_load_timeout(300)
        driver.set_script_timeout(300)
        time.sleep(CALM_S)
        driver.get(url)
        script = (
            "const done = arguments[0]; const poll = () => globalThis.visited ?"
            " done(globalThis.visited) : setTimeout(poll, 50); poll();"
        )
        results: dict[str, Any] = driver.execute_async_script(script)
    finally:
        driver.quit()
    if "error" in results:
        raise RuntimeError(f"{url}: {results['error']}")
    return results


def rows(*, beside: bool) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Row -> (function of the page, options)."""
    common = {"backend": "wasm", "threads": 1}
    ours = {name: ("webkiln", {**common, **options}) for name, options in OURS.items()}
    others = (
        {
            f"beside {name}": (engine, {**options, "bundle": "/beside/"})
            for name, (engine, options) in ours.items()
        }
        if beside
        else {}
    )
    return {**ours, **others, **{name: (name, common) for name in (*RIVALS, *PARTS)}}


def measure(
    folder: Path, names: Sequence[str], beside: Path | None, rounds: int
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Visit -> row -> result of each round."""
    selected = {name: row for name, row in rows(beside=beside is not None).items() if name in names}
    files = {
        f"/{name}": (200, "text/javascript", (HERE / name).read_bytes())
        for name in ("bench_first.mjs", "bench_networks.mjs")
    }
    page = {"/": (200, "text/html", (PAGE + VISIT).encode()), **files}
    folders = {
        "/data/": folder,
        "/bundle/": folder / "bundle",
        "/npm/": HERE / "rivals" / "node_modules",
    }
    if beside is not None:
        folders["/beside/"] = beside
    results: dict[str, dict[str, list[dict[str, Any]]]] = {
        kind: {name: [] for name in selected} for kind in VISITS
    }
    with Server(
        folders, headers={**ISOLATED, **KEEP}, route=lambda path, body: page.get(path)
    ) as server:
        for _ in range(rounds):
            for name, row in selected.items():
                with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
                    for kind in VISITS:
                        results[kind][name].append(
                            visit(f"{server.url}/?{json.dumps(row)}", Path(profile))
                        )
    return results


def times(results: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Array]:
    return {name: np.array([visit["ms"] for visit in visits]) for name, visits in results.items()}


def steps_of(visits: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, float]]:
    """The steps of the waterfall of each round, in milliseconds."""
    return [dict(visit["steps"]) for visit in visits.get("waterfall", ())]


def floor(visits: Mapping[str, Sequence[Mapping[str, Any]]]) -> Array:
    """The time to download the weights plus the first run, by round."""
    return times(visits)["bytes"] + [steps[RUN] for steps in steps_of(visits)]


def report(
    name: str,
    results: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
    reference: Mapping[str, Array],
) -> None:
    outputs = {
        row: visits[0]["outputs"] for row, visits in results["first"].items() if row not in PARTS
    }
    errors(name, {"outputs": outputs}, reference)
    for kind, visits in results.items():
        row_times = times(visits)
        peers = [row_times[peer] for peer in RIVALS if peer in row_times]
        for row, milliseconds in row_times.items():
            ratio = (
                f"   {format_ratios(milliseconds / np.min(peers, axis=0))} of the fastest peer's"
                if peers and row not in (*RIVALS, *PARTS)
                else ""
            )
            baseline = (
                f"   {format_ratios(milliseconds / row_times[f'beside {row}'])} of the other"
                if f"beside {row}" in row_times
                else ""
            )
            print(
                f"{name:12} {kind:7} {row:14} {np.median(milliseconds):8.0f} ms{ratio}{baseline}",
                flush=True,
            )
        steps = steps_of(visits)
        for step in steps[0] if steps else ():
            print(
                f"{name:12} {kind:7}   {step:18}"
                f" {np.median([visit_steps[step] for visit_steps in steps]):8.0f}"
            )
        if steps and "bytes" in row_times:
            floor_times = floor(visits)
            print(
                f"{name:12} {kind:7} floor          {np.median(floor_times):8.0f} ms"
                f"   webkiln takes {format_ratios(row_times['webkiln'] / floor_times)} of it",
                flush=True,
            )


def format_ratios(ratios: Array) -> str:
    return f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", default=",".join(rows(beside=True)))
    parser.add_argument("--beside", type=Path, help="another bundle, of one network")
    parser.add_argument("--state", type=Path, help="a folder")
    options = parser.parse_args()
    for name in options.networks or ("mobilenetv2", "resnet50", "pix2pix"):
        with TemporaryDirectory() as temporary:
            folder = (options.state or Path(temporary)) / name
            if not (folder / "reference.npz").exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                npz.write(folder / "reference.npz", prepare(name, ("wasm",), RIVALS, folder))
            report(
                name,
                measure(folder, options.rows.split(","), options.beside, options.rounds),
                npz.read(folder / "reference.npz"),
            )


if __name__ == "__main__":
    main()
