"""Parts of recorded chains: two that continue each other give what the whole does; calls are named,
not the nodes that they are made of.
"""

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


def computed(part: tuple[NodeModel, Blobs], given: Arrays) -> Arrays:
    graph = ChainerConverter().convert(*part)
    taken = {name: given[name] for name in graph.inputs}
    outputs, _ = run_graph(
        bind(graph, placeholders(graph, {name: array.shape for name, array in taken.items()})),
        taken,
    )
    return dict(outputs)


def net(name: str, *, opened: bool = False) -> tuple[RecordedModel, Blobs, Arrays]:
    """A net of the corpus, with its inputs there; `opened` leaves the number of rows open."""
    with np.load(CORPUS / f"{name}.npz") as arrays:
        given = {key[3:]: arrays[key] for key in arrays.files if key.startswith("in/")}
    shapes = {key: ["N", *x.shape[1:]] for key, x in given.items()} if opened else None
    return *recorded(name, shapes, snapshot(name)), given


def refused(model: RecordedModel, blobs: Blobs, name: str) -> str | None:
    try:
        recorded_part(model, blobs, Subgraph((name,)))
    except RecipeError as error:
        return str(error)
    return None


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("name", ["classifier", "resnet", "unet", "encoder"])
def test_two_parts_continue_each_other(name: str, opened: bool) -> None:
    """Wherever a chain can be cut in two at one call; where it cannot, the message says what else
    to name.
    """
    model, blobs, given = net(name, opened=opened)
    expected = computed((model, blobs), given)
    wrong = {called: refused(model, blobs, called) for called in model.names}
    assert all(
        "--from-layer" in message or "no layer between" in message
        for message in wrong.values()
        if message is not None
    )
    possible = [called for called, message in wrong.items() if message is None]
    assert possible
    for called in possible:
        head, tail = (
            recorded_part(model, blobs, Subgraph((), (called,))),
            recorded_part(model, blobs, Subgraph((called,))),
        )
        between = computed(head, given)
        assert set(between) == {called}
        for key, value in computed(tail, between).items():
            assert relative_error(value, expected[key]) <= 1e-5, (called, key)


def test_a_link_stands_for_what_its_call_gives() -> None:
    """However many nodes it is made of; they can be named by their operators."""
    model, blobs = recorded("named", module="small")
    x = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    got = computed(
        recorded_part(model, blobs, Subgraph((), ("block", "block/fc", "block/Add"))), {"x": x}
    )
    inner = x @ np.full((3, 3), 0.5, np.float32) + 1
    np.testing.assert_allclose(got["block/fc"], inner, rtol=1e-5)
    np.testing.assert_allclose(got["block/Add"], x + inner, rtol=1e-5)
    np.testing.assert_allclose(got["block"], np.tanh(x + inner), rtol=1e-5)


def test_open_sizes_of_a_part() -> None:
    """Those that are an input's own keep their name, others are called after the call."""
    model, blobs = recorded("halved", {"x": ["N", 1, "H", 4]}, module="small")
    part, _ = recorded_part(model, blobs, Subgraph(("max_pooling_2d",), ("tanh",)))
    assert part.graph.inputs[0].shape == ("N", 1, None, 2)
    with pytest.raises(
        RecipeError,
        match=(
            r"halved: .* computes with the open size H, which no input of the part has; give a"
            r" number for it"
        ),
    ):
        recorded_part(model, blobs, Subgraph(("max_pooling_2d",), ("reshape",)))


def test_a_recording_keeps_what_is_known_of_its_tensors(tmp_path: Path) -> None:
    model, blobs, _ = net("classifier", opened=True)
    write(tmp_path / "net.chainer", model, blobs)
    again, arrays = read(tmp_path / "net.chainer")
    assert (again.types, again.names, arrays.keys()) == (model.types, model.names, blobs.keys())


@pytest.fixture
def built(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Makes a part of the classifier, with the recipe's further lines."""
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
    """It holds what went in and came out of the part, where Chainer runs."""
    model, blobs, given = net("classifier")
    with np.load(CORPUS / "classifier.npz") as arrays:
        output = arrays["out/output"]
    between = computed(recorded_part(model, blobs, Subgraph((), ("conv2",))), given)
    lines = ('from_layers = ["conv2"]', 'reference = "expected.npz"')
    made = built(*lines, conv2=between["conv2"], output=output)
    (action,) = made.actions.verify(Selection(made.recipe.backends), "node")
    assert [
        row["passed"] for row in canonical.read(made.file(action, "result.json"))["outputs"]
    ] == [True]
    manifest = read_manifest(bundle := made.bundle())
    assert [item["name"] for item in manifest["inputs"]] == ["conv2"]
    (found,) = run_bundle(bundle, "js", [between], host="node")
    assert relative_error(found.outputs["output"], output) <= 1e-4


def test_a_record_of_the_whole_is_none_of_a_part(built) -> None:  # type: ignore[no-untyped-def]
    with np.load(CORPUS / "classifier.npz") as arrays:
        made = built(
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
        made.engine.run(made.actions.reference())


def test_without_a_record_a_part_is_built_and_not_verified(built) -> None:  # type: ignore[no-untyped-def]
    made = built('to_layers = ["conv2"]')
    assert [item["name"] for item in read_manifest(made.bundle())["outputs"]] == ["conv2"]
    with pytest.raises(ToolError, match="reference outputs are what Chainer computes"):
        made.engine.run(made.actions.reference())
