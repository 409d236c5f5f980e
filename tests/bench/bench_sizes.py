"""What a page downloads of code to run a model with wasm, beside what runs the same model by other
means.

    (cd tests/bench/rivals && npm ci)
    .venv/bin/python -m tests.bench.bench_sizes mobilenetv2 [--parameter weights=random]

Files as they are published, compressed with Brotli 11, without the weights. Of each, the smallest
set of files that runs on wasm with SIMD and one thread: of a bundle its `index.js`, `runtime.js`,
`worker.js`, `wasm.js` and one variant.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import brotli

from webkiln.cli import main

PACKAGES = Path(__file__).parent / "rivals" / "node_modules"
RIVALS: Mapping[str, Sequence[str]] = {
    "onnxruntime-web": (
        "onnxruntime-web/dist/ort.wasm.min.mjs",
        "onnxruntime-web/dist/ort-wasm-simd-threaded.mjs",
        "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm",
    ),
    "LiteRT.js": (
        "@litertjs/core/dist/index.js",
        "@litertjs/core/wasm/litert_wasm_internal.js",
        "@litertjs/core/wasm/litert_wasm_internal.wasm",
    ),
    "TensorFlow.js": (
        "@tensorflow/tfjs-core/dist/tf-core.fesm.min.js",
        "@tensorflow/tfjs-converter/dist/tf-converter.fesm.min.js",
        "@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.fesm.min.js",
        "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm",
    ),
}
BUNDLE = ("index.js", "runtime.js", "worker.js", "wasm.js", "relaxed.wasm")


def sizes(files: Sequence[Path]) -> tuple[int, int]:
    """The bytes of files, as they are and compressed one by one."""
    data = [path.read_bytes() for path in files]
    return sum(map(len, data)), sum(len(brotli.compress(item, quality=11)) for item in data)


def run() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--parameter", action="append", default=[])
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        bundle = Path(folder) / "bundle"
        words = [word for parameter in options.parameter for word in ("--parameter", parameter)]
        if main(["build", options.model, "-o", str(bundle), "--backend", "wasm", *words]):
            raise SystemExit(1)
        rows = {"webkiln": sizes([bundle / name for name in BUNDLE])}
    rows |= {name: sizes([PACKAGES / file for file in files]) for name, files in RIVALS.items()}
    _, own = rows["webkiln"]
    print(f"{options.model}: code that a page downloads")
    for name, (raw, packed) in rows.items():
        print(
            f"  {name:<16}{raw / 1000:10.1f} KB{packed / 1000:10.1f} KB with Brotli"
            f"{packed / own:8.1f} times"
        )


if __name__ == "__main__":
    run()
