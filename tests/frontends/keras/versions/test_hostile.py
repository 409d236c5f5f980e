"""Damaged, hostile and foreign files of Keras 1 and 2 raise one clear error."""

import json
import shutil
import threading
from pathlib import Path

import h5py
import numpy as np
import pytest

from tests.frontends.keras.versions.chains import chain, layer, numbers
from tests.frontends.keras.versions.eras import keras_1_2
from tests.frontends.keras.versions.model_files import read, write_h5, write_weights
from tests.frontends.keras.versions.refusals import refused
from webkiln.backends.compare import relative_error
from webkiln.errors import SourceError, UnsupportedError, WebkilnError
from webkiln.frontends.core.formats import format_of_file
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.load import load_model
from webkiln.frontends.keras.reader import parse_model
from webkiln.ops.evaluate import run_graph


@pytest.mark.parametrize(
    "text", ["{", '{"a":' * 100000, "{" + "[" * 100000, "[]", '{"class_name": 1}']
)
def test_invalid_json(tmp_path, text):
    (tmp_path / "model.json").write_text(text)
    with pytest.raises(WebkilnError):
        parse_model(tmp_path / "model.json")


def test_metadata_of_a_saved_model_is_refused(tmp_path):
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


def test_weights_without_an_architecture(pair):
    refused(
        pair[1],
        r"holds weights but no model; give the architecture and these weights: webkiln"
        r" build model\.json --weights",
    )


def test_an_architecture_without_weights(pair):
    refused(pair[0], r"a Keras model without weights; pass them with --weights FILE\.h5")


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


def test_layer_lists_that_name_absent_layers(pair):
    with h5py.File(pair[1], "a") as file:
        del file["dense"]
    refused(pair[0], "its list of layers names 'dense', which it does not hold", companion=pair[1])


def test_links_out_of_the_file(pair, tmp_path):
    with h5py.File(pair[1], "a") as file:
        del file["dense"]["dense_W"]
        file["dense"]["dense_W"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/x")
    refused(pair[0], "links elsewhere; refused", companion=pair[1])


@pytest.mark.parametrize("kind", ["text", "empty", "truncated", "another"])
def test_files_without_weights(pair, kind):
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
def test_files_without_an_architecture(pair, tmp_path, kind):
    path = tmp_path / "other.json"
    if kind == "h5":
        shutil.copyfile(pair[1], path)
    elif kind != "missing":
        path.write_text({"text": "Dear webkiln", "empty": "", "list": "[1, 2]"}[kind])
    refused(path, r"other\.json", companion=pair[1])


@pytest.mark.parametrize(("version", "deviation"), [("1.0.5", True), ("1.0.6", False), ("", False)])
def test_running_std_is_a_deviation_up_to_1_0_5(tmp_path, version, deviation):
    """Up to 1.0.5 a deviation, then a variance. Weights without a version count as those of the
    latest Keras 1.
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
    expected = (x - mean) / (spread + 0.01 if deviation else np.sqrt(spread + 0.01)) * gamma + beta
    assert relative_error(run_graph(graph, {"input": x})[0]["n"], expected) < 1e-5


def test_yaml_tags_are_not_executed(pair, tmp_path):
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


def test_yaml_alias_expansion_is_limited(pair, tmp_path):
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


def test_layer_names_may_be_split_across_attributes(tmp_path):
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


def test_lambda_merges_are_not_executed(tmp_path):
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


def test_unknown_modes(tmp_path):
    write_h5(
        tmp_path / "m.h5",
        chain(layer("BatchNormalization", "n", 4, mode=3)),
        {"n": [(f"n_{i}", numbers(4)) for i in range(4)]},
        "1.2.2",
        "",
    )
    with pytest.raises(UnsupportedError, match=r"n \(BatchNormalization of mode 3\): no handler"):
        KerasConverter().convert(*parse_model(tmp_path / "m.h5"))


def test_declared_output_shapes_must_match(tmp_path):
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
        match=r"its output_shape is \[None, 10, 10, 2\], but its strides imply \[1, 9, 9, 2\]",
    ):
        KerasConverter().convert(*parse_model(tmp_path / "m.h5"))


def test_nesting_is_limited(tmp_path):
    config = layer("Dense", "d", 4, output_dim=2)
    for _ in range(200):
        config = {"class_name": "TimeDistributed", "config": {"name": "t", "layer": config}}
    write_h5(tmp_path / "m.h5", chain(config), {}, "1.2.2", "")
    refused(tmp_path / "m.h5", "nested more than 60 deep; refused")


def test_user_classes_in_an_architecture_are_named(pair):
    config = json.loads(pair[0].read_text())
    config["config"][1]["class_name"] = "Mine"
    pair[0].write_text(json.dumps(config))
    with pytest.raises(WebkilnError, match="Mine"):
        load_model(pair[0], companion=pair[1])
