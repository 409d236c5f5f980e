"""How products with 4-bit weights are computed, as bundles and their verification state it, with
and without a word in the recipe.
"""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.frontends.onnx.models import floats, model, weight
from tests.models.conftest import Model
from webkiln import canonical
from webkiln.build.engine import Engine
from webkiln.build.graph import Selection
from webkiln.build.quantization import described
from webkiln.recipe.read import parse_recipe

DEPTH, COLUMNS, BLOCK = 512, 300, 32
EXACT, DOT = 1e-4, 5e-2
"""Default tolerances."""


def product(bits: int) -> onnx.ModelProto:
    rng = np.random.default_rng(0)
    blocks = DEPTH // BLOCK
    codes = rng.integers(0, 255, (COLUMNS, blocks, BLOCK * bits // 8), np.uint8, endpoint=True)
    scales = rng.uniform(0.01, 0.1, COLUMNS * blocks).astype(np.float32)
    sizes = {"K": DEPTH, "N": COLUMNS, "bits": bits, "block_size": BLOCK}
    node = helper.make_node("MatMulNBits", ["x", "q", "s"], ["y"], domain="com.microsoft", **sizes)
    weights = [numpy_helper.from_array(codes, "q"), numpy_helper.from_array(scales, "s")]
    x, y = floats("x", 2, DEPTH), floats("y", 2, COLUMNS)
    return model([node], [x], [y], weights, microsoft=True)


def plain() -> onnx.ModelProto:
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    x, y = floats("x", 2, DEPTH), floats("y", 2, COLUMNS)
    return model([node], [x], [y], [weight("w", DEPTH, COLUMNS)])


@pytest.mark.parametrize(
    ("made", "option", "expected"),
    [
        (product(4), None, "dot"),
        (product(4), "exact", None),
        (product(8), None, None),
        (product(8), "dot", "dot"),
        (plain(), None, None),
        (plain(), "dot", None),
    ],
    ids=["4-auto", "4-exact", "8-auto", "8-dot", "float-auto", "float-dot"],
)
def test_bundles_and_verification_say_how(made, option, expected, tmp_path):
    onnx.save(made, tmp_path / "model.onnx")
    backends = ("wasm", "webgpu", "js") if option == "dot" else ("wasm", "js")
    table = {"source": "model.onnx", "backends": list(backends)}
    table |= {"products": option} if option else {}
    recipe = parse_recipe("model", table, tmp_path / "recipe.toml")
    with Engine(tmp_path / ".webkiln") as engine:
        checked = Model(engine, recipe, tmp_path)
        actions = checked.actions.verify(Selection(backends), "chromium")
        results = [canonical.read(checked.file(action, "result.json")) for action in actions]
        manifest = canonical.read(checked.bundle() / "manifest.json")
    for name in backends:
        rounds = expected if name != "js" else None
        assert manifest["backends"][name].get("products") == rounds
    for result in results:
        by_dot = expected is not None and result["backend"] != "js"
        (row,) = {row["bound"]: row for row in result["outputs"]}.values()
        assert row["bound"] == pytest.approx(DOT if by_dot else EXACT, rel=0.1)
        assert row["passed"]
        assert (row["relative"] > EXACT) == by_dot
        assert result.get("products") == ("blocks of 8 bits" if by_dot else None)


@pytest.mark.parametrize(
    ("encoding", "option", "expected"),
    [("int4", None, "dot"), ("mixed", None, None), ("mixed", "dot", "dot")],
)
def test_what_an_error_chose_is_computed_as_it_was_measured(encoding, option, expected, tmp_path):
    """Without a word in the recipe. Rounded activations would add to an error within a bound."""
    onnx.save(plain(), tmp_path / "model.onnx")
    table = {"source": "model.onnx", "backends": ["wasm"], "encodings": [encoding]}
    np.savez(tmp_path / "s.npz", x=np.random.default_rng(1).random((4, 2, DEPTH), np.float32))
    table["quantize"] = {"calibration": "s.npz", "max_error": 0.5}
    table |= {"products": option} if option else {}
    recipe = parse_recipe("model", table, tmp_path / "recipe.toml")
    choice = Selection(("wasm",), encoding)
    with Engine(tmp_path / ".webkiln") as engine:
        checked = Model(engine, recipe, tmp_path)
        engine.publish(checked.actions.bundle(choice), "bundle/", tmp_path / "bundle")
        manifest = canonical.read(tmp_path / "bundle" / "manifest.json")
        checked.file(checked.actions.graph(encoding).action, "graph.json")
        text = " ".join(described(engine, checked.actions, encoding).values())
    assert manifest["backends"]["wasm"].get("products") == expected
    assert "1 of 1 weight tensors quantised to 4 bits" in text
    assert ("1 product of 4-bit codes, decoded as they are read" in text) == (expected is None)
