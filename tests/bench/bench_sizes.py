"""The code that a page downloads to run a model, compared with other engines.

    (cd tests/bench/rivals && npm ci)
    .venv/bin/python -m tests.bench.bench_sizes mobilenetv2 [--parameter weights=random]
    .venv/bin/python -m tests.bench.bench_sizes resnet50 --backend webgpu

Files are measured as published, and compressed with Brotli 11; weights do not count. Of each
engine, the smallest set of files that runs on wasm with SIMD and one thread, or on webgpu. Of a
bundle: `index.js`, `runtime.js`, `worker.js` and the module of the backend, on wasm one variant.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import brotli

from webkiln.cli import main

PACKAGES = Path(__file__).parent / "rivals" / "node_modules"
TFJS = (
    "@tensorflow/tfjs-core/dist/tf-core.fesm.min.js",
    "@tensorflow/tfjs-converter/dist/tf-converter.fesm.min.js",
)
LITERT = "@litertjs/core/dist/index.js"
RIVALS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "wasm": {
        "onnxruntime-web": (
            "onnxruntime-web/dist/ort.wasm.min.mjs",
            "onnxruntime-web/dist/ort-wasm-simd-threaded.mjs",
            "onnxruntime-web/dist/ort-wasm-simd-threaded.wasm",
        ),
        "LiteRT.js": (
            LITERT,
            "@litertjs/core/wasm/litert_wasm_internal.js",
            "@litertjs/core/wasm/litert_wasm_internal.wasm",
        ),
        "TensorFlow.js": (
            *TFJS,
            "@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.fesm.min.js",
            "@tensorflow/tfjs-backend-wasm/dist/tfjs-backend-wasm-simd.wasm",
        ),
    },
    "webgpu": {
        "onnxruntime-web": (
            "onnxruntime-web/dist/ort.webgpu.min.mjs",
            "onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.mjs",
            "onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.wasm",
        ),
        "LiteRT.js": (
            LITERT,
            "@litertjs/core/wasm/litert_wasm_jspi_internal.js",
            "@litertjs/core/wasm/litert_wasm_jspi_internal.wasm",
        ),
        "TensorFlow.js": (
            *TFJS,
            "@tensorflow/tfjs-backend-webgpu/dist/tf-backend-webgpu.fesm.min.js",
        ),
    },
}
BUNDLE: Mapping[str, Sequence[str]] = {
    "wasm": ("index.js", "runtime.js", "worker.js", "wasm.js", "relaxed.wasm"),
    "webgpu": ("index.js", "runtime.js", "worker.js", "webgpu.js"),
}
EMULATED = (*BUNDLE["webgpu"][:-1], "webgpu_emulated.js")
"""What a page downloads instead if a CPU emulates the GPU."""


def sizes(files: Sequence[Path]) -> tuple[int, int]:
    """The total bytes of files, uncompressed and compressed one by one."""
    data = [path.read_bytes() for path in files]
    return sum(map(len, data)), sum(len(brotli.compress(item, quality=11)) for item in data)


def run() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("model")
    parser.add_argument("--backend", choices=BUNDLE, default="wasm")
    parser.add_argument("--parameter", action="append", default=[])
    options = parser.parse_args()
    with TemporaryDirectory() as folder:
        bundle = Path(folder) / "bundle"
        arguments = [word for parameter in options.parameter for word in ("--parameter", parameter)]
        if main(
            ["build", options.model, "-o", str(bundle), "--backend", options.backend, *arguments]
        ):
            raise SystemExit(1)
        rows = {"webkiln": sizes([bundle / name for name in BUNDLE[options.backend]])}
        if options.backend == "webgpu" and (bundle / EMULATED[-1]).exists():
            rows["emulated GPU"] = sizes([bundle / name for name in EMULATED])
    rows |= {
        name: sizes([PACKAGES / file for file in files])
        for name, files in RIVALS[options.backend].items()
    }
    _, webkiln_size = rows["webkiln"]
    print(f"{options.model}: code that a page downloads for {options.backend}")
    for name, (raw, compressed) in rows.items():
        print(
            f"  {name:<16}{raw / 1000:10.1f} KB{compressed / 1000:10.1f} KB with Brotli"
            f"{compressed / webkiln_size:8.1f} times"
        )


if __name__ == "__main__":
    run()
