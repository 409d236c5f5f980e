"""Imports follow the layers of the package, and only frontends import frameworks."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.structure.modules import MODULES, PACKAGE, STAGES, TESTS, imports, name, package_of

LAYERS = (
    {"errors", "canonical", "npz", "shared_files"},
    {"recipe", "plugins"},
    {"ir"},
    {"random_inputs"},
    {"nest"},
    {"ops"},
    {"frontends", "passes", "quantize"},
    {"lower"},
    {"plan"},
    {"codegen", "weights"},
    {"program_builder"},
    {"backends"},
    {"build"},
    {"cli", "commands"},
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
TOGETHER = ({"errors", "canonical"}, {"cli", "commands"})
FRAMEWORKS = {
    "ai_edge_litert",
    "cv2",
    "keras",
    "tensorflow",
    "torch",
    "onnx",
    "onnxruntime",
    "tf_keras",
}


def test_imports_point_one_way() -> None:
    packages = {path: package_of(path) for path in MODULES if path.name != "__init__.py"}
    assert not set(packages.values()) - LEVEL.keys(), "packages that are missing in LAYERS"
    upward = []
    for path, here in packages.items():
        for module in imports(path):
            package, _, rest = module.partition(".")
            there = rest.partition(".")[0]
            same = here == there or {here, there} in TOGETHER
            if package == "webkiln" and rest and not same and LEVEL[there] >= LEVEL[here]:
                upward.append(f"{name(path)} imports {module}, which is not below it")
    assert not upward


def test_formats_do_not_import_each_other() -> None:
    """Nor does code that formats share import a format, except for the table of formats."""
    frontends = PACKAGE / "frontends"
    formats = {path.parent.name for path in frontends.glob("*/format.py")}
    assert len(formats) > 5
    crossing = [
        f"{name(path)} imports {module}"
        for path in MODULES
        if path.is_relative_to(frontends) and path != frontends / "core" / "formats.py"
        for module in imported(path)
        if module.startswith("webkiln.frontends.")
        and (there := module.split(".")[2]) in formats
        and there != path.relative_to(frontends).parts[0]
    ]
    assert not crossing


COMPOSED_OF = {"axis_order", "budget", "builder", "control_flow", "operator"}
"""What the modules that compose operators build graphs with; it knows operators by name only."""
COMPOSING = {"functional", "fourier", "overlap", "pieces", "transposed_conv"}


def test_compositions_know_operators_by_name_only() -> None:
    """An edit of how an operator is lowered then reruns no conversion for their sake."""
    other = [
        f"{name(path)} imports {module}"
        for path in (PACKAGE / "ops" / "functional").glob("*.py")
        for module in imports(path)
        if module.startswith("webkiln.ops.") and module.split(".")[2] not in COMPOSED_OF | COMPOSING
    ]
    assert not other


def test_no_modules_of_frontends_import_each_other_in_a_circle() -> None:
    """Not for type checkers either."""
    modules = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
        for path in MODULES
        if package_of(path) == "frontends"
    }
    try:
        list(
            TopologicalSorter(
                {module: set(imported(path)) & modules.keys() for module, path in modules.items()}
            ).static_order()
        )
    except CycleError as error:
        pytest.fail(" <- ".join(error.args[1]))


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports: those that it names, and those that it takes out of
    packages.
    """
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
    yield from imports(path)


def test_test_modules_are_imported_by_none() -> None:
    """What several of them need is in a module that pytest does not collect."""
    assert len(TESTS) > 100
    parts = {
        path: {part for module in imported(path) for part in module.split(".")} for path in TESTS
    }
    modules = {path.stem for path in TESTS if path.name.startswith("test_")}
    assert {
        name(path): sorted(found) for path, parts in parts.items() if (found := parts & modules)
    } == {}


def test_package_files_are_empty() -> None:
    packages = [path for path in MODULES if path.name == "__init__.py"]
    assert packages
    assert not [name(path) for path in packages if path.read_bytes()]


def test_frameworks_are_imported_in_frontends_only() -> None:
    others = [path for path in MODULES if package_of(path) != "frontends"]
    found = {
        name(path): FRAMEWORKS & {module.partition(".")[0] for module in imports(path)}
        for path in others + STAGES
    }
    assert not {path: frameworks for path, frameworks in found.items() if frameworks}


@pytest.mark.parametrize("path", STAGES, ids=name)
def test_stages_are_programs_with_their_data_named(path: Path) -> None:
    tree = ast.parse(path.read_text())
    names = [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    ]
    functions = {
        node.name: [argument.arg for argument in node.args.args]
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
    }
    assert "DATA" in names
    assert functions["run"] == ["inputs", "outputs", "params"]
    assert any(isinstance(node, ast.If) for node in tree.body), (
        "no __main__: the stage cannot be run by hand"
    )


def test_what_imports_doit() -> None:
    assert [
        name(path)
        for path in MODULES
        if "doit" in {module.partition(".")[0] for module in imports(path)}
    ] == [
        "pipeline/webkiln/build/doit_commands.py",
        "pipeline/webkiln/build/doit_run.py",
        "pipeline/webkiln/build/doit_task.py",
        "pipeline/webkiln/build/reporter.py",
        "pipeline/webkiln/build/tasks.py",
    ]


def test_a_build_with_nothing_to_do_imports_nothing_heavy() -> None:
    names = ["webkiln.build.tasks", "webkiln.build.doit_run", "webkiln.build.database"]
    program = f"import sys; import {', '.join(names)}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    heavy = {"numpy", "rich", "jinja2", "sympy", "h5py", "platformdirs"}
    assert not heavy & {module.partition(".")[0] for module in loaded}
    assert not {"webkiln.build.engine", "webkiln.build.graph", "webkiln.recipe"} & {*loaded}
