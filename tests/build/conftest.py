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
ALSO_REAL = {"test_two_checkouts_produce_identical_bytes"}
"""Tests that always run with a real model, too. The others do so only in `make formats`."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        callspec = getattr(item, "callspec", None) if item.path.parent == HERE else None
        if (
            callspec is not None
            and callspec.params.get("model") == "digits"
            and getattr(item, "originalname", "") not in ALSO_REAL
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
    """A root with two stages, and a package outside it."""
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
    """A checkout for queries: nothing in it is built or edited."""
    folder = tmp_path_factory.mktemp("unbuilt")
    return checkout(folder / "tree", folder / "cache", toy=True)


@pytest.fixture(scope="session")
def remote_objects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The contents of a server after a build of the toy with uploads."""
    folder = tmp_path_factory.mktemp("remote")
    with faulty() as server:
        checkout(folder / "tree", folder / "cache", toy=True).make(
            WEBKILN_REMOTE_CACHE=server.url, WEBKILN_CACHE_WRITE="1"
        )
        return dict(server.objects)


@pytest.fixture
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all proxies and certificate authorities from the environment."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy") or name in BUNDLES]:
        monkeypatch.delenv(name)


@pytest.fixture
def trees(tmp_path: Path) -> list[Tree]:
    """Checkouts of one project, each with its own cache, as on separate machines."""
    return [checkout(tmp_path / f"tree{n}", tmp_path / f"cache{n}", toy=True) for n in range(2)]


@pytest.fixture(scope="module")
def buildgrid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A server that takes seconds to start, shared by tests with different entries."""
    with REAL["reapi"](tmp_path_factory.mktemp("buildgrid")) as server_environment:
        yield server_environment


@pytest.fixture
def filled_server(remote_objects: dict[str, bytes], toy: Tree) -> Iterator[tuple[Faulty, Tree]]:
    """A server with the results of another tree, which can simulate faults, and a tree without a
    build.
    """
    with faulty() as server:
        server.objects |= remote_objects
        yield server, toy


@pytest.fixture(params=representative(REAL, "nginx"))
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    folder = tmp_path / "server"
    folder.mkdir()
    with REAL[request.param](folder) as server_environment:
        yield server_environment


@pytest.fixture(scope="module", params=representative(REAL, *QUICK))
def shared_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """A server, shared by tests with different entries."""
    if request.param == "reapi":
        yield request.getfixturevalue("buildgrid")
        return
    with REAL[request.param](tmp_path_factory.mktemp("server")) as server_environment:
        yield server_environment


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "one", tmp_path / "cache")


@pytest.fixture
def trusted_signer(tmp_path: Path) -> Signer:
    return hmac_signer(tmp_path, "s")


SLOW_STAGES = ("lower", "generate", "pack")


@pytest.fixture
def slow_trees(tmp_path: Path) -> Trees:
    """Checkouts of one project, each with its own cache, as on separate machines. Some stages sleep
    for 0.3 s. Meanwhile a file of each exists in `tmp_path/running` if this folder exists.
    """

    def create(count: int) -> list[Tree]:
        checkouts = [
            checkout(tmp_path / f"tree{n}", tmp_path / f"cache{n}", toy=True) for n in range(count)
        ]
        for tree in checkouts:
            for stage in SLOW_STAGES:
                delay = (
                    "    import os, pathlib, time\n    mark ="
                    f" pathlib.Path({str(tmp_path / 'running')!r}, f'{stage}-{{os.getpid()}}')\n"
                )
                delay += (
                    "    if mark.parent.exists(): mark.write_text('')\n    time.sleep(0.3)\n   "
                    " mark.unlink(missing_ok=True)\n"
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
    with scheduler(tmp_path_factory.mktemp("fleet") / "scheduler") as scheduler_address:
        yield scheduler_address


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stalls are detected after three seconds instead of ten. `make soak` uses ten seconds."""
    for module in ("timeouts", "objects", "reapi"):
        monkeypatch.setattr(f"webkiln.build.remote.{module}.ANSWER_SECONDS", 3.0)
    monkeypatch.setattr("tests.build.hostile.DRIP_SECONDS", 1.0)
