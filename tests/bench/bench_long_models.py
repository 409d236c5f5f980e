"""Time to build models of thousands of nodes from ONNX files for js and wasm, with an empty cache.

`python -m tests.bench.bench_long_models [nodes] [kind,...]`
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import onnx

from tests.bench.long_models import KINDS, long_model
from webkiln.cli import main as webkiln


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    for kind in sys.argv[2].split(",") if len(sys.argv) > 2 else KINDS:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["WEBKILN_CACHE"] = f"{folder}/cache"
            onnx.save(long_model(kind, count), Path(folder) / "model.onnx")
            begin = time.perf_counter()
            webkiln(
                ["build", f"{folder}/model.onnx", "--backend", "js,wasm", "-o", f"{folder}/bundle"]
            )
            print(f"{kind}: {count} nodes in {time.perf_counter() - begin:.1f} s")


if __name__ == "__main__":
    main()
