"""Images whose height and width are open, for models that need some sizes equal."""

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


def guarded(
    folder: Path, name: str, shape: list[int | str], nodes: list[Any], tables: Sequence[Any] = ()
) -> Path:
    """A bundle of one image input, of which some sizes must be equal."""
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


def up_and_down(factor: int) -> tuple[list[Any], list[Any]]:
    """x + what is left of it when it is made smaller and larger again."""
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


def sizes_in_a_page(bundle: Path, body: str) -> Any:
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


def test_open_sizes_become_the_nearest_that_the_model_can_have(tmp_path: Path) -> None:
    nodes, tables = up_and_down(32)
    bundle = guarded(tmp_path, "net", [1, 3, "H", "W"], nodes, tables)
    wanted = {(100, 70): [96, 64], (64, 32): [64, 32], (20, 40): [32, 32], (31, 1000): [32, 992]}
    got = sizes_in_a_page(
        bundle,
        f"const found = []; for (const size of {json.dumps(list(wanted))}) found.push(await"
        " run(...size)); return found;",
    )
    assert got == list(wanted.values())
    assert sizes_in_a_page(bundle, "return run(100, 70, { H: 32, W: 64 });") == [64, 32]
    wrong = sizes_in_a_page(bundle, "return run(100, 70, { H: 33 });")
    assert wrong == {"code": "WrongSize", "message": wrong["message"]}
    assert "H is 33; layer" in wrong["message"]
    assert "needs it to be a multiple of 32" in wrong["message"]


def test_sizes_that_leave_one_of_two_rests(tmp_path: Path) -> None:
    """Down by halves that are rounded up, and up again: the remainders that survive are no multiple
    of anything.
    """
    up = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
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
    bundle = guarded(tmp_path, "net", [1, 3, "H", "W"], nodes, [up])
    body = (
        "const found = []; for (let size = 1; size <= 9; size++) { await run(size, size);"
        " found.push(model.shapes.y[2]); } return found;"
    )
    assert sizes_in_a_page(bundle, body) == [2, 2, 2, 2, 2, 2, 4, 4, 4]


def test_a_guard_on_several_sizes_is_reported(tmp_path: Path) -> None:
    turned = helper.make_node("Transpose", ["x"], ["turned"], perm=[0, 1, 3, 2])
    bundle = guarded(
        tmp_path,
        "net",
        [1, 3, "H", "W"],
        [turned, helper.make_node("Add", ["x", "turned"], ["y"], "sum")],
    )
    assert sizes_in_a_page(bundle, "return run(5, 5);") == [5, 5]
    assert sizes_in_a_page(bundle, "return run(5, 7, { H: 6, W: 6 });") == [6, 6]
    wrong = sizes_in_a_page(bundle, "return run(5, 7);")
    said = (
        "layer 'sum' needs the sizes H and W to be equal; they are 7 and 5 for W = 5, H = 7;"
        " change the inputs or { placeholders }"
    )
    assert wrong == {"code": "WrongSize", "message": f"WebkilnError: {said}"}
