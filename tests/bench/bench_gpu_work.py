"""The work that one run requests from WebGPU, compared with onnxruntime-web, LiteRT.js and
TensorFlow.js: dispatches, submissions, buffers and their memory.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps onnx==1.23.2
    .venv/bin/python -m tests.bench.bench_gpu_work mobilenetv2 resnet50 transformer

The counts are those of a run after several warm-up runs, in headless Chromium, where methods of
WebGPU are replaced by counting ones. They are equal on all devices with the same features, and do
not predict times.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.bench_networks import RIVALS, bench_page, prepare

WARM = 3
COUNTED = (
    "dispatches",
    "passes",
    "submissions",
    "writes",
    "copies",
    "read-backs",
    "buffers created",
    "bind groups created",
)
MEGABYTES = ("bytes written", "bytes allocated")


def count_work(folder: Path, engine: str) -> dict[str, Any]:
    """The counts of one engine in a new page."""
    script = (
        "const done = arguments[2]; import('/work.mjs').then((m) => m.run(arguments[0],"
        " arguments[1])).then(done, (e) => done({error: String(e)}))"
    )
    with bench_page(folder) as session:
        result: dict[str, Any] = session.execute_async_script(script, engine, WARM)
        session.get("about:blank")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "networks", nargs="*", metavar="NETWORK", default=["mobilenetv2", "resnet50", "transformer"]
    )
    options = parser.parse_args()
    print(
        "| network | engine | "
        + " | ".join((*COUNTED, *(f"{name.replace('bytes', 'MB')}" for name in MEGABYTES)))
        + " |"
    )
    print("|" + " --- |" * (2 + len(COUNTED) + len(MEGABYTES)))
    for name in options.networks:
        with TemporaryDirectory() as temporary:
            folder = Path(temporary)
            prepare(name, ("webgpu",), RIVALS, folder)
            for engine in ("webkiln", *RIVALS):
                counts = count_work(folder, engine)
                cells = (
                    [counts["error"]]
                    if "error" in counts
                    else [str(counts.get(item, 0)) for item in COUNTED]
                )
                cells += (
                    []
                    if "error" in counts
                    else [f"{counts.get(item, 0) / 1e6:.2f}" for item in MEGABYTES]
                )
                print(f"| {name} | {engine} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
