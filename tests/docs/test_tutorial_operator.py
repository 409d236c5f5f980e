"""The tutorial of operators: its files run unchanged, the bundle is correct on every backend, and a
missing kernel is one error.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.docs.pages import blocks
from tests.docs.programs import Programs
from webkiln.backends.host import read_manifest, run_bundle
from webkiln.backends.table import REGISTRY

FILES = {
    block.marks[0]: block.text
    for block in blocks("docs/tutorial-operator.md")
    if block.language == "python"
}


def write_files(folder: Path, **replacements: str) -> Path:
    """Write the tutorial's files into a folder."""
    for name, text in FILES.items():
        (folder / name).write_text(replacements.get(name.removesuffix(".py"), text))
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, with_keras: Programs) -> Path:
    folder = write_files(tmp_path_factory.mktemp("operators"))
    status, printed = with_keras.run(folder, "model.py")
    assert status == 0, printed
    return folder


@pytest.mark.parametrize("backend", REGISTRY)
@pytest.mark.sample("js", "wasm")
def test_every_backend_computes_the_operators(backend: str, folder: Path) -> None:
    bundle = folder / "output"
    (name,) = (tensor["name"] for tensor in read_manifest(bundle)["inputs"])
    x = np.arange(-4, 6, dtype=np.float32)[None] / 3
    (result,) = run_bundle(bundle, backend, [{name: x}], host="chromium")
    (output,) = result.outputs.values()
    np.testing.assert_allclose(output, x.astype(np.float64) ** 6, rtol=1e-6)


def test_a_missing_kernel_is_one_error_before_any_work(
    tmp_path: Path, with_keras: Programs
) -> None:
    without_webgl = "\n".join(
        line for line in FILES["power.py"].splitlines() if '"webgl"' not in line
    )
    two_layers = FILES["model.py"].replace(
        'SquareLayer(name="square")(x)',
        'PowerLayer(2, name="other")(SquareLayer(name="square")(x))',
    )
    webgl_only = two_layers.replace('("webgpu", "wasm", "webgl", "js")', '("webgl",)')
    status, message = with_keras.run(
        write_files(tmp_path, power=without_webgl, model=webgl_only), "model.py"
    )
    assert status != 0
    assert "2 unsupported parts" in message
    assert "cube: MyPower has no kernel for webgl" in message
    assert "other: MyPower has no kernel for webgl" in message
    assert not (tmp_path / "output").exists()


@pytest.mark.long
def test_a_recipe_names_the_files(tmp_path: Path, with_keras: Programs) -> None:
    """The model is a file. Its keys contain the operators' files."""
    write_files(tmp_path)
    source = (
        FILES["model.py"]
        .partition("graph = ")[0]
        .replace("class ", '@keras.saving.register_keras_serializable(package="mine")\nclass ')
    )
    (tmp_path / "layers.py").write_text(
        source.partition("\nx = ")[0].replace("import power\nimport square\n", "")
    )
    (tmp_path / "save.py").write_text(
        "from layers import *\nx = " + source.partition("\nx = ")[2] + 'model.save("my.keras")\n'
    )
    command = [
        "-m",
        "webkiln.cli",
        "build",
        "my.keras",
        "-o",
        "out",
        "--backend",
        "js",
        "--plugin",
        "layers.py",
        "--plugin",
        "square.py",
        "--plugin",
        "power.py",
        "--operators",
        "square.py",
        "--operators",
        "power.py",
    ]
    status, printed = with_keras.run(tmp_path, "save.py")
    assert status == 0, printed
    process = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    (name,) = (tensor["name"] for tensor in read_manifest(tmp_path / "out")["inputs"])
    (result,) = run_bundle(tmp_path / "out", "js", [{name: np.full((1, 10), 2, np.float32)}])
    assert set(next(iter(result.outputs.values())).ravel().tolist()) == {64.0}
    broken = (tmp_path / "power.py").read_text().replace("y *= x0(i);", "y *= x0(i) + 1;", 2)
    (tmp_path / "power.py").write_text(broken)
    process = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    (result,) = run_bundle(tmp_path / "out", "js", [{name: np.full((1, 10), 2, np.float32)}])
    assert set(next(iter(result.outputs.values())).ravel().tolist()) == {125.0}


def test_an_onnx_file_uses_the_operator(tmp_path: Path) -> None:
    write_files(tmp_path)
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 5])
    out = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [2, 5])
    node = onnx.helper.make_node("Squared", ["x"], ["y"], domain="my.operators")
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("my.operators", 1)]
    onnx.save(
        onnx.helper.make_model(
            onnx.helper.make_graph([node], "g", [value], [out]), opset_imports=opsets, ir_version=10
        ),
        tmp_path / "my.onnx",
    )
    command = [
        sys.executable,
        "-m",
        "webkiln.cli",
        "build",
        "my.onnx",
        "-o",
        "out",
        "--backend",
        "js",
    ]
    process = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert process.returncode == 2
    assert "my.operators" in process.stderr + process.stdout
    command += ["--plugin", "onnx_square.py", "--operators", "square.py"]
    process = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    x = np.arange(10, dtype=np.float32).reshape(2, 5)
    (result,) = run_bundle(tmp_path / "out", "js", [{"x": x}])
    np.testing.assert_array_equal(result.outputs["y"], x * x)
