"""Invalid ONNX files on the command line: one clear error each, exit status 2, no traceback, no
partial output.
"""

from pathlib import Path

import numpy as np
import pytest

from tests.commands import bad_onnx
from tests.commands.conftest import Command
from tests.commands.refusals import check
from tests.frontends.onnx.models import classifier

EXPECTED = {name: text for name, (_, text) in (bad_onnx.REFUSED | bad_onnx.BYTES).items()}
OPTIONS = {
    "--dim height=3": "there is no size called height; sizes are batch",
    "--dim batch": "--dim is 'batch', expected NAME=SIZE",
    "--dim batch=0": "--dim is 'batch=0', expected NAME=SIZE",
    "--dim batch=99999999999": (
        "input x: the size of axis 0 is 99999999999; sizes are at most 2147483647"
    ),
    "--dim batch=1 --dim batch=2": "--dim gives batch twice, as 1 and as 2",
    "--input-shape 2,1,9,9": "input x: its shape is ['batch', 1, 8, 8], got [2, 1, 9, 9]",
    "--input-shape image=2,1,8,8": "there is no input image; inputs are x",
    "--batch-size 4": "it has no batch axis to set; set sizes by dims or input_shapes",
}


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onnx")
    bad_onnx.write(folder)
    (folder / "good.onnx").write_bytes(classifier().SerializeToString())
    return folder


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.sample(12)
def test_files(name: str, webkiln: Command, files: Path, tmp_path: Path) -> None:
    check(webkiln("build", files / f"{name}.onnx", "-o", "public/model"), EXPECTED[name], tmp_path)


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.sample(4)
def test_options(option: str, webkiln: Command, files: Path, tmp_path: Path) -> None:
    check(
        webkiln("build", files / "good.onnx", "-o", "public/model", *option.split(" ")),
        OPTIONS[option],
        tmp_path,
    )


def test_all_unknown_names_are_reported_at_once(
    webkiln: Command, files: Path, tmp_path: Path
) -> None:
    done = webkiln("build", files / "unknown.onnx", "-o", "public/model")
    assert [line.split(":")[0].strip() for line in done.stderr.splitlines()[1:]] == [
        "one (Sparkle)",
        "two (Glitter)",
        "three (Sparkle)",
    ]
    assert "is in the domain my.ops" in done.stderr


def test_sizes_of_an_onnx_file_are_not_those_of_a_keras_model(
    webkiln: Command, sources: Path, tmp_path: Path
) -> None:
    check(
        webkiln("build", sources / "good.keras", "-o", "public/model", "--dim", "N=1"),
        "there is no size called N; sizes are all known",
        tmp_path,
    )


def test_a_model_is_no_bundle(webkiln: Command, files: Path, tmp_path: Path) -> None:
    check(
        webkiln("explain", files / "good.onnx"),
        "there is no manifest.json; give the folder of a bundle",
        tmp_path,
    )


@pytest.mark.parametrize("backend", ["webgpu", "webgl"])
def test_node_has_no_gpu(backend: str, webkiln: Command, files: Path, tmp_path: Path) -> None:
    assert (
        webkiln(
            "build", files / "good.onnx", "-o", "model", "--backend", backend, "--dim", "batch=1"
        ).returncode
        == 0
    )
    np.savez(tmp_path / "x.npz", x=np.zeros((1, 1, 8, 8), np.float32))
    done = webkiln("run", "model", "--inputs", "x.npz", "--outputs", "y.npz", "--backend", backend)
    assert done.returncode == 2
    assert (
        f"{backend} needs a browser, Node has no GPU; run it with --browser chromium" in done.stderr
    )
