"""The corpus on every backend."""

import pytest

from tests.frontends.caffe.make import CORPUS
from tests.frontends.caffe.reading import converted
from tests.frontends.corpus import (
    BACKEND_STRIDES,
    Sample,
    corpus,
    mismatches,
    read_sample,
    reference_mismatch,
)

MODELS = [
    path
    for path in corpus(CORPUS, (".prototxt", ".caffemodel"))
    if path.with_suffix(".npz").is_file()
    and (path.suffix == ".prototxt" or not path.with_suffix(".prototxt").is_file())
]
LOOSE = {"lstm": 2e-4, "lstm_static": 2e-4, "rnn": 2e-4}


def sample(path) -> Sample:  # type: ignore[no-untyped-def]
    return read_sample(path, converted, LOOSE.get(path.stem, 1e-4))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_each_net_matches_its_expected_outputs(path) -> None:  # type: ignore[no-untyped-def]
    assert reference_mismatch(sample(path)) is None


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_nets_match_on_every_backend(backend: str, every: int, tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert mismatches([sample(path) for path in MODELS[::every]], backend, tmp_path) == {}
