"""Subgraphs of recorded chains. Their boundaries are calls, which may consist of several nodes."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.frontends.chainer.reading import CORPUS, HERE, recorded, snapshot
from tests.models.conftest import Model
from webkiln import canonical
from webkiln.backends.compare import relative_error
from webkiln.backends.host import read_manifest, run_bundle
from webkiln.build.engine import Engine
from webkiln.build.graph import Selection
from webkiln.errors import RecipeError, ToolError
from webkiln.frontends.chainer.converter import ChainerConverter
from webkiln.frontends.chainer.parts import RecordedModel, recorded_part
from webkiln.frontends.chainer.recording import read, write
from webkiln.frontends.core.arrays import Blobs
from webkiln.frontends.core.subgraph import Subgraph
from webkiln.frontends.nodes.spec import NodeModel
from webkiln.ir.bind import bind, placeholders
from webkiln.ops.evaluate import run_graph
from webkiln.recipe.read import read_recipe

Arrays = dict[str, np.ndarray]


def computed(part: tuple[NodeModel, Blobs], values: Arrays) -> Arrays:
    graph = ChainerConverter().convert(*part)
    inputs = {name: values[name] for name in graph.inputs}
    outputs, _ = run_graph(
        bind(graph, placeholders(graph, inputs)),
        inputs,
    )
    return dict(outputs)


def net(name: str, *, opened: bool = False) -> tuple[RecordedModel, Blobs, Arrays]:
    """A net of the corpus and its inputs. With `opened`, the number of rows is an open size."""
    with np.load(CORPUS / f"{name}.npz") as arrays:
        inputs = {key[3:]: arrays[key] for key in arrays.files if key.startswith("in/")}
    shapes = {key: ["N", *x.shape[1:]] for key, x in inputs.items()} if opened else None
    return *recorded(name, shapes, snapshot(name)), inputs


def refused(model: RecordedModel, blobs: Blobs, name: str) -> str | None:
    try:
        recorded_part(model, blobs, Subgraph((name,)))
    except RecipeError as error:
        return str(error)
    return None


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("name", ["classifier", "resnet", "unet", "encoder"])
def test_two_consecutive_subgraphs_match_the_model(name: str, opened: bool) -> None:
    """For every call that splits the chain. For other calls, the message names further options."""
    model, blobs, inputs = net(name, opened=opened)
    expected = computed((model, blobs), inputs)
    messages = {call: refused(model, blobs, call) for call in model.names}
    assert all(
        "--from-layer" in message or "no layer between" in message
        for message in messages.values()
        if message is not None
    )
    possible = [call for call, message in messages.items() if message is None]
    assert possible
    for call in possible:
        head, tail = (
            recorded_part(model, blobs, Subgraph((), (call,))),
            recorded_part(model, blobs, Subgraph((call,))),
        )
        between = computed(head, inputs)
        assert set(between) == {call}
        for key, value in computed(tail, between).items():
            assert relative_error(value, expected[key]) <= 1e-5, (call, key)


def test_a_link_names_the_output_of_its_call() -> None:
    """Its nodes have the names of their operators."""
    model, blobs = recorded("named", module="small")
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    got = computed(
        recorded_part(model, blobs, Subgraph((), ("block", "block/fc", "block/Add"))), {"x": x}
    )
    inner = x @ np.full((3, 3), 0.5, np.float32) + 1
    np.testing.assert_allclose(got["block/fc"], inner, rtol=1e-5)
    np.testing.assert_allclose(got["block/Add"], x + inner, rtol=1e-5)
    np.testing.assert_allclose(got["block"], np.tanh(x + inner), rtol=1e-5)


def test_open_sizes_of_a_subgraph() -> None:
    """Sizes of inputs keep their names. Others are named after the call."""
    model, blobs = recorded("halved", {"x": ["N", 1, "H", 4]}, module="small")
    part, _ = recorded_part(model, blobs, Subgraph(("max_pooling_2d",), ("tanh",)))
    assert part.graph.inputs[0].shape == ("N", 1, None, 2)
    with pytest.raises(
        RecipeError,
        match=(r"halved: .* computes with the open size H, which no input of the part has; set it"),
    ):
        recorded_part(model, blobs, Subgraph(("max_pooling_2d",), ("reshape",)))


def test_a_recording_stores_the_types_and_names_of_tensors(tmp_path: Path) -> None:
    model, blobs, _ = net("classifier", opened=True)
    write(tmp_path / "net.chainer", model, blobs)
    again, arrays = read(tmp_path / "net.chainer")
    assert (again.types, again.names, arrays.keys()) == (model.types, model.names, blobs.keys())


@pytest.fixture
def built(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Builds a subgraph of the classifier, with further lines in the recipe."""
    with Engine(tmp_path / ".webkiln") as engine:

        def make(*lines: str, **arrays: np.ndarray) -> Model:
            folder = tmp_path / "net"
            folder.mkdir(exist_ok=True)
            shutil.copyfile(HERE / "nets.py", folder / "mynets.py")
            shutil.copyfile(snapshot("classifier"), folder / "snapshot.npz")
            if arrays:
                np.savez(folder / "expected.npz", **arrays)
            source = (
                'source = {module = "mynets:classifier", weights = "snapshot.npz"}\nsource_format ='
                ' "chainer"\nbackends = ["js"]\n'
            )
            (folder / "recipe.toml").write_text("\n".join([source, *lines]))
            return Model(engine, read_recipe(folder / "recipe.toml"), tmp_path)

        yield make


def test_a_recorded_reference_verifies_a_part(built) -> None:  # type: ignore[no-untyped-def]
    """It has the inputs and outputs of the subgraph, as computed by Chainer."""
    model, blobs, inputs = net("classifier")
    with np.load(CORPUS / "classifier.npz") as arrays:
        output = arrays["out/output"]
    between = computed(recorded_part(model, blobs, Subgraph((), ("conv2",))), inputs)
    lines = ('from_layers = ["conv2"]', 'reference = "expected.npz"')
    subgraph = built(*lines, conv2=between["conv2"], output=output)
    (action,) = subgraph.actions.verify(Selection(subgraph.recipe.backends), "node")
    assert [
        row["passed"] for row in canonical.read(subgraph.file(action, "result.json"))["outputs"]
    ] == [True]
    manifest = read_manifest(bundle := subgraph.bundle())
    assert [item["name"] for item in manifest["inputs"]] == ["conv2"]
    (result,) = run_bundle(bundle, "js", [between], host="node")
    assert relative_error(result.outputs["output"], output) <= 1e-4


def test_a_reference_of_the_entire_model_does_not_fit_a_subgraph(built) -> None:  # type: ignore[no-untyped-def]
    with np.load(CORPUS / "classifier.npz") as arrays:
        model = built(
            'from_layers = ["conv2"]',
            'reference = "expected.npz"',
            x=arrays["in/x"],
            output=arrays["out/output"],
        )
    with pytest.raises(
        RecipeError,
        match=(
            r"(?s)x: the model has no such input or output.*inputs are conv2.*input conv2 is"
            r" missing"
        ),
    ):
        model.engine.run(model.actions.reference())


def test_a_subgraph_without_a_reference_is_built_but_not_verified(built) -> None:  # type: ignore[no-untyped-def]
    model = built('to_layers = ["conv2"]')
    assert [item["name"] for item in read_manifest(model.bundle())["outputs"]] == ["conv2"]
    with pytest.raises(ToolError, match="reference outputs need Chainer"):
        model.engine.run(model.actions.reference())
