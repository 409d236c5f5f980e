"""What each stage may depend on: an edit of another module does not rerun it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.structure.modules import PACKAGE, REPOSITORY, STAGES
from webkiln.build.closure import Closures
from webkiln.build.derived import Derived
from webkiln.build.digests import FileDigests
from webkiln.build.share import share

FRAMEWORK_STAGES = {"fetch", "load", "reference"}
"""The stages whose format code imports frameworks."""
KERAS = "frontends/keras"
NODES, TENSORFLOW, TORCH, CHAINER = (
    "frontends/nodes",
    "frontends/tensorflow",
    "frontends/torch",
    "frontends/chainer",
)
HANDLERS = {f"{KERAS}/layers", f"{KERAS}/operations", f"{KERAS}/lambdas"}
OPERATORS = {"ir", "nest", "ops", "ops/functional", "random_inputs", "plugins"}
BUILD = {
    "canonical",
    "errors",
    "build",
    "frontends/core/arrays",
    "frontends/core/subgraph",
    "frontends/core/call",
    "frontends/core/format_stages",
    "frontends/inspect/header_only",
    "frontends/core/model_interface",
    "frontends/core/recorded_reference",
    "frontends/core/untrusted_arrays",
    "frontends/core/stored_weight",
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
    "ops/functional",
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
        f"{CHAINER}/operators",
        NODES,
        PROBE,
        "frontends/core/model_functions",
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
        f"{CHAINER}/operators",
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
        *OPERATORS,
    },
    "convert torch": {
        TORCH,
        f"{TORCH}/operators",
        NODES,
        "frontends/core/conversion",
        *OPERATORS,
    },
    "optimize": OPERATORS,
    "quantize": OPERATORS | {"quantize"},
    "encode": OPERATORS | {"quantize", "weights/blobs"},
    "samples": {"ir", "npz", "plugins", "quantize/samples", "random_inputs"},
    "calibrate": OPERATORS | {"quantize", "backends", "npz", "recipe"},
    "choose": OPERATORS | {"quantize", "backends", "npz", "recipe", "weights", "codegen"},
    "lower": OPERATORS
    | {"lower", "plan", "weights", "backends", "program_builder", "shared_files"},
    "generate": {"ir", "nest", "plan", "codegen"},
    "compile": {"backends/toolchain", "backends/compilers", "codegen/wasm_memory"},
    "link": {"backends/toolchain", "backends/compilers", "codegen/wasm_memory"},
    "pack": OPERATORS | {"weights"},
    "bundle": {"ir", "codegen", "backends/launches", "recipe/labels"},
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
    "tune": OPERATORS | {"backends", "recipe", "npz", "codegen", "lower", "plan", "shared_files"},
    "report": {"backends/html_pages", "backends/encoding_report"},
}
"""The packages or modules whose edits may rerun a stage."""


def reached(stage: str) -> set[str]:
    """The modules that a stage imports, with the code of a format if named."""
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
"""Infers the shapes of recorded values by the type rules of operators."""


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
        if module.startswith(("nest/", "lower/", "ops/"))
        and not {module, module.rpartition("/")[0]} & GRAPHS
    }


def test_loaded_modules_are_in_the_closure() -> None:
    """Keys would lack imports that are hidden from the closure."""
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
