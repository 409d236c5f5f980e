"""The bundles that environments run, built once per run of the tests."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(__file__).parent / "node_modules" / ".bin"
WIDTH = 256
X = np.sin(np.arange(2 * WIDTH, dtype=np.float32)).reshape(2, WIDTH)


def need(program: str) -> str:
    """The path of a JavaScript runtime."""
    path = BIN / program
    if not path.exists():
        raise FileNotFoundError(
            f"{program} is missing: run `make setup`, or `npm install --no-save` in"
            " tests/environments/ (npm comes with Node.js; on Debian it is the package npm)"
        )
    return str(path)


def weights() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    weight = generator.standard_normal((WIDTH, WIDTH)).astype(np.float32) / np.float32(16)
    return weight, generator.standard_normal(WIDTH).astype(np.float32)


def expected() -> np.ndarray:
    """What onnxruntime computes for X."""
    import onnxruntime

    session = onnxruntime.InferenceSession(dense().SerializeToString())
    return np.asarray(session.run(["y"], {"x": X})[0])


def dense() -> Any:
    """y = tanh(x w + b), of any number of rows."""
    from onnx import TensorProto, checker, helper, numpy_helper

    weight, bias = weights()
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["product"], name="product"),
            helper.make_node("Tanh", ["product"], ["y"], name="tanh"),
        ],
        "dense",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", WIDTH])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", WIDTH])],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    return model


def write(path: Path) -> str:
    path.write_bytes(dense().SerializeToString())
    return str(path)


def only_once(output: Path) -> FileLock:
    """A lock under which one of the processes of these tests makes a file or folder."""
    return FileLock(f"{output}.lock")


def build(source: str, output: Path, *options: str, folder: Path = ROOT) -> Path:
    """Build a bundle, unless another process of these tests has built it."""
    with only_once(output):
        if not output.exists():
            subprocess.run(
                [
                    *(sys.executable, "-m", "webkiln.cli", "build", source),
                    *("--output", str(output), *options),
                ],
                cwd=folder,
                check=True,
                capture_output=True,
                timeout=280,
            )
    return output
