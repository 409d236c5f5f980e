"""Networks that are known from the web, as the converter of TensorFlow.js writes them."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.corpus import mismatch, mismatches
from tests.frontends.tensorflow.samples import converted
from tests.frontends.tensorflow.web_networks import NETWORKS, runs, web_network
from webkiln.errors import ShapeError, WebkilnError
from webkiln.frontends.tensorflow.reference import Computed

SMALL = ("commands", "bert", "yamnet", "remapped")


@pytest.mark.parametrize("name", SMALL)
def test_small_networks_match_on_js(name: str, tmp_path: Path) -> None:
    assert mismatches(runs(name, tmp_path), "js", tmp_path / "programs") == {}


@pytest.mark.long
@pytest.mark.parametrize(("name", "backend"), [*product(NETWORKS, ("wasm", "js"))])
def test_networks_match_on_a_backend(name: str, backend: str, tmp_path: Path) -> None:
    samples = runs(name, tmp_path)
    assert len(samples) > 1
    assert mismatches(samples, backend, tmp_path / "programs") == {}


def test_the_reference_of_remapped_graphs_is_computed_by_tensorflow(tmp_path: Path) -> None:
    first, *_ = runs("remapped", tmp_path)
    path = tmp_path / "remapped" / "model.json"
    outputs, _ = Computed(tf, path, path.parent, "", {}, tmp_path)(dict(first.inputs))
    assert mismatch(first, outputs) is None


def test_a_factor_of_sizes_is_fixed_with_an_option(tmp_path: Path) -> None:
    """Otherwise its elements would be sizes, and 0.5 would be refused when the model runs."""
    path = web_network("matting", tmp_path)
    with pytest.raises(WebkilnError, match=r"--value downsample_ratio=\.\.\."):
        converted(path, path.parent)


def test_options_name_inputs_without_the_suffix_of_tensors(tmp_path: Path) -> None:
    path = web_network("bert", tmp_path)
    names = ("input_ids", "attention_mask:0", "token_type_ids")
    shapes = dict.fromkeys(names, (2, 7))
    graph = converted(path, path.parent, input_shapes=shapes, values={"attention_mask": 1})
    assert graph.inputs == ("input_ids:0", "token_type_ids:0")
    assert {graph.type(name).shape for name in graph.inputs} == {(2, 7)}
    with pytest.raises(ShapeError, match="there is no input ids; inputs are attention_mask:0"):
        converted(path, path.parent, input_shapes={"ids": (2, 7)})
    with pytest.raises(ShapeError, match="attention_mask:0: is named twice"):
        converted(path, path.parent, values={"attention_mask": 1, "attention_mask:0": np.ones(1)})
