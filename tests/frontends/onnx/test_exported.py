"""Models as exporters write them, with weights that stay in their file (`exported/make.py`);
compared with onnxruntime at two sets of sizes.
"""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.corpus import Sample, mismatches, reference_mismatch
from webkiln.errors import UnsupportedError
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.probe import read_model
from webkiln.ir.graph import Graph

pytestmark = pytest.mark.probes

ARCHIVE = Path(__file__).parent / "exported" / "exported.zip"
with zipfile.ZipFile(ARCHIVE) as archive:
    NAMES = sorted(name.removesuffix(".onnx") for name in archive.namelist() if ".onnx" in name)
FOREIGN_LAYOUT = ("optimised_all_script_convolutions", "optimised_all_script_pyramid")
SUPPORTED = [name for name in NAMES if name not in FOREIGN_LAYOUT]


def converted(name: str, folder: Path) -> Graph:
    path = folder / f"{name}.onnx"
    with zipfile.ZipFile(ARCHIVE) as archive:
        archive.extract(path.name, folder)
    return OnnxConverter().convert(*read_model(path))


def samples(name: str, graph: Graph) -> list[Sample]:
    result = []
    with zipfile.ZipFile(ARCHIVE) as archive:
        for member in archive.namelist():
            if member.startswith(f"{name}.") and member.endswith(".npz"):
                with archive.open(member) as file, np.load(file) as arrays:
                    inputs, outputs = (
                        {
                            key.removeprefix(role): arrays[key]
                            for key in arrays.files
                            if key.startswith(role)
                        }
                        for role in ("in/", "out/")
                    )
                result.append(Sample(member.removesuffix(".npz"), graph, inputs, outputs))
    return result


def test_the_corpus_is_complete() -> None:
    kinds = {name.partition("_")[0] for name in NAMES}
    assert kinds == {"torch", "optimised", "constants", "keras", "tf2onnx"}
    assert len(NAMES) >= 70
    assert ARCHIVE.stat().st_size < 2 << 20


@pytest.mark.parametrize("name", SUPPORTED)
def test_exported_models_agree_with_onnxruntime(name: str, tmp_path: Path) -> None:
    sets = samples(name, converted(name, tmp_path))
    assert len(sets) == 2
    assert [reference_mismatch(sample) for sample in sets] == [None, None]


@pytest.mark.parametrize("name", FOREIGN_LAYOUT)
def test_the_layout_of_one_cpu_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="or save it with ORT_ENABLE_EXTENDED") as error:
        converted(name, tmp_path)
    assert "no handler" not in str(error.value)
    assert "ReorderOutput" in str(error.value)


def test_exported_models_match_on_wasm(tmp_path: Path) -> None:
    sets = [
        sample for name in SUPPORTED[::9] for sample in samples(name, converted(name, tmp_path))
    ]
    assert not mismatches(sets, "wasm", tmp_path)
