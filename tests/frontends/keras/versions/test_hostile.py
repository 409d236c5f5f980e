"""Damaged, hostile and foreign files of old eras: one error that says what is wrong."""

import json
import shutil
import threading
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.frontends.keras.versions.chains import chain, layer, numbers
from tests.frontends.keras.versions.layouts import (
    keras_1_2,
    read,
    tf_keras_2_4,
    write_h5,
    write_tfjs,
    write_weights,
)
from webkiln.backends.compare import relative_error
from webkiln.errors import SourceError, UnsupportedError, WebkilnError
from webkiln.frontends.core.formats import format_of_file
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model
from webkiln.frontends.keras.reader import parse_model
from webkiln.ops.evaluate import run_graph


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A TensorFlow.js model in several files."""
    return write_tfjs(tmp_path_factory.mktemp("saved"), tf_keras_2_4(read("dense")), shard=300)


@pytest.fixture
def model(saved, tmp_path):
    shutil.copytree(saved.parent, tmp_path / "model")
    return tmp_path / "model" / "model.json"


def changed(path, change):
    data = json.loads(path.read_text())
    change(data, data["weightsManifest"][0])
    path.write_text(json.dumps(data))


def refused(path, message, error=SourceError, companion=None):
    with pytest.raises(error, match=message):
        KerasConverter().convert(*parse_model(path, companion=companion))


def at(name):
    return lambda _, group: group["paths"].__setitem__(0, name)


def of(**settings):
    return lambda _, group: group["weights"][0].update(settings)


MANIFESTS = {
    "above": (
        at("../secret.bin"),
        "'../secret.bin', which is outside the model's folder; refused",
    ),
    "absolute": (at("/etc/passwd"), "'/etc/passwd', which is outside"),
    "backslash": (at("..\\secret.bin"), "which is outside"),
    "elsewhere": (at("https://example.com/a.bin"), "which is outside"),
    "nothing": (at(""), "which is outside"),
    "a number": (at(3), "which is outside"),
    "missing": (
        at("other.bin"),
        "'other.bin', which is not in its folder; copy all files of the model",
    ),
    "twice": (lambda _, group: group["paths"].__setitem__(1, group["paths"][0]), "each once"),
    "strings": (
        of(dtype="string"),
        (
            r"weight batch_normalization/gamma has dtype string; expected quantized to uint8,"
            r" uint16, float16, or one of float32"
        ),
    ),
    "complex": (of(dtype="complex64"), "has dtype complex64"),
    "packing": (of(quantization={"dtype": "float32"}), "expected quantized to"),
    "no scale": (of(quantization={"dtype": "uint8"}), "manifest lists weights of"),
    "negative": (of(shape=[-5, 6]), r"claims shape \[-5, 6\]; refused"),
    "huge": (of(shape=[1 << 40, 6]), "claims shape"),
    "long": (of(shape=[500, 600]), "weight batch_normalization/gamma ends at byte"),
    "short": (of(shape=[5]), "the manifest lists weights of"),
    "name twice": (
        lambda _, group: group["weights"][1].update(name="dense/kernel"),
        "lists a weight twice",
    ),
    "other layer": (
        of(name="else/kernel"),
        (
            r"batch_normalization \(BatchNormalization\): its weights in the file are beta \[6\],"
            r" moving_mean \[6\], moving_variance \[6\], which are not"
        ),
    ),
    "no manifest": (
        lambda data, _: data.pop("weightsManifest"),
        "neither a TensorFlow.js model nor the architecture",
    ),
    "graph": (
        lambda data, _: data.update(format="graph-model"),
        "a TensorFlow.js graph model, which is no Keras model",
    ),
    "no layers": (
        lambda data, _: data["modelTopology"].update(
            model_config={"class_name": "Sequential", "config": {}}
        ),
        "not a readable Keras model",
    ),
    "no model": (
        lambda data, _: data.update(modelTopology={"a": 1}),
        "its config is not that of a Keras model",
    ),
}


@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests(model, name):
    change, message = MANIFESTS[name]
    changed(model, change)
    refused(model, message)


@pytest.mark.parametrize("size", [0, 7, 301])
def test_shards_of_another_length(model, size):
    part = model.with_name("group1-shard1of2.bin")
    assert part.exists()
    part.write_bytes(part.read_bytes().ljust(size, b"x")[:size])
    refused(model, "group1-shard1of2.bin")


def test_shards_of_another_folder(model, tmp_path):
    part = model.with_name("group1-shard1of2.bin")
    shutil.move(part, tmp_path / "secret.bin")
    part.symlink_to(tmp_path / "secret.bin")
    from webkiln.frontends.core.tfjs_manifest import shard_files

    with pytest.raises(
        SourceError, match="a symbolic link to a file outside the model's folder; refused"
    ):
        shard_files(model)


def test_numbers_that_are_none(model):
    part = model.with_name("group1-shard1of2.bin")
    part.write_bytes(np.float32("nan").tobytes() + part.read_bytes()[4:])
    refused(model, "batch_normalization/gamma holds 1 NaN of 6; train the model again")


def test_weights_quantized_without_a_scale(tmp_path):
    path = write_tfjs(tmp_path / "m", tf_keras_2_4(read("dense")), quantized="uint8")
    changed(path, lambda _, group: group["weights"][0]["quantization"].pop("scale"))
    refused(
        path,
        "batch_normalization/gamma is quantized to uint8 without scale and min; convert the model"
        " again",
    )


@pytest.mark.parametrize(
    "text", ["{", '{"a":' * 100000, "{" + "[" * 100000, "[]", '{"class_name": 1}']
)
def test_no_json(tmp_path, text):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(WebkilnError):
        parse_model(tmp_path / "model.json")


def test_graph_models_are_no_keras_models(model):
    assert format_of_file(model).name == "keras"
    changed(model, lambda data, _: data.update(format="graph-model"))
    assert format_of_file(model).name == format_of_file(model.parent).name == "tensorflow"
    with pytest.raises(
        SourceError, match=r'a TensorFlow\.js graph model, .* source_format = "tensorflow"'
    ):
        parse_model(model)


def test_the_metadata_of_a_saved_model_is_no_model(tmp_path):
    path = tmp_path / "keras_metadata.pb"
    path.write_bytes(b'\x0a\xff\x05\x08\x00\x12\x04root"\x0f_tf_keras_model*\x00')
    with pytest.raises(SourceError, match=r"metadata file of a SavedModel .*pass its folder"):
        format_of_file(path)


@pytest.fixture
def pair(tmp_path):
    old = keras_1_2(read("dense"))
    (tmp_path / "model.json").write_text(json.dumps({**old.config, "keras_version": "1.2.2"}))
    write_weights(tmp_path / "w.h5", old.lists, "1.2.2")
    return tmp_path / "model.json", tmp_path / "w.h5"


def test_weights_alone(pair):
    refused(
        pair[1],
        r"holds weights but no model; give the architecture and these weights beside it: webkiln"
        r" build model\.json --weights",
    )


def test_an_architecture_alone(pair):
    refused(pair[0], r"a Keras model without weights; give them, too: --weights FILE\.h5")


def test_weights_of_another_model(pair):
    other = keras_1_2(read("lstm"))
    write_weights(pair[1], other.lists, "1.2.2")
    refused(
        pair[0],
        r"w\.h5: holds weights of 3 layers \(lstm, lstm_1, dense\), the model has 5 with weights"
        r" \(dense, batch_normalization,",
        companion=pair[1],
    )


def test_weights_of_other_shapes(pair):
    with h5py.File(pair[1], "a") as file:
        file["dense"].attrs["weight_names"] = [b"dense_W"]
    refused(
        pair[0],
        r"dense \(Dense\): its weights in the file are dense_W \[5, 6\], which are not those of its"
        r" config",
        companion=pair[1],
    )


def test_a_list_of_layers_that_are_not_there(pair):
    with h5py.File(pair[1], "a") as file:
        del file["dense"]
    refused(pair[0], "its list of layers names 'dense', which it does not hold", companion=pair[1])


def test_links_out_of_the_file(pair, tmp_path):
    with h5py.File(pair[1], "a") as file:
        del file["dense"]["dense_W"]
        file["dense"]["dense_W"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/x")
    refused(pair[0], "links elsewhere; refused", companion=pair[1])


@pytest.mark.parametrize("kind", ["text", "empty", "truncated", "another"])
def test_files_that_hold_no_weights(pair, kind):
    path, weights = pair
    if kind == "truncated":
        weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    elif kind == "another":
        with h5py.File(weights, "w") as file:
            file["x"] = np.zeros(3)
    else:
        weights.write_bytes(b"Dear webkiln" if kind == "text" else b"")
    refused(path, r"w\.h5: ", companion=weights)


@pytest.mark.parametrize("kind", ["text", "empty", "h5", "list", "missing"])
def test_files_that_hold_no_architecture(pair, tmp_path, kind):
    path = tmp_path / "other.json"
    if kind == "h5":
        shutil.copyfile(pair[1], path)
    elif kind != "missing":
        path.write_text({"text": "Dear webkiln", "empty": "", "list": "[1, 2]"}[kind])
    refused(path, r"other\.json", companion=pair[1])


@pytest.mark.parametrize(("version", "deviation"), [("1.0.5", True), ("1.0.6", False), ("", False)])
def test_what_a_running_std_is(tmp_path, version, deviation):
    """Up to 1.0.5 a deviation, then a variance; weights that say no version are of the latest Keras
    1.
    """
    arrays = [np.abs(numbers(4, seed=n)) for n in range(4)]
    config = {
        **chain(layer("BatchNormalization", "n", 4, mode=0, axis=-1, epsilon=0.01)),
        **({"keras_version": version} if version else {}),
    }
    (tmp_path / "model.json").write_text(json.dumps(config))
    names = ("gamma", "beta", "running_mean", "running_std")
    write_weights(
        tmp_path / "w.h5",
        {"n": [(f"n_{name}", array) for name, array in zip(names, arrays, strict=True)]},
        "1",
    )
    graph = KerasConverter(batch_size=3).convert(
        *parse_model(tmp_path / "model.json", companion=tmp_path / "w.h5")
    )
    x, (gamma, beta, mean, spread) = numbers(3, 4), arrays
    wanted = (x - mean) / (spread + 0.01 if deviation else np.sqrt(spread + 0.01)) * gamma + beta
    assert relative_error(run_graph(graph, {"input": x})[0]["n"], wanted) < 1e-5


def test_yaml_runs_nothing(pair, tmp_path):
    path = tmp_path / "model.yaml"
    for tag in (
        "!!python/object/apply:os.mkdir [made]",
        "!!python/name:os.system",
        "!!python/object:threading.Thread {}",
    ):
        path.write_text(f"class_name: Sequential\nconfig: {tag}\n")
        before = threading.active_count()
        refused(
            path,
            "not an architecture in YAML .could not determine a constructor",
            companion=pair[1],
        )
        assert threading.active_count() == before
        assert not Path("made").exists()


def test_yaml_that_grows(pair, tmp_path):
    lines = [
        "a0: &a0 [x, x, x, x, x, x, x, x, x]",
        *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)),
    ]
    (tmp_path / "model.yaml").write_text("\n".join(["class_name: Sequential", *lines]))
    refused(
        tmp_path / "model.yaml",
        "more than 2000000 values by aliases in it; refused",
        companion=pair[1],
    )


def test_names_of_layers_in_several_attributes_may_not_go_on_for_ever(tmp_path):
    write_h5(
        tmp_path / "m.h5",
        chain(layer("Dense", "d", 4, output_dim=2)),
        {"d": [("d_W", numbers(4, 2)), ("d_b", numbers(2))]},
        "1.2.2",
        "",
        pieces=2,
    )
    model, _ = parse_model(tmp_path / "m.h5")
    assert list(model.layers[1].weights) == ["kernel", "bias"]


def test_functions_in_a_merge_are_code(tmp_path):
    merge = layer(
        "Merge",
        "merge_1",
        mode="4wEAAAABAAAA",
        mode_type="lambda",
        layers=[chain(layer("Dense", n, 4, output_dim=2, bias=False)) for n in "ab"],
    )
    write_h5(
        tmp_path / "m.h5", chain(merge), {n: [(f"{n}_W", numbers(4, 2))] for n in "ab"}, "1.2.2", ""
    )
    with pytest.raises(
        UnsupportedError,
        match=(
            r"merge_1 \(Lambda\): a Lambda layer is Python code inside the model file and is not"
            r" executed"
        ),
    ):
        KerasConverter().convert(*parse_model(tmp_path / "m.h5"))


def test_modes_that_there_are_not(tmp_path):
    write_h5(
        tmp_path / "m.h5",
        chain(layer("BatchNormalization", "n", 4, mode=3)),
        {"n": [(f"n_{i}", numbers(4)) for i in range(4)]},
        "1.2.2",
        "",
    )
    with pytest.raises(UnsupportedError, match=r"n \(BatchNormalization of mode 3\): no handler"):
        KerasConverter().convert(*parse_model(tmp_path / "m.h5"))


def test_a_declared_shape_of_another_size(tmp_path):
    deconvolution = layer(
        "Deconvolution2D",
        "up",
        4,
        4,
        2,
        nb_filter=2,
        nb_row=3,
        nb_col=3,
        subsample=[2, 2],
        border_mode="valid",
        dim_ordering="tf",
        output_shape=[None, 10, 10, 2],
        bias=False,
    )
    write_h5(
        tmp_path / "m.h5",
        chain(deconvolution),
        {"up": [("up_W", numbers(3, 3, 2, 2))]},
        "1.2.2",
        "tensorflow",
    )
    with pytest.raises(
        UnsupportedError,
        match=(
            r"its output_shape is \[None, 10, 10, 2\], where \[1, 9, 9, 2\] follows from its"
            r" strides"
        ),
    ):
        KerasConverter().convert(*parse_model(tmp_path / "m.h5"))


def test_models_inside_models_without_end(tmp_path):
    config = layer("Dense", "d", 4, output_dim=2)
    for _ in range(200):
        config = {"class_name": "TimeDistributed", "config": {"name": "t", "layer": config}}
    write_h5(tmp_path / "m.h5", chain(config), {}, "1.2.2", "")
    refused(tmp_path / "m.h5", "nested more than 60 deep; refused")


def test_classes_of_ones_own_beside_their_weights(pair):
    config = json.loads(pair[0].read_text())
    config["config"][1]["class_name"] = "Mine"
    pair[0].write_text(json.dumps(config))
    with pytest.raises(WebkilnError, match="Mine"):
        load_model(pair[0], companion=pair[1])
