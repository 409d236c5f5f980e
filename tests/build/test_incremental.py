"""The actions that run again after each kind of change, by counting executed actions."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.build.models import Model
from tests.build.tree import Tree, checkout, executed, prebuilt, warm
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import share
from webkiln.build.state import TreeState
from webkiln.build.store import LocalStore
from webkiln.recipe.recipe import Computation, Recipe
from webkiln.recipe.sources import PathSource


def test_a_second_run_executes_nothing(tree: Tree) -> None:
    assert tree.build().total() > 0
    assert not tree.build()


def test_touching_every_file_executes_nothing(tree: Tree) -> None:
    prebuilt(tree)
    later = time.time() + 60
    for path in tree.root.rglob("*"):
        if path.is_file() and tree.state not in path.parents:
            os.utime(path, (later, later))
    assert not tree.build()


def test_an_edited_template_recompiles_only_its_kernel(tree: Tree, model: Model) -> None:
    tree.build("encoding=float32")
    before = len(tree.log())
    path, old = model.template
    tree.edit(path, old, f"/* edited */ {old}")
    stages = {task.split(":")[0] for task in tree.build("encoding=float32")}
    assert {"generate", "compile"} <= stages <= {"generate", "compile", "link", "bundle"}, (
        "a comment changes no object"
    )
    manifest = TreeState(tree.state).manifest(f"generate:{tree.model}:wasm")
    assert manifest is not None
    outputs = manifest.result.outputs
    sources = [blob.sha256 for name, blob in outputs.items() if name.endswith(".c")]
    users = [
        sha256
        for sha256 in sources
        if b"edited" in LocalStore(tree.cache / "blobs").path(sha256).read_bytes()
    ]
    assert 0 < len(users) < len(sources)
    compiled = [
        line["objects"]
        for line in tree.log()[before:]
        if line["event"] == "execute" and line["stage"] == "compile"
    ]
    assert compiled == [sorted(f"{sha256}.c" for sha256 in users)] * 2, (
        "the kernels that use it, once per variant"
    )


def test_an_edited_pass_stops_at_the_first_identical_output(tree: Tree, model: Model) -> None:
    prebuilt(tree)
    path = tree.root / "pipeline" / "webkiln" / "passes" / f"{model.quiet}.py"
    path.write_text(path.read_text() + "\nEDITED = True\n")
    assert tree.build() == {f"optimize:{tree.model}:{model.quiet}": 1}


def test_an_edited_target_lowers_for_that_backend_again(tree: Tree) -> None:
    warm(tree).build("encoding=float32")
    tree.edit(
        tree.root / "pipeline" / "webkiln" / "backends" / "wasm" / "backend.py",
        "packs=True",
        "packs=True, alignment=128",
    )
    assert {task for task in tree.build("encoding=float32") if task.startswith("lower:")} == {
        f"lower:{tree.model}:wasm"
    }


def test_retraining_recompiles_nothing(tree: Tree, model: Model) -> None:
    report = ("report", f"model={tree.model}", "backend=js", "browser=node", "encoding=float32")
    tree.doit(*report)
    tree.build()
    before = tree.bytes()
    count = len(tree.log())
    model.retrain(tree)
    assert {task.split(":")[0] for task in tree.build()} == {
        "fetch",
        "load",
        "convert",
        "pack",
        "bundle",
    }
    assert tree.bytes() != before
    tree.doit(*report)
    stages = {
        str(line["task"]).split(":")[0] for line in tree.log()[count:] if line["event"] == "execute"
    }
    assert stages == {"fetch", "load", "convert", "reference", "pack", "bundle", "verify", "report"}


def test_a_wiped_tree_is_restored_without_frameworks_and_compilers(
    tree: Tree, tmp_path: Path
) -> None:
    prebuilt(tree)
    before = tree.bytes()
    tree.wipe()
    blocked = tmp_path / "blocked"
    for name in ("keras", "tensorflow", "h5py"):
        (blocked / name).mkdir(parents=True)
        (blocked / name / "__init__.py").write_text("raise ImportError('not installed here')\n")
    empty = tmp_path / "bin"
    empty.mkdir()
    python_path = os.pathsep.join((str(blocked), str(tree.root / "pipeline")))
    counts = tree.build(PATH=str(empty), PYTHONPATH=python_path)
    assert not counts
    assert tree.bytes() == before


@pytest.mark.sample("toy")
def test_two_checkouts_produce_identical_bytes(model: Model, tmp_path: Path) -> None:
    runs = []
    for folder, seed in (("one", "1"), ("somewhere/else", "2")):
        tree = checkout(tmp_path / folder, tmp_path / f"cache{seed}", toy=model.toy)
        tree.build(PYTHONHASHSEED=seed)
        runs.append(tree.bytes())
    assert runs[0] == runs[1]


def test_two_checkouts_share_a_cache(model: Model, tmp_path: Path) -> None:
    first, second = (
        checkout(tmp_path / name, tmp_path / "cache", toy=model.toy) for name in ("one", "two")
    )
    first.make()
    assert not second.build()
    assert second.bytes() == first.bytes()


def test_backends_and_encodings_are_built_separately(tree: Tree) -> None:
    prebuilt(tree)
    counts = tree.build("encoding=eightbit")
    assert {task.split(":")[0] for task in counts} >= {"lower", "pack", "bundle"}
    assert not {"fetch", "load", "convert", "optimize"} & {task.split(":")[0] for task in counts}
    assert (tree.root / "dist" / f"{tree.model}-eightbit" / "manifest.json").exists()


def test_the_recipe_determines_the_backends_of_a_bundle(tree: Tree) -> None:
    only = ("backend=js", "encoding=float32", "browser=node")
    tree.doit("report", f"model={tree.model}", *only)
    assert not list(tree.bundle.glob("*.wasm")), "no earlier bundle had wasm"
    tree.build("encoding=float32")
    before = tree.bytes()
    assert "wasm.js" in before
    tree.doit("report", f"model={tree.model}", *only)
    after = tree.bytes()
    assert {name: after[name] for name in before} == before
    assert not tree.build(*only)
    assert {name: tree.bytes()[name] for name in before} == before


def test_tuned_choices_are_an_input_of_lowering_alone(tree: Tree, model: Model) -> None:
    folder = tree.root / "models" / tree.model
    recipe, tuned = folder / "recipe.toml", folder / "tuned.json"
    warm(tree).build("encoding=float32")
    tuned.write_text('{"schema": "webkiln.tuned/1", "backends": {}}')
    recipe.write_text('tuned = "tuned.json"\n' + recipe.read_text())
    lowered = dict.fromkeys(tree.build("encoding=float32"), 1)
    assert lowered
    assert {task.split(":")[0] for task in lowered} == {"lower"}, (
        "it chooses nothing, so that nothing follows"
    )
    assert not tree.build("encoding=float32")
    tuned.write_text('{"schema": "webkiln.tuned/1", "backends": {"wasm": {"kernels": {}}}}')
    assert tree.build("encoding=float32") == lowered


def test_tuning_builds_do_not_use_tuned_choices(tmp_path: Path) -> None:
    """A measurement does not depend on earlier ones."""
    plain = Recipe("m", PathSource(tmp_path / "m.keras"), backends=("wasm",))
    tuned = replace(plain, computation=Computation(tuned=tmp_path / "tuned.json"))
    trial, usual = Selection(("wasm",), trial=(1, 2)), Selection(("wasm",))
    for recipe in (plain, tuned):
        graph = ModelGraph(recipe, share())
        action = graph.lower("wasm", trial)
        assert (action.params["trial"], "tuned.json" in action.inputs) == ([1, 2], False)
        assert ("tuned.json" in graph.lower("wasm", usual).inputs) == (
            recipe.computation.tuned is not None
        )
        assert action.task == "lower:m:wasm:trial1.2"


@pytest.mark.long
def test_doit_tune_writes_next_to_the_recipe(tmp_path: Path) -> None:
    tree = checkout(tmp_path / "tree", tmp_path / "cache", toy=False)
    command = ("tune", "model=digits", "browser=node", "encoding=float32")
    assert "choices change" in tree.doit(*command)
    assert executed(tree.log())["tune:digits:wasm:node"] == 1
    tuned_bytes, log_length = (
        (tree.root / "models" / "digits" / "tuned.json").read_bytes(),
        len(tree.log()),
    )
    tree.doit(*command)
    assert not executed(tree.log()[log_length:]), "nothing is measured twice"
    assert (tree.root / "models" / "digits" / "tuned.json").read_bytes() == tuned_bytes
    tree.doit(*command, "force=yes")
    assert executed(tree.log()[log_length:]) == {"tune:digits:wasm:node": 1}
