"""Data on the GPU: buffers as inputs and outputs, and overlapping runs. Kernels compile once."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.backends.harness import ROOT
from tests.hosts import PAGE_LEGS
from tests.sampling import representative
from webkiln.backends import frame, pages
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.recipe.read import read_recipe

SCENARIOS = (
    "chained",
    "overlapping",
    "refused",
    "elsewhere",
    "given",
    "disposed",
    "allocations",
    "states",
    "typed",
    "data_dependent",
    "open",
)


def _save(
    path: Path,
    nodes: list[Any],
    inputs: list[Any],
    outputs: list[Any],
    weights: dict[str, Any] | None = None,
) -> None:
    initializers = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    onnx.save(
        helper.make_model(
            helper.make_graph(nodes, "g", inputs, outputs, initializers),
            opset_imports=[helper.make_opsetid("", 18)],
        ),
        path,
    )


def _layer(folder: Path, rows: int | str) -> None:
    draw = np.random.default_rng(0)
    _save(
        folder / "net.onnx",
        [
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Tanh", ["m"], ["y"]),
            helper.make_node("Neg", ["m"], ["z"]),
        ],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 16])],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 16]) for name in "yz"],
        {"w": draw.normal(0, 0.4, (16, 16)).astype(np.float32)},
    )


def _plain(folder: Path) -> None:
    _layer(folder, 3)


def _open(folder: Path) -> None:
    _layer(folder, "T")


def _typed(folder: Path) -> None:
    _save(
        folder / "net.onnx",
        [
            helper.make_node("Add", ["n", "n"], ["twice"]),
            helper.make_node("Not", ["flags"], ["others"]),
            helper.make_node("Identity", ["bytes"], ["same"]),
        ],
        [
            helper.make_tensor_value_info("n", TensorProto.INT64, [3]),
            helper.make_tensor_value_info("flags", TensorProto.BOOL, [3]),
            helper.make_tensor_value_info("bytes", TensorProto.UINT8, [8]),
        ],
        [
            helper.make_tensor_value_info("twice", TensorProto.INT64, [3]),
            helper.make_tensor_value_info("others", TensorProto.BOOL, [3]),
            helper.make_tensor_value_info("same", TensorProto.UINT8, [8]),
        ],
    )


def _late(folder: Path) -> None:
    _save(
        folder / "net.onnx",
        [helper.make_node("NonZero", ["x"], ["y"])],
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [6])],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [1, "found"])],
    )


def _stateful(folder: Path) -> None:
    keras.utils.set_random_seed(0)
    x = keras.Input((2, 4), batch_size=1)
    y = keras.layers.GRU(4, stateful=True, return_sequences=True)(x)
    keras.Model(x, y).save(folder / "net.keras")


MODELS = {
    "plain": _plain,
    "typed": _typed,
    "data_dependent": _late,
    "open": _open,
    "stateful": _stateful,
}


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folders: dict[str, Path] = {}
    root = tmp_path_factory.mktemp("buffers")
    with Engine(root / "state") as engine:
        for name, write in MODELS.items():
            folder = root / name
            folder.mkdir()
            write(folder)
            (source,) = folder.iterdir()
            (folder / "recipe.toml").write_text(
                f'source = "{source.name}"\nbackends = ["webgpu", "js"]\n'
            )
            recipe = read_recipe(folder / "recipe.toml")
            engine.publish(
                ModelGraph(recipe, engine.share).bundle(Selection(("webgpu", "js"), "float32")),
                "bundle/",
                root / "bundles" / name,
            )
            folders[f"/{name}/"] = root / "bundles" / name
    return folders


@pytest.fixture(
    scope="module",
    params=representative(
        [browser for browser, backend in PAGE_LEGS if backend == "webgpu"], "chromium"
    ),
)
def answers(request: Any, bundles: dict[str, Path]) -> dict[str, Any]:
    """The answers of all scenarios, in one page."""
    folders = {"/repository/": ROOT, **bundles}
    page_request = {
        "script": "/repository/tests/backends/webgpu_buffers.mjs",
        "bundle": "/plain/index.js",
        "scenarios": SCENARIOS,
    }
    got = pages.run_page(
        "the WebGPU buffers", folders, page_request, [b""] * len(SCENARIOS), 240, request.param
    )
    texts = [frame.decode(answer).outputs["text"].tobytes() for answer in got]
    return dict(zip(SCENARIOS, map(json.loads, texts), strict=True))


def test_models_chained_on_the_gpu_equal_models_chained_on_the_cpu(
    answers: dict[str, Any],
) -> None:
    assert answers["chained"] == {
        "fresh": True,
        "given": True,
        "mixed": True,
        "same": True,
        "kinds": ["GPUBuffer", "Float32Array"],
        "mapped": 0,
    }


def test_overlapping_runs_finish_in_order(answers: dict[str, Any]) -> None:
    assert answers["overlapping"]["begun"] == ["submit", "map", "submit", "map"]
    assert answers["overlapping"]["order"] == list(range(8))
    assert answers["overlapping"]["right"]
    assert answers["overlapping"]["slots"] == 2
    assert answers["overlapping"]["worker"]


REFUSED = {
    "small": (
        "WrongBuffer",
        (
            "input 'x': expected a GPUBuffer of 192 bytes for shape [3,16] (48 elements of float32,"
            " stored as float32), got 96"
        ),
    ),
    "usage": ("WrongBuffer", "input 'x': the GPUBuffer lacks the usage GPUBufferUsage.COPY_SRC"),
    "device": (
        "WrongBuffer",
        "input 'x': the GPUBuffer must belong to model.device, and must not be mapped or destroyed",
    ),
    "destroyed": (
        "WrongBuffer",
        "input 'x': the GPUBuffer must belong to model.device, and must not be mapped or destroyed",
    ),
    "mapped": (
        "WrongBuffer",
        "input 'x': the GPUBuffer must belong to model.device, and must not be mapped or destroyed",
    ),
    "outputSmall": (
        "WrongBuffer",
        "output 'y': expected a GPUBuffer of at least 192 bytes for shape [3,16]",
    ),
    "outputUsage": (
        "WrongBuffer",
        "output 'y': the GPUBuffer lacks the usage GPUBufferUsage.COPY_DST",
    ),
    "outputDevice": ("WrongBuffer", "output 'y': the GPUBuffer must belong to model.device"),
    "outputName": (
        "WrongOption",
        (
            "outputs: expected 'gpu', or an object that maps names of outputs to 'gpu' or a"
            " GPUBuffer; the outputs are 'y', 'z'"
        ),
    ),
    "outputValue": ("WrongOption", "outputs: expected 'gpu'"),
    "outputKind": ("WrongOption", "outputs: expected 'gpu'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_invalid_run_arguments_are_named(answers: dict[str, Any], case: str) -> None:
    code, message = REFUSED[case]
    assert answers["refused"][case]["code"] == code
    assert message in answers["refused"][case]["message"]


def test_a_refused_run_changes_nothing(answers: dict[str, Any]) -> None:
    assert answers["refused"]["afterwards"]


ELSEWHERE = {
    "js": (
        "WrongOption",
        "GPUBuffers need worker: false and the webgpu backend; this model runs on js",
    ),
    "worker": (
        "WrongOption",
        (
            "GPUBuffers need worker: false and the webgpu backend; this model runs on webgpu in a"
            " Worker"
        ),
    ),
    "outputs": (
        "WrongOption",
        "GPUBuffers need worker: false and the webgpu backend; this model runs on js",
    ),
    "device": ("WrongOption", "device: needs worker: false and the webgpu backend"),
    "deviceInWorker": ("WrongOption", "device: needs worker: false and the webgpu backend"),
    "noDevice": ("WrongOption", "device: expected a GPUDevice"),
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_other_backends_and_workers_refuse_buffers(answers: dict[str, Any], case: str) -> None:
    code, message = ELSEWHERE[case]
    assert answers["elsewhere"][case]["code"] == code
    assert message in answers["elsewhere"][case]["message"]


def test_models_in_workers_and_on_other_backends_have_no_device(answers: dict[str, Any]) -> None:
    assert answers["elsewhere"]["devices"] == [None, None]


def test_a_page_may_pass_its_device(answers: dict[str, Any]) -> None:
    device = answers["given"]
    assert device["same"]
    assert device["right"]
    assert device["usable"]
    assert device["own"]["code"] == "no error"
    assert device["small"]["code"] == "OutOfMemory"
    assert "request the device with the requiredLimits" in device["small"]["message"]


def test_disposing_a_model_ends_its_runs(answers: dict[str, Any]) -> None:
    assert answers["disposed"] == {"codes": ["Disposed"] * 3, "left": 0, "lost": False}


def test_later_runs_create_no_gpu_objects(answers: dict[str, Any]) -> None:
    assert answers["allocations"]["arrays"] == {"buffers": 0, "groups": 0, "submitted": 1}
    assert answers["allocations"]["lent"] == {"buffers": 0, "groups": 0, "submitted": 1}
    assert answers["allocations"]["fresh"] == {"buffers": 2, "groups": 0, "submitted": 1}
    assert answers["allocations"]["stateful"] == {"buffers": 0, "groups": 0, "submitted": 1}
    assert (
        answers["allocations"]["data_dependent"]["buffers"]
        == answers["allocations"]["data_dependent"]["groups"]
        == 0
    )


def test_states_of_overlapping_runs_remain_on_the_gpu(answers: dict[str, Any]) -> None:
    assert answers["states"] == {"overlapping": True, "kept": True, "changes": True, "reset": True}


def test_every_dtype_is_padded_to_32_bit_words(answers: dict[str, Any]) -> None:
    assert answers["typed"]["words"] == {
        "twice": [2, -4, 6],
        "others": [0, 1, 0],
        "same": [0, 255, 3, 4, 5, 6, 7, 8],
    }
    assert answers["typed"]["packed"]["code"] == "WrongBuffer"
    assert (
        "32 bytes for shape [8] (8 elements of uint8, stored as uint32), got 8"
        in answers["typed"]["packed"]["message"]
    )


def test_outputs_of_data_dependent_size_remain_on_the_gpu(answers: dict[str, Any]) -> None:
    assert answers["data_dependent"] == {
        "shapes": [[1, 2], [1, 3]],
        "sizes": [8, 24],
        "words": [[1, 4], [0, 2, 5]],
    }


def test_open_sizes_follow_from_buffers(answers: dict[str, Any]) -> None:
    assert answers["open"] == {"shapes": [[2, 16], [5, 16], [2, 16]], "right": True}
