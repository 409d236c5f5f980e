"""The corpus compared with the reference kernels of ai-edge-litert's interpreter. Integers must be
equal bit by bit.
"""

import zipfile
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.corpus import (
    BACKEND_STRIDES,
    Sample,
    corpus,
    mismatches,
    read_sample,
    reference_mismatch,
)
from webkiln.frontends.tflite.converter import TfliteConverter
from webkiln.frontends.tflite.load import read_model
from webkiln.ir.graph import Graph

CORPUS = Path(__file__).parent / "corpus"
FILES = corpus(CORPUS, [".tflite"])
SINGLES = CORPUS / "singles.zip"


@pytest.fixture(scope="module")
def singles(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The models of one operator."""
    folder = tmp_path_factory.mktemp("singles")
    with zipfile.ZipFile(SINGLES) as archive:
        archive.extractall(folder)
    return corpus(folder, [".tflite"])


def convert(path: Path) -> Graph:
    model, blobs = read_model(path)
    return TfliteConverter().convert(model, blobs)


def sample(path: Path) -> Sample:
    return read_sample(path, convert)


def test_the_corpus_has_all_kinds() -> None:
    assert len(FILES) >= 100
    kinds = {path.stem.rpartition(".")[2] for path in FILES}
    assert kinds >= {"float", "float16", "dynamic", "int8", "int16x8"}
    assert sum(path.stat().st_size for path in CORPUS.iterdir()) < 2 << 20


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_matches_the_interpreter(path: Path) -> None:
    with np.errstate(all="ignore"):
        assert reference_mismatch(sample(path)) is None


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_files_on_a_backend(backend: str, every: int, tmp_path: Path) -> None:
    assert mismatches([sample(path) for path in FILES[::every]], backend, tmp_path) == {}


def test_single_operators_match_the_interpreter(singles: list[Path]) -> None:
    with np.errstate(all="ignore"):
        results = {path.stem: reference_mismatch(sample(path)) for path in singles}
    assert len(results) >= 300
    assert not {name: message for name, message in results.items() if message is not None}


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_single_operators_on_a_backend(
    backend: str, every: int, singles: list[Path], tmp_path: Path
) -> None:
    assert mismatches([sample(path) for path in singles[::every]], backend, tmp_path) == {}
