"""Compare webkiln on a GPU with onnxruntime-web, TensorFlow.js and LiteRT.js on WebGPU: time on the
GPU by timestamps, wall time, first result, launches and errors, in Chromium, in interleaved rounds.

    (cd tests/bench/rivals && npm ci) && .venv/bin/pip install --no-deps onnx==1.23.2
    .venv/bin/python -m tests.bench.bench_gpu [resnet50 lstm] [--rounds 5]
    .venv/bin/python -m tests.bench.bench_gpu mobilenetv2 --software
    .venv/bin/python -m tests.bench.bench_gpu --pack FOLDER

The first writes docs/benchmarks-gpu.md, and refuses a GPU that the CPU emulates. `--software`
accepts it, and prints the table only. `--pack` makes a folder for another machine, which needs
Python and Chromium there, and no network: `python3 run.py`. Its weights are repeated patterns, so
that an archive of it is small. Outputs are compared with those of Keras.
"""

import argparse
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench import gpu_pack, pattern_weights
from tests.bench.bench_networks import RIVALS, prepare, write_inputs

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "benchmarks-gpu.md"
NETWORKS = ("resnet50", "mobilenetv2", "transformer", "pix2pix", "lstm", "vgg16", "gpt2")
"""`gpt2` is a step of a decoder of 124 M parameters after 256 tokens."""
Make = Callable[[str, Path], Any]
ENGINES = (
    "webkiln",
    "onnxruntime",
    "onnxruntime-bound",
    "onnxruntime-graph",
    "onnxruntime-jsep",
    "tfjs",
    "litert",
)
MODULES = {
    "run.py": "gpu_pack.py",
    "gpu.mjs": "bench_gpu.mjs",
    "gpu_clock.mjs": "gpu_clock.mjs",
    "bench.mjs": "bench_networks.mjs",
}
PACKAGES = (
    "onnxruntime-web/dist/ort.webgpu.bundle.min.mjs",
    "onnxruntime-web/dist/ort.all.bundle.min.mjs",
    "onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.*",
    "onnxruntime-web/dist/ort-wasm-simd-threaded.jsep.*",
    "@litertjs/core/dist/index.js",
    "@litertjs/core/wasm/litert_wasm_*internal.*",
    "@litertjs/wasm-utils/dist/**/*.js",
    "@tensorflow/tfjs-core/dist/tf-core.min.js",
    "@tensorflow/tfjs-backend-cpu/dist/tf-backend-cpu.min.js",
    "@tensorflow/tfjs-backend-webgpu/dist/tf-backend-webgpu.min.js",
)
"""What the engines fetch from tests/bench/rivals/node_modules."""
FILES = ("bundle", "model.onnx", "model.tflite", "calls.json", "calls.bin")
TENSORS = ("inputs.json", "last.bin", "first.bin")


def write_pack(folder: Path, names: Sequence[str], make: Make = pattern_weights.make) -> None:
    """Write all that a comparison needs into a new folder. `make` builds a network in Keras."""
    folder.mkdir(parents=True)
    for name, source in MODULES.items():
        shutil.copyfile(HERE / source, folder / name)
    packages = HERE / "rivals" / "node_modules"
    for pattern in PACKAGES:
        for path in packages.glob(pattern):
            target = folder / "npm" / path.relative_to(packages)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    for name in names:
        write_network(name, folder / "networks" / name, make)
    (folder / "networks.json").write_text(json.dumps(dict.fromkeys(names, ENGINES)) + "\n")


def write_network(name: str, target: Path, make: Make) -> None:
    """Write the bundle, the models of other engines, the inputs and the outputs of Keras."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        outputs = prepare(name, ("webgpu",), RIVALS, folder, make)
        target.mkdir(parents=True)
        for file in (*FILES, *TENSORS):
            shutil.move(folder / file, target / file)
    (target / "outputs").mkdir()
    write_inputs(outputs, target / "outputs")


def page(measured: dict[str, Any], command: str) -> str:
    """docs/benchmarks-gpu.md"""
    adapters = {
        item["adapter"]["name"] for item in measured["networks"].values() if "error" not in item
    }
    return f"""# Benchmarks on a GPU

Measured with `{command}` on {measured["date"]}: {", ".join(sorted(adapters))};
{measured["browser"]}, {measured["system"]}.

GPU time is the sum of all compute passes of a run, by timestamps; wall time includes copies of
inputs and outputs. Both are medians of {measured["rounds"]} rounds, in which engines alternate in
one page. `onnxruntime-bound` keeps inputs and outputs in GPU buffers, `onnxruntime-graph` also
replays captured commands, and `onnxruntime-jsep` is the default package of onnxruntime-web instead
of the one for WebGPU. The first result includes the engine's library, unless a row above has loaded
it. Errors are relative to the largest output of Keras.

{gpu_pack.table(measured)}"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NETWORK", help=", ".join(NETWORKS))
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="write a folder, and no page")
    gpu_pack.add_arguments(parser)
    options = parser.parse_args()
    names = options.names or NETWORKS
    if options.pack:
        write_pack(options.pack, names)
        return
    with TemporaryDirectory() as temporary:
        write_pack(Path(temporary) / "pack", names)
        options.networks = options.engines = None
        measured = gpu_pack.measure_all(Path(temporary) / "pack", options)
    print(gpu_pack.table(measured))
    if not options.software and any("error" not in item for item in measured["networks"].values()):
        suffix = f' networks="{" ".join(options.names)}"' if options.names else ""
        PAGE.write_text(page(measured, f"make bench-gpu{suffix}"))


if __name__ == "__main__":
    main()
