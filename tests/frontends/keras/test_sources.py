"""Invalid archives and configs raise one clear error."""

import zipfile

import h5py
import keras
import numpy as np
import pytest
from keras import layers as L

from tests.frontends.keras.archives import rewritten
from tests.frontends.keras.source_errors import error_of
from webkiln.errors import ShapeError, SourceError, UserError
from webkiln.frontends.keras import archive
from webkiln.frontends.keras.converter import KerasConverter

pytestmark = pytest.mark.probes


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


def test_config_of_no_model(saved, tmp_path):
    path = rewritten(
        saved / "m.keras", tmp_path / "m.keras", config=lambda tree: tree.pop("class_name")
    )
    assert "not that of a Keras model" in error_of(path)
    deep = tmp_path / "deep.keras"
    with zipfile.ZipFile(deep, "w") as file:
        file.writestr("config.json", "[" * 100_000)
        file.writestr("model.weights.h5", b"")
    assert "not a readable Keras model" in error_of(deep)


def test_members_outside_the_archive(saved, tmp_path):
    for name in ("../evil", "/etc/evil", "a\\b"):
        path = rewritten(saved / "m.keras", tmp_path / "m.keras", extra=[(name, b"x")])
        assert "points out of the archive" in error_of(path)


def test_zip_bombs(saved, tmp_path):
    path = rewritten(
        saved / "m.keras", tmp_path / "bomb.keras", extra=[("assets/zeros", bytes(64 << 20))]
    )
    assert "zip bomb" in error_of(path)


def test_zip_with_a_wrong_member_size(saved, tmp_path):
    data = bytearray((saved / "m.keras").read_bytes())
    size = zipfile.ZipFile(saved / "m.keras").getinfo("model.weights.h5").file_size
    for offset in (data.find(size.to_bytes(4, "little")), data.rfind(size.to_bytes(4, "little"))):
        data[offset : offset + 4] = (size + 5).to_bytes(4, "little")
    (tmp_path / "m.keras").write_bytes(data)
    assert "m.keras" in error_of(tmp_path / "m.keras")


def test_json_above_the_size_limit(saved, monkeypatch):
    monkeypatch.setattr(archive, "MAX_JSON_BYTES", 100)
    assert "zip bomb" in error_of(saved / "m.keras")
    assert "refused" in error_of(saved / "m.h5")


KERNEL = "layers/dense/vars/0"


def test_hdf5_links_storage_and_dtypes(saved, tmp_path):
    secret = tmp_path / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["data"] = np.ones((32, 2), "float32")
    (tmp_path / "raw").write_bytes(bytes(256))

    def replaced(make):
        def edit(file):
            del file[KERNEL]
            make(file)

        return error_of(rewritten(saved / "m.keras", tmp_path / "m.keras", weights=edit))

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
    assert "stores its data outside the file" in replaced(external_storage)
    assert "stores its data outside the file" in replaced(virtual)
    assert "claims shape [1048576, 4096]" in replaced(lying)
    assert "has dtype |S3" in replaced(strings)
    assert "is missing" in replaced(lambda file: file.create_group(f"{KERNEL}9")).replace(
        "0 is missing", "is missing"
    )


def test_nan_weights(saved, tmp_path):
    def edit(file):
        file[KERNEL][3, 1] = np.nan

    message = error_of(rewritten(saved / "m.keras", tmp_path / "m.keras", weights=edit))
    assert "dense (Dense) kernel holds 1 NaN of 64" in message


def test_nan_weights_in_memory():
    model = keras.Sequential([keras.Input((2,)), L.Dense(1, name="d")])
    model.get_layer("d").kernel.assign([[np.nan], [1.0]])
    with pytest.raises(SourceError, match=r"d/kernel \(Dense\) holds 1 NaN of 2"):
        KerasConverter().convert(model)


def test_weights_of_other_shapes_are_refused_and_other_dtypes_are_cast(saved, tmp_path):
    def narrow(file):
        del file[KERNEL]
        file[KERNEL] = np.zeros((31, 2), "float32")

    def double(file):
        values = file[KERNEL][()]
        del file[KERNEL]
        file[KERNEL] = values.astype("float64")

    message = error_of(
        rewritten(saved / "m.keras", tmp_path / "m.keras", weights=narrow), ShapeError
    )
    assert message.startswith("dense (Dense): the kernel is [31, 2], x is [1, 32]")
    graph = KerasConverter().convert(
        rewritten(saved / "m.keras", tmp_path / "m.keras", weights=double)
    )
    assert graph.type("dense/kernel").dtype == "float64"
    assert {graph.type(name).dtype for name in graph.outputs.values()} == {"float32"}


def test_weights_of_another_layer(saved, tmp_path):
    def rename(tree):
        for layer in tree["config"]["layers"]:
            if layer["name"] == "dense":
                layer["name"] = layer["config"]["name"] = "other"
        tree["config"]["output_layers"][0] = "other"

    path = rewritten(saved / "m.keras", tmp_path / "m.keras", config=rename)
    assert "belong to layer 'dense', expected 'other'" in error_of(path)


def test_references_to_absent_layers(saved, tmp_path):
    def cut(tree):
        tree["config"]["layers"] = tree["config"]["layers"][1:]

    assert "reads output 0 of call 0 of 'x', which is not in it" in error_of(
        rewritten(saved / "m.keras", tmp_path / "m.keras", config=cut)
    )


def test_invalid_config_values(saved, tmp_path):
    def zero(tree):
        tree["config"]["layers"][1]["config"]["strides"] = [0, 0]

    path = rewritten(saved / "m.keras", tmp_path / "m.keras", config=zero)
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
def test_config_values_that_contradict_the_weights(saved, tmp_path, layer, key, value):
    def edit(tree):
        found = next(item for item in tree["config"]["layers"] if item["config"]["name"] == layer)
        found["config"][key] = value

    path = rewritten(saved / "m.keras", tmp_path / "m.keras", config=edit)
    assert f"the config has {key}=" in error_of(path, ShapeError)


def test_inner_layers_count_towards_the_limit(saved, tmp_path):
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
        rewritten(saved / "m.keras", tmp_path / "m.keras", config=nested)
    )
