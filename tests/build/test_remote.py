"""The remote cache: real servers, failing servers, concurrent writers, signatures, and the requests
for a restored bundle.
"""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.build.faulty_remote import Faulty, faulty, warnings
from tests.build.remotes import REAL, documented_directives, nginx
from tests.build.tree import Tree, checkout, executed, toy_bundle, warm
from tests.sampling import representative
from webkiln import canonical
from webkiln.build.action import Blob
from webkiln.build.cache import ActionCache
from webkiln.build.outputs import Expected
from webkiln.build.remote import entries, wire
from webkiln.build.remote.shared import SharedCache, remote_cache_from_environment

WRITES = {"WEBKILN_CACHE_WRITE": "1"}
KEY = 64 * "a"

pytestmark = pytest.mark.usefixtures("direct")


@pytest.mark.parametrize("shared_server", representative(REAL, "folder", "reapi"), indirect=True)
def test_results_of_one_machine_are_used_by_another(
    shared_server: dict[str, str], trees: list[Tree]
) -> None:
    for tree in trees:
        tree.edit("models/toy/model.json", "0.5", "0.625")
    first, second = trees
    assert first.make(**shared_server, **WRITES)
    assert not second.make(**shared_server)
    assert second.bytes() == first.bytes()
    assert not second.make(**shared_server), "local results are not requested"


def test_nothing_is_uploaded_without_permission(toy: Tree) -> None:
    with faulty() as server:
        assert toy.make(WEBKILN_REMOTE_CACHE=server.url)
        assert server.requests
        assert not [line for line in server.requests if not line.startswith(("GET ", "HEAD "))]
        assert not server.objects


@pytest.mark.long
def test_results_that_were_not_uploaded_are_built_again(
    server: dict[str, str], trees: list[Tree]
) -> None:
    first, second = trees
    first.make(**server)
    assert second.make(**server)


@pytest.mark.parametrize("count", representative([2, 4], 2))
def test_concurrent_writers(count: int, server: dict[str, str], tmp_path: Path) -> None:
    writers = [
        checkout(tmp_path / f"writer{n}", tmp_path / f"cache-of-{n}", toy=True)
        for n in range(count)
    ]
    with ThreadPoolExecutor(count) as pool:
        output = list(
            pool.map(
                lambda tree: tree.doit("build", f"model={tree.model}", **server, **WRITES), writers
            )
        )
    assert not [line for text in output for line in warnings(text)]
    reader = checkout(tmp_path / "reader", tmp_path / "cache-of-reader", toy=True)
    assert not reader.make(**server)
    assert {tuple(sorted(tree.bytes().items())) for tree in (*writers, reader)} == {
        tuple(sorted(reader.bytes().items()))
    }


def test_an_entire_cache_is_pushed_and_pulled(server: dict[str, str], trees: list[Tree]) -> None:
    first, second = trees
    warm(first)
    assert "WEBKILN_CACHE_WRITE is not 1" in first.webkiln("cache", "push", status=2, **server)
    assert " results are stored" in first.webkiln("cache", "push", **server, **WRITES)
    assert not second.make(**server)
    assert " more in the remote cache" in second.webkiln("cache", "stat", **server)
    assert "fetched from" in second.webkiln("cache", "pull", **server)
    assert "0 files" in second.webkiln("cache", "pull", **server)
    second.bundle.rename(second.root / "gone")
    assert not second.make(), "nothing is requested any more"


def test_a_bundle_needs_one_lookup_and_its_files(filled_server: tuple[Faulty, Tree]) -> None:
    server, second = filled_server
    second.webkiln("build", "models/toy", "-o", "out", WEBKILN_REMOTE_CACHE=server.url)
    entries = [line for line in server.requests if line.startswith("GET ac/")]
    blobs = [line for line in server.requests if line.startswith("GET cas/")]
    assert len(entries) == 1
    assert sorted(blobs) == sorted(
        {f"GET cas/{canonical.digest(data)}" for data in toy_bundle().values()}
    )
    assert len(server.requests) == len(entries) + len(blobs)


def test_doit_sends_one_request_per_bundle(filled_server: tuple[Faulty, Tree]) -> None:
    server, second = filled_server
    assert not second.build(WEBKILN_REMOTE_CACHE=server.url)
    assert len([line for line in server.requests if line.startswith("GET ac/")]) == 1
    assert second.bytes() == toy_bundle()
    assert not second.build(), "restored results are up to date without the remote cache"


def test_a_build_ends_after_its_uploads(trees: list[Tree]) -> None:
    """A slow server still receives results after doit has printed its last line."""
    first, second = trees
    with faulty() as server:
        server.latency = 0.3
        assert "Traceback" not in first.doit(
            "build", f"model={first.model}", WEBKILN_REMOTE_CACHE=server.url, **WRITES
        )
        server.latency = 0.0
        server.requests.clear()
        assert not second.build(WEBKILN_REMOTE_CACHE=server.url)
        assert len([line for line in server.requests if line.startswith("GET ac/")]) == 1


def test_damaged_blobs_of_a_remote_are_replaced(
    filled_server: tuple[Faulty, Tree], tmp_path: Path
) -> None:
    server, second = filled_server
    server.objects = {name: data[: len(data) // 2] for name, data in server.objects.items()}
    assert (
        len(
            warnings(
                second.doit(
                    "build", f"model={second.model}", WEBKILN_REMOTE_CACHE=server.url, **WRITES
                )
            )
        )
        == 1
    )
    third = checkout(tmp_path / "third", tmp_path / "cache-of-third", toy=True)
    assert not warnings(
        third.doit("build", f"model={third.model}", WEBKILN_REMOTE_CACHE=server.url)
    )
    assert not executed(third.log())
    assert third.bytes() == toy_bundle()


def test_discovered_inputs_are_stored_locally(tmp_path: Path) -> None:
    """After a restore, discovered inputs need no remote cache."""
    with faulty() as server:
        shared = SharedCache(server.url, writes=True)
        ActionCache(tmp_path / "one", shared).record_reads(KEY, ["0/a"], KEY)
        shared.wait(lambda text: None)
        assert ActionCache(tmp_path / "two", shared).reads(KEY) == [("0/a",)]
        shared.close()
    cache = ActionCache(tmp_path / "two")
    assert cache.reads(KEY) == [("0/a",)]
    cache.gc(grace=-1)
    assert cache.reads(KEY) == [("0/a",)]
    (recorded,) = (path for path in (tmp_path / "two" / "reads").glob("*/*"))
    os.utime(recorded, (0, 0))
    cache.gc()
    assert cache.reads(KEY) == []


def test_a_rejected_large_file_does_not_affect_others(trees: list[Tree], tmp_path: Path) -> None:
    """The documented nginx, but with a smaller limit."""
    first, second = trees
    directives = documented_directives()
    assert "client_max_body_size 0;" in directives
    with nginx(
        tmp_path, directives.replace("client_max_body_size 0", "client_max_body_size 700")
    ) as server:
        output = first.doit("build", f"model={first.model}", **server, **WRITES)
        (warning,) = warnings(output)
        assert "413 Request Entity Too Large), so it is not stored there" in warning
        assert 0 < len(second.make(**server)) < len(executed(first.log()))
        assert " results could not be stored" in first.webkiln(
            "cache", "push", status=2, **server, **WRITES
        )


def test_a_server_that_rejects_uploads_is_still_read(filled_server: tuple[Faulty, Tree]) -> None:
    server, second = filled_server
    server.fault = "no puts"
    second.edit("models/toy/model.json", "1 2 3", "4 5 6")
    output = second.doit(
        "build", f"model={second.model}", WEBKILN_REMOTE_CACHE=server.url, **WRITES
    )
    assert "405 Method Not Allowed); new results remain here" in warnings(output)[0]
    second.edit("models/toy/model.json", "4 5 6", "1 2 3")
    assert not second.make(WEBKILN_REMOTE_CACHE=server.url, **WRITES)


@pytest.mark.parametrize(
    ("value", "writes"),
    [("0", False), ("false", False), ("", False), ("true", True), ("TRUE", True), ("1", True)],
)
def test_values_of_the_write_variable(
    value: str, writes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBKILN_REMOTE_CACHE", "/somewhere")
    monkeypatch.setenv("WEBKILN_CACHE_WRITE", value)
    cache_settings = remote_cache_from_environment()
    assert cache_settings is not None
    assert cache_settings.writes is writes


def test_an_invalid_write_variable_is_an_error(toy: Tree) -> None:
    output = toy.doit(
        "build", status=2, WEBKILN_REMOTE_CACHE="/somewhere", WEBKILN_CACHE_WRITE="yes"
    )
    assert "WEBKILN_CACHE_WRITE is 'yes', expected one of 1, 0, true, false" in output


def test_an_entry_is_never_changed(filled_server: tuple[Faulty, Tree]) -> None:
    server, second = filled_server
    before = dict(server.objects)
    second.make(WEBKILN_REMOTE_CACHE=server.url, **WRITES)
    assert server.objects == before
    second.webkiln("cache", "push", WEBKILN_REMOTE_CACHE=server.url, **WRITES)
    assert {name: data for name, data in server.objects.items() if name in before} == before


EVIL = {
    "above": {"../../evil": {"sha256": 64 * "a", "bytes": 1}},
    "absolute": {"/etc/evil": {"sha256": 64 * "a", "bytes": 1}},
    "empty part": {"bundle//evil": {"sha256": 64 * "a", "bytes": 1}},
    "digest": {"bundle/x": {"sha256": "../../../evil", "bytes": 1}},
    "capitals": {"bundle/x": {"sha256": 64 * "A", "bytes": 1}},
    "size": {"bundle/x": {"sha256": 64 * "a", "bytes": -1}},
    "truth": {"bundle/x": {"sha256": 64 * "a", "bytes": True}},
    "list": [["bundle/x", 64 * "a"]],
}


@pytest.mark.parametrize("outputs", EVIL.values(), ids=EVIL)
def test_names_in_entries_cannot_escape_as_paths(outputs: object) -> None:
    key = 64 * "b"
    with faulty() as server:
        entry = entries.written(key, {"result": {"outputs": outputs, "printed": ""}}, None)
        server.objects[f"ac/{entries.entry_key(key)}"] = wire.wrapped(entry, [])
        shared = SharedCache(server.url)
        assert shared.find(key) is None
        shared.close()


def test_a_result_has_exactly_the_outputs_of_its_action() -> None:
    blob = Blob(64 * "a", 1)
    rule = Expected(frozenset({"graph.json"}), {"kernels/": lambda name: name.endswith(".c")})
    assert not rule.fault({"graph.json": blob, "kernels/x.c": blob})
    assert not rule.fault({"graph.json": blob})
    assert rule.fault({"kernels/x.c": blob})
    assert rule.fault({"graph.json": blob, "other": blob})
    assert rule.fault({"graph.json": blob, "kernels/x.js": blob})


def test_gc_to_a_size(toy: Tree) -> None:
    warm(toy)
    assert "expected a size such as 500MB" in toy.webkiln(
        "cache", "gc", "--max-size", "much", status=2
    )
    subprocess.run([sys.executable, "-c", AGED, toy.cache], check=True)
    assert "and 0 files" in toy.webkiln("cache", "gc", "--max-size", "5GB")
    assert "and 0 files" not in toy.webkiln("cache", "gc", "--max-size", "0")
    assert " 0 files of 0 bytes" in toy.webkiln("cache", "stat")
    toy.wipe()
    assert toy.make()


AGED = (
    "import os, sys, pathlib; [os.utime(path, (0, 0)) for path in"
    " pathlib.Path(sys.argv[1]).rglob('*') if path.is_file()]"
)
