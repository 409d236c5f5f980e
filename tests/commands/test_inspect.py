"""`webkiln inspect` on files, folders and archives: the report as text and JSON, without a
traceback and without running code of the file.
"""

import gzip
import io
import json
import pickle
import shutil
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.commands.blocked import without
from tests.commands.conftest import Command
from tests.commands.refusals import check
from tests.frontends.onnx.models import classifier, floats

CORPORA = Path(__file__).parents[1] / "frontends"
TFLITE = CORPORA / "tflite" / "corpus" / "branches.int8.tflite"


def fields_of(text: str) -> dict[str, str]:
    """The text after each label."""
    fields: dict[str, str] = {}
    label = ""
    for line in text.splitlines()[1:]:
        label = line[2:16].strip() or label
        fields[label] = (
            f"{fields[label]} {line[16:].strip()}"
            if not line[2:16].strip() and label in fields
            else line[16:].strip()
        )
    return fields


def test_a_model_of_keras(webkiln: Command, sources: Path) -> None:
    done = webkiln("inspect", sources / "good.keras")
    assert (done.returncode, done.stderr) == (0, "")
    assert ": a Keras model, " in " ".join(done.stdout.split())
    fields = fields_of(done.stdout[done.stdout.index("  kind") - 1 :])
    assert fields["kind"] == "a .keras archive, Functional"
    assert fields["written by"].startswith("Keras 3.")
    assert (fields["inputs"], fields["outputs"]) == (
        "x float32[1, 6, 6, 1]",
        "scores float32[1, 4]",
    )
    assert fields["nodes"] == "3: Conv2D 1, Dense 1, Flatten 1"
    assert fields["weights"].startswith(f"{8 * 9 + 8 + 4 * 4 * 8 * 4 + 4} numbers in 4 arrays")
    assert fields["converts"] == "yes"
    assert all(len(line) <= 80 for line in done.stdout.splitlines()[1:])


def test_json_contains_the_same_facts(webkiln: Command, sources: Path) -> None:
    done = webkiln("inspect", sources / "good.keras", "--json", "--batch-size", "3")
    fields = json.loads(done.stdout)
    assert (fields["schema"], fields["format"], fields["converts"]) == (
        "webkiln.inspection/1",
        "keras",
        True,
    )
    assert fields["inputs"] == [{"name": "x", "dtype": "float32", "shape": [3, 6, 6, 1]}]
    assert fields["weights"]["conv/kernel"] == {"dtype": "float32", "shape": [3, 3, 1, 8]}
    refused = webkiln("inspect", sources / "unknown.keras", "--json")
    assert refused.returncode == 2
    assert [item["where"] for item in json.loads(refused.stdout)["unsupported"]] == [
        "first (Doubled)",
        "second (Doubled)",
    ]


def test_sizes_that_a_model_needs(webkiln: Command, tmp_path: Path) -> None:
    node = onnx.helper.make_node
    nodes = [
        node("AveragePool", ["x"], ["a"], "down", kernel_shape=[2, 2], strides=[2, 2]),
        node("Upsample", ["a", "s"], ["b"], "up"),
        node("Add", ["x", "b"], ["y"], "sum"),
    ]
    scales = onnx.numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s")
    graph = onnx.helper.make_graph(
        nodes, "net", [floats("x", 1, 1, "H", 8)], [floats("y", None, None, None, None)], [scales]
    )
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 9)]),
        tmp_path / "net.onnx",
    )
    fields = fields_of(webkiln("inspect", "net.onnx").stdout)
    assert fields["inputs"] == "x float32[1, 1, H, 8]"
    assert fields["sizes"].startswith("H is a multiple of 2 (")
    assert (
        fields_of(webkiln("inspect", "net.onnx", "--dim", "H=6").stdout)["inputs"]
        == "x float32[1, 1, 6, 8]"
    )
    done = webkiln("inspect", "net.onnx", "--dim", "H=7")
    assert done.returncode == 2
    assert fields_of(done.stdout)["converts"] == "no"  # fmt: skip


def test_a_folder_or_archive_with_one_model(webkiln: Command, tmp_path: Path) -> None:
    version_folder = tmp_path / "download" / "v1"
    version_folder.mkdir(parents=True)
    shutil.copy(TFLITE, version_folder / "net.tflite")
    (version_folder / "README.md").write_text("a model")
    with zipfile.ZipFile(tmp_path / "net.task", "w") as archive:
        archive.write(TFLITE, "net.tflite")
        archive.writestr("metadata.txt", "1")
    with tarfile.open(tmp_path / "net.tar.gz", "w:gz") as tar:
        tar.add(version_folder, "v1")
    for source, member in (
        ("download", "v1/net.tflite"),
        ("net.task", "net.tflite"),
        ("net.tar.gz", "v1/net.tflite"),
    ):
        done = webkiln("inspect", source)
        assert done.returncode == 0, done.stderr
        assert " ".join(done.stdout.split()).startswith(
            f"{source}: {member}: a LiteRT (TensorFlow Lite) model"
        )
        assert fields_of(done.stdout)["converts"] == "yes"


def test_an_archive_of_a_saved_model_is_one_model(webkiln: Command) -> None:
    done = webkiln("inspect", CORPORA / "tensorflow" / "corpus" / "activations.zip")
    assert done.returncode == 0, done.stderr
    assert fields_of(done.stdout[done.stdout.index("  kind") - 1 :])["kind"] == "a SavedModel"


def test_all_signatures_are_listed_if_one_must_be_chosen(webkiln: Command, tmp_path: Path) -> None:
    from webkiln.frontends.tensorflow.messages import SavedModelDef

    with zipfile.ZipFile(CORPORA / "tensorflow" / "corpus" / "activations.zip") as archive:
        archive.extractall(tmp_path / "net")
    path = tmp_path / "net" / "saved_model.pb"
    saved = SavedModelDef.FromString(path.read_bytes())
    signatures = saved.meta_graphs[0].signature_def
    for name in ("first", "second"):
        signatures[name].CopyFrom(signatures["serving_default"])
    del signatures["serving_default"]
    path.write_bytes(saved.SerializeToString())
    done = webkiln("inspect", "net")
    assert done.returncode == 2
    assert "has the signatures first, second; choose one with --signature" in done.stderr
    assert "first: x0 float32[?, 7] -> " in fields_of(done.stdout)["signatures"]
    assert "second: x0 float32[?, 7] -> " in fields_of(done.stdout)["signatures"]
    assert fields_of(done.stdout)["converts"] == "not known"
    assert fields_of(webkiln("inspect", "net", "--signature", "second").stdout)["converts"] == "yes"


def test_several_models_are_listed(webkiln: Command, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(TFLITE, folder / "a.tflite")
    (folder / "b.onnx").write_bytes(classifier().SerializeToString())
    for suffix in (".prototxt", ".caffemodel"):
        shutil.copy(CORPORA / "caffe" / "corpus" / f"v1{suffix}", folder / f"c{suffix}")
    done = webkiln("inspect", "models")
    assert done.returncode == 0
    first, *lines = done.stdout.splitlines()
    assert first == "models: contains 3 models; name one of them"
    assert lines == [
        "  a.tflite: a LiteRT (TensorFlow Lite) model",
        "  b.onnx: an ONNX model",
        "  c.caffemodel: a Caffe model",
    ]
    assert [
        item["path"] for item in json.loads(webkiln("inspect", "models", "--json").stdout)["holds"]
    ] == [
        "a.tflite",
        "b.onnx",
        "c.caffemodel",
    ]


class Trap:
    def __reduce__(self) -> tuple[object, tuple[str, ...]]:
        return exec, ("open('executed', 'w')",)


def write_program(kind: str, path: Path) -> None:
    match kind:
        case "letter":
            path.write_text("Dear webkiln, this is not a model.")
        case "empty":
            path.write_bytes(b"")
        case "pickle":
            path.write_bytes(pickle.dumps(Trap(), protocol=4))
        case "gguf":
            path.write_bytes(b"GGUF\x03\0\0\0" + bytes(64))
        case "traversal":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("../executed", TFLITE.read_bytes())
        case "link":
            with tarfile.open(path, "w") as tar:
                info = tarfile.TarInfo("../executed")
                info.size = 3
                tar.addfile(info, io.BytesIO(b"abc"))
        case "bomb":
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("zeros.tflite", bytes(64 << 20))
        case "long":
            with gzip.open(path, "wb") as file:
                info = tarfile.TarInfo("net.tflite")
                info.size = 1 << 40
                file.write(info.tobuf())
                file.write(bytes(1 << 20))
        case "compressed":
            path.write_bytes(gzip.compress(b"no archive"))
        case "truncated":
            path.write_bytes(
                (CORPORA / "tensorflow" / "corpus" / "activations.zip").read_bytes()[:-900]
            )
        case "nothing":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("README.md", "no model")
        case "script":
            with zipfile.ZipFile(path, "w") as archive:
                for name in ("data.pkl", "constants.pkl"):
                    archive.writestr(f"net/{name}", pickle.dumps(Trap(), protocol=2))
                archive.writestr("net/version", "10\n")
                archive.writestr(
                    "net/code/__torch__.py",
                    "class Net(Module):\n  def forward(self: __torch__.Net,\n    x: Tensor) ->"
                    " Tensor:\n    return x\n",
                )


REFUSED = {
    "letter": "neither a .keras archive nor an HDF5 file",
    "empty": "neither a .keras archive nor an HDF5 file",
    "pickle": (
        "is a pickle, which webkiln does not read; a pickle is a program, which webkiln does not"
        " run"
    ),
    "gguf": "is a GGUF file, which holds weights without a model, which webkiln does not read",
    "traversal": "its member '../executed' has a path outside the archive; refused",
    "link": "its member '../executed' has a path outside the archive; refused",
    "bomb": "its member 'zeros.tflite' claims 67108864 bytes from",
    "long": "unpacks to more than",
    "compressed": "no archive that can be unpacked",
    "truncated": "no archive that can be unpacked",
    "nothing": "contains no model of a known format; name the model file",
}


@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.sample(6)
def test_files_that_are_no_models_are_one_error(
    kind: str, webkiln: Command, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("bad") / "net.bin"
    write_program(kind, path)
    done = webkiln("inspect", path)
    check(done, REFUSED[kind], tmp_path)
    assert done.stdout == ""
    assert [item.name for item in path.parent.iterdir()] == ["net.bin"]


def test_a_program_is_described_and_not_run(webkiln: Command, tmp_path: Path) -> None:
    write_program("script", tmp_path / "net.pt")
    done = webkiln("inspect", "net.pt")
    assert done.returncode == 2
    fields = fields_of(done.stdout)
    assert (fields["kind"], fields["version"], fields["arguments"]) == (
        "a TorchScript file, which is a program",
        "archive 10",
        "x: Tensor",
    )
    assert fields["converts"] == "not known"
    assert "pass --trust-source" in done.stderr
    assert [item.name for item in tmp_path.iterdir()] == ["net.pt"]


def test_a_program_is_described_without_torch(webkiln: Command, tmp_path: Path) -> None:
    import torch

    with torch.no_grad():
        program = torch.export.export(torch.nn.Linear(3, 2).eval(), (torch.rand(4, 3),))
    torch.export.save(program, tmp_path / "net.pt2")
    done = webkiln("inspect", "net.pt2", env=without(tmp_path, "torch"))
    assert done.returncode == 2
    fields = fields_of(done.stdout)
    assert fields["written by"] == f"PyTorch {torch.__version__}"
    assert fields["nodes"] == "1: aten.linear.default 1"
    assert (fields["inputs"], fields["converts"]) == ("input float32[4, 3]", "not known")
    assert "pip install torch" in done.stderr


def test_a_large_file_is_inspected_by_its_header(webkiln: Command, tmp_path: Path) -> None:
    """A file with 500 MB of weights, none of which is read."""
    size = 11_000
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [floats("x", 1, size)],
        [floats("y", 1, size)],
        [
            onnx.TensorProto(
                name="w",
                data_type=1,
                dims=[size, size],
                data_location=onnx.TensorProto.EXTERNAL,
                external_data=[onnx.StringStringEntryProto(key="location", value="w.bin")],
            )
        ],
    )
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)]),
        tmp_path / "net.onnx",
    )
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(4 * size * size)
    begin = time.monotonic()
    done = webkiln("inspect", "net.onnx")
    assert done.returncode == 0, done.stderr
    assert fields_of(done.stdout)["weights"].startswith("121,000,000 numbers in 1 array, 484.0 MB")
    assert time.monotonic() - begin < 20


def test_names_of_a_file_are_escaped_for_the_terminal(webkiln: Command, tmp_path: Path) -> None:
    model = classifier()
    model.producer_name = "\x1b[31mred\n\x07"
    (tmp_path / "net.onnx").write_bytes(model.SerializeToString())
    done = webkiln("inspect", "net.onnx")
    assert "\x1b" not in done.stdout
    assert "\x07" not in done.stdout
    assert fields_of(done.stdout)["written by"].startswith("[31mred")


def test_the_model_of_a_recipe_is_inspected(webkiln: Command, tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    shutil.copy(TFLITE, tmp_path / "net")
    (tmp_path / "net" / "make.py").write_text(
        "import shutil\nfrom pathlib import Path\n\n\ndef export(path, name):\n   "
        " shutil.copyfile(Path(__file__).with_name(name), path)\n"
    )
    (tmp_path / "net" / "recipe.toml").write_text(
        'source_format = "tflite"\nparameters = { name = "branches.int8.tflite" }\n[source]\nscript'
        ' = "make.py"\nfunction = "export"\n'
    )
    done = webkiln("inspect", "net")
    assert done.returncode == 0, done.stderr
    assert fields_of(done.stdout)["converts"] == "yes"


@pytest.mark.long
def test_the_model_that_a_function_returns_is_inspected(webkiln: Command, tmp_path: Path) -> None:
    (tmp_path / "made.py").write_text(
        "import keras\n\n\ndef net():\n    return keras.Sequential([keras.Input((3,)),"
        " keras.layers.Dense(2)])\n"
    )
    done = webkiln("inspect", "made:net")
    assert done.returncode == 0, done.stderr
    assert fields_of(done.stdout)["nodes"] == "1: Dense 1"
