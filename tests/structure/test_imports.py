"""Imports point one way, and frameworks stay where they belong."""

import ast
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from webkiln.build.closure import Closures
from webkiln.build.derived import Derived
from webkiln.build.digests import FileDigests
from webkiln.build.share import share

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "pipeline" / "webkiln"

LAYERS = (
    {"errors", "canonical", "npz"},
    {"recipe", "plugins"},
    {"ir"},
    {"random_inputs"},
    {"nest"},
    {"ops"},
    {"frontends", "passes"},
    {"lower"},
    {"plan"},
    {"codegen", "weights"},
    {"program_builder"},
    {"program"},
    {"backends"},
    {"build"},
    {"cli", "commands"},
)
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
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
FRAMEWORK_STAGES = {"fetch", "load", "reference"}
"""Those whose programs import frameworks."""
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "_share" not in path.parts)
STAGES = sorted((REPOSITORY / "stages").glob("*.py"))
TESTS = sorted(
    path
    for path in (REPOSITORY / "tests").rglob("*.py")
    if not {"node_modules", "__pycache__"} & {*path.parts}
)


@cache
def imports(path: Path) -> Sequence[str]:
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}:{node.lineno}: relative import"
            assert node.module is not None
            yield node.module
            if node.module == "webkiln":
                yield from (f"webkiln.{alias.name}" for alias in node.names)


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def name(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def test_imports_point_one_way() -> None:
    rooms = {path: room(path) for path in MODULES if path.name != "__init__.py"}
    assert not set(rooms.values()) - LEVEL.keys(), (
        "rooms that have no place in the order of imports"
    )
    upward = []
    for path, here in rooms.items():
        for module in imports(path):
            package, _, rest = module.partition(".")
            there = rest.partition(".")[0]
            same = here == there or {here, there} in TOGETHER
            if package == "webkiln" and rest and not same and LEVEL[there] >= LEVEL[here]:
                upward.append(f"{name(path)} imports {module}, which is not below it")
    assert not upward


def test_no_modules_of_frontends_import_each_other_in_a_circle() -> None:
    """Not for type checkers either."""
    modules = {
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
        for path in MODULES
        if room(path) == "frontends"
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
    others = [path for path in MODULES if room(path) != "frontends"]
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


KERAS = "frontends/keras"
HANDLERS = {f"{KERAS}/layers", f"{KERAS}/operations"}
OPERATORS = {"ir", "nest", "ops", "random_inputs", "plugins"}
BUILD = {
    "canonical",
    "errors",
    "build",
    "frontends/core/arrays",
    "frontends/core/subgraph",
    "frontends/core/inverse_trigonometry",
    "frontends/core/format_stages",
    "frontends/inspect/header_only",
    "frontends/core/recorded_reference",
    "frontends/core/tfjs_manifest",
    "frontends/core/tfjs_weights",
}
GRAPHS = {
    "ir",
    "ops/budget",
    "ops/axis_order",
    "ops/builder",
    "ops/control_flow",
    "ops/operator",
    "ops/pieces",
    "ops/fourier",
    "ops/overlap",
    "random_inputs",
}
"""What frontends write graphs with; it knows operators by name only."""
PROBE = "frontends/core/probe"
FORMAT_TABLE = {
    "frontends/core/formats",
    "frontends/core/model_format",
    "frontends/core/unsupported_formats",
    f"{KERAS}/format",
    "frontends/core/tfjs_manifest",
    "frontends/onnx/format",
    "frontends/onnx/external",
    "frontends/tensorflow/format",
    "frontends/caffe/format",
    "frontends/caffe/companions",
    "frontends/caffe/signatures",
    "frontends/chainer/format",
    "frontends/tflite/format",
    "frontends/torch/format",
}
"""What tells formats apart."""
NODES, TENSORFLOW, TORCH, CHAINER = (
    "frontends/nodes",
    "frontends/tensorflow",
    "frontends/torch",
    "frontends/chainer",
)
WIRE = {"frontends/protobuf/large_arrays", "frontends/protobuf/wire"}
PROTOBUF = {"frontends/protobuf/messages", "frontends/core/tfjs_weights", *WIRE}
REACH: dict[str, set[str]] = {
    "fetch": set(),
    "fetch keras": {
        KERAS,
        "frontends/core/model_functions",
        "plugins",
        "ops/budget",
        "ops/operator",
        "ir",
    },
    "fetch chainer": {
        CHAINER,
        f"{CHAINER}/functions",
        f"{CHAINER}/links",
        NODES,
        PROBE,
        f"{KERAS}/versions/lazy_weight",
        "frontends/core/model_functions",
        "frontends/onnx",
        "frontends/onnx/operators",
        "npz",
        *FORMAT_TABLE,
        *OPERATORS,
    },
    "fetch scripts": {"frontends/scripts/stage_fetch", "frontends/core/model_functions", "plugins"},
    "fetch torch": {
        TORCH,
        NODES,
        PROBE,
        "frontends/core/model_functions",
        "plugins",
        *FORMAT_TABLE,
        *GRAPHS,
    },
    "load": {"ir", *FORMAT_TABLE},
    "load tensorflow": {TENSORFLOW, NODES, *FORMAT_TABLE, *PROTOBUF, *GRAPHS},
    "convert tensorflow": {
        TENSORFLOW,
        f"{TENSORFLOW}/operators",
        NODES,
        f"{KERAS}",
        *HANDLERS,
        "frontends/core/conversion",
        *OPERATORS,
    },
    "reference tensorflow": {
        TENSORFLOW,
        NODES,
        "npz",
        "frontends/core/tfjs_manifest",
        *PROTOBUF,
        *GRAPHS,
    },
    "load keras": {
        KERAS,
        f"{KERAS}/versions",
        PROBE,
        *HANDLERS,
        "frontends/core/model_functions",
        "plugins",
        *FORMAT_TABLE,
        *GRAPHS,
    },
    "load caffe": {
        "frontends/caffe",
        NODES,
        "frontends/protobuf/messages",
        "frontends/protobuf/wire",
        *FORMAT_TABLE,
        *GRAPHS,
    },
    "load chainer": {CHAINER, NODES, *FORMAT_TABLE, *GRAPHS},
    "load onnx": {"frontends/onnx", NODES, PROBE, *WIRE, *FORMAT_TABLE, *GRAPHS},
    "load tflite": {"frontends/tflite", NODES, *FORMAT_TABLE, *GRAPHS},
    "load torch": {TORCH, NODES, PROBE, *FORMAT_TABLE, *GRAPHS},
    "convert": OPERATORS,
    "convert keras": {
        KERAS,
        f"{KERAS}/versions",
        PROBE,
        *HANDLERS,
        "frontends/core/conversion",
        *OPERATORS,
    },
    "convert caffe": {
        "frontends/caffe",
        "frontends/caffe/operators",
        NODES,
        "frontends/protobuf/messages",
        "frontends/core/conversion",
        *OPERATORS,
    },
    "convert chainer": {
        CHAINER,
        "frontends/onnx",
        "frontends/onnx/operators",
        NODES,
        "frontends/core/conversion",
        *OPERATORS,
    },
    "convert onnx": {
        "frontends/onnx",
        "frontends/onnx/operators",
        NODES,
        "frontends/core/conversion",
        *OPERATORS,
    },
    "convert tflite": {
        "frontends/tflite",
        "frontends/tflite/operators",
        NODES,
        "frontends/core/conversion",
        f"{KERAS}/windows",
        "frontends/onnx/operators",
        *OPERATORS,
    },
    "convert torch": {
        TORCH,
        f"{TORCH}/operators",
        "frontends/onnx/operators",
        NODES,
        "frontends/core/conversion",
        *OPERATORS,
    },
    "optimize": OPERATORS,
    "lower": OPERATORS | {"lower", "plan", "weights", "backends", "program", "program_builder"},
    "generate": {"ir", "nest", "plan", "codegen"},
    "compile": {"backends/toolchain", "backends/compilers", "codegen/wasm_memory"},
    "link": {"backends/toolchain", "backends/compilers", "codegen/wasm_memory"},
    "pack": OPERATORS | {"weights"},
    "bundle": {"ir", "codegen", "backends/launches"},
    "reference": {"npz", *GRAPHS},
    "reference keras": {
        KERAS,
        f"{KERAS}/versions",
        PROBE,
        *HANDLERS,
        "frontends/core/model_functions",
        "plugins",
        "npz",
        *GRAPHS,
    },
    "reference caffe": {
        "frontends/caffe",
        "frontends/protobuf/wire",
        NODES,
        "frontends/protobuf/messages",
        "npz",
        *GRAPHS,
    },
    "reference chainer": {CHAINER, "npz", *GRAPHS},
    "reference onnx": {"frontends/onnx", *WIRE, NODES, PROBE, "npz", *GRAPHS},
    "reference tflite": {"frontends/tflite", NODES, "npz", *GRAPHS},
    "reference torch": {TORCH, NODES, PROBE, "npz", *FORMAT_TABLE, *GRAPHS},
    "verify": {"backends", "recipe", "npz", "ir"},
    "tune": OPERATORS | {"backends", "recipe", "npz", "codegen", "lower", "plan"},
    "report": {"backends/html_pages"},
}
"""The rooms, and of some rooms the modules, whose edits may run a stage again."""


def reached(stage: str) -> set[str]:
    """The modules that a stage runs, or a stage with a format's program."""
    name, _, format_name = stage.partition(" ")
    programs = (PACKAGE / "frontends" / format_name / f"stage_{name}.py",) if format_name else ()
    files, _ = Closures(
        share(), FileDigests(Path("/nonexistent")), Derived(Path("/nonexistent"))
    ).of((REPOSITORY / "stages" / f"{name}.py", *programs))
    modules = {
        name.removeprefix("webkiln/").removesuffix(".py")
        for name in files
        if name.startswith("webkiln/")
    }
    return {module for module in modules if module.rpartition("/")[2] != "__init__"}


def test_every_stage_declares_its_dependencies() -> None:
    programs = {
        f"{path.stem.removeprefix('stage_')} {path.parent.name}"
        for path in PACKAGE.glob("frontends/*/stage_*.py")
    }
    assert REACH.keys() == {path.stem for path in STAGES} | programs


@pytest.mark.parametrize("stage", REACH)
def test_an_edit_reruns_only_the_stages_that_may_depend_on_it(stage: str) -> None:
    for module in reached(stage):
        names = [module, module.rpartition("/")[0]] + (
            [module.partition("/")[0]] if not module.startswith("frontends") else []
        )
        assert set(names) & (REACH[stage] | BUILD), f"{stage} runs again when {module} is edited"


RECORDING = {"fetch chainer"}
"""Finds the shapes of what it records by the operators' own rules."""


@pytest.mark.parametrize(
    "stage",
    [
        stage
        for stage in REACH
        if stage.partition(" ")[0] in FRAMEWORK_STAGES and stage not in RECORDING
    ],
)
def test_no_download_and_no_reference_depends_on_how_operators_are_lowered(stage: str) -> None:
    assert not {
        module
        for module in reached(stage)
        if module.startswith(("nest/", "lower/", "ops/")) and module not in GRAPHS
    }


def test_loaded_modules_are_in_the_closure() -> None:
    """Imports that are hidden from the closure would be missing in keys."""
    code = (
        "import sys, webkiln.frontends.keras.stage_load, webkiln.frontends.keras.stage_fetch,"
        " webkiln.frontends.keras.stage_reference\nimport webkiln.frontends.onnx.probe,"
        " webkiln.frontends.nodes.sizes, webkiln.frontends.onnx.reference; print(*sys.modules)"
    )
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=REPOSITORY / "pipeline",
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
    )
    assert "webkiln.ops.operator" in loaded
    assert not {name for name in loaded if name.startswith(("webkiln.nest", "webkiln.ops.table"))}
