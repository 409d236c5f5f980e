"""The reference stage: inputs, noise, layers, and models that would verify nothing."""

import keras
import numpy as np
import pytest
from keras import layers as L
from keras import ops

from webkiln.errors import RecipeError, SourceError, VerificationError
from webkiln.random_inputs import deviation, make_inputs

SETS = ("natural0", "natural1", "extreme")
PARAMS = {
    "format": "keras",
    "batch_size": 1,
    "input_shapes": {},
    "plugins": [],
    "trust_source": False,
}
EXPORT = {"kind": "export", "format": "keras", "suffix": ".keras", "parameters": {}}


@pytest.fixture
def reference(stage, tmp_path):
    def run(model, **params):
        model.save(tmp_path / "m.keras")
        outputs = {name: tmp_path / name for name in ("reference.npz", "layers.npz")}
        stage("reference").run({"source": tmp_path / "m.keras"}, outputs, {**PARAMS, **params})
        return [dict(np.load(path)) for path in outputs.values()]

    return run


def small():
    x = keras.Input((6, 6, 1), name="x")
    shared = L.Dense(3, name="shared")
    y = L.Conv2D(2, 3, name="conv", activation="tanh")(x)
    return keras.Model(
        x,
        [
            L.Flatten(name="flat")(shared(shared(L.Dense(3, name="once")(y)))),
            L.GlobalMaxPooling2D(name="top")(y),
        ],
    )


def test_sets_outputs_noise_and_layers(reference):
    arrays, layers = reference(small(), batch_size=3)
    for name in SETS:
        assert arrays[f"{name}/in/x"].shape == (3, 6, 6, 1)
        assert arrays[f"{name}/out/flat"].shape == (3, 48)
        assert arrays[f"{name}/out/top"].shape == (3, 2)
        assert 0 < float(arrays[f"{name}/noise/flat"]) < 1e-4
        assert np.array_equal(layers[f"{name}/top"], arrays[f"{name}/out/top"])
    assert {key.removeprefix("extreme/") for key in layers if key.startswith("extreme/")} == {
        "conv",
        "once",
        "flat",
        "top",
    }
    natural = arrays["natural0/in/x"]
    assert 0 <= natural.min() < natural.max() <= 1
    assert set(np.sign(arrays["extreme/in/x"]).ravel()) == {-1, 0, 1}


def test_files_are_reproducible(reference, tmp_path):
    keras.utils.set_random_seed(3)
    model = small()
    reference(model)
    first = (tmp_path / "reference.npz").read_bytes(), (tmp_path / "layers.npz").read_bytes()
    reference(model)
    assert first == (
        (tmp_path / "reference.npz").read_bytes(),
        (tmp_path / "layers.npz").read_bytes(),
    )


def test_constant_outputs_are_refused(reference):
    model = keras.Sequential(
        [
            keras.Input((4,)),
            L.Dense(3, kernel_initializer="zeros", bias_initializer="ones", name="dead"),
        ]
    )
    with pytest.raises(VerificationError, match="output dead differs by 0 of its largest value"):
        reference(model)


def test_open_axes_have_sample_sizes(reference):
    model = keras.Sequential([keras.Input((None, 2), name="x"), L.Conv1D(2, 3, name="y")])
    arrays, _ = reference(model)
    assert arrays["extreme/out/y"].shape == (1, 14, 2)
    arrays, _ = reference(model, input_shapes={"x": [2, 8, 2]})
    assert arrays["extreme/out/y"].shape == (2, 6, 2)


@keras.saving.register_keras_serializable(package="reference_tests")
class Count(L.Layer):
    def build(self, shape):
        self.seen = self.add_weight(name="seen", shape=(), initializer="zeros", trainable=False)

    def call(self, x):
        self.seen.assign_add(ops.sum(x))
        return x + self.seen


def test_states_are_reset_for_each_set(stage, tmp_path):
    from webkiln.frontends.keras.framework import import_keras
    from webkiln.frontends.keras.handlers import HANDLERS
    from webkiln.frontends.keras.in_memory import describe_model
    from webkiln.frontends.keras.reference import compute_reference, input_table

    x = keras.Input((3,), name="x")
    model = keras.Model(x, Count(name="y")(x))
    spec, _ = describe_model(model, handled=HANDLERS.handles)
    arrays, _ = compute_reference(import_keras("a test"), model, spec, input_table(spec, 1, {}, {}))
    for name in SETS:
        inputs = arrays[f"{name}/in/x"]
        assert np.allclose(arrays[f"{name}/out/y"], inputs + inputs.sum())


def test_inputs_of_every_dtype():
    table = {
        "a": ("float16", (2, 3)),
        "b": ("int32", (4,)),
        "c": ("bool", (5,)),
        "d": ("uint8", ()),
        "e": ("float32", (0, 2)),
    }
    for values in make_inputs(table).values():
        assert {name: (str(value.dtype), value.shape) for name, value in values.items()} == table


def test_deviation_ignores_non_finite_values():
    assert deviation(np.array([2.0, np.inf]), np.array([1.0, np.inf])) == 0.5
    assert deviation(np.array([np.nan]), np.array([np.nan])) == 0


def test_fetch(stage, tmp_path):
    fetch = stage("fetch").run
    target = {"source": tmp_path / "source"}
    with pytest.raises(SourceError, match="no such file"):
        fetch({"source": tmp_path / "none"}, target, {"kind": "path"})
    (tmp_path / "export.py").write_text(
        "def export(path):\n    path.write_text('model')\n\ndef nothing(path):\n    pass\n"
    )
    fetch({"script.py": tmp_path / "export.py"}, target, {**EXPORT, "function": "export"})
    assert target["source"].read_text() == "model"
    with pytest.raises(SourceError, match="nothing wrote no file"):
        fetch({"script.py": tmp_path / "export.py"}, target, {**EXPORT, "function": "nothing"})
    with pytest.raises(RecipeError, match="has no function 'other'"):
        fetch({"script.py": tmp_path / "export.py"}, target, {**EXPORT, "function": "other"})
    with pytest.raises(RecipeError, match="neither https nor http"):
        fetch({}, target, {"kind": "url", "url": "file:///etc/passwd", "sha256": ""})


def test_fetch_checks_the_sha256(stage, tmp_path):
    import functools
    import http.server
    import threading

    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "m.keras").write_bytes(b"hello")
    handler = functools.partial(
        http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "served")
    )
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/m.keras"
        digest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        fetch, target = stage("fetch").run, {"source": tmp_path / "source"}
        fetch({}, target, {"kind": "url", "url": url, "sha256": digest})
        assert target["source"].read_bytes() == b"hello"
        with pytest.raises(SourceError, match=f"the sha256 is {digest}, the recipe says 00"):
            fetch({}, target, {"kind": "url", "url": url, "sha256": "00"})
        assert not target["source"].exists()
        with pytest.raises(SourceError, match="cannot be downloaded"):
            fetch({}, target, {"kind": "url", "url": f"{url}x", "sha256": digest})
        server.shutdown()


def test_states_of_recurrent_layers_are_reset_for_each_set(reference):
    x = keras.Input((5, 3), batch_size=1, name="x")
    model = keras.Model(x, keras.layers.LSTM(4, stateful=True, return_sequences=True)(x))
    arrays, _ = reference(model)
    for name in ("natural0", "natural1", "extreme"):
        model.layers[-1].reset_states()
        expected = np.asarray(model(arrays[f"{name}/in/x"]))
        (output,) = (value for key, value in arrays.items() if key.startswith(f"{name}/out/"))
        np.testing.assert_allclose(output, expected, atol=1e-6)
