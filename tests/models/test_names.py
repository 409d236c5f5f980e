"""Unusual names of inputs, outputs, layers and weights: in the IR, on every backend, in types and
references.
"""

import inspect
import itertools
import json
import re

import keras
import numpy as np
import onnx
import pytest
from onnx import helper

from tests.frontends.onnx.models import floats, model, weight
from tests.frontends.onnx.running import converted
from tests.models.conftest import Model
from tests.models.states import runs_and_reset
from webkiln import npz
from webkiln.backends.host import read_manifest, run_bundle
from webkiln.build.descriptor import generate_descriptor
from webkiln.build.engine import Engine
from webkiln.errors import SourceError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.nodes.sizes import input_shapes
from webkiln.frontends.onnx.load import describe_model
from webkiln.ir.text import print_graph
from webkiln.ops.table import parse
from webkiln.recipe.read import read_recipe
from webkiln.recipe.values import BACKENDS, USUAL_BACKENDS

ALIKE = ["o b", "o_b", "o:b", "o b ", "O b", "o%20b", "o.2", "o.npy", "o", "o!.npy"]
ODD = [
    *ALIKE,
    "f(x)",
    "a)",
    "(",
    "q\"uo'te",
    "back\\slash",
    "größe",
    "模型",
    "1st",
    "class",
    "await",
    "__proto__",
    "constructor",
    "toString",
    "length",
    "then",
    "a,b",
    "x=y",
    "{b}",
    '""',
    "%",
    "new\nline",
    "tab\t",
    "${x}",
    "`",
    "\u2028",
    "file",
    "a;b",
    "@l",
    "a = B(c)",
    "-> x",
]
IN_MEMORY = ["", "nul\0", "\0"]
"""Names that a Keras model may have, but that Keras cannot write to a file."""
SLASHES = ["sl/ash", "/", "../../up", "</script>", "*/", "nul\0", "\0"]
ATTRIBUTES = [name for name in (*ODD, *SLASHES, "") if name != "__proto__"]
"""Attribute names that Keras tracks; Python reserves others."""


def named_model(names):
    """A product for each name, which is that of the input and the node and, with a suffix, of the
    weight and output.
    """
    nodes = [helper.make_node("MatMul", [name, f"{name}\t?"], [f"{name}!"], name) for name in names]
    weights = [weight(f"{name}\t?", 3, 4, seed=number) for number, name in enumerate(names)]
    return model(
        nodes,
        [floats(name, 2, 3) for name in names],
        [floats(f"{name}!", 2, 4) for name in names],
        weights,
    )


def swapped_model(names):
    """The outputs, with the names reversed."""
    nodes = [helper.make_node("Mul", ["x", f"{name}\t?"], [name]) for name in names]
    weights = [weight(f"{name}\t?", 3, seed=number) for number, name in enumerate(names)]
    return model(nodes, [floats("x", 2, 3)], [floats(name, 2, 3) for name in names], weights)


def model_of_layers(names):
    """The same in Keras, whose names have no slash."""
    inputs = [keras.Input((3,), name=name) for name in names]
    layers = [keras.layers.Dense(4, name=f"{name}!", bias_initializer="normal") for name in names]
    return keras.Model(inputs, [layer(x) for layer, x in zip(layers, inputs, strict=True)])


@keras.saving.register_keras_serializable()
class Sums(keras.layers.Layer):
    """x [N,C] -> x + sum over k of (k + 1) * state k, where state k is (k + 1) times the running
    sum of all elements; one attribute for each name.
    """

    def __init__(self, names, **options):
        super().__init__(**options)
        self.names = names

    def build(self, _):
        for name in self.names:
            setattr(self, name, self.add_weight(shape=(), initializer="zeros", trainable=False))

    def call(self, x):
        total = keras.ops.sum(x)
        for number, name in enumerate(self.names, 1):
            state = getattr(self, name)
            state.assign_add(total * number)
            x = x + number * state
        return x

    def compute_output_shape(self, shape):
        return shape

    def get_config(self):
        return {**super().get_config(), "names": self.names}


def model_with_states(states, layers):
    """Layers with one state each, and one layer with many; x [1,2] passes all of them and is
    multiplied by their number.
    """
    x = keras.Input((2,), name="x")
    retained = [Sums(["s"], name=name)(x * number) for number, name in enumerate(layers, 1)]
    return keras.Model(x, keras.layers.Add()([*retained, Sums(states, name="many")(x)]))


@pytest.fixture
def built(tmp_path):
    with Engine(tmp_path / ".webkiln") as engine:

        def make(file, **keys):
            table = {"source": file, "backends": BACKENDS, **keys}
            (tmp_path / "recipe.toml").write_text(
                "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())
            )
            return Model(engine, read_recipe(tmp_path / "recipe.toml"), tmp_path)

        yield make


def names_of(bundle):
    manifest = read_manifest(bundle)
    return tuple([tensor["name"] for tensor in manifest[role]] for role in ("inputs", "outputs"))


@pytest.mark.parametrize("make", [named_model, swapped_model])
def test_onnx(make, built, tmp_path):
    model = make([*ODD, *SLASHES])
    onnx.save(model, tmp_path / "net.onnx")
    rebuilt = built("net.onnx")
    assert all(
        row["passed"]
        for result in rebuilt.verify("float32", "chromium")
        for row in result["outputs"]
    )
    expected = tuple(
        [item.name for item in items] for items in (model.graph.input, model.graph.output)
    )
    assert names_of(rebuilt.bundle()) == expected
    types = (rebuilt.bundle() / "index.d.ts").read_text()
    assert [
        json.loads(name) for name in re.findall(r'^  ("(?:[^"\\]|\\.)*"): \w', types, re.MULTILINE)
    ] == [*expected[0], *expected[1]]


def test_keras(built, tmp_path):
    model = model_of_layers(ODD)
    model.save(tmp_path / "net.keras")
    rebuilt = built("net.keras")
    assert all(
        row["passed"] for result in rebuilt.verify("float32", "node") for row in result["outputs"]
    )
    assert names_of(rebuilt.bundle()) == (ODD, [f"{name}!" for name in ODD])
    model.save(tmp_path / "net.h5")
    converters = [KerasConverter(2) for _ in range(3)]
    graphs = [
        one.convert(item)
        for one, item in zip(
            converters, (model, tmp_path / "net.keras", tmp_path / "net.h5"), strict=True
        )
    ]
    for graph, one in zip(graphs, converters, strict=True):
        assert parse(print_graph(graph)) == graph == graphs[0]
        assert set(one.digests) == graph.slots
        for name, value in graph.weights.items():
            np.testing.assert_array_equal(
                value, model.get_layer(name.rpartition("/")[0]).weights[name.endswith("bias")]
            )


def test_names_that_are_invalid_in_file_systems(tmp_path):
    graph = KerasConverter(2).convert(model_of_layers(IN_MEMORY))
    assert parse(print_graph(graph)) == graph
    assert graph.inputs == (*IN_MEMORY,)
    for backend in ("wasm", "js"):
        generate_descriptor(backend, graph).save(tmp_path)
        values = {
            name: np.full((2, 3), number, np.float32) for number, name in enumerate(IN_MEMORY)
        }
        (result,) = run_bundle(tmp_path, backend, [values])
        for name in IN_MEMORY:
            product = (
                values[name] @ graph.weights[f"{name}!/kernel"] + graph.weights[f"{name}!/bias"]
            )
            np.testing.assert_allclose(result.outputs[f"{name}!"], product, rtol=1e-5)


def expect_states(bundle, states, layers, backends=USUAL_BACKENDS):
    """Check that the bundle of `of_states` has all states by name, keeps them between runs, and
    resets them.
    """
    names = [*(f"many/{name}" for name in states), *(f"{name}/s" for name in layers)]
    assert sorted(read_manifest(bundle)["states"]) == sorted(names)
    ones, squares = (
        sum(range(1, len(layers) + 1)),
        sum(number * number for number in range(1, len(states) + 1)),
    )
    expected = [1 + ones + 2 * run * (ones + squares) for run in (1, 2, 1) for _ in range(2)]
    for backend in backends:
        assert runs_and_reset(bundle, backend).ravel().tolist() == expected


@pytest.mark.parametrize("backends", [("js",), USUAL_BACKENDS], ids=["js", "usual"])
@pytest.mark.sample("js")
def test_states(backends, tmp_path):
    layers = [*ODD, *IN_MEMORY]
    graph = KerasConverter(1).convert(model_with_states(ATTRIBUTES, layers))
    assert parse(print_graph(graph)) == graph
    for backend in backends:
        generate_descriptor(backend, graph).save(tmp_path / "bundle")
    expect_states(tmp_path / "bundle", ATTRIBUTES, layers, backends)


@pytest.mark.long
def test_states_of_a_file(built, tmp_path):
    model_with_states(ATTRIBUTES, ODD).save(tmp_path / "net.keras")
    (tmp_path / "layers.py").write_text(f"import keras\n\n\n{inspect.getsource(Sums)}", "utf-8")
    expect_states(
        built("net.keras", backends=USUAL_BACKENDS, plugins=["layers.py"]).bundle(), ATTRIBUTES, ODD
    )


@pytest.mark.parametrize(
    "name", ["\0", "a\0b", "%00", "%2500", "%252500", "%25\0", "%\0", "a.npy", "", "%"]
)
def test_arrays_with_any_name_are_stored_in_files(name, tmp_path):
    npz.write(tmp_path / "x.npz", {name: np.ones(1), "x": np.zeros(1)})
    assert list(npz.read(tmp_path / "x.npz")) == [name, "x"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (named_model, "Field 'name' of 'value_info' is required to be non-empty"),
        (swapped_model, "an output has no name; name it"),
    ],
)
def test_an_empty_name_in_an_onnx_file_is_refused(make, message):
    with pytest.raises(SourceError, match=message):
        converted(make([""]))


def test_names_pass_through_workers(built, tmp_path):
    onnx.save(named_model(ODD), tmp_path / "net.onnx")
    bundle = built("net.onnx").bundle()
    values = {name: np.full((2, 3), number, np.float32) for number, name in enumerate(ODD)}
    weights = {
        item.name: onnx.numpy_helper.to_array(item)
        for item in onnx.load(tmp_path / "net.onnx").graph.initializer
    }
    for backend, worker in itertools.product(("wasm", "js"), (True, False)):
        (result,) = run_bundle(bundle, backend, [values], worker=worker)
        assert sorted(result.outputs) == sorted(f"{name}!" for name in ODD)
        for name in ODD:
            np.testing.assert_allclose(
                result.outputs[f"{name}!"], values[name] @ weights[f"{name}\t?"], rtol=1e-5
            )


def test_text_form_of_any_name():
    graph = converted(named_model([*ODD, *SLASHES]))
    assert parse(print_graph(graph)) == graph
    assert len(graph.slots) == len(ODD) + len(SLASHES)


def test_names_without_counters_remain_distinct():
    names = ["a", "a", "a.2", "a__1", "a__2.2"]
    nodes = [
        helper.make_node("Add", ["x" if not n else f"v{n - 1}", f"w{n}"], [f"v{n}"], name)
        for n, name in enumerate(names)
    ]
    weights = [weight(f"w{n}", 3, seed=n) for n in range(len(names))]
    unused = [weight("k__1", 2), weight("k__2", 4), weight("a/B", 5)]
    graph = converted(model(nodes, [floats("x", 3)], [floats("v4", 3)], [*weights, *unused]))
    assert len({node.layer for node in graph.nodes}) == 5
    assert sorted(
        value.tolist() for value in graph.weights.values() if value.shape == (3,)
    ) == sorted(onnx.numpy_helper.to_array(item).tolist() for item in weights)


@pytest.mark.parametrize(
    ("size", "called"),
    [
        ("batch size", "batch_size"),
        ("1", "d1"),
        ("class", "dclass"),
        ("i0", "di0"),
        ("u3", "du3"),
        ("__proto__", "d__proto__"),
        ("größe", "gr__e"),
    ],
)
def test_names_of_sizes_are_identifiers_in_every_language(size, called):
    spec, _ = describe_model(
        model([helper.make_node("Relu", ["x"], ["y"])], [floats("x", size)], [floats("y", size)]),
        "net.onnx",
    )
    assert [str(item) for item in input_shapes(spec, {}, {}, {})["x"]] == [called]
    assert (
        input_shapes(spec, {size: 4}, {}, {})["x"]
        == input_shapes(spec, {called: 4}, {}, {})["x"]
        == (4,)
    )
