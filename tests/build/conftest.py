import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.build.faulty_remote import Faulty, faulty
from tests.build.fleets import Trees, scheduler
from tests.build.models import MODELS, Model
from tests.build.projects import Project
from tests.build.remotes import QUICK, REAL
from tests.build.signers import hmac_signer
from tests.build.tree import Tree, checkout
from tests.sampling import representative
from webkiln.build.remote.network import BUNDLES
from webkiln.build.remote.signing import Signer
from webkiln.build.share import Share

HERE = Path(__file__).parent
BRIEF = {"test_two_checkouts_give_identical_bytes"}
"""Tests that also run with a real model every time. The toy, whose stages take no time, goes
through all tests.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        known = getattr(item, "callspec", None) if item.path.parent == HERE else None
        if (
            known is not None
            and known.params.get("model") == "digits"
            and getattr(item, "originalname", "") not in BRIEF
        ):
            item.add_marker(pytest.mark.long)


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Model:
    return MODELS[request.param]


@pytest.fixture
def tree(model: Model, tmp_path: Path) -> Tree:
    """A fresh checkout with an empty cache."""
    return checkout(tmp_path / "tree", tmp_path / "cache", toy=model.toy)


@pytest.fixture
def toy(tmp_path: Path) -> Tree:
    return checkout(tmp_path / "tree", tmp_path / "cache", toy=True)


@pytest.fixture
def share(tmp_path: Path) -> Share:
    """A root with two stages, and a package outside of it."""
    root, package = tmp_path / "root", tmp_path / "lib" / "webkiln"
    (root / "stages").mkdir(parents=True)
    package.mkdir(parents=True)
    for name in ("one", "two"):
        (root / "stages" / f"{name}.py").write_text(
            "import numpy\nfrom webkiln import part\ndef run(inputs, outputs, params): ...\n"
        )
    (package / "part.py").write_text("SIZE = 1\n")
    (package / "more.py").write_text("SIZE = 2\n")
    (root / "toolchain.lock").write_text('[tools]\nnode = "1"\nclang = "2"\n')
    (root / "requirements.lock").write_text("numpy==1\nscipy==2\n")
    return Share(root, package)


@pytest.fixture(scope="session")
def unbuilt(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A checkout in which nothing is built or edited, for queries."""
    place = tmp_path_factory.mktemp("unbuilt")
    return checkout(place / "tree", place / "cache", toy=True)


@pytest.fixture(scope="session")
def held(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The contents of a server after a build of the toy with uploads."""
    place = tmp_path_factory.mktemp("held")
    with faulty() as server:
        checkout(place / "tree", place / "cache", toy=True).make(
            WEBKILN_REMOTE_CACHE=server.url, WEBKILN_CACHE_WRITE="1"
        )
        return dict(server.held)


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy or authority except those that a test sets."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy") or name in BUNDLES]:
        monkeypatch.delenv(name)


@pytest.fixture
def trees(tmp_path: Path) -> list[Tree]:
    """Checkouts of one project, each with its own cache, as on separate machines."""
    return [checkout(tmp_path / f"tree{n}", tmp_path / f"cache{n}", toy=True) for n in range(2)]


@pytest.fixture(scope="module")
def buildgrid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A server that takes seconds to start, for all tests whose entries differ."""
    with REAL["reapi"](tmp_path_factory.mktemp("buildgrid")) as reached:
        yield reached


@pytest.fixture
def filled(held: dict[str, bytes], toy: Tree) -> Iterator[tuple[Faulty, Tree]]:
    """A server with the results of another tree, which fails on demand; and a tree that has built
    nothing.
    """
    with faulty() as server:
        server.held |= held
        yield server, toy


@pytest.fixture(params=representative(REAL, "nginx"))
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    place = tmp_path / "server"
    place.mkdir()
    with REAL[request.param](place) as reached:
        yield reached


@pytest.fixture(scope="module", params=representative(REAL, *QUICK))
def standing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """A server for several tests, whose entries differ."""
    if request.param == "reapi":
        yield request.getfixturevalue("buildgrid")
        return
    with REAL[request.param](tmp_path_factory.mktemp("server")) as reached:
        yield reached


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "one", tmp_path / "cache")


@pytest.fixture
def own(tmp_path: Path) -> Signer:
    return hmac_signer(tmp_path, "s")


SLOW_STAGES = ("lower", "generate", "pack")


@pytest.fixture
def slow_trees(tmp_path: Path) -> Trees:
    """Checkouts of one project, each with its own cache, as on separate machines. Some stages sleep
    for 0.3 s, and meanwhile there is a file of theirs in `tmp_path/seen` if this folder exists.
    """

    def create(count: int) -> list[Tree]:
        checkouts = [
            checkout(tmp_path / f"tree{n}", tmp_path / f"cache{n}", toy=True) for n in range(count)
        ]
        for tree in checkouts:
            for stage in SLOW_STAGES:
                delay = (
                    "    import os, pathlib, time\n    seen ="
                    f" pathlib.Path({str(tmp_path / 'seen')!r}, f'{stage}-{{os.getpid()}}')\n"
                )
                delay += (
                    "    if seen.parent.exists(): seen.write_text('')\n    time.sleep(0.3)\n   "
                    " seen.unlink(missing_ok=True)\n"
                )
                tree.edit(
                    f"stages/{stage}.py",
                    "def run(inputs, outputs, params):\n",
                    f"def run(inputs, outputs, params):\n{delay}",
                )
        return checkouts

    return create


@pytest.fixture
def shared(tmp_path: Path) -> str:
    (tmp_path / "shared").mkdir()
    return str(tmp_path / "shared")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with scheduler(tmp_path_factory.mktemp("fleet") / "scheduler") as found:
        yield found
