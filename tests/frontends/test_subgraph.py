"""Subgraphs of Keras and ONNX models, between the outputs of some layers or nodes and those of
others.
"""

import keras
import numpy as np
import onnx
import pytest
from keras import layers as L
from onnx import helper

from tests.frontends.onnx.models import classifier, floats, model, weight
from tests.frontends.onnx.running import onnxruntime_outputs
from webkiln.build.graph import ModelGraph
from webkiln.build.share import share
from webkiln.errors import RecipeError, SourceError, UnsupportedError
from webkiln.frontends.core.subgraph import Subgraph
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model, read_memory
from webkiln.frontends.keras.reference import compute_reference, input_table
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.probe import read_model
from webkiln.ops.evaluate import run_graph
from webkiln.recipe.recipe import Reading, Recipe
from webkiln.recipe.sources import PathSource


def network():
    """A skip connection around a convolution, a layer that is called twice, and a second output."""
    x = keras.Input((8, 8, 3), name="x")
    first = L.Conv2D(4, 3, padding="same", name="first")(x)
    both = L.Add(name="both")([first, L.Conv2D(4, 3, padding="same", name="second")(first)])
    shared = L.Dense(6, name="shared")
    y = shared(
        L.Dense(6, name="between")(shared(L.Dense(6, name="narrow")(L.Flatten(name="flat")(both))))
    )
    model = keras.Model(
        x, [L.Dense(5, name="scores")(y), L.Dense(2, name="side")(first)], name="net"
    )
    for seed, variable in enumerate(model.weights):
        variable.assign(np.random.default_rng(seed).normal(0, 0.4, variable.shape))
    return model


@pytest.fixture(scope="module", params=["memory", "keras", "h5"])
def source(request, tmp_path_factory):
    model = network()
    if request.param == "memory":
        return model, lambda cut: read_memory(model, "net", cut)
    path = tmp_path_factory.mktemp("cut") / f"net.{request.param}"
    model.save(path)
    return keras.saving.load_model(path, compile=False), lambda cut: load_model(path, cut=cut)


@pytest.mark.parametrize(
    ("starts", "ends", "inputs", "outputs", "slots"),
    [
        (["first"], [], {"first": [None, 8, 8, 4]}, ["scores", "side"], 12),
        (
            ["second", "first"],
            ["both"],
            {"second": [None, 8, 8, 4], "first": [None, 8, 8, 4]},
            ["both"],
            0,
        ),
        (["both"], ["scores"], {"both": [None, 8, 8, 4]}, ["scores"], 8),
        (["between"], ["scores"], {"between": [None, 6]}, ["scores"], 4),
        (["shared"], ["between"], {"shared": [None, 6]}, ["between"], 2),
        ([], ["second", "first"], {"x": [None, 8, 8, 3]}, ["second", "first"], 4),
        (["x"], ["side"], {"x": [None, 8, 8, 3]}, ["side"], 4),
    ],
)
@pytest.mark.sample(10)
def test_subgraphs_of_a_keras_model(source, starts, ends, inputs, outputs, slots):
    model, read = source
    spec, blobs = read(Subgraph(tuple(starts), tuple(ends)))
    graph = KerasConverter().convert(spec, blobs)
    assert {
        layer.name: layer.config["batch_shape"] for layer in spec.layers if layer.kind == "input"
    } == inputs
    assert (list(graph.outputs), len(graph.slots)) == (outputs, slots)
    reference, layers = compute_reference(keras, model, spec, input_table(spec, 1, {}, {}))
    assert {name.split("/")[1] for name in layers} <= {layer.name for layer in spec.layers}
    inputs_of_part = {name: reference[f"natural1/in/{name}"] for name in inputs}
    results, _ = run_graph(graph, inputs_of_part)
    for name in outputs:
        np.testing.assert_allclose(
            results[name], reference[f"natural1/out/{name}"], rtol=1e-4, atol=1e-4
        )
    if starts:
        ends_of = {
            "side": model.get_layer("side").output,
            "scores": model.get_layer("scores").output,
        }
        compared = [name for name in outputs if name in ends_of]
        if compared and "shared" not in starts:
            part = keras.Model(
                [model.get_layer(name).output for name in starts],
                [ends_of[name] for name in compared],
            )
            expected = part([inputs_of_part[name] for name in starts])
            for name, value in zip(
                compared, expected if len(compared) > 1 else [expected], strict=True
            ):
                np.testing.assert_allclose(
                    reference[f"natural1/out/{name}"], value, rtol=1e-5, atol=1e-5
                )


@pytest.mark.parametrize(
    ("starts", "ends", "message"),
    [
        (
            ["second"],
            ["scores"],
            (
                "the subgraph leaves first undefined, which both reads from outside it; add"
                " --from-layer first"
            ),
        ),
        (
            ["scores"],
            [],
            (
                "the output side is not computed from scores; name the outputs to build with"
                " --to-layer"
            ),
        ),
        (
            ["both", "shared"],
            ["flat"],
            "no layer of the subgraph reads the output of shared; remove it from --from-layer",
        ),
        (["side"], ["side"], "there is no layer between side and side"),
        (
            ["frist"],
            [],
            (
                "--from-layer: there is no 'frist'; did you mean first\\?; there are x, first,"
                " second, both, flat, narrow, shared"
            ),
        ),
        ([], ["net/first"], "--to-layer: there is no 'net/first'"),
    ],
)
def test_subgraphs_with_undefined_tensors_are_errors(source, starts, ends, message):
    with pytest.raises(RecipeError, match=message):
        source[1](Subgraph(tuple(starts), tuple(ends)))


def test_inner_layers_are_no_bounds():
    x = keras.Input((4,), name="x")
    inner = keras.Sequential([keras.Input((4,)), L.Dense(3, name="deep")], name="inner")
    with pytest.raises(
        RecipeError, match="the layers inside inner are one call: name inner itself"
    ):
        read_memory(keras.Model(x, L.Dense(2, name="y")(inner(x))), "m", Subgraph(("inner/deep",)))


def test_a_sequential_model_keeps_its_build_config(tmp_path):
    keras.Sequential(
        [keras.Input((6, 4)), L.LSTM(5, name="lstm"), L.Dense(3, name="y"), L.Softmax(name="p")]
    ).save(tmp_path / "m.keras")
    spec, _ = load_model(tmp_path / "m.keras", cut=Subgraph(("lstm",)))
    assert spec.layers[0].config == {"batch_shape": [None, 5], "dtype": "float32"}
    spec, blobs = load_model(tmp_path / "m.keras", cut=Subgraph(("y",)))
    with pytest.raises(
        SourceError,
        match="input y: the model does not say its shape; give it with --input-shape y=",
    ):
        KerasConverter().convert(spec, blobs)
    graph = KerasConverter(input_shapes={"y": [1, 3]}).convert(spec, blobs)
    assert str(graph.type("y")) == "float32[1,3]"
    assert input_table(spec, 1, {"y": [1, 3]}, {}) == {"y": ("float32", (1, 3))}


def test_an_implicit_mask_is_no_input(tmp_path):
    layers = [
        keras.Input((5,), name="words"),
        L.Embedding(9, 4, mask_zero=True, name="embed"),
        L.LSTM(3, name="lstm"),
        L.Dense(2, name="y"),
    ]
    keras.Sequential(layers).save(tmp_path / "m.keras")
    with pytest.raises(
        RecipeError,
        match=(
            "the subgraph needs the mask that embed computes, which is not an output of a layer;"
            " let the subgraph start before embed"
        ),
    ):
        load_model(tmp_path / "m.keras", cut=Subgraph(("embed",)))
    x = keras.Input((5,), name="words", dtype="int32")
    model = keras.Model(
        x, L.LSTM(3, name="lstm")(L.Embedding(9, 4, mask_zero=True, name="embed")(x))
    )
    with pytest.raises(
        RecipeError, match=r"the subgraph leaves not_equal(_\d+)? undefined, which lstm reads"
    ):
        read_memory(model, "m", Subgraph(("embed",)))
    mask = next(layer.name for layer in model.operations if layer.name.startswith("not_equal"))
    spec, _ = read_memory(model, "m", Subgraph(("embed", mask)))
    reference, _ = compute_reference(keras, model, spec, input_table(spec, 1, {}, {}))
    assert {name: reference[f"natural0/in/{name}"].dtype.name for name in ("embed", mask)} == {
        "embed": "float32",
        mask: "bool",
    }


def test_unsupported_layers_can_be_excluded(tmp_path):
    def same(x):
        return next(x for _ in "a")

    x = keras.Input((4,), name="x")
    y = L.Dense(3, name="y")(L.Lambda(same, name="code")(x))
    keras.Model(x, L.Lambda(same, name="last")(y)).save(tmp_path / "m.keras")
    with pytest.raises(UnsupportedError) as error:
        load_model(tmp_path / "m.keras")
    assert [hint.rpartition("; ")[2] for _, _, hint in error.value.items] == [
        "or build what follows it: --from-layer code",
        "or build what precedes it: --to-layer y",
    ]
    spec, blobs = load_model(tmp_path / "m.keras", cut=Subgraph(("code",), ("y",)))
    assert list(KerasConverter().convert(spec, blobs).inputs) == ["code"]


def branched() -> onnx.ModelProto:
    """An If branch that reads a tensor of the enclosing graph, and a skip connection around a
    node.
    """
    node = helper.make_node
    then_branch = helper.make_graph(
        [node("Mul", ["r", "k"], ["a"])], "taken", [], [floats("a", 1, 4)]
    )
    other = helper.make_graph([node("Identity", ["k"], ["b"])], "other", [], [floats("b", 1, 4)])
    nodes = [
        node("Relu", ["x"], ["r"], "relu"),
        node("ReduceSum", ["r"], ["s"], "sum", keepdims=0),
        node("Greater", ["s", "limit"], ["c"], "above"),
        node("If", ["c"], ["d"], "choice", then_branch=then_branch, else_branch=other),
        node("Add", ["d", "r"], ["y"], "add"),
    ]
    limit = onnx.numpy_helper.from_array(np.float32(1), "limit")
    return model(nodes, [floats("x", 1, 4)], [floats("y", 1, 4)], [weight("k", 1, 4), limit])


@pytest.mark.parametrize(
    ("make", "starts", "ends", "inputs", "outputs", "slots"),
    [
        (classifier, ["pool"], [], {"p": ("batch", 4, 4, 4)}, ["y"], 2),
        (classifier, ["c__12"], ["g"], {"c__12": ("batch", 4, 8, 8)}, ["g"], 2),
        (classifier, [], ["relu"], {"x": ("batch", 1, 8, 8)}, ["r"], 2),
        (classifier, ["flatten"], ["dense"], {"f": ("batch", 64)}, ["g"], 2),
        (branched, ["above", "relu"], [], {"c": (), "r": (1, 4)}, ["y"], 1),
    ],
)
def test_subgraphs_of_an_onnx_file(tmp_path, make, starts, ends, inputs, outputs, slots):
    path = tmp_path / "net.onnx"
    onnx.save(make(), path)
    spec, blobs = read_model(path, None, Subgraph(tuple(starts), tuple(ends)))
    assert {item.name: item.shape for item in spec.graph.inputs} == inputs
    graph = OnnxConverter({"batch": 2} if "batch" in str(inputs) else {}).convert(spec, blobs)
    assert (list(graph.outputs), len(graph.slots)) == (outputs, slots)
    x = np.random.default_rng(0).normal(
        0,
        1,
        [
            2 if size == "batch" else size
            for size in (
                item.dim_param or item.dim_value
                for item in make().graph.input[0].type.tensor_type.shape.dim
            )
        ],
    )
    full_model = make()
    del full_model.graph.output[:]
    full_model.graph.output.extend(
        onnx.helper.make_empty_tensor_value_info(name)
        for name in dict.fromkeys([*inputs, *outputs])
        if name != "x"
    )
    expected = {
        "x": x.astype(np.float32),
        **onnxruntime_outputs(full_model, {"x": x.astype(np.float32)}),
    }
    results, _ = run_graph(graph, {name: expected[name] for name in inputs})
    for name in outputs:
        np.testing.assert_allclose(results[name], expected[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("starts", "message"),
    [
        (
            ["above"],
            (
                r"net.onnx: the subgraph leaves r undefined, which choice, add read from outside"
                r" it; add --from-layer r"
            ),
        ),
        (["k"], r"net.onnx: --from-layer: there is no 'k'"),
        (["chioce"], r"net.onnx: --from-layer: there is no 'chioce'; did you mean choice\?"),
    ],
)
def test_onnx_subgraphs_with_undefined_tensors_are_errors(tmp_path, starts, message):
    onnx.save(branched(), tmp_path / "net.onnx")
    with pytest.raises(RecipeError, match=message):
        read_model(tmp_path / "net.onnx", None, Subgraph(tuple(starts)))


def test_unsupported_nodes_can_be_excluded(tmp_path):
    model = classifier()
    model.graph.node[0].op_type, model.graph.node[0].domain = "Sharpen", "somebody"
    model.opset_import.append(helper.make_opsetid("somebody", 1))
    onnx.save(model, tmp_path / "net.onnx")
    spec, _ = read_model(tmp_path / "net.onnx")
    with pytest.raises(UnsupportedError, match="or build what follows it: --from-layer conv"):
        OnnxConverter().convert(spec)
    with pytest.raises(
        RecipeError,
        match=(
            "the dtype of c__12 is unknown, since an operator of another domain computes it;"
            " choose other bounds for the subgraph"
        ),
    ):
        read_model(tmp_path / "net.onnx", None, Subgraph(("conv__7",)))
    model.graph.value_info.append(floats("c__12", None, 4, 8, 8))
    onnx.save(model, tmp_path / "net.onnx")
    spec, blobs = read_model(tmp_path / "net.onnx", None, Subgraph(("conv",)))
    assert list(OnnxConverter().convert(spec, blobs).inputs) == ["c__12"]


def test_the_subgraph_is_part_of_the_cache_key(tmp_path):
    full_model = Recipe("net", PathSource(tmp_path / "net.keras"))
    part = Recipe(
        "net", PathSource(tmp_path / "net.keras"), Reading(from_layers=("a",), to_layers=("b",))
    )
    before, after = (ModelGraph(recipe, share()) for recipe in (full_model, part))
    cut = {"from_layers": ["a"], "to_layers": ["b"]}
    assert after.fetch().params == before.fetch().params
    for stage in ("load", "reference"):
        old, new = (getattr(graph, stage)().params for graph in (before, after))
        assert new == {**old, **cut} != old
