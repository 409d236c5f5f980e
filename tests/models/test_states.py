"""States on every backend: a running sum (2, then 4, and 2 again after reset), and two states that
swap their values.
"""

from pathlib import Path

import keras
import numpy as np
import pytest

from tests.hosts import every_page_leg
from tests.models.states import SCRIPT, runs_and_reset
from webkiln.backends import frame, pages
from webkiln.build.descriptor import generate_descriptor
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.recipe.values import BACKENDS, USUAL_BACKENDS


class ComputeSum(keras.layers.Layer):
    """x [N,C] -> the sum of all elements so far."""

    def build(self, _):
        self.total = self.add_weight(name="total", shape=(), initializer="zeros", trainable=False)

    def call(self, x):
        self.total.assign_add(keras.ops.sum(x))
        return self.total


class Swap(keras.layers.Layer):
    """x [N,C] -> 2 * odd + 3 * even + x, where `odd` and `even` (initially 1 and 0) are swapped in
    every run.
    """

    def build(self, _):
        self.odd = self.add_weight(name="odd", shape=(), initializer="ones", trainable=False)
        self.even = self.add_weight(name="even", shape=(), initializer="zeros", trainable=False)

    def call(self, x):
        odd, even = self.odd + 0, self.even + 0
        self.odd.assign(even)
        self.even.assign(odd)
        return 2 * odd + 3 * even + x


CASES = {"total": (ComputeSum, [[2], [4], [2]]), "swap": (Swap, [[3, 3], [4, 4], [3, 3]])}


@pytest.fixture(scope="module", params=CASES)
def bundle(request, tmp_path_factory) -> tuple[Path, list[list[float]]]:
    layer, expected = CASES[request.param]
    x = keras.Input((2,), name="x")
    graph = KerasConverter(batch_size=1).convert(keras.Model(x, layer(name=request.param)(x)))
    folder = tmp_path_factory.mktemp("states") / request.param
    for backend in BACKENDS:
        generate_descriptor(backend, graph).save(folder)
    return folder, expected


@pytest.mark.parametrize("backend", USUAL_BACKENDS)
def test_states_persist_between_runs_until_reset(bundle, backend):
    folder, expected = bundle
    assert runs_and_reset(folder, backend).reshape(np.shape(expected)).tolist() == expected


@every_page_leg
@pytest.mark.sample(8)
def test_states_persist_in_a_browser(bundle, browser, backend):
    folder, expected = bundle
    request = {"script": "/models/states.mjs", "bundle": "/bundle/index.js", "backend": backend}
    (answer,) = pages.run_page(
        str(folder), {"/models/": SCRIPT.parent, "/bundle/": folder}, request, [b""], 60, browser
    )
    assert frame.decode(answer).outputs["values"].reshape(np.shape(expected)).tolist() == expected
