"""The command line of doit over the DAG."""

import os
import shutil
from pathlib import Path

import pytest

from tests.build.tree import Tree, executed, prebuilt, warm
from tests.commands.blocked import without
from webkiln import canonical
from webkiln.build.backends import present
from webkiln.build.graph import ModelGraph
from webkiln.build.share import share
from webkiln.build.variables import read_variables
from webkiln.recipe.read import parse_recipe
from webkiln.recipe.values import ENCODINGS


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("model=tox", "unknown model 'tox'; valid: toy; did you mean toy?"),
        ("backend=wasn", "unknown backend 'wasn'; valid: webgpu, wasm, webgl, js"),
        (
            "encoding=float8",
            f"unknown encoding 'float8'; valid: {', '.join(ENCODINGS)}",
        ),
        ("browser=lynx", "unknown browser 'lynx'; valid: chromium, firefox, webkit, node"),
        (
            "modle=toy",
            (
                "unknown variable 'modle'; valid: model, backend, encoding, browser, layers,"
                " weights, force"
            ),
        ),
        ("backend=", "no backend given; valid: webgpu, wasm, webgl, js"),
    ],
)
def test_unknown_variables_and_values_list_the_valid_ones(
    unbuilt: Tree, argument: str, message: str
) -> None:
    output = unbuilt.doit("build", argument, status=2)
    assert output.startswith(f"error: {message}")
    assert output.count("\n") == 1


def test_list_shows_groups_and_all_shows_every_task(unbuilt: Tree) -> None:
    assert {"build", "verify", "report"} <= {
        line.split()[0] for line in unbuilt.doit("list").splitlines()
    }
    names = {line.split()[0] for line in unbuilt.doit("list", "--all").splitlines()}
    assert {
        "optimize:toy:drop_noop",
        "compile:toy:wasm:simd",
        "verify:toy:wasm:chromium",
        "bundle:toy",
    } <= names


def test_recipes_on_request_have_tasks_only_if_named(toy: Tree) -> None:
    folder = toy.root / "models"
    (folder / "rare").mkdir()
    (folder / "rare" / "recipe.toml").write_text(
        'source = "../toy/model.json"\non_request = true\n'
    )
    assert "rare" not in toy.doit("list", "--all")
    assert "fetch:rare" in toy.doit("list", "--all", "model=rare")


def test_weights_are_passed_to_export_scripts_that_accept_them() -> None:
    table = {"script": "make.py", "function": "make"}
    takes = parse_recipe(
        "takes", {"source": table, "parameters": {"weights": "pretrained"}}, Path("/m/recipe.toml")
    )
    other = parse_recipe("other", {"source": table}, Path("/m/recipe.toml"))
    models = read_variables({"weights": "random"}, {"takes": takes, "other": other}).models
    assert ModelGraph(models["takes"], share()).fetch().params["parameters"] == {
        "weights": "random"
    }
    assert models["other"] == other


def test_a_failed_verification_is_repeated_with_layers(toy: Tree) -> None:
    toy.edit(
        "stages/verify.py", "DATA = ()", "from webkiln.errors import VerificationError\n\nDATA = ()"
    )
    toy.edit(
        "stages/verify.py",
        "    canonical.write(",
        "    raise VerificationError(f'it is wrong, layers {params[\"layers\"]}')\n   "
        " canonical.write(",
    )
    printed = toy.doit("verify:toy:js:chromium", status=2)
    assert printed.endswith("it is wrong, layers True\n")
    toy.edit("stages/verify.py", "    raise", "    if not params['layers']: raise")
    assert (
        "it is wrong, layers False\n  with its layers kept, which prevents some fusion, the bundle"
        " verifies" in toy.doit("verify:toy:js:chromium", status=2)
    )


def test_info_forget_and_clean(toy: Tree) -> None:
    toy.build()
    text = toy.doit("info", "lower:toy:wasm")
    assert "up-to-date" in text
    assert "inputs     : \n - graph.json: graph.json of optimize:toy:sort_nothing\n" in text
    assert "outputs    : \n - program.json\n" in text
    assert f"source: {toy.root / 'models' / 'toy' / 'model.json'}" in toy.doit("info", "fetch:toy")
    assert " - dist/toy/manifest.json\n" in toy.doit("info", "bundle:toy")
    toy.doit("forget", "--all")
    assert not toy.build()
    toy.doit("clean")
    assert not toy.bundle.exists()
    assert not toy.build()
    assert toy.bundle.exists()


def test_graph_prints_dot(unbuilt: Tree) -> None:
    assert '"load:toy" -> "convert:toy";' in unbuilt.doit("graph")
    assert "bundle" not in unbuilt.doit("graph", "lower:toy:js")


def test_cache_commands(toy: Tree) -> None:
    warm(toy)
    assert " results, " in toy.webkiln("cache", "stat")
    blob = next((toy.cache / "blobs").glob("??/*"))
    blob.chmod(0o644)
    blob.write_bytes(b"damaged")
    assert f"blob {blob.name}" in toy.webkiln("cache", "verify", status=1)
    assert "'stat', 'gc', 'verify', 'push', 'pull'" in toy.webkiln("cache", "empty", status=2)


def test_gc_keeps_results_in_manifests(toy: Tree) -> None:
    prebuilt(toy)
    toy.edit("models/toy/model.json", "0.5", "0.75")
    toy.build()
    for path in toy.cache.rglob("*"):
        if path.is_file():
            os.utime(path, (0, 0))
    assert "and 0 files" not in toy.webkiln("cache", "gc")
    assert "and 0 files" in toy.webkiln("cache", "gc")
    toy.bundle.rename(toy.root / "elsewhere")
    assert not toy.build()
    toy.edit("models/toy/model.json", "0.75", "0.5")
    assert toy.build()["load:toy"] == 1


def test_the_report_is_removed_when_the_bundle_changes(toy: Tree) -> None:
    output = toy.doit("report", "model=toy")
    assert "toy wasm: error 0" in output
    assert (toy.bundle / "report.html").exists()
    toy.build()
    assert (toy.bundle / "report.html").exists()
    toy.edit("models/toy/model.json", "0.5", "0.75")
    toy.build()
    assert not (toy.bundle / "report.html").exists()


def test_report_keeps_a_backend_that_a_build_added(toy: Tree) -> None:
    recipe = toy.root / "models" / "toy" / "recipe.toml"
    recipe.write_text(f'backends = ["js"]\n{recipe.read_text()}')
    toy.doit("build", "model=toy", "backend=wasm,js")
    toy.doit("report", "model=toy")
    assert present(toy.bundle) == ["wasm", "js"]
    output = toy.doit("build", "model=toy")
    assert "dist/toy: wasm is no longer in it" in output
    assert present(toy.bundle) == ["js"]


def test_user_files_in_a_bundle_folder_remain(toy: Tree) -> None:
    prebuilt(toy)
    (toy.bundle / "index.html").write_text("mine")
    (toy.bundle / "pages").mkdir()
    (toy.bundle / "pages" / "about.html").write_text("mine too")
    (toy.bundle / "js.js").write_text("changed")
    toy.edit("models/toy/model.json", "0.5", "0.75")
    before = len(toy.log())
    for command in ("build", "verify"):
        assert "js.js would be overwritten (changed since a build wrote it)" in toy.doit(
            command, "model=toy", status=2
        )
    assert len(toy.log()) == before, "the error comes before anything is built"
    assert (toy.bundle / "js.js").read_text() == "changed"
    toy.build("force=yes")
    assert (toy.bundle / "index.html").read_text() == "mine"
    assert (toy.bundle / "pages" / "about.html").read_text() == "mine too"
    assert (toy.bundle / "js.js").read_text() != "changed"
    assert len(list(toy.bundle.glob("*.bin"))) == 1
    toy.doit("clean")
    assert {path.name for path in toy.bundle.iterdir()} == {"index.html", "pages"}


def test_an_unwritable_destination_is_one_error(toy: Tree) -> None:
    (toy.root / "dist").write_text("a file where a folder should be")
    output = toy.doit("build", "model=toy", status=2)
    assert output.count("error: ") == 1
    assert "cannot be written" in output
    assert not toy.log(), "the error comes before anything is built"
    assert "Traceback" not in output


def test_the_last_lines_of_a_build_state_the_outcome_of_each_bundle(toy: Tree) -> None:
    assert warm(toy).doit("build", "model=toy").endswith("dist/toy: written\n")
    assert toy.doit("build", "model=toy") == "dist/toy: up to date\n"


def test_a_build_warns_about_scalar_kernels(toy: Tree) -> None:
    launch = {"kernel": "k", "layer": "conv1", "flops": 8, "why": "x", "scalar": True}
    toy.edit("stages/bundle.py", '"launches": {}', f'"launches": {{"wasm": [{launch}]}}')
    output = toy.doit("build", "model=toy")
    assert output.splitlines()[-3:] == [
        "warning: toy, wasm: 100 % of the operations are not vectorised",
        "  100 % in conv1: x",
        "dist/toy: written",
    ]
    assert toy.doit("build", "model=toy") == "dist/toy: up to date\n"


def test_files_that_no_build_wrote_are_reported_before_the_build(toy: Tree) -> None:
    toy.bundle.mkdir(parents=True)
    (toy.bundle / "index.js").write_text("mine")
    output = toy.doit("build", "model=toy", status=2)
    assert "dist/toy: index.js would be overwritten (no build wrote it)" in output
    assert not toy.log()
    warm(toy).build("force=yes")


def test_the_manifest_replaces_lost_records_of_a_publication(toy: Tree) -> None:
    prebuilt(toy)
    shutil.rmtree(toy.state)
    shutil.rmtree(toy.cache)
    toy.edit("models/toy/model.json", "0.5", "0.75")
    toy.build()
    assert len(list(toy.bundle.glob("*.bin"))) == 1
    toy.doit("clean")
    assert not list(toy.bundle.iterdir())


def test_an_interrupted_publication_is_completed(toy: Tree) -> None:
    prebuilt(toy)
    (record,) = (path for path in (toy.cache / "published").iterdir() if not path.suffix)
    (toy.bundle / ".webkiln-0123456789abcdef-0").write_text("half a copy")
    data = canonical.read(record)
    canonical.write(
        record, data | {"temporary": [".webkiln-0123456789abcdef-0", ".webkiln-0123456789abcdef"]}
    )
    before = toy.bytes()
    assert not toy.build()
    assert toy.bytes() == {
        name: data for name, data in before.items() if not name.startswith(".webkiln-")
    }


def test_without_compilers_wasm_is_omitted_unless_it_was_built_elsewhere(
    toy: Tree, tmp_path: Path
) -> None:
    empty = tmp_path / "bin"
    empty.mkdir()
    (empty / "node").symlink_to(str(shutil.which("node")))
    hidden = without(tmp_path, "ziglang", pipeline=toy.root / "pipeline")
    bare = hidden | {"PATH": str(empty), "EMSDK": ""}
    for command in (("build",), ("report", "browser=node")):
        output = toy.doit(*command, "model=toy", **bare)
        assert (
            "warning: dist/toy is built without wasm; the wasm backend needs a compiler" in output
        )
        assert "none was found (emcc: not on PATH" in output
        assert "wasm.js" not in toy.bytes()
    toy.build()
    assert "wasm.js" in toy.bytes()
    toy.wipe()
    assert "without wasm" not in toy.doit("build", "model=toy", **bare)
    assert "wasm.js" in toy.bytes()


def test_a_forced_compiler_has_separate_results(toy: Tree, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("clang-19", "wasm-ld-19"):
        (programs / name).write_text("#!/bin/sh\necho clang version 19.9.9, LLD 19.9.9\n")
        (programs / name).chmod(0o755)
    variables = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "EMSDK": "",
        "WEBKILN_COMPILER": "clang",
    }
    toy.build()
    text = toy.doit("build", "model=toy", **variables)
    assert "warning: emcc is not used here, " in text
    assert "clang is clang version 19.9.9, LLD 19.9.9 here, " in text
    assert not toy.build(**variables)
    executions = executed(toy.log())
    assert (executions["compile:toy:wasm:simd"], executions["link:toy:wasm:simd"]) == (2, 2)
    assert executions["generate:toy:wasm"] == 1
    assert not toy.build(), "the results of the other compiler are cached"
    unknown = toy.doit("build", "model=toy", status=2, WEBKILN_COMPILER="gcc")
    assert "WEBKILN_COMPILER is 'gcc', expected emcc, clang, zig" in unknown
    assert "Traceback" not in unknown


def test_a_custom_dodo_needs_two_lines(toy: Tree, tmp_path: Path) -> None:
    other_tree = Tree(tmp_path / "own", warm(toy).cache, "mine")
    shutil.copytree(toy.root / "models" / "toy", other_tree.root / "recipes" / "mine")
    (other_tree.root / "dodo.py").write_text(
        "from webkiln.build.tasks import DOIT_CONFIG, tasks\ndef task_models(): return"
        " tasks('recipes')\n",
    )
    other_tree.doit("build", PYTHONPATH=str(toy.root / "pipeline"))
    assert (other_tree.bundle / "manifest.json").exists()
