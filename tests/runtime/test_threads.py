"""Threads of runs: results have the same bits for any number of threads, all models of a page share
one pool, and there is one thread if memory cannot be shared.
"""

from pathlib import Path
from typing import Any

import keras
import pytest

from tests.hosts import BEST, HOSTS, every_host, every_page
from tests.models.conftest import Model
from tests.runtime.tampering import Site, in_node, in_page
from webkiln.backends.server import ISOLATED
from webkiln.build.engine import Engine
from webkiln.recipe.read import read_recipe


def build_bundle(folder: Path, shape: tuple[int | None, ...], recipe: str = "") -> Path:
    """A bundle of a network with all operations that run on several threads: several kinds of
    convolutions, matrix products, sums, a normalisation.
    """
    keras.utils.set_random_seed(1)
    x = y = keras.Input(shape, name="x")
    y = keras.layers.Conv2D(48, 3, padding="same", activation="relu")(y)
    y = keras.layers.DepthwiseConv2D(3, padding="same")(y)
    y = keras.layers.LayerNormalization()(y)
    y = keras.layers.Add()([keras.layers.Conv2D(48, 1)(y), y])
    y = keras.layers.Conv2D(29, 5, strides=2, padding="same", activation="sigmoid")(y)
    y = keras.layers.Dense(10, activation="softmax")(keras.layers.GlobalAveragePooling2D()(y))
    folder.mkdir(exist_ok=True)
    keras.Model(x, y).save(folder / "net.keras")
    (folder / "recipe.toml").write_text(
        f'source = "net.keras"\nbackends = ["wasm", "js"]\n{recipe}'
    )
    with Engine(folder / ".webkiln") as engine:
        return Model(engine, read_recipe(folder / "recipe.toml"), folder).bundle()


@pytest.fixture(scope="session")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_bundle(tmp_path_factory.mktemp("threads") / "net", (48, 48, 32))


@pytest.fixture(scope="session")
def symbolic_net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_bundle(
        tmp_path_factory.mktemp("threads") / "symbolic",
        (None, None, 32),
        'input_shapes = {x = [1, "H", "W", 32]}\n',
    )


def perform(host: str, bundle: Path, scenario: str, argument: Any) -> Any:
    return (
        in_node(bundle, scenario, argument)
        if host == "node"
        else in_page(Site(bundle, headers=ISOLATED), scenario, argument, host)
    )


@pytest.mark.parametrize(
    ("host", "variant"),
    [(host, variant) for host in HOSTS for variant in sorted({"simd", BEST[host]})],
)
@pytest.mark.sample(2)
def test_results_have_equal_bits(host: str, variant: str, net: Path) -> None:
    result = perform(
        host,
        net,
        "threads",
        {"counts": [1, 2, 3, 5], "rounds": 8, "backends": "wasm", "variant": variant},
    )
    assert result == {"threads": [1, 2, 3, 5], "results": 1, "pool": 4, "lines": [], "remaining": 0}


def test_workers_inherit_flags_of_v8(net: Path) -> None:
    result = in_node(
        net,
        "threads",
        {"counts": [2], "rounds": 1, "backends": "wasm", "worker": True},
        "--max-old-space-size=2048",
    )
    assert result == {"threads": [2], "results": 1, "pool": 1, "lines": [], "remaining": 0}


@every_host
@pytest.mark.sample(2)
def test_models_are_disposed_of_while_they_run(host: str, net: Path) -> None:
    result = perform(host, net, "threadsDisposed", {"threads": 3, "backends": "wasm"})
    assert result == {"same": True, "pool": 2, "remaining": 0, "codes": []}


@every_page
@pytest.mark.sample(1)
def test_an_aborted_load_leaves_no_worker(browser: str, net: Path) -> None:
    """The load is aborted while a Worker starts, while weights arrive, or while helpers start."""
    result = perform(browser, net, "workersAborted", {"threads": 3, "backends": "wasm"})
    assert result == {"codes": ["Aborted"], "remaining": 0, "pool": 0}


@every_host
@pytest.mark.sample(2)
def test_memory_grows_under_threads(host: str, symbolic_net: Path) -> None:
    assert perform(host, symbolic_net, "threadsGrown", {"threads": 2, "backends": "wasm"}) == [
        True,
        True,
        True,
    ]


@every_page
@pytest.mark.sample(1)
def test_pages_that_are_not_isolated_have_one_thread(browser: str, net: Path) -> None:
    result = in_page(
        Site(net), "threads", {"counts": ["auto"], "rounds": 1, "backends": "wasm"}, browser
    )
    (line,) = result.pop("lines")
    assert result == {"threads": [1], "results": 1, "pool": 0, "remaining": 0}
    assert "Cross-Origin-Opener-Policy: same-origin" in line
    assert "Cross-Origin-Embedder-Policy: require-corp" in line


@every_host
@pytest.mark.sample(2)
def test_a_model_outside_a_worker(host: str, net: Path) -> None:
    """The main thread of a page must not block. That of Node may."""
    result = perform(
        host, net, "threads", {"counts": [2, 1], "rounds": 3, "backends": "wasm", "worker": False}
    )
    assert result["threads"] == ([2, 1] if host == "node" else [1, 1])
    assert (result["results"], result["remaining"]) == (1, 0)


@every_host
@pytest.mark.sample(1)
def test_other_backends_have_one_thread(host: str, net: Path) -> None:
    result = perform(host, net, "threads", {"counts": [4], "rounds": 1, "backends": "js"})
    assert result == {"threads": [1], "results": 1, "pool": 0, "lines": [], "remaining": 0}
