"""Images with symbolic height and width, for models that constrain these sizes."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.frontends.onnx.models import model
from tests.models.conftest import Model
from tests.runtime.tampering import Site, serve
from webkiln.backends import browsers
from webkiln.build.engine import Engine
from webkiln.recipe.read import read_recipe

PAGE = '<!doctype html><link rel="icon" href="data:,"><title>sizes of images</title>'


def build_guarded(
    folder: Path, name: str, shape: list[int | str], nodes: list[Any], tables: Sequence[Any] = ()
) -> Path:
    """A bundle with one image input. The model requires some sizes to be equal."""
    (folder / name).mkdir()
    values = [
        helper.make_tensor_value_info(tensor, TensorProto.FLOAT, shape) for tensor in ("x", "y")
    ]
    onnx.save(
        model(
            nodes, values[:1], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tables
        ),
        folder / name / "net.onnx",
    )
    (folder / name / "recipe.toml").write_text(
        'source = "net.onnx"\nbackends = ["js"]\n[inputs.x]\nlayout = "CHW"\n'
    )
    with Engine(folder / ".webkiln") as engine:
        return Model(engine, read_recipe(folder / name / "recipe.toml"), folder / name).bundle()


def downscale_and_upscale(factor: int) -> tuple[list[Any], list[Any]]:
    """Nodes that add x to x, downscaled and upscaled by a factor."""
    scales = numpy_helper.from_array(np.array([1, 1, factor, factor], np.float32), "scales")
    return [
        helper.make_node(
            "MaxPool", ["x"], ["small"], kernel_shape=[factor, factor], strides=[factor, factor]
        ),
        helper.make_node(
            "Resize",
            ["small", "", "scales"],
            ["large"],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
        ),
        helper.make_node("Add", ["x", "large"], ["y"]),
    ], [scales]


def run_in_page(bundle: Path, body: str) -> Any:
    script = f"""
        const done = arguments[arguments.length - 1];
        (async () => {{
          const model = await (await import('/bundle/index.js')).load({{ worker: false }});
          const run = async (width, height, placeholders = {{}}) => {{
            const canvas = new OffscreenCanvas(width, height);
            canvas.getContext('2d').fillRect(0, 0, width, height);
            await model.run({{ x: canvas }}, {{ placeholders }});
            return model.shapes.y.slice(2).reverse();
          }};
          {body}
        }})().then(value => done({{ value }}),
          error => done({{ code: error.code ?? null, message: String(error) }}));
    """
    with serve(Site(bundle, pages={"/empty": PAGE})) as site:
        browsers.session("chromium").get(site.url + "/empty")
        answer = browsers.session("chromium").execute_async_script(script)
        browsers.session("chromium").get("about:blank")
    return answer.get("value", answer)


def test_open_sizes_are_rounded_to_valid_ones(tmp_path: Path) -> None:
    nodes, tables = downscale_and_upscale(32)
    bundle = build_guarded(tmp_path, "net", [1, 3, "H", "W"], nodes, tables)
    expected = {(100, 70): [96, 64], (64, 32): [64, 32], (20, 40): [32, 32], (31, 1000): [32, 992]}
    sizes = run_in_page(
        bundle,
        f"const found = []; for (const size of {json.dumps(list(expected))}) found.push(await"
        " run(...size)); return found;",
    )
    assert sizes == list(expected.values())
    assert run_in_page(bundle, "return run(100, 70, { H: 32, W: 64 });") == [64, 32]
    error = run_in_page(bundle, "return run(100, 70, { H: 33 });")
    assert error == {"code": "WrongSize", "message": error["message"]}
    assert "H is 33; layer" in error["message"]
    assert "needs it to be a multiple of 32" in error["message"]


def test_valid_sizes_need_not_be_multiples(tmp_path: Path) -> None:
    """After two halvings that round up, and a doubling, the valid sizes are not the multiples of a
    number.
    """
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    nodes = [
        helper.make_node("MaxPool", ["x"], ["half"], kernel_shape=[1, 1], strides=[2, 2]),
        helper.make_node("MaxPool", ["half"], ["quarter"], kernel_shape=[1, 1], strides=[2, 2]),
        helper.make_node(
            "Resize",
            ["quarter", "", "scales"],
            ["again"],
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
        ),
        helper.make_node("Add", ["half", "again"], ["y"]),
    ]
    bundle = build_guarded(tmp_path, "net", [1, 3, "H", "W"], nodes, [scales])
    body = (
        "const found = []; for (let size = 1; size <= 9; size++) { await run(size, size);"
        " found.push(model.shapes.y[2]); } return found;"
    )
    assert run_in_page(bundle, body) == [2, 2, 2, 2, 2, 2, 4, 4, 4]


def test_a_guard_on_several_sizes_is_reported(tmp_path: Path) -> None:
    transposed = helper.make_node("Transpose", ["x"], ["turned"], perm=[0, 1, 3, 2])
    bundle = build_guarded(
        tmp_path,
        "net",
        [1, 3, "H", "W"],
        [transposed, helper.make_node("Add", ["x", "turned"], ["y"], "sum")],
    )
    assert run_in_page(bundle, "return run(5, 5);") == [5, 5]
    assert run_in_page(bundle, "return run(5, 7, { H: 6, W: 6 });") == [6, 6]
    error = run_in_page(bundle, "return run(5, 7);")
    message = (
        "layer 'sum' needs the sizes H and W to be equal; they are 7 and 5 for W = 5, H = 7;"
        " change the inputs or { placeholders }"
    )
    assert error == {"code": "WrongSize", "message": f"WebkilnError: {message}"}
