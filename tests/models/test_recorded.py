"""Recorded references: bundles are verified against them, and no framework runs."""

import io
import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.models.conftest import Model
from webkiln import canonical
from webkiln.build.engine import Engine
from webkiln.cli import main
from webkiln.errors import RecipeError, SourceError, ToolError, UserError, VerificationError
from webkiln.recipe.read import read_recipe

CORPORA = Path(__file__).parents[1] / "frontends"
BLOCKED = ("keras", "tensorflow", "onnxruntime", "ai_edge_litert", "torch", "cv2")


@pytest.fixture
def make_model(tmp_path):
    """Create a model from a source file and additional recipe lines, in a process without
    frameworks for references.
    """
    with Engine(tmp_path / ".webkiln") as engine:

        def make(source: Path, *lines: str, **arrays: np.ndarray) -> Model:
            folder = tmp_path / "net"
            folder.mkdir(exist_ok=True)
            shutil.copy(source, folder)
            if arrays:
                np.savez(folder / "expected.npz", **arrays)
            (folder / "recipe.toml").write_text(
                "\n".join([f'source = "{source.name}"', 'backends = ["js"]', *lines])
            )
            return Model(engine, read_recipe(folder / "recipe.toml"), tmp_path)

        yield make


RECORDED = 'reference = "expected.npz"'


def verify(model: Model) -> list[dict]:
    (action,) = model.actions.verify(choice(model), "node")
    return canonical.read(model.file(action, "result.json"))


def choice(model: Model):
    from webkiln.build.graph import Selection

    return Selection(model.recipe.backends)


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    """Use an empty cache: a cached verification would skip its reference. Request this fixture
    before `make_model`.
    """
    monkeypatch.setenv("WEBKILN_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def without_frameworks(empty_cache, tmp_path, monkeypatch):
    """Make every import of a reference framework fail, also in the processes of stages, and cache
    none of their outputs.
    """
    folder = tmp_path / "blocked"
    for name in BLOCKED:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(
            f"raise ModuleNotFoundError('no {name}', name='{name}')\n"
        )
    monkeypatch.setenv("PYTHONPATH", str(folder))


def keras_model(folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    import keras

    keras.utils.set_random_seed(3)
    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.layers.Dense(3, activation="tanh", name="y")(x))
    model.save(folder / "net.keras")
    inputs = np.linspace(-1, 1, 4, dtype=np.float32).reshape(1, 4)
    return folder / "net.keras", {"x": inputs, "y": np.asarray(model(inputs))}


def onnx_model(folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    """A model with a symbolic size, and integers."""
    helper = onnx.helper
    ends = [
        helper.make_tensor_value_info("rows", 1, ["N", 4]),
        helper.make_tensor_value_info("best", 7, ["N"]),
        helper.make_tensor_value_info("more", 1, ["N", 4]),
    ]
    nodes = [
        helper.make_node("ArgMax", ["rows"], ["best"], axis=1, keepdims=0),
        helper.make_node("Neg", ["rows"], ["more"]),
    ]
    onnx.save(
        helper.make_model(helper.make_graph(nodes, "net", ends[:1], ends[1:])), folder / "net.onnx"
    )
    rows = np.random.default_rng(1).normal(size=(5, 4)).astype(np.float32)
    return folder / "net.onnx", {"rows": rows, "best": rows.argmax(1), "more": -rows}


def tflite_model(folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    roles = {"in": "inputs", "out": "outputs"}
    with np.load(CORPORA / "tflite" / "corpus" / "branches.int8.npz") as archive:
        arrays = {}
        for key in archive.files:
            role, _, name = key.partition("/")
            arrays[f"{roles[role]}/{name}"] = archive[key]
    return CORPORA / "tflite" / "corpus" / "branches.int8.tflite", arrays


MODELS = {"keras": keras_model, "onnx": onnx_model, "tflite": tflite_model}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.sample("onnx", "tflite")
def test_recorded_outputs_are_verified_without_the_framework(
    kind, without_frameworks, make_model, tmp_path
):
    source, arrays = MODELS[kind](tmp_path)
    result = verify(make_model(source, RECORDED, **arrays))
    assert result["reference"] == "expected.npz"
    assert {row["set"] for row in result["outputs"]} == {"recorded"}
    assert all(row["passed"] and row["noise"] == 0 for row in result["outputs"])


@pytest.mark.parametrize("kind", MODELS)
def test_a_wrong_number_fails(kind, make_model, tmp_path):
    source, arrays = MODELS[kind](tmp_path)
    name = next(key for key in arrays if key in ("y", "best") or key.startswith("outputs/"))
    wrong = arrays[name].copy()
    wrong.flat[0] += 1
    with pytest.raises(
        VerificationError,
        match=(
            r"outputs differ from those recorded in expected\.npz(.|\n)*the reference has no layers"
            r"|the bundle has no layers"
        ),
    ):
        verify(make_model(source, RECORDED, **{**arrays, name: wrong}))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.sample("onnx")
def test_without_the_framework_the_error_says_how_to_record(
    kind, without_frameworks, make_model, tmp_path
):
    source, _ = MODELS[kind](tmp_path)
    with pytest.raises(
        ToolError,
        match=(
            r"pip install .*; or record the reference where the framework runs: reference ="
            r' "expected\.npz"'
        ),
    ):
        verify(make_model(source))


def test_several_cases_of_several_sizes(make_model, tmp_path):
    source, arrays = onnx_model(tmp_path)
    rows = arrays["rows"]
    cases = {
        f"{case}/{role}/{name}": value
        for case, count in (("short", 2), ("long", 5))
        for role, arrays_of_role in (
            ("inputs", {"rows": rows[:count]}),
            ("outputs", {"best": rows[:count].argmax(1), "more": -rows[:count]}),
        )
        for name, value in arrays_of_role.items()
    }
    result = verify(make_model(source, RECORDED, **cases))
    assert {row["set"] for row in result["outputs"]} == {"short", "long"}


def test_states_are_reset_in_each_case(make_model, tmp_path):
    import keras

    x = keras.Input((3, 2), batch_size=1, name="x")
    model = keras.Model(x, keras.layers.SimpleRNN(2, stateful=True, name="y")(x))
    model.save(tmp_path / "net.keras")
    cases = {}
    for case in ("one", "two"):
        inputs = np.random.default_rng(len(cases)).normal(size=(1, 3, 2)).astype(np.float32)
        model.layers[-1].reset_states()
        cases |= {f"{case}/inputs/x": inputs, f"{case}/outputs/y": np.asarray(model(inputs))}
    assert all(
        row["passed"]
        for row in verify(make_model(tmp_path / "net.keras", RECORDED, **cases))["outputs"]
    )


def test_string_inputs_are_recorded(make_model, tmp_path):
    import keras

    x = keras.Input((1,), dtype="string", name="words")
    y = keras.layers.TextVectorization(
        vocabulary=["the", "cat"], output_sequence_length=4, name="v"
    )(x)
    model = keras.Model(x, keras.layers.Embedding(6, 2, name="y")(y))
    model.save(tmp_path / "net.keras")
    inputs = np.array([["The cat sat"]])
    expected = np.asarray(model(keras.ops.convert_to_tensor(inputs)))
    assert all(
        row["passed"]
        for row in verify(make_model(tmp_path / "net.keras", RECORDED, words=inputs, y=expected))[
            "outputs"
        ]
    )


def changed(arrays: dict[str, np.ndarray], **changes: np.ndarray | None) -> dict[str, np.ndarray]:
    return {name: value for name, value in {**arrays, **changes}.items() if value is not None}


ONES = np.ones((5, 4), np.float32)
WRONG = {
    "unknown": (
        {"rosw": ONES, "rows": None},
        [
            (
                "rosw: the model has no such input or output; did you mean rows?; inputs are rows;"
                " outputs are best, more"
            ),
            "input rows is missing",
        ],
    ),
    "missing": ({"best": None, "more": None}, ["output best is missing", "output more is missing"]),
    "dtype": (
        {"rows": ONES.astype(np.float64)},
        ["rows: is float64, expected float32; save it with .astype('float32')"],
    ),
    "whole": ({"best": np.ones(5, np.float32)}, ["best: is float32, expected int64"]),
    "shape": (
        {"rows": ONES[:, :3], "more": ONES[:4]},
        ["rows: is [5, 3], expected [N, 4]", "more: is [4, 4], expected [N, 4] with N = 5"],
    ),
    "rank": ({"rows": ONES[0]}, ["rows: is [4], expected [N, 4]"]),
    "empty": ({"rows": np.ones((0, 4), np.float32)}, ["rows: is [0, 4], expected [N, 4]"]),
    "twice": ({"inputs/rows": ONES}, ["input rows is recorded twice"]),
    "nan": ({"more": ONES * np.nan}, ["more: contains 20 NaN"]),
    "infinite": (
        {"rows": np.full_like(ONES, np.inf)},
        ["rows: contains 20 numbers that are not finite"],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_all_mismatches_are_reported_at_once(case, make_model, tmp_path):
    source, arrays = onnx_model(tmp_path)
    changes, expected_messages = WRONG[case]
    with pytest.raises(RecipeError, match=r"^reference expected\.npz ") as refused:
        verify(make_model(source, RECORDED, **changed(arrays, **changes)))
    assert [line for line in expected_messages if line not in str(refused.value)] == []


def hostile(kind: str, arrays: dict[str, np.ndarray], path: Path) -> None:
    np.savez_compressed(path, **arrays)
    data = path.read_bytes()
    match kind:
        case "truncated":
            path.write_bytes(data[: len(data) // 2])
        case "pickle":
            np.savez(path, **arrays, extra=np.array([{"a": 1}], dtype=object))
        case "no zip":
            path.write_bytes(b"Dear webkiln")
        case "empty":
            np.savez(path)
        case _:
            header = {
                "lying": "(9223372036854775807, 4)",
                "deep": "(" * 4000,
                "negative": "(-5, 4)",
            }[kind]
            text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {header}, }}".encode()
            member = io.BytesIO(
                b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(80)
            )
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("rows.npy", member.getvalue())


HOSTILE = {
    "truncated": "is no .npz file",
    "pickle": "extra is a pickle of Python objects, which is never loaded",
    "no zip": "is no .npz file",
    "empty": "it contains no arrays",
    "lying": "rows is float32[9223372036854775807, 4] of",
    "deep": "is no .npz file",
    "negative": "rows is float32[-5, 4]",
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_are_one_error(kind, make_model, tmp_path):
    source, arrays = onnx_model(tmp_path)
    model = make_model(source, RECORDED, **arrays)
    hostile(kind, arrays, tmp_path / "net" / "expected.npz")
    with pytest.raises((SourceError, RecipeError)) as refused:
        verify(model)
    assert HOSTILE[kind] in str(refused.value)


def test_a_zip_that_declares_a_large_size_is_not_unpacked(make_model, tmp_path):
    source, arrays = onnx_model(tmp_path)
    model = make_model(source, RECORDED, **arrays)
    path = tmp_path / "net" / "expected.npz"
    data = bytearray(path.read_bytes())
    offset = data.rindex(b"PK\x01\x02")
    data[offset + 24 : offset + 28] = (0xF0000000).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"expected at most|is no \.npz file|bytes, and"):
        verify(model)


def test_nothing_runs_again_until_the_file_changes(empty_cache, make_model, tmp_path):
    source, arrays = onnx_model(tmp_path)
    model = make_model(source, RECORDED, **arrays)
    verify(model)
    assert model.engine.current(model.actions.reference()) is not None
    np.savez(tmp_path / "net" / "expected.npz", **changed(arrays, more=arrays["more"] * 2))
    with Engine(tmp_path / ".webkiln") as second_engine, pytest.raises(VerificationError):
        verify(Model(second_engine, model.recipe, tmp_path))


def test_a_report_states_that_the_reference_was_recorded(make_model, tmp_path):
    source, arrays = onnx_model(tmp_path)
    model = make_model(source, RECORDED, **arrays)
    report = model.actions.report(choice(model), ["node"])
    assert (
        "as recorded in expected.npz; layers are not compared"
        in model.file(report, "report.html").read_text()
    )
    assert {
        item["reference"]
        for item in json.loads(model.file(report, "verification.json").read_text())["results"]
    } == {"expected.npz"}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.sample("onnx")
def test_diff_uses_a_recorded_reference(kind, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source, arrays = MODELS[kind](tmp_path)
    np.savez(tmp_path / "expected.npz", **arrays)
    assert main(["build", str(source), "-o", "bundle", "--backend", "js"]) == 0
    assert main(["diff", "bundle", "--source", str(source), "--reference", "expected.npz"]) == 0
    printed = capsys.readouterr().out
    assert "input set recorded" in printed
    assert "the reference has outputs but no layers" in printed
    name = [key for key in arrays if key in ("y", "more") or key.startswith("outputs/")][-1]
    wrong = arrays[name].copy()
    wrong.flat[0] += 3
    np.savez(tmp_path / "expected.npz", **{**arrays, name: wrong})
    assert main(["diff", "bundle", "--source", str(source), "--reference", "expected.npz"]) == 2
    assert "differs from reference first in output" in capsys.readouterr().err
