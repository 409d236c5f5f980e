"""The corpus on every backend, compared with Chainer."""

from functools import cache

import pytest

from tests.frontends.chainer.reading import CORPUS, converted
from tests.frontends.corpus import (
    BACKEND_STRIDES,
    Sample,
    mismatches,
    read_sample,
    reference_mismatch,
)

NAMES = sorted(path.stem for path in CORPUS.glob("*.npz") if not path.stem.endswith(".weights"))


@cache
def sample(name: str) -> Sample:
    return read_sample(CORPUS / f"{name}.npz", lambda path: converted(path.stem))


def test_there_are_forty_nets_with_snapshots_of_every_kind() -> None:
    kinds = {path.suffix for path in CORPUS.glob("*.weights.*")}
    assert len(NAMES) >= 40
    assert kinds == {".npz", ".h5"}


@pytest.mark.parametrize("name", NAMES)
def test_each_net_computes_what_chainer_says(name: str) -> None:
    assert reference_mismatch(sample(name)) is None


@pytest.mark.parametrize(("backend", "every"), BACKEND_STRIDES)
def test_all_nets_give_the_same_on_every_backend(backend: str, every: int, tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert mismatches([sample(name) for name in NAMES[::every]], backend, tmp_path) == {}
