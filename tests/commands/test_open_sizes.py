"""`webkiln run` and `webkiln diff` on a bundle with a size that is set at run time."""

from pathlib import Path

import keras
import numpy as np
import pytest
from keras import layers

from tests.commands.conftest import Command
from webkiln.build.descriptor import generate_descriptor
from webkiln.frontends.keras.converter import KerasConverter


@pytest.fixture(scope="module")
def model_and_bundle(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A model file and its bundle."""
    folder = tmp_path_factory.mktemp("open")
    a, b = keras.Input((None, 4), name="a"), keras.Input((None, 4), name="b")
    keras.Model([a, b], layers.GRU(3, name="g")(layers.Add()([a, b])), name="model").save(
        folder / "model.keras"
    )
    shapes = {"a": (1, "T", 4), "b": (1, "T", 4)}
    generate_descriptor(
        "js", KerasConverter(input_shapes=shapes).convert(folder / "model.keras")
    ).save(folder / "bundle")
    return folder / "model.keras", folder / "bundle"


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((1, 9, 4), (1, 9, 4)), None),
        (((1, 9, 4), (1, 8, 4)), r"input b: expected shape [1, 'T', 4] with T = 9, got [1, 8, 4]"),
        (((2, 9, 4), (2, 9, 4)), r"input a: expected shape [1, 'T', 4], got [2, 9, 4]"),
        (((1, 0, 4), (1, 0, 4)), r"input a: expected shape [1, 'T', 4], got [1, 0, 4]"),
        (((9, 4), (9, 4)), r"input a: expected shape [1, 'T', 4], got [9, 4]"),
    ],
)
def test_run_accepts_any_size(
    webkiln: Command,
    model_and_bundle: tuple[Path, Path],
    tmp_path: Path,
    shapes: tuple,
    message: str | None,
) -> None:
    np.savez(
        tmp_path / "in.npz",
        **{name: np.ones(shape, np.float32) for name, shape in zip("ab", shapes, strict=True)},
    )
    done = webkiln(
        "run",
        model_and_bundle[1],
        "--inputs",
        tmp_path / "in.npz",
        "--outputs",
        tmp_path / "out.npz",
    )
    assert (done.returncode == 0) == (message is None), done.stderr
    assert message is None or message in done.stderr


def test_diff_rebuilds_with_the_sizes_of_the_bundle(
    webkiln: Command, model_and_bundle: tuple[Path, Path]
) -> None:
    done = webkiln("diff", model_and_bundle[1], "--source", model_and_bundle[0])
    assert done.returncode == 0, done.stderr
    assert "output g [1, 3]" in done.stdout
