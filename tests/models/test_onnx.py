"""ONNX files from a recipe to verified bundles."""

import itertools
import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.frontends.onnx.models import classifier, dynamic, floats, model, weight
from tests.frontends.onnx.running import onnxruntime_outputs
from tests.hosts import PAGE_LEGS, PAGES
from tests.models.conftest import Model
from webkiln.backends import frame, pages
from webkiln.backends.host import read_manifest, run_bundle
from webkiln.build.engine import Engine
from webkiln.cli import main
from webkiln.errors import SourceError
from webkiln.frontends.onnx import reference
from webkiln.recipe.read import read_recipe
from webkiln.recipe.values import BACKENDS


@pytest.fixture
def built(request, tmp_path):
    """`request.param`: a model, additional lines of the recipe, and options of saving."""
    make_model, recipe, options = request.param
    folder = tmp_path / "net"
    (folder / "data").mkdir(parents=True)
    onnx.save(make_model(), folder / "net.onnx", **options)
    (folder / "recipe.toml").write_text(f'source = "net.onnx"\n{recipe}')
    with Engine(tmp_path / ".webkiln") as engine:
        yield Model(engine, read_recipe(folder / "recipe.toml"), tmp_path)


EXTERNAL = {
    "save_as_external_data": True,
    "location": "data/weights.bin",
    "size_threshold": 0,
    "convert_attribute": False,
}
LONG = EXTERNAL | {"location": f"data/{'w' * 200}.bin"}


@pytest.mark.parametrize(
    "built",
    [
        (classifier, "[dims]\nbatch = 2\n", {}),
        (classifier, "", EXTERNAL),
        (classifier, "", LONG),
        (dynamic, '[dims]\nx_1 = "T"\n', {}),
    ],
    indirect=True,
    ids=["batch of 2", "external data", "long name", "open sizes"],
)
@pytest.mark.sample("open sizes")
def test_bundles_agree_with_onnxruntime(built):
    for browser in PAGES:
        results = built.verify("float32", browser)
        assert all(row["passed"] for result in results for row in result["outputs"]), results


def same_output_twice():
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("Identity", ["y"], ["z"]),
        helper.make_node("Identity", ["k"], ["l"]),
    ]
    shapes = {"x": 6, "y": 6, "z": 6, "k": 3, "l": 3}
    return model(
        nodes,
        [floats("x", 6)],
        [floats(name, size) for name, size in shapes.items()],
        [weight("k", 3)],
    )


ALL_BACKENDS = f"backends = {json.dumps(BACKENDS)}\n"


@pytest.mark.parametrize("built", [(same_output_twice, ALL_BACKENDS, {})], indirect=True)
def test_outputs_may_be_inputs_constants_and_each_other(built):
    x = np.linspace(-1, 1, 6, dtype=np.float32)
    expected = onnxruntime_outputs(same_output_twice(), {"x": x})
    bundle = built.bundle()
    for (browser, backend), worker in itertools.product(PAGE_LEGS, (True, False)):
        (result,) = run_bundle(bundle, backend, [{"x": x}], host=browser, worker=worker)
        for name, value in expected.items():
            np.testing.assert_array_equal(result.outputs[name], value)


def pairs():
    """The products of all pairs of rows of x, twice; the result grows with the square of the
    rows.
    """
    node = helper.make_node
    nodes = [
        node("Transpose", ["x"], ["t"]),
        node("MatMul", ["x", "t"], ["a"]),
        node("Softmax", ["a"], ["p"], axis=0),
        node("MatMul", ["p", "x"], ["y"]),
    ]
    return model(nodes, [floats("x", "N", 2)], [floats("y", "N", 2)])


@pytest.mark.long
@pytest.mark.parametrize("built", [(pairs, ALL_BACKENDS, {})], indirect=True)
def test_too_large_inputs_do_not_affect_other_runs(built):
    bundle = built.bundle()
    for browser, backend in PAGE_LEGS:
        request = {
            "script": "/models/large_inputs.mjs",
            "bundle": "/bundle/index.js",
            "backend": backend,
        }
        (answer,) = pages.run_page(
            "large inputs",
            {"/models/": Path(__file__).parent, "/bundle/": bundle},
            request,
            [b""],
            120,
            browser,
        )
        results = json.loads(frame.decode(answer).outputs["found"].tobytes())
        assert results == ["OutOfMemory", "OutOfMemory", True, True, "OutOfMemory", True], (
            browser,
            backend,
        )


@pytest.mark.parametrize("built", [(dynamic, "", {})], indirect=True)
def test_sizes_are_named_as_in_the_file_or_by_axis(built):
    (tensor,) = read_manifest(built.bundle())["inputs"]
    assert tensor["shape"] == ["N", "x_1", 12]


def test_layers_are_compared_with_those_of_onnxruntime(tmp_path, capsys):
    onnx.save(classifier(), tmp_path / "net.onnx")
    bundle = str(tmp_path / "bundle")
    assert (
        main(
            [
                "build",
                str(tmp_path / "net.onnx"),
                "-o",
                bundle,
                "--backend",
                "js",
                "--dim",
                "batch=2",
            ]
        )
        == 0
    )
    assert main(["diff", bundle, "--source", str(tmp_path / "net.onnx")]) == 0
    printed = capsys.readouterr().out
    assert all(f"  {layer} [" in printed for layer in ("conv", "pool", "dense"))


@pytest.mark.parametrize(
    "built", [(classifier, 'backends = ["js"]\n[dims]\nbatch = 2\n', EXTERNAL)], indirect=True
)
def test_edited_external_data_is_rebuilt(built):
    def files():
        with Engine(built.folder / "again") as engine:
            return {
                path.name: path.read_bytes()
                for path in Model(engine, built.recipe, built.folder).bundle().iterdir()
            }

    first = files()
    data = built.folder / "net" / "data" / "weights.bin"
    data.write_bytes(bytes(4) + data.read_bytes()[4:])
    second = files()
    changed = {name for name in first.keys() | second.keys() if first.get(name) != second.get(name)}
    assert "js.js" not in changed
    assert any(name.startswith("weights-") for name in changed)


def newest(*nodes):
    """A model with the default opset version of the onnx package."""
    graph = helper.make_graph([*nodes], "graph", [floats("x", 2, 3)], [floats("y", 2, 3)])
    return helper.make_model(graph)


@pytest.mark.parametrize(
    "built",
    [(lambda: newest(helper.make_node("Softmax", ["x"], ["y"])), 'backends = ["js"]\n', {})],
    indirect=True,
)
def test_files_newer_than_onnxruntime_are_verified(built):
    model = onnx.load(built.folder / "net" / "net.onnx")
    assert (model.ir_version, model.opset_import[0].version) == (
        onnx.IR_VERSION,
        onnx.defs.onnx_opset_version(),
    )
    (result,) = [item for item in built.verify("float32", "node") if item["backend"] == "js"]
    assert all(row["passed"] for row in result["outputs"])


def test_operators_newer_than_onnxruntime_are_named(tmp_path):
    model = newest(helper.make_node("Softmax", ["x"], ["y"]))
    started = []

    def start(data):
        started.append(onnx.load_from_string(data))
        if started[-1].opset_import[0].version > 12:
            raise RuntimeError("Current official support for domain ai.onnx is till opset 12.")
        return "session"

    with pytest.raises(
        SourceError,
        match=(
            "onnxruntime supports opsets up to 12, and Softmax changed in 13 or later; export the"
            " model with opset 12"
        ),
    ):
        reference._load(start, model, "net.onnx")
    model.graph.node[0].op_type = next(
        item.name
        for item in onnx.defs.get_all_schemas()
        if not item.domain and item.since_version < 12
    )
    assert reference._load(start, model, "net.onnx") == "session"
