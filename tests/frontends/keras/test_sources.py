"""Bad files: each gives one clear error, and nothing in them is executed."""

import json
import zipfile
from pathlib import Path

import h5py
import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from keras import layers as L

from tests.frontends.keras.archives import rewritten
from webkiln.errors import ShapeError, SourceError, UnsupportedError, UserError
from webkiln.frontends.core import probe
from webkiln.frontends.keras import archive
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model
from webkiln.frontends.keras.probe import read_model
from webkiln.frontends.keras.reader import parse_model

pytestmark = pytest.mark.probes

PLUGIN = """
import keras

@keras.saving.register_keras_serializable(package="tests")
class Triple(keras.layers.Layer):
    def build(self, shape):
        self.factor = self.add_weight(name="factor", shape=(), initializer="ones")

    def call(self, x):
        return x * 3 * self.factor
"""


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    folder = tmp_path_factory.mktemp("good")
    x = keras.Input((6, 6, 1), name="x")
    y = L.Dense(2, name="dense")(L.Flatten()(L.Conv2D(2, 3, name="conv")(x)))
    model = keras.Model(x, y)
    model.save(folder / "m.keras")
    model.save(folder / "m.h5")
    return folder


def error_of(path, kind=SourceError, **options):
    with pytest.raises(kind) as caught:
        model, blobs = load_model(path, **options)
        KerasConverter().convert(model, blobs)
    message = str(caught.value)
    assert "\n" not in message or kind is UnsupportedError
    return message


def test_missing_and_foreign_files(tmp_path):
    assert "there is no such file" in error_of(tmp_path / "none.keras")
    (tmp_path / "text.keras").write_text("not a model")
    assert "neither a .keras archive nor an HDF5 file" in error_of(tmp_path / "text.keras")
    with zipfile.ZipFile(tmp_path / "other.keras", "w") as file:
        file.writestr("readme.txt", "hello")
    assert "without config.json" in error_of(tmp_path / "other.keras")
    with h5py.File(tmp_path / "weights.h5", "w") as file:
        file["x"] = np.zeros(3)
    assert "holds weights but no model" in error_of(tmp_path / "weights.h5")


def test_config_that_is_no_model(good, tmp_path):
    path = rewritten(
        good / "m.keras", tmp_path / "m.keras", config=lambda tree: tree.pop("class_name")
    )
    assert "not that of a Keras model" in error_of(path)
    deep = tmp_path / "deep.keras"
    with zipfile.ZipFile(deep, "w") as file:
        file.writestr("config.json", "[" * 100_000)
        file.writestr("model.weights.h5", b"")
    assert "not a readable Keras model" in error_of(deep)


def test_path_tricks(good, tmp_path):
    for name in ("../evil", "/etc/evil", "a\\b"):
        path = rewritten(good / "m.keras", tmp_path / "m.keras", extra=[(name, b"x")])
        assert "points out of the archive" in error_of(path)


def test_zip_bomb(good, tmp_path):
    path = rewritten(
        good / "m.keras", tmp_path / "bomb.keras", extra=[("assets/zeros", bytes(64 << 20))]
    )
    assert "zip bomb" in error_of(path)


def test_zip_that_lies_about_a_size(good, tmp_path):
    data = bytearray((good / "m.keras").read_bytes())
    size = zipfile.ZipFile(good / "m.keras").getinfo("model.weights.h5").file_size
    for place in (data.find(size.to_bytes(4, "little")), data.rfind(size.to_bytes(4, "little"))):
        data[place : place + 4] = (size + 5).to_bytes(4, "little")
    (tmp_path / "m.keras").write_bytes(data)
    assert "m.keras" in error_of(tmp_path / "m.keras")


def test_too_much_json(good, monkeypatch):
    monkeypatch.setattr(archive, "MAX_JSON_BYTES", 100)
    assert "zip bomb" in error_of(good / "m.keras")
    assert "refused" in error_of(good / "m.h5")


KERNEL = "layers/dense/vars/0"


def test_hdf5_tricks(good, tmp_path):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["data"] = np.ones((32, 2), "float32")
    (tmp_path / "raw").write_bytes(bytes(256))

    def replaced(make):
        def edit(file):
            del file[KERNEL]
            make(file)

        return error_of(rewritten(good / "m.keras", tmp_path / "m.keras", weights=edit))

    def external_link(file):
        file[KERNEL] = h5py.ExternalLink(str(secret), "/data")

    def soft_link(file):
        file[KERNEL] = h5py.SoftLink("/layers/dense/vars/1")

    def external_storage(file):
        file.create_dataset(KERNEL, (32, 2), "float32", external=[(str(tmp_path / "raw"), 0, 256)])

    def virtual(file):
        layout = h5py.VirtualLayout((32, 2), "float32")
        layout[:] = h5py.VirtualSource(str(secret), "data", (32, 2))
        file.create_virtual_dataset(KERNEL, layout)

    def lying(file):
        file.create_dataset(
            KERNEL, (1 << 20, 1 << 12), "float32", chunks=(1, 1 << 12), compression="gzip"
        )

    def strings(file):
        file.create_dataset(KERNEL, data=np.array([b"abc"]))

    assert "links elsewhere" in replaced(external_link)
    assert "links elsewhere" in replaced(soft_link)
    assert "keeps its data outside the file" in replaced(external_storage)
    assert "keeps its data outside the file" in replaced(virtual)
    assert "claims shape [1048576, 4096]" in replaced(lying)
    assert "has dtype |S3" in replaced(strings)
    assert "is missing" in replaced(lambda file: file.create_group(f"{KERNEL}9")).replace(
        "0 is missing", "is missing"
    )


def test_nan_weights(good, tmp_path):
    def edit(file):
        file[KERNEL][3, 1] = np.nan

    message = error_of(rewritten(good / "m.keras", tmp_path / "m.keras", weights=edit))
    assert "dense (Dense) kernel holds 1 NaN of 64" in message


def test_nan_weights_in_memory():
    model = keras.Sequential([keras.Input((2,)), L.Dense(1, name="d")])
    model.get_layer("d").kernel.assign([[np.nan], [1.0]])
    with pytest.raises(SourceError, match=r"d/kernel \(Dense\) holds 1 NaN of 2"):
        KerasConverter().convert(model)


def test_shapes_that_do_not_fit_and_dtypes_that_are_cast(good, tmp_path):
    def narrow(file):
        del file[KERNEL]
        file[KERNEL] = np.zeros((31, 2), "float32")

    def double(file):
        values = file[KERNEL][()]
        del file[KERNEL]
        file[KERNEL] = values.astype("float64")

    message = error_of(
        rewritten(good / "m.keras", tmp_path / "m.keras", weights=narrow), ShapeError
    )
    assert message.startswith("dense (Dense): the kernel is [31, 2], x is [1, 32]")
    graph = KerasConverter().convert(
        rewritten(good / "m.keras", tmp_path / "m.keras", weights=double)
    )
    assert graph.type("dense/kernel").dtype == "float64"
    assert {graph.type(name).dtype for name in graph.outputs.values()} == {"float32"}


def test_weights_of_another_layer(good, tmp_path):
    def rename(tree):
        for layer in tree["config"]["layers"]:
            if layer["name"] == "dense":
                layer["name"] = layer["config"]["name"] = "other"
        tree["config"]["output_layers"][0] = "other"

    path = rewritten(good / "m.keras", tmp_path / "m.keras", config=rename)
    assert "belong to layer 'dense', expected 'other'" in error_of(path)


def test_references_to_nothing(good, tmp_path):
    def cut(tree):
        tree["config"]["layers"] = tree["config"]["layers"][1:]

    assert "reads output 0 of call 0 of 'x', which is not in it" in error_of(
        rewritten(good / "m.keras", tmp_path / "m.keras", config=cut)
    )


def test_config_that_keras_does_not_write(good, tmp_path):
    def zero(tree):
        tree["config"]["layers"][1]["config"]["strides"] = [0, 0]

    path = rewritten(good / "m.keras", tmp_path / "m.keras", config=zero)
    assert error_of(path, UserError).startswith("conv (Conv")


@pytest.mark.parametrize(
    ("layer", "key", "value"),
    [
        ("dense", "units", -3),
        ("dense", "units", 10**12),
        ("dense", "units", "2"),
        ("conv", "filters", 7),
        ("conv", "kernel_size", [5, 5]),
    ],
)
def test_config_that_disagrees_with_the_weights(good, tmp_path, layer, key, value):
    def edit(tree):
        found = next(item for item in tree["config"]["layers"] if item["config"]["name"] == layer)
        found["config"][key] = value

    path = rewritten(good / "m.keras", tmp_path / "m.keras", config=edit)
    assert f"the config says {key}=" in error_of(path, ShapeError)


def test_lambda_is_not_executed(tmp_path):
    flag = str(tmp_path / "executed")
    x = keras.Input((2,), name="x")
    model = keras.Model(x, L.Lambda(lambda t: (open(flag, "w").close(), t)[1], name="code")(x))
    Path(flag).unlink(missing_ok=True)
    model.save(tmp_path / "m.keras")
    message = error_of(tmp_path / "m.keras", UnsupportedError)
    assert "code (Lambda): a Lambda layer is Python code" in message
    assert "--trust-source" in message
    assert not Path(flag).exists()
    spec, _ = load_model(tmp_path / "m.keras", trust_source=True)
    assert Path(flag).exists()
    assert spec.layers[1].traced


def test_classes_and_functions_are_not_imported(good, tmp_path):
    (tmp_path / "evil.py").write_text(
        f"open({str(tmp_path / 'executed')!r}, 'w').close()\nclass Layer: pass\n"
    )

    def layer(tree):
        tree["config"]["layers"][1] |= {
            "module": "evil",
            "class_name": "Layer",
            "registered_name": "Layer",
        }

    def initializer(tree):
        tree["config"]["layers"][1]["class_name"] = "Wrapper"
        tree["config"]["layers"][1]["config"]["kernel_initializer"] = {
            "module": "evil",
            "class_name": "function",
            "config": "Layer",
            "registered_name": "function",
        }

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        message = error_of(
            rewritten(good / "m.keras", tmp_path / "m.keras", config=layer), UnsupportedError
        )
        assert (
            "conv (Layer): unknown class, which is never imported. Pass --plugin FILE.py" in message
        )
        message = error_of(
            rewritten(good / "m.keras", tmp_path / "m.keras", config=initializer), UnsupportedError
        )
        assert "Layer is not a computation of Keras and never imported" in message
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("module", ["keras.utils", "keras.src.utils.file_utils", "keras"])
def test_functions_of_keras_that_do_not_compute_are_not_called(good, tmp_path, module):
    def activation(tree):
        tree["config"]["layers"][1]["class_name"] = "Wrapper"
        tree["config"]["layers"][1]["config"]["activation"] = {
            "module": module,
            "class_name": "function",
            "config": "get_file",
            "registered_name": "get_file",
        }

    message = error_of(
        rewritten(good / "m.keras", tmp_path / "m.keras", config=activation), UnsupportedError
    )
    assert "get_file is not a computation of Keras and never imported" in message


def test_plugin_defines_the_class(tmp_path):
    (tmp_path / "plugin.py").write_text(PLUGIN)
    scope: dict[str, type] = {}
    exec(PLUGIN.replace("@keras", "#"), scope)
    x = keras.Input((2,), name="x")
    triple = type("Triple", (scope["Triple"],), {"__module__": "elsewhere"})
    keras.Model(x, triple(name="triple")(x)).save(tmp_path / "m.keras")
    config = json.loads(zipfile.ZipFile(tmp_path / "m.keras").read("config.json"))
    config["config"]["layers"][1]["registered_name"] = "tests>Triple"
    path = rewritten(
        tmp_path / "m.keras", tmp_path / "n.keras", config=lambda tree: tree.update(config)
    )
    assert "triple (Triple): unknown class" in error_of(path, UnsupportedError)
    known = dict(keras.saving.get_custom_objects())
    try:
        spec, blobs = load_model(path, [tmp_path / "plugin.py"])
    finally:
        keras.saving.get_custom_objects().clear()
        keras.saving.get_custom_objects().update(known)
    assert spec.layers[1].traced
    assert KerasConverter().convert(spec, blobs).slots == {"triple/factor"}


def test_plugins_that_fail(good, tmp_path):
    assert "the file does not exist" in error_of(good / "m.keras", plugins=[tmp_path / "none.py"])
    (tmp_path / "bad.py").write_text("1 / 0")
    assert "bad.py: ZeroDivisionError" in error_of(good / "m.keras", plugins=[tmp_path / "bad.py"])


def test_a_file_that_never_ends(monkeypatch):
    monkeypatch.setattr(probe, "TIMEOUT_S", 2.0)
    assert "cannot be read in reasonable time" in error_of(Path(__file__).with_name("endless.h5"))


def test_time_is_that_of_the_processor(good, tmp_path, monkeypatch):
    """A busy machine is no damaged file."""
    begin = (
        "import sys, time\nfrom pathlib import Path\nfrom webkiln.frontends.core.probe import"
        " limit_resources\nlimit_resources(Path(sys.argv[1]))\n"
    )
    (tmp_path / "waits.py").write_text(f"{begin}time.sleep(2.5)\nprint('read')")
    (tmp_path / "works.py").write_text(f"{begin}while True: pass")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(probe, "TIMEOUT_S", 1.0)
    assert probe.run_probe("waits", good / "m.h5") == (0, "read\n")
    assert probe.run_probe("works", good / "m.h5")[0] is None


def test_a_file_that_crashes_the_reader(good, monkeypatch):
    monkeypatch.setattr(probe.sys, "executable", "/bin/false")
    assert "crashes or exhausts the HDF5 library" in error_of(good / "m.h5")


def only_user_errors(data: bytes, path: Path, read=read_model) -> None:
    path.write_bytes(data)
    try:
        model, blobs = read(path)
        KerasConverter().convert(model, blobs)
    except UserError:
        pass


QUICK = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@QUICK
@given(share=st.floats(0, 1), suffix=st.sampled_from(["keras", "h5"]))
def test_truncated_files(good, tmp_path, share, suffix):
    data = (good / f"m.{suffix}").read_bytes()
    path = tmp_path / "cut"
    path.write_bytes(data[: int(len(data) * share * 0.999)])
    with pytest.raises(SourceError):
        parse_model(path)


@QUICK
@given(
    flips=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 7)), min_size=1, max_size=12
    ),
    suffix=st.sampled_from(["keras", "h5"]),
)
def test_flipped_bits(good, tmp_path, flips, suffix):
    data = bytearray((good / f"m.{suffix}").read_bytes())
    for place, bit in flips:
        data[int(place * len(data))] ^= 1 << bit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probe, "TIMEOUT_S", 5.0)
        only_user_errors(
            bytes(data), tmp_path / "flipped", parse_model if suffix == "keras" else read_model
        )


@QUICK
@given(data=st.data())
def test_random_values_in_the_config(good, tmp_path, data):
    values = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-3, 10**12),
        st.text(max_size=4),
        st.just([]),
        st.just({}),
        st.floats(),
    )

    def edit(tree):
        node = tree
        while True:
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = data.draw(st.sampled_from(keys))
            if isinstance(node[key], dict | list) and node[key] and data.draw(st.integers(0, 9)):
                node = node[key]
                continue
            node[key] = data.draw(values)
            return

    path = rewritten(good / "m.keras", tmp_path / "m.keras", config=edit)
    only_user_errors(path.read_bytes(), path, parse_model)


def test_parts_that_double_are_counted(good, tmp_path):
    def nested(tree):
        part = {
            "module": "keras.layers",
            "class_name": "Dense",
            "config": {"name": "d", "units": 2},
            "registered_name": None,
        }
        for number in range(40):
            config = {"name": f"b{number}", "layer": part}
            part = {
                "module": "keras.layers",
                "class_name": "Bidirectional",
                "config": config,
                "registered_name": None,
            }
        tree["config"]["layers"][1] |= part

    assert "more than 20000 layers; refused" in error_of(
        rewritten(good / "m.keras", tmp_path / "m.keras", config=nested)
    )


def test_a_class_of_the_user_that_has_no_name_in_its_config_is_named(good, tmp_path):
    def unnamed(tree):
        part = {
            "module": "mine",
            "class_name": "OwnBlock",
            "config": {"trainable": True},
            "registered_name": "mine>OwnBlock",
        }
        chain = {"name": "chain", "layers": [tree["config"]["layers"][0], part]}
        tree |= {"class_name": "Sequential", "config": chain}

    message = error_of(
        rewritten(good / "m.keras", tmp_path / "m.keras", config=unnamed), UnsupportedError
    )
    assert "own_block (OwnBlock): unknown class, which is never imported" in message
