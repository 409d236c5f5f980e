"""The actions that each field of a recipe affects."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.commands.small import write_model
from tests.recipes import fields_of, with_fields
from webkiln.build.action import Action, Modules, Product, UserReads
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import PACKAGE, Share
from webkiln.recipe.form import Form
from webkiln.recipe.images import ImageInput
from webkiln.recipe.quantization import Quantization, UserFunction
from webkiln.recipe.recipe import Computation, Reading, Recipe, UserCode, Verification
from webkiln.recipe.sources import ExportSource, ModuleSource, PathSource, UrlSource


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model.onnx")


def described(action: Action) -> Any:
    """An action as it is used in keys and messages, without its producers."""

    def output(value: Any) -> Any:
        return (
            (value.action.task, value.path, value.pattern) if isinstance(value, Product) else value
        )

    inputs = {role: output(value) for role, value in action.inputs.items()}
    return (
        action.stage,
        action.outputs,
        inputs,
        action.params,
        action.requirements,
        action.user_reads,
    )


CHOICE = Selection(("webgpu", "js"))
WITH_WASM = Selection(("webgpu", "js", "wasm"))


def stages_of(recipe: Recipe, choice: Selection = CHOICE) -> dict[str, Any]:
    """All actions of a model, by stage and detail."""
    graph = ModelGraph(recipe, Share(PACKAGE.parent.parent, PACKAGE))
    graph.report(choice, ("node",))
    return {action.task: described(action) for action in graph.actions()}


def changed_stages(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {
        task.split(":")[0]
        for task in before.keys() | after.keys()
        if before.get(task) != after.get(task)
    }


FILE = Path("/nowhere/file.py")
REACH: tuple[tuple[str, str, Any, set[str]], ...] = (
    ("onnx", "source", PathSource(Path("/nowhere/b")), {"fetch"}),
    ("tflite", "reading.signature", "serve", {"load", "reference"}),
    ("onnx", "inputs.shapes", {"x": (1, 4)}, {"convert", "reference"}),
    ("keras", "inputs.shapes", {"x": (1, 4)}, {"convert", "reference"}),
    ("onnx", "verification.sample_sizes", {"N": 3}, {"reference"}),
    ("onnx", "verification.reference", Path("/nowhere/r.npz"), {"reference", "verify"}),
    ("keras", "inputs.batch_size", 3, {"convert", "reference"}),
    ("onnx", "verification.tolerances", {"float32": 0.5, "dot": 0.5}, {"verify"}),
    ("onnx", "bundle.labels", ("a", "b"), {"bundle"}),
    ("onnx", "bundle.images", {"x": ImageInput(color="BGR")}, {"bundle"}),
    ("onnx", "user_code.plugins", (FILE,), {"load", "convert", "reference"}),
    ("keras", "user_code.plugins", (FILE,), {"load", "convert", "reference"}),
    ("onnx", "user_code.operators", (FILE,), {"convert", "optimize", "lower", "pack"}),
    ("keras", "user_code.trust_source", True, {"load", "convert", "reference"}),
    ("torch", "user_code.trust_source", True, {"load", "convert", "reference"}),
    ("onnx", "inputs.dims", {"N": 3}, {"convert", "reference"}),
    ("onnx", "inputs.values", {"factor": 3}, {"convert", "reference"}),
    ("onnx", "reading.from_layers", ("a",), {"load", "reference"}),
    ("keras", "reading.to_layers", ("a",), {"load", "reference"}),
    ("torch", "reading.to_layers", ("a",), {"load", "convert", "reference"}),
    ("onnx", "bundle.form", Form(hashed=True), {"bundle"}),
    ("onnx", "computation.winograd", False, {"lower"}),
    ("onnx", "computation.matrices", True, {"lower"}),
    ("onnx", "computation.precision", "float16", {"lower", "verify"}),
    ("onnx", "computation.float16", "rounded", {"lower"}),
    ("onnx", "computation.products", "exact", {"lower", "verify"}),
    ("keras", "computation.products", "dot", {"lower"}),
    ("torch", "computation.caches", "int8", {"lower", "verify"}),
    ("onnx", "computation.tuned", Path("/nowhere/tuned.json"), {"lower"}),
)  # fmt: skip
"""A format, a field of a recipe with a value, and the stages of the actions that it affects."""
NOWHERE = {
    *("name", "reading.format", "backends", "bundle.encodings", "on_request"),
    *("user_code.project", "user_code.reads", "bundle.quantization"),
}
"""Fields of recipes that name tasks, choose formats and tasks, only concern user code, or only
concern some encodings.
"""
SAMPLES = Path("/nowhere/samples.npz")
QUANTIZED = (
    ("int4", {"layers": {"a": "int8"}}, {"quantize"}),
    ("int8", {"layers": {"a": "float32"}}, {"quantize", "encode", "lower", "pack"}),
    (
        "int4",
        {"calibration": SAMPLES},
        {
            *("quantize", "encode", "samples", "calibrate"),
            *("lower", "generate", "compile", "link", "pack", "bundle"),
        },
    ),
    ("mixed", {"max_error": 0.5}, {"choose"}),
    ("mixed", {"calibration": SAMPLES}, {"samples", "calibrate", "choose"}),
    ("mixed", {"layers": {"a": "int8"}}, {"choose"}),
    ("mixed", {"bias_correction": False}, {"quantize", "encode", "choose"}),
    ("mixed", {"metric": UserFunction(FILE, "f")}, {"choose"}),
    ("int8-static", {"ranges": "minmax"}, {"calibrate"}),
    ("int8-static", {"calibration": UserFunction(FILE, "f")}, {"samples"}),
)
"""An encoding, settings of [quantize], and the stages of the actions that they affect. `int8` with
layers becomes an encoding with a graph of its own.
"""


def test_every_field_of_a_recipe_has_a_row() -> None:
    names = fields_of(Recipe("m", PathSource(FILE))).keys()
    assert names - NOWHERE == {field for _, field, _, _ in REACH}


@pytest.mark.parametrize(("encoding", "settings", "stages"), QUANTIZED)
def test_actions_that_depend_on_how_a_model_is_quantized(
    encoding: str, settings: dict[str, Any], stages: set[str], tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"")
    recipe = Recipe("m", PathSource(tmp_path / "a"), Reading("onnx"))
    usual = Quantization(calibration=SAMPLES) if encoding == "int8-static" else Quantization()
    choice = replace(CHOICE, encoding=encoding)
    before, after = (
        stages_of(with_fields(recipe, {"bundle.quantization": value}), choice)
        for value in (usual, replace(usual, **settings))
    )
    assert changed_stages(before, after) == stages


def test_settings_of_codes_do_not_concern_floats(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")
    recipe = Recipe("m", PathSource(tmp_path / "a"), Reading("onnx"))
    settings = Quantization({"a": "int8"}, SAMPLES, "minmax", bias_correction=False, max_error=0.5)
    changed = with_fields(recipe, {"bundle.quantization": settings})
    assert stages_of(recipe) == stages_of(changed)


@pytest.mark.parametrize(("kind", "field", "value", "stages"), REACH)
def test_actions_that_depend_on_a_field_of_a_recipe(
    kind: str, field: str, value: Any, stages: set[str], tmp_path: Path
) -> None:
    """The actions whose description changes. Later actions run only if their inputs change."""
    (tmp_path / "a").write_bytes(b"")
    recipe = Recipe("m", PathSource(tmp_path / "a"), Reading(kind))
    changed = with_fields(recipe, {field: value})
    before, after = stages_of(recipe, WITH_WASM), stages_of(changed, WITH_WASM)
    assert changed_stages(before, after) == stages


@pytest.mark.parametrize(
    ("choice", "stages"),
    [
        (
            Selection(("webgpu", "js"), "int8"),
            {"lower", "generate", "pack", "bundle", "verify", "report"},
        ),
        (
            Selection(("webgpu", "js"), layers=True),
            {"lower", "generate", "bundle", "verify", "report"},
        ),
        (Selection(("js",)), {"lower", "generate", "bundle", "verify", "report"}),
    ],
)
def test_actions_that_depend_on_the_selection(
    choice: Selection, stages: set[str], model: Path
) -> None:
    recipe = Recipe("m", PathSource(model))
    assert changed_stages(stages_of(recipe), stages_of(recipe, choice)) == stages


def test_encodings_layers_and_trials_are_parameters(model: Path) -> None:
    graph = ModelGraph(Recipe("m", PathSource(model)), Share(PACKAGE.parent.parent, PACKAGE))
    plain, others = (
        Selection(("js",)),
        [
            Selection(("js",), "int8"),
            Selection(("js",), layers=True),
            Selection(("js",), trial=(0, 1)),
        ],
    )
    assert graph.pack(others[0]).params != graph.pack(plain).params
    for other in others:
        assert graph.lower("js", other).params != graph.lower("js", plain).params
    for other in others[:2]:
        assert graph.bundle(other).params != graph.bundle(plain).params
    assert (
        graph.lower("js", Selection(("js",), trial=(1, 0))).params
        != graph.lower("js", others[2]).params
    )


def test_a_bundle_is_verified_by_the_tolerance_of_its_encoding_and_memory(model: Path) -> None:
    tolerances = {"float32": 1.0, "float16": 2.0, "int8": 3.0, "eightbit": 4.0, "precision": 2.5}
    recipe = Recipe(
        "m",
        PathSource(model),
        computation=Computation("float16"),
        verification=Verification(tolerances=tolerances),
    )
    graph = ModelGraph(recipe, Share(PACKAGE.parent.parent, PACKAGE))
    actual = {
        (encoding, action.params["backend"]): action.params["tolerance"]
        for encoding in ("float32", "float16", "int8", "eightbit")
        for action in graph.verify(Selection(("webgl", "js"), encoding), "chromium")
    }
    assert [actual[encoding, "js"] for encoding in ("float32", "float16", "int8", "eightbit")] == [
        1,
        2,
        3,
        4,
    ]
    assert [
        actual[encoding, "webgl"] for encoding in ("float32", "float16", "int8", "eightbit")
    ] == [2.5, 2.5, 3, 4]


def test_each_variant_browser_and_requested_backend_is_verified(
    model: Path,
) -> None:
    graph = ModelGraph(Recipe("m", PathSource(model)), Share(PACKAGE.parent.parent, PACKAGE))
    choice = Selection(("wasm", "js"), layers=True)
    verifications = [*graph.verify(choice, "node"), *graph.verify(choice, "firefox", ("js",))]
    output = [
        tuple(action.params[name] for name in ("backend", "variant", "browser", "layers"))
        for action in verifications
    ]
    assert output == [
        ("wasm", "relaxed", "node", True),
        ("wasm", "simd", "node", True),
        ("js", "", "node", True),
        ("js", "", "firefox", True),
    ]
    assert [action.requirements.tools for action in verifications] == [("node",)] * 3 + [
        ("firefox",)
    ]


def test_a_tuning_candidate_uses_no_tuned_choices(model: Path) -> None:
    graph = ModelGraph(
        Recipe("m", PathSource(model), computation=Computation(tuned=FILE)),
        Share(PACKAGE.parent.parent, PACKAGE),
    )
    assert "tuned.json" in graph.lower("js", Selection(("js",))).inputs
    assert "tuned.json" not in graph.lower("js", Selection(("js",), trial=(0, 0))).inputs


def test_every_part_of_a_fetched_source_is_in_its_key(tmp_path: Path) -> None:
    script = ExportSource(FILE, "save", {"n": 1})
    module = ModuleSource(tmp_path, "makes", "net", {"n": 1})
    (tmp_path / "makes.py").write_text("")
    sources = [
        UrlSource("https://a.example/m.onnx", "0" * 64),
        UrlSource("https://b.example/m.onnx", "0" * 64),
        UrlSource("https://a.example/m.onnx", "1" * 64),
        script,
        replace(script, function="other"),
        replace(script, parameters={"n": 2}),
        replace(script, script=FILE.with_name("b.py")),
        module,
        replace(module, function="other"),
        replace(module, parameters={"n": 2}),
        replace(module, module="other"),
    ]
    formats = {UrlSource: "onnx", ExportSource: "onnx", ModuleSource: "torch"}
    actual = []
    for source in sources:
        graph = ModelGraph(
            Recipe("m", source, Reading(formats[type(source)])),
            Share(PACKAGE.parent.parent, PACKAGE),
        )
        actual.append(described(graph.fetch()))
    assert all(a != b for number, a in enumerate(actual) for b in actual[:number])


def test_user_code_may_only_read_below_its_roots(tmp_path: Path, model: Path) -> None:
    share = Share(PACKAGE.parent.parent, PACKAGE)
    plugin, data = tmp_path / "code" / "p.py", tmp_path / "data"
    code = UserCode((plugin,), project=tmp_path / "app", reads=(data,))
    recipe = Recipe("m", PathSource(model), user_code=code)
    graph = ModelGraph(recipe, share)
    graph.report(Selection(("js",)), ("node",))
    for action in graph.actions():
        runs = action.stage in ("load", "convert", "reference")
        roots = (tmp_path / "app", tmp_path / "code", data)
        assert action.user_reads == (UserReads(roots, (data,)) if runs else UserReads()), (
            action.task
        )
    plain = ModelGraph(with_fields(recipe, {"user_code.plugins": ()}), share)
    plain.report(Selection(("js",)), ("node",))
    assert not any(action.user_reads.roots for action in plain.actions())
    assert isinstance(
        ModelGraph(replace(recipe, source=ModuleSource(tmp_path, "m", "f")), share)
        .fetch()
        .inputs["modules/"],
        Modules,
    )
