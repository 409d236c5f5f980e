"""Shapes of inputs, dynamic sizes, states and subgraphs."""

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.caffe.definitions import conv, input_layers, layer
from tests.frontends.caffe.make import CORPUS
from tests.frontends.caffe.reading import converted, relu
from tests.frontends.caffe.reference import Net
from webkiln.errors import RecipeError, ShapeError, SourceError, UnsupportedError
from webkiln.frontends.caffe.converter import CaffeConverter
from webkiln.frontends.caffe.load import read_model
from webkiln.frontends.core.subgraph import Subgraph
from webkiln.ops.evaluate import run_graph


def test_one_graph_computes_all_dynamic_sizes(tmp_path: Path) -> None:
    """Layers with a dynamic batch, height and width, against the oracle."""
    text = (
        input_layers(data=(1, 3, 8, 8))
        + conv("conv", "data", 4, 3, "pad: 1 stride: 2")
        + "".join(
            (
                layer("Pooling", "ceil", "conv", pooling_param="kernel_size: 3 stride: 2 pad: 1"),
                layer(
                    "Pooling",
                    "mean",
                    "conv",
                    pooling_param="pool: AVE kernel_size: 3 stride: 2 pad: 1",
                ),
                layer(
                    "Pooling", "plain", "conv", pooling_param="pool: AVE kernel_size: 3 stride: 2"
                ),
                layer(
                    "Pooling", "places", "conv", "most at", pooling_param="kernel_size: 2 stride: 2"
                ),
                layer("LRN", "norm", "ceil"),
                layer("Concat", "both", "norm mean"),
                layer(
                    "Deconvolution",
                    "up",
                    "both",
                    convolution_param="num_output: 2 kernel_size: 2 stride: 2",
                ),
                layer("Interp", "wide", "up", interp_param="zoom_factor: 2"),
                layer(
                    "PriorBox", "boxes", "mean data", prior_box_param="min_size: 4 aspect_ratio: 2"
                ),
                layer("ArgMax", "best", "mean"),
                layer("MVN", "even", "mean"),
                layer("Reduction", "sum", "plain", reduction_param="axis: 1"),
                layer("Im2col", "col", "most", convolution_param="kernel_size: 2"),
                layer("Crop", "like", "wide mean"),
            )
        )
    )
    path = tmp_path / "net.prototxt"
    oracle = Net(text, seed=1)
    rng = np.random.default_rng(2)
    graph = None
    for shape in ((1, 3, 9, 13), (2, 3, 16, 10), (3, 3, 11, 11)):
        x = rng.uniform(-1, 1, shape).astype(np.float32)
        expected = oracle.outputs({"data": x})
        if graph is None:
            path.write_text(text)
            path.with_suffix(".caffemodel").write_bytes(oracle.weight_file())
            graph = converted(path, {"data": ["N", 3, "H", "W"]})
        got, _ = run_graph(graph, {"data": x})
        assert got.keys() == expected.keys()
        for name, value in expected.items():
            assert got[name].shape == value.shape, name
            np.testing.assert_allclose(
                got[name], value, atol=2e-5 * max(np.abs(value).max(), 1), err_msg=name
            )


def test_recurrent_layers_have_states() -> None:
    graph = converted(CORPUS / "lstm.prototxt")
    assert [state.name for state in graph.states] == ["a/h", "a/c"]
    with pytest.raises(UnsupportedError, match="keeps its state between runs, for N sequences"):
        converted(CORPUS / "lstm.prototxt", {"x": [6, "N", 4], "going": [6, "N"]})


def test_input_shapes_replace_those_of_the_definition(tmp_path: Path) -> None:
    text = input_layers(data=(1, 3, 8, 8)) + relu()
    (tmp_path / "net.prototxt").write_text(text)
    for shapes in ({"data": [2, 3, 4, 4]}, {"": ["N", 3, "H", 4]}):
        model, _ = read_model(tmp_path / "net.prototxt", None, shapes)
        assert model.graph.inputs[0].shape == tuple(next(iter(shapes.values())))
    with pytest.raises(
        SourceError, match=r"the input data has 4 axes, \[1, 3, 8, 8\]; got \[2, 3\]"
    ):
        read_model(tmp_path / "net.prototxt", None, {"data": [2, 3]})
    with pytest.raises(SourceError, match="there is no input image; inputs are data"):
        read_model(tmp_path / "net.prototxt", None, {"image": [2, 3]})


def test_a_subgraph_is_read(tmp_path: Path) -> None:
    (tmp_path / "net.prototxt").write_text(
        input_layers(data=(1, 3)) + relu("data", "a") + relu("a", "b") + relu("b", "c")
    )
    path = tmp_path / "net.prototxt"
    model, _ = read_model(path, None, {"a": [4, 3]}, Subgraph(("a",), ("b",)))
    assert [(item.name, item.shape) for item in model.graph.inputs] == [("a", (4, 3))]
    assert [node.name for node in model.graph.nodes] == ["b"]
    assert [item.name for item in model.graph.outputs] == ["b"]
    with pytest.raises(RecipeError, match="--to-layer: there is no 'd'"):
        read_model(path, None, {}, Subgraph((), ("d",)))
    with pytest.raises(ShapeError, match="set its shape with --input-shape a="):
        CaffeConverter().convert(*read_model(path, None, {}, Subgraph(("a",), ())))
