"""Each layer of the table agrees with Keras for all its options, on every backend and variant."""

import subprocess
import sys
from pathlib import Path

import keras
import pytest
from keras import layers as L

from tests.frontends.keras.layer_cases import (
    INNER,
    LAYER_CASES,
    NOT_CONVERTED,
    PARTS,
    public_layers,
)
from tests.frontends.keras.layer_trees import BATCH, Tree, run_trees, tree
from tests.frontends.keras.text_cases import TEXTS
from tests.sampling import representative
from webkiln.canonical import digest
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.layers.retired import RETIRED
from webkiln.frontends.keras.layers.table import LAYERS
from webkiln.ir.text import print_graph
from webkiln.ops.evaluate import run_graph


@pytest.fixture(scope="module")
def trees() -> list[Tree]:
    """A model per section of the table."""
    keras.utils.clear_session(free_memory=False)
    return [tree(rows) for rows in LAYER_CASES.values()]


def test_graphs_agree_with_keras(trees):
    for item in trees:
        assert item.differences(run_graph(item.graph(), item.inputs)[0]) == {}


@pytest.mark.parametrize("every", representative([2, 1], 2))
def test_files_give_the_same_graphs(trees, every, tmp_path):
    for item in trees[::every]:
        item.model.save(tmp_path / "m.keras")
        assert KerasConverter(batch_size=BATCH).convert(tmp_path / "m.keras") == item.graph()


@pytest.mark.parametrize("every", representative([4, 1], 4))
def test_conversion_of_files_needs_numpy_and_h5py_only(trees, every, tmp_path):
    written = trees[::every]
    paths = [tmp_path / f"{number}.keras" for number, _ in enumerate(written)]
    for item, path in zip(written, paths, strict=True):
        item.model.save(path)
    command = [
        sys.executable,
        str(Path(__file__).with_name("only_h5py.py")),
        str(BATCH),
        *map(str, paths),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [digest(print_graph(item.graph()).encode()) for item in written]


@pytest.mark.parametrize(
    ("backend", "variant", "every"),
    representative(
        [
            ("js", "", 4),
            ("js", "", 1),
            ("wasm", "relaxed", 1),
            ("wasm", "simd", 1),
            ("webgpu", "", 1),
            ("webgl", "", 1),
        ],
        ("js", "", 4),
    ),
)
def test_backends_agree_with_keras(trees, backend, variant, every, tmp_path):
    case = trees[::every]
    assert run_trees(case, backend, tmp_path, variant) == [{}] * len(case)


def test_shared_layers(compare):
    """Layers that are called more than once: on tensors of several sizes, on their outputs, and
    between other layers.
    """
    x, y = keras.Input((4, 6, 3), name="x"), keras.Input((2, 3, 3), name="y")
    up, norm, mix = (
        L.Conv2DTranspose(3, 4, strides=2, padding="same"),
        L.LayerNormalization(),
        L.EinsumDense("...c,cd->...d", 3),
    )
    small = up(y)
    z = L.Add()([x, norm(small), norm(x)])
    table = L.ReversibleEmbedding(5, 3)
    words = keras.Input((2,), dtype="int32", name="words")
    compare(
        keras.Model(
            [x, y, words],
            [
                L.Dot(axes=(3, 3))([up(z), up(up(y))]),
                mix(y),
                mix(mix(y)),
                table(table(words), reverse=True),
            ],
        )
    )


def test_every_public_layer_has_a_row():
    case = {name for rows in (*LAYER_CASES.values(), TEXTS) for name in rows}
    assert case | PARTS | set(NOT_CONVERTED) == public_layers()
    assert not INNER & public_layers()
    assert not case & set(NOT_CONVERTED)
    assert not set(RETIRED) & public_layers()
    assert case | PARTS | INNER | set(RETIRED) == set(LAYERS)
