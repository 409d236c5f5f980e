"""Peak memory of building a network and of running it in Chromium, compared with the size of its
weights.

    .venv/bin/python -m tests.bench.bench_memory resnet50 [--backend js] [--worker]

The build: the maximum over time of the sum of the proportional set sizes of all processes of a
`webkiln build` with an empty cache, sampled ten times a second. The page: the peak resident set
(VmHWM) of the renderer during load and runs, minus that of a renderer with an empty page.
"""

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench import networks
from tests.bench.processes import family, kilobytes, measure, ticks
from webkiln.backends import browsers
from webkiln.backends.server import Server

RUNS = 5
BUILD_BYTES = 2.5e9
PAGE_RATIO = 2.2
BLANK = b"<!doctype html><title>memory</title>"
PAGE = """
const done = arguments[3];
(async ([backend, worker, runs]) => {
  const { load } = await import("/bundle/index.js");
  const model = await load({ backends: [backend], worker });
  const inputs = () => Object.fromEntries(
    model.manifest.inputs.map(({ name, shape }) =>
    [name, new Float32Array(shape.reduce((a, b) => a * b, 1))]));
  for (let n = 0; n < runs; n++) await model.run(inputs());
})(Array.from(arguments)).then(() => done(null), (error) => done(String(error)));
"""
BUSY = "const end = performance.now() + 1500; while (performance.now() < end);"
"""Identifies the renderer of a page by the processor time that it uses. The renderers of a new
browser's own user interface use up to half a second.
"""


def is_renderer(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "--type=renderer" in Path(f"/proc/{pid}/cmdline").read_text()
    return False


def build(source: Path, target: Path, cache: Path, backend: str) -> int:
    """Build with an empty cache. Returns the peak memory in bytes."""
    command = [
        str(Path(sys.executable).with_name("webkiln")),
        "build",
        str(source),
        "-o",
        str(target),
        "--backend",
        backend,
    ]
    return measure(command, {**os.environ, "WEBKILN_CACHE": str(cache)})[1]


def renderer(bundle: Path, script: tuple[object, ...] | None) -> int:
    """The peak memory in bytes of the page's renderer in a new browser, with an empty page or after
    a load and runs.
    """
    browsers.session.cache_clear()
    with Server(
        {"/bundle/": bundle},
        route=lambda path, body: (200, "text/html", BLANK) if path == "/" else None,
    ) as server:
        session = browsers.session("chromium")
        session.set_script_timeout(600)
        session.get(server.url)
        failure = session.execute_async_script(PAGE, *script) if script else None
        if failure:
            raise RuntimeError(failure)
        peak = renderer_peak(session)
        session.quit()
    return peak


def renderer_peak(session: Any) -> int:
    """The peak memory in bytes so far of the renderer with the session's page. It is the one that
    uses the most processor time while the page is busy; a browser has other renderers for its user
    interface.
    """
    before = {pid: ticks(pid) for pid in family(session.service.process.pid) if is_renderer(pid)}
    session.execute_script(BUSY)
    return (
        kilobytes(max(before, key=lambda pid: ticks(pid) - before[pid]), "status", "VmHWM") * 1024
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("network", choices=networks.NETWORKS)
    parser.add_argument("--backend", choices=("wasm", "js"), default="wasm")
    parser.add_argument("--worker", action="store_true", help="run the model in a Worker")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name)
        networks.make(options.network, folder)
        build_peak = build(
            folder / f"{options.network}.keras",
            folder / "bundle",
            folder / "cache",
            options.backend,
        )
        weights = sum(
            shard["bytes"]
            for shard in json.loads((folder / "bundle" / "manifest.json").read_text())["shards"]
        )
        blank = renderer(folder / "bundle", None)
        peak = renderer(folder / "bundle", (options.backend, options.worker, RUNS))
    ratio = (peak - blank) / weights
    print(f"build: {build_peak / 1e6:.0f} MB (at most {BUILD_BYTES / 1e6:.0f})")
    print(
        f"page: {(peak - blank) / 1e6:.0f} MB ({peak / 1e6:.0f} less {blank / 1e6:.0f} of an empty"
        " page)"
    )
    print(f"that is {ratio:.2f} times the weights' {weights / 1e6:.0f} MB (at most {PAGE_RATIO})")
    return int(build_peak > BUILD_BYTES or ratio > PAGE_RATIO)


if __name__ == "__main__":
    sys.exit(main())
