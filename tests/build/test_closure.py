"""The edits of webkiln's own code that change keys."""

import ast
import sys
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.backends.harness import TEMPLATES, node_job
from tests.build.tree import REPOSITORY, Tree, checkout, executed, prebuilt
from tests.programs import program, write_code
from webkiln.backends.table import REGISTRY
from webkiln.build import closure
from webkiln.build.action import Action
from webkiln.build.closure import Closures
from webkiln.build.derived import Derived
from webkiln.build.digests import FileDigests
from webkiln.build.file_stamps import TICK_SECONDS
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.share import Share, share
from webkiln.build.source_imports import imports_in, modules_in, stripped
from webkiln.errors import RecipeError
from webkiln.ops.table import find
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import PathSource

OPENED: set[str] = set()
"""Files of kernels/ and of runtime/engines/ that were opened."""

SOURCES = sorted([*REPOSITORY.glob("pipeline/webkiln/**/*.py"), *REPOSITORY.glob("stages/*.py")])
PARTS = 6


@pytest.mark.parametrize("source", [
    "x = 1  # one\n\n\n# two\n    # three\ny = 2\n",
    "x = '# no comment'  # but this\n",
    'x = """\n# no comment\n\n   \n"""  # but this\n',
    "x = r'\\'#'  # raw\n",
    "x = f\"{a['#']}\"  # in a replacement\n",
    "x = (  # a parenthesis\n    1,  \n\n    2,\n)\n",
    "if x:\n    pass\n# at the end",
    "",
])  # fmt: skip
def test_stripped_source_has_the_same_ast(source: str) -> None:
    result, _ = stripped(source)
    assert ast.dump(ast.parse(result)) == ast.dump(ast.parse(source))
    assert result.count("#") == source.count("#") - sum(
        term in source
        for term in (
            "# one",
            "# two",
            "# three",
            "# but this",
            "# raw",
            "# in a",
            "# a par",
            "# at the",
        )
    )


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.sample("0")
def test_stripped_webkiln_has_the_same_ast(part: int) -> None:
    assert len(SOURCES) > 500
    for path in SOURCES[part::PARTS]:
        source = path.read_text("utf-8")
        result, _ = stripped(source)
        assert ast.dump(ast.parse(result)) == ast.dump(ast.parse(source)), path


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.sample("0")
def test_imports_are_found_without_parsing(part: int) -> None:
    for path in SOURCES[part::PARTS]:
        source = path.read_text("utf-8")
        assert {*imports_in(stripped(source)[1], path)} == {*modules_in(ast.parse(source), path)}, (
            path
        )


@pytest.mark.parametrize("source", [
    "import a, b.c as d\nfrom e import (\n    f,  # one\n    g as h,\n)\n",
    "if TYPE_CHECKING:\n    import a\n\n    from b import c\nelse:\n    import d\nimport e\n",
    "def f():\n    if TYPE_CHECKING:\n        import a\n    import b\n",
    '"""\nimport a\n"""\nx = \'\'\'\nfrom b import c\'\'\'\nimport d\n',
    "def f():\n    raise ValueError(\n    ) from error\n\n\nimportant = 1\n",
])  # fmt: skip
def test_kinds_of_imports(source: str) -> None:
    assert {*imports_in(stripped(source)[1], Path("x"))} == {
        *modules_in(ast.parse(source), Path("x"))
    }


def test_a_relative_import_is_an_error() -> None:
    with pytest.raises(RecipeError, match="relative import"):
        [*imports_in("from .a import b", Path("x"))]


def test_a_comment_reruns_nothing(toy: Tree) -> None:
    prebuilt(toy)
    for name in (
        "pipeline/webkiln/errors.py",
        "stages/generate.py",
        "pipeline/webkiln/passes/drop_noop.py",
    ):
        path = toy.root / name
        path.write_text("# A comment.\n\n" + path.read_text() + "\n# Another one.\n")
    assert not toy.build()


def actions() -> list[Action]:
    graph = ModelGraph(
        Recipe(
            "model",
            PathSource(REPOSITORY / "models" / "digits" / "digits.keras"),
            backends=tuple(REGISTRY),
        ),
        share(),
    )
    graph.bundle(Selection(tuple(REGISTRY)))
    return list(graph.actions())


def closures(state: Path, shared: Share | None = None) -> Closures:
    return Closures(
        shared or share(), FileDigests(state / "digests.json"), Derived(state / "derived.json")
    )


STAGE = """from webkiln.a import one
from webkiln.b.c import two

DATA = ("kernels/*.txt",)
"""


@pytest.fixture
def small(tmp_path: Path) -> Share:
    """A package with four files, one stage, a template, and a file that is not imported."""
    state = tmp_path / "shared"
    for name, text in {
        "webkiln/__init__.py": "",
        "webkiln/a.py": "one = 1\n",
        "webkiln/b/__init__.py": "",
        "webkiln/b/c.py": "two = 2\n",
        "webkiln/unused.py": "",
        "stages/stage.py": STAGE,
        "kernels/template.txt": "text",
        "kernels/unused.c": "text",
    }.items():
        (state / name).parent.mkdir(parents=True, exist_ok=True)
        (state / name).write_text(text)
    time.sleep(2 * TICK_SECONDS)
    return Share(state, state / "webkiln")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a module of the same size": lambda root: (root / "webkiln/b/c.py").write_text("two = 3\n"),
    "the stage": lambda root: (root / "stages/stage.py").write_text(STAGE + "# more\n"),
    "a module that is gone": lambda root: (root / "webkiln/a.py").unlink(),
    "a module that is now found as a package": lambda root: (root / "webkiln/a").mkdir(),
    "a submodule where a name was": lambda root: (root / "webkiln/b/c").mkdir(),
    "a template": lambda root: (root / "kernels/template.txt").write_text("TEXT"),
    "one more template": lambda root: (root / "kernels/more.txt").write_text(""),
    "a template that is gone": lambda root: (root / "kernels/template.txt").unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_a_closure_is_noticed(small: Share, tmp_path: Path, change: str) -> None:
    reader, roots = closures(tmp_path, small), (small.stage("stage"),)
    assert {*reader.of(roots)[0]} == {
        *(
            "webkiln/__init__.py",
            "webkiln/a.py",
            "webkiln/b/__init__.py",
            "webkiln/b/c.py",
            "stages/stage.py",
            "kernels/template.txt",
        )
    }
    (small.root / "webkiln" / "unused.py").write_text("three = 3\n")
    (small.root / "kernels" / "unused.c").write_text("more")
    assert reader.is_unchanged(roots)
    CHANGES[change](small.root)
    assert not reader.is_unchanged(roots)


def test_the_stamp_of_a_fresh_file_proves_nothing(
    small: Share, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = small.root / "webkiln" / "a.py"
    source.write_text("one = 2\n")
    read_at = source.stat().st_ctime + TICK_SECONDS / 2
    monkeypatch.setattr(closure, "time", SimpleNamespace(time=lambda: read_at))
    reader = closures(tmp_path, small)
    reader.of((small.stage("stage"),))
    assert not reader.is_unchanged((small.stage("stage"),))


@pytest.fixture(scope="module")
def files_in_keys(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Collection[str]]:
    """webkiln's own files in the key of each task."""
    reader = closures(tmp_path_factory.mktemp("reading"))
    return {
        action.task.replace(":model", ""): reader.of(
            (share().stage(action.stage), *action.requirements.code)
        )[0]
        for action in actions()
    }


@pytest.mark.parametrize(
    ("name", "stages"),
    {
        "webkiln/codegen/wgsl.py": {"generate:webgpu"},
        "webkiln/codegen/glsl.py": {"generate:webgl"},
        "webkiln/codegen/c.py": {"generate:wasm"},
        "kernels/nest.wgsl.jinja": {"generate:webgpu"},
        "kernels/packed_dot_product.wgsl.jinja": {"generate:webgpu"},
        "runtime/engines/webgl.js": {"generate:webgl"},
        "kernels/nest.c.jinja": {"generate:wasm"},
        "webkiln/codegen/js.py": {"generate:js", "generate:webgl", "generate:webgpu"},
        "kernels/profile.js.jinja": {"bundle"},
        "webkiln/backends/toolchain.py": {
            "compile:wasm:simd",
            "compile:wasm:relaxed",
            "link:wasm:simd",
            "link:wasm:relaxed",
        },
    }.items(),
)
def test_an_edited_printer_or_template_changes_only_dependent_keys(
    name: str, stages: set[str], files_in_keys: Mapping[str, Collection[str]]
) -> None:
    assert {task for task, files in files_in_keys.items() if name in files} == stages


@pytest.mark.parametrize("backend", REGISTRY)
def test_the_templates_that_a_writer_opens_are_in_its_key(backend: str, tmp_path: Path) -> None:
    (action,) = (action for action in actions() if action.task == f"generate:model:{backend}")
    declared = closures(tmp_path).of((share().stage("generate"), *action.requirements.code))[0]
    for op in (
        "Conv",
        "MatMul",
        "ReduceSum",
        "Softmax",
        "Sort",
        "Sample",
        "Erf",
        "ScatterND",
        "Cholesky",
    ):
        for number, case in enumerate(list(find(op).cases())[:2]):
            job = node_job(op, case, trained=False)
            OPENED.clear()
            write_code(
                program(job.graph, REGISTRY[backend], "float32"),
                TEMPLATES,
                tmp_path / f"{op}{number}",
            )
            assert declared.keys() >= OPENED, OPENED - declared.keys()
    assert OPENED


def test_a_renamed_folder_reruns_only_the_bundle(tree: Tree) -> None:
    prebuilt(tree)
    before = len(tree.log())
    (tree.root / "models" / tree.model).rename(tree.root / "models" / "another")
    tree.doit("build", "model=another")
    assert {task.split(":")[0] for task in executed(tree.log()[before:])} == {"bundle"}
    manifest = (tree.root / "dist" / "another" / "manifest.json").read_text()
    assert '"another"' in manifest


@pytest.mark.long
def test_an_edited_printer_regenerates_only_its_backend(tmp_path: Path) -> None:
    tree = checkout(tmp_path / "tree", tmp_path / "cache", toy=False)
    tree.build("backend=js,webgl,webgpu", "encoding=float32")
    tree.edit("pipeline/webkiln/backends/webgl/printer.py", "\nDATA = ", "\nEDITED = True\nDATA = ")
    assert tree.build("backend=js,webgl,webgpu", "encoding=float32") == {"generate:digits:webgl": 1}


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if (
        event == "open"
        and isinstance(arguments[0], str | Path)
        and Path(arguments[0]).parent in (TEMPLATES.kernels, TEMPLATES.engines)
    ):
        OPENED.add(Path(arguments[0]).relative_to(REPOSITORY).as_posix())


sys.addaudithook(_note)
