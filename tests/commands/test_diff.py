"""`webkiln diff` finds the first wrong layer of a bundle, against Keras or another backend, in Node
and Chromium, with and without retained layers.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.commands.conftest import Command
from webkiln.backends.compare import layer_errors
from webkiln.backends.frame import KeptLayer
from webkiln.codegen.bundles import piecewise_digest

Built = dict[bool, Path]


@pytest.fixture(scope="module")
def built(sources: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Bundles of good.keras, without and with its layers."""
    from webkiln.build.engine import Engine
    from webkiln.build.graph import ModelGraph, Selection
    from webkiln.recipe.recipe import Recipe
    from webkiln.recipe.sources import PathSource

    folder = tmp_path_factory.mktemp("built")
    recipe = Recipe("good", PathSource(sources / "good.keras"))
    with Engine(folder / ".webkiln", cache=cache) as engine:
        for layers in (False, True):
            engine.publish(
                ModelGraph(recipe, engine.share).bundle(Selection(("wasm", "js"), layers=layers)),
                "bundle/",
                folder / str(layers),
            )
    return {layers: folder / str(layers) for layers in (False, True)}


def alter_weights(bundle: Path, folder: Path) -> Path:
    """Copy a bundle with different weights in its second layer, which the loader accepts."""
    copy = Path(shutil.copytree(bundle, folder / "spoilt"))
    (path,) = copy.glob("weights-*.bin")
    sealing = piecewise_digest(path)["digest"]
    values = np.fromfile(path, np.float32)
    values[values.size // 2 :] += np.arange(values.size - values.size // 2) % 3
    path.write_bytes(values.tobytes())
    index = copy / "index.js"
    index.write_text(index.read_text().replace(sealing, piecewise_digest(path)["digest"]))
    return copy


@pytest.mark.parametrize("browser", ["node", "chromium"])
@pytest.mark.parametrize(("layers", "against"), [(True, "js"), (False, "reference")])
@pytest.mark.sample("False-reference-node")
def test_layers_in_order(
    webkiln: Command, sources: Path, built: Built, layers: bool, against: str, browser: str
) -> None:
    options = ("--against", against, "--browser", browser, "--source", sources / "good.keras")
    done = webkiln("diff", built[layers], "--backend", "wasm", *options)
    assert done.returncode == 0, done.stderr
    first = done.stdout.partition("input set natural1")[0]
    positions = [first.index(f"  {name} [1, ") for name in ("conv", "scores", "output scores")]
    assert positions == sorted(positions)
    assert ("has no layers; they are those of a new build" in done.stdout) == (not layers)


def test_diff_stops_at_the_first_wrong_layer(
    webkiln: Command, sources: Path, built: Built, tmp_path: Path
) -> None:
    altered = alter_weights(built[True], tmp_path)
    done = webkiln("diff", altered, "--backend", "js", "--source", sources / "good.keras")
    assert done.returncode == 2
    assert "error: js differs from reference first in scores [1, 4] (relative error " in done.stderr
    assert ", bound 0.0001; worst at [0, " in done.stderr
    assert "output scores" not in done.stdout.rpartition("input set ")[2]
    assert webkiln("diff", altered, "--backend", "js", "--against", "wasm").returncode == 0, (
        "both read the same weights"
    )


def test_diff_reports_a_bundle_that_differs_from_its_source(
    webkiln: Command, sources: Path, built: Built, tmp_path: Path
) -> None:
    done = webkiln(
        "diff",
        alter_weights(built[False], tmp_path),
        "--backend",
        "js",
        "--source",
        sources / "good.keras",
    )
    assert done.returncode == 2
    assert "js differs from reference first in output scores" in done.stderr


def test_incomparable_bundles_are_errors(webkiln: Command, built: Built) -> None:
    for options, message in (
        (
            ("--backend", "wasm", "--against", "wasm"),
            "unknown backend to compare with 'wasm'; valid: js, reference",
        ),
        (("--backend", "webgl"), "unknown backend 'webgl'; valid: js, wasm"),
        (
            (),
            ("the framework's outputs are needed, and its source is not known; add --source"),
        ),
        (
            ("--against", "js"),
            "it has no layers, and its source is not known; add --source",
        ),
    ):
        done = webkiln("diff", built[False], *options)
        assert done.returncode == 2
        assert message in done.stderr


def test_the_worst_element_is_reported() -> None:
    got, expected = np.zeros((2, 3)), np.zeros((2, 3))
    got[1, 2], expected[0, 1] = 5, np.nan
    retained = (KeptLayer("a", "a", np.ones(2)), KeptLayer("b", "b", got), KeptLayer("c", "c", got))
    errors = list(layer_errors(retained, {"a": np.ones(2), "b": np.ones((2, 3)), "c": got}, 1e-4))
    assert [(error.layer, error.passed, error.index) for error in errors] == [
        ("a", True, (0,)),
        ("b", False, (1, 2)),
    ]
    (error,) = layer_errors(retained[1:], {"b": expected}, 1e-4)
    assert str(error) == "b [2, 3] (non-finite values differ; worst at [0, 1]: got 0, expected nan)"
