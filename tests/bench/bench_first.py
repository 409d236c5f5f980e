"""The time from the navigation of a fresh page to the first output, beside onnxruntime-web,
LiteRT.js
and TensorFlow.js, in headless Chromium.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps onnx==1.23.2
    .venv/bin/python -m tests.bench.bench_first mobilenetv2 resnet50 pix2pix [--rounds 7] [--beside
    DIR] [--state DIR]

A first visit has a browser with an empty profile, a second visit the same profile in a browser that
was started again. All files come from one server that lets browsers keep them for ever. Engines
take turns; all run in the page with one thread, but for `worker`, which is what `load()` does
without options on a page that is not isolated, and `kept`, with `cacheStrategy: 'latest'` and
`saveCache`. The tables have medians, and of our time divided by the fastest peer's in the same
round the median and the extremes. Then follow the steps of a load, and its floor: the time in which
the weights alone arrive, and the first run. `--beside` times another bundle of the same network;
`--state` keeps what was prepared.
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
"""The options of each of our rows."""
PARTS = ("waterfall", "bytes")
RUN = "... in the run"
VISITS = ("first", "second")
CALM_S = 0.7
"""How long a browser is left to itself after its start."""
VISIT = """<script type="module">
const [name, options] = JSON.parse(decodeURIComponent(location.search.slice(1)));
import { visit } from "/bench_first.mjs";
globalThis.visited = await visit(name, options).catch((error) => ({ error: String(error) }));
</script>"""
KEEP = {"Cache-Control": "public, max-age=31536000, immutable"}


def visit(url: str, profile: Path) -> dict[str, Any]:
    """What the page says, in a browser that is started for it."""
    driver = BROWSER.start(BROWSER.find(), profile)
    try:
        driver.set_page_load_timeout(300)
        driver.set_script_timeout(300)
        time.sleep(CALM_S)
        driver.get(url)
        script = (
            "const done = arguments[0]; const look = () => globalThis.visited ?"
            " done(globalThis.visited) : setTimeout(look, 50); look();"
        )
        found: dict[str, Any] = driver.execute_async_script(script)
    finally:
        driver.quit()
    if "error" in found:
        raise RuntimeError(f"{url}: {found['error']}")
    return found


def rows(*, beside: bool) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """By row the function of the page and its options."""
    plain = {"backend": "wasm", "threads": 1}
    ours = {name: ("webkiln", {**plain, **options}) for name, options in OURS.items()}
    others = (
        {
            f"beside {name}": (engine, {**options, "bundle": "/beside/"})
            for name, (engine, options) in ours.items()
        }
        if beside
        else {}
    )
    return {**ours, **others, **{name: (name, plain) for name in (*RIVALS, *PARTS)}}


def measure(
    folder: Path, names: Sequence[str], beside: Path | None, rounds: int
) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """By visit and row what each round gave."""
    asked = {name: row for name, row in rows(beside=beside is not None).items() if name in names}
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
    found: dict[str, dict[str, list[dict[str, Any]]]] = {
        kind: {name: [] for name in asked} for kind in VISITS
    }
    with Server(
        folders, headers={**ISOLATED, **KEEP}, route=lambda path, body: page.get(path)
    ) as server:
        for _ in range(rounds):
            for name, row in asked.items():
                with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
                    for kind in VISITS:
                        found[kind][name].append(
                            visit(f"{server.url}/?{json.dumps(row)}", Path(profile))
                        )
    return found


def times(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Array]:
    return {name: np.array([visit["ms"] for visit in visits]) for name, visits in found.items()}


def steps_of(visits: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[dict[str, float]]:
    """By round the steps of the waterfall, in milliseconds."""
    return [dict(visit["steps"]) for visit in visits.get("waterfall", ())]


def floor(visits: Mapping[str, Sequence[Mapping[str, Any]]]) -> Array:
    """By round the time in which the weights alone arrive, and the first run."""
    return times(visits)["bytes"] + [each[RUN] for each in steps_of(visits)]


def report(
    name: str,
    found: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
    reference: Mapping[str, Array],
) -> None:
    outputs = {
        row: visits[0]["outputs"] for row, visits in found["first"].items() if row not in PARTS
    }
    errors(name, {"outputs": outputs}, reference)
    for kind, visits in found.items():
        told = times(visits)
        peers = [told[peer] for peer in RIVALS if peer in told]
        for row, each in told.items():
            ratio = (
                f"   {said(each / np.min(peers, axis=0))} of the fastest peer's"
                if peers and row not in (*RIVALS, *PARTS)
                else ""
            )
            before = (
                f"   {said(each / told[f'beside {row}'])} of that beside"
                if f"beside {row}" in told
                else ""
            )
            print(
                f"{name:12} {kind:7} {row:14} {np.median(each):8.0f} ms{ratio}{before}", flush=True
            )
        steps = steps_of(visits)
        for step in steps[0] if steps else ():
            print(
                f"{name:12} {kind:7}   {step:18} {np.median([each[step] for each in steps]):8.0f}"
            )
        if steps and "bytes" in told:
            least = floor(visits)
            print(
                f"{name:12} {kind:7} floor          {np.median(least):8.0f} ms   webkiln takes"
                f" {said(told['webkiln'] / least)} of it",
                flush=True,
            )


def said(ratios: Array) -> str:
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
        with TemporaryDirectory() as made:
            folder = (options.state or Path(made)) / name
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
