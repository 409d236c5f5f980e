"""`webkiln inspect` on files of every format: it reports that a model converts if and only if a
build converts it, with the same unsupported parts.
"""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.commands import bad_onnx
from tests.frontends.inspecting import PARAMS, conversion_error, inspect
from tests.frontends.tensorflow.graph_models import graph_model
from tests.frontends.torch.modules.table import MODULES
from tests.frontends.torch.running import exported
from tests.fuzz import (
    caffe_files,
    files,
    keras_files,
    onnx_files,
    tensorflow_files,
    tflite_files,
    torch_files,
)
from webkiln.errors import SourceError, UnsupportedError, UserError
from webkiln.frontends.core.formats import FORMATS
from webkiln.frontends.inspect.header_only import header_only, is_header_only, placeholder_array
from webkiln.frontends.inspect.inspection import (
    Inspection,
    from_json,
    inspect_model,
    inspector,
    to_json,
)

pytestmark = pytest.mark.probes

HERE = Path(__file__).parent


def check(path: Path, scratch: Path, **params: object) -> Inspection | None:
    """The inspection, if the file can be read; it must agree with a build."""
    error = conversion_error(path, scratch / "build", **params)
    inspection: Inspection | UserError
    try:
        inspection = inspect(path, scratch / "look", **params)
    except UserError as refused:
        inspection = refused
    if isinstance(inspection, UserError):
        assert error is not None, inspection
        assert not isinstance(error, UnsupportedError), "unsupported parts are not damage"
        return None
    assert inspection.converts == (error is None), (error, inspection)
    if isinstance(error, UnsupportedError):
        assert set(error.items) <= set(inspection.unsupported)
    assert from_json(to_json(inspection)) == Inspection(
        type(inspection.file)(inspection.file.rows, inspection.file.signatures),
        inspection.model,
        *(getattr(inspection, key) for key in REST),
    )
    return inspection


REST = ("converts", "unsupported", "reason", "sizes", "states")


@pytest.mark.parametrize("format_", FORMATS, ids=lambda item: item.name)
def test_every_format_can_be_inspected(format_) -> None:
    assert callable(inspector(format_.name).read_facts)
    assert callable(inspector(format_.name).describe_spec)


def test_tflite_files(tmp_path: Path) -> None:
    with zipfile.ZipFile(HERE / "tflite" / "corpus" / "singles.zip") as archive:
        names = [name for name in archive.namelist() if name.endswith(".tflite")]
        archive.extractall(tmp_path, names)
    paths = sorted((HERE / "tflite" / "corpus").glob("*.tflite")) + [
        tmp_path / name for name in sorted(names)[::12]
    ]
    for path in paths:
        inspection = check(path, tmp_path / "scratch")
        assert inspection is not None
        assert inspection.converts
        assert inspection.model.outputs
        assert dict(inspection.file.rows)["version"].startswith("schema 3")


def test_caffe_files(tmp_path: Path) -> None:
    versions = set()
    for number, path in enumerate(sorted((HERE / "caffe" / "corpus").glob("*.prototxt"))):
        inspection = check(path, tmp_path / str(number))
        if inspection is not None:
            versions.add(dict(inspection.file.rows)["version"])
    assert versions == {"V0 (layers with a layer inside)", "V1 (layers)", "V2 (layer)"}


def test_tensorflow_graphs(tmp_path: Path) -> None:
    folder = HERE / "tensorflow" / "corpus"
    for path in sorted(folder.glob("*.pb")):
        inspection = check(path, tmp_path)
        assert inspection is not None
        assert dict(inspection.file.rows)["kind"] == "a frozen graph (GraphDef)"
    for path in sorted(folder.glob("*.zip"))[::2]:
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path / path.stem)
        inspection = check(tmp_path / path.stem, tmp_path / f"{path.stem}.look")
        assert inspection is not None
        assert dict(inspection.file.rows)["written by"].startswith("TensorFlow 2.")
        assert [item.name for item in inspection.file.signatures] == ["serving_default"]


@pytest.mark.parametrize("name", ["fused_conv", "numbers", "residual"])
def test_graph_models_of_tensorflow_js(name: str, tmp_path: Path) -> None:
    inspection = check(graph_model(name, tmp_path), tmp_path / "look")
    assert inspection is not None
    assert inspection.converts


def test_pytorch_programs(tmp_path: Path) -> None:
    import torch

    for name in list(MODULES)[::90]:
        torch.export.save(exported(MODULES[name]), tmp_path / f"{name}.pt2")
        inspection = check(tmp_path / f"{name}.pt2", tmp_path)
        assert inspection is not None
        assert dict(inspection.file.rows)["written by"] == f"PyTorch {torch.__version__}"
        assert [item.dtype for item in inspection.file.preview.inputs] == [
            item.dtype for item in inspection.model.inputs
        ]


def test_onnx_models(tmp_path: Path) -> None:
    converted = 0
    for path in sorted((HERE / "onnx" / "corpus").glob("*.onnx"))[::8]:
        shutil.rmtree(tmp_path / "look", ignore_errors=True)
        inspection = check(path, tmp_path)
        converted += inspection is not None and bool(inspection.converts)
    assert converted > 3


@pytest.mark.parametrize("name", bad_onnx.REFUSED)
def test_invalid_onnx_models_are_reported_as_in_a_build(name: str, tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    bad_onnx.write(tmp_path / "net")
    expected = bad_onnx.REFUSED[name][1]
    try:
        inspection = inspect(tmp_path / "net" / f"{name}.onnx", tmp_path)
        message = (
            ""
            if inspection.converts
            else f"{UnsupportedError(name, inspection.unsupported)} {inspection.reason}"
        )
    except UserError as error:
        message = str(error)
    assert expected.rpartition(": ")[2] in message


def test_models_of_older_keras_versions(tmp_path: Path) -> None:
    written = sorted((HERE / "keras" / "versions" / "written").glob("*.h5")) + sorted(
        (HERE / "keras" / "versions" / "written").glob("*.keras")
    )
    for path in written[::16]:
        inspection = check(path, tmp_path)
        assert inspection is not None
        assert "Keras " in dict(inspection.file.rows)["written by"]


def test_all_unsupported_parts_are_collected(tmp_path: Path) -> None:
    """The items of the reader and of the handlers, which a build reports one after the other."""
    node, floats = onnx.helper.make_node, bad_onnx.floats

    def strings(name: str) -> onnx.ValueInfoProto:
        return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.STRING, [2])

    optional = onnx.helper.make_tensor_value_info("z", 1, [2, 3])
    optional.type.CopyFrom(onnx.helper.make_optional_type_proto(optional.type))
    graph = onnx.helper.make_graph(
        [
            node("Optional", ["x"], ["z"], "maybe"),
            node("StringNormalizer", ["t"], ["u"], "texts"),
            node("Relu", ["x"], ["y"], "fine"),
        ],
        "net",
        [floats("x", 2, 3), strings("t")],
        [floats("y", 2, 3), optional, strings("u")],
    )
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]),
        tmp_path / "net.onnx",
    )
    inspection = inspect(tmp_path / "net.onnx", tmp_path)
    assert inspection.converts is False
    assert {where for where, _, _ in inspection.unsupported} == {
        "z",
        "maybe (Optional)",
        "u",
        "texts (StringNormalizer)",
    }


def test_header_only_reads_skip_large_arrays(tmp_path: Path) -> None:
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [bad_onnx.floats("x", 1, 1000)],
        [bad_onnx.floats("y", 1, 1000)],
        [onnx.numpy_helper.from_array(np.ones((1000, 1000), np.float32), "w")],
    )
    onnx.save(
        onnx.helper.make_model(graph),
        tmp_path / "net.onnx",
        save_as_external_data=True,
        location="w.bin",
    )
    with (tmp_path / "w.bin").open("r+b") as file:
        file.truncate(4_000_000)
    inspection = inspect(tmp_path / "net.onnx", tmp_path / "scratch")
    assert inspection.converts
    assert inspection.model.weights == {"matmul/B": ("float32", (1000, 1000))}
    assert not is_header_only()
    assert placeholder_array("float32", (1000, 1000)) is None
    with header_only():
        placeholder = placeholder_array("float32", (1000, 1000))
        assert placeholder is not None
        assert placeholder.base is not None
        assert placeholder_array("float32", (10, 10)) is None


FUZZED = {
    "onnx": onnx_files,
    "keras": keras_files,
    "tensorflow": tensorflow_files,
    "tflite": tflite_files,
    "caffe": caffe_files,
    "torch": torch_files,
}


def inspect_format(name: str) -> files.Format:
    """The mutations of a format's fuzzing, read by `inspect`."""

    def attempt(folder: Path, phase: Callable[[str], None]) -> None:
        phase("reading")
        path = next(item for item in sorted(folder.iterdir()) if item.name.startswith("net."))
        inspection = inspect_model(
            name, {"source": path, **({"external/": folder} if name == "onnx" else {})}, PARAMS
        )
        assert inspection.converts is not None or inspection.reason
        if not inspection.converts:
            raise SourceError("it does not convert")

    return files.Format(FUZZED[name].FORMAT.make, attempt, lambda folder: None)


@pytest.mark.parametrize("name", FUZZED)
def test_mutated_files(name: str) -> None:
    FUZZED[name].originals()
    results = list(
        files.outcomes(inspect_format(name), range({"torch": 20, "tflite": 30}.get(name, 12)))
    )
    assert not [item for item in results if item.is_finding]
    assert {item.kind for item in results} == {"accepted", "refused"}
