"""Failing servers, and damaged entries of the remote cache."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.build.faulty_remote import Faulty, warnings
from tests.build.remotes import free_port
from tests.build.tree import Tree, toy_bundle
from webkiln import canonical
from webkiln.build.action import ActionResult, Blob
from webkiln.build.remote import entries
from webkiln.build.remote.addresses import open_remote
from webkiln.build.remote.shared import SharedCache
from webkiln.build.remote.signing import Signer, signer

WRITES = {"WEBKILN_CACHE_WRITE": "1"}
KEY = 64 * "a"

pytestmark = pytest.mark.usefixtures("direct")


def signed(folder: Path) -> Signer:
    (folder / "secret").write_bytes(b"s" * 32)
    return signer(f"hmac:{folder}/secret")


class ActionFiles:
    """Results of one action and their files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, data: bytes) -> Blob:
        blob = Blob(canonical.digest(data), len(data))
        (self.folder / blob.sha256).write_bytes(data)
        return blob

    def path(self, blob: Blob) -> Path:
        return self.folder / blob.sha256

    def store(
        self, url: str, result: ActionResult, trusted_signer: Signer | None = None, key: str = KEY
    ) -> None:
        shared = SharedCache(url, trusted_signer, writes=True)
        shared.upload_result(key, result, self.path)
        shared.close()
        assert not shared.failed_uploads


DAMAGED = {
    "garbage": lambda key, good: b"garbage",
    "empty": lambda key, good: b"",
    "cut off": lambda key, good: good[:-9],
    "another key": lambda key, good: entries.written(
        64 * "b", {"result": {"outputs": {}, "printed": ""}}, None
    ),
    "other outputs": lambda key, good: entries.written(
        key, {"result": {"outputs": {}, "printed": ""}}, None
    ),
    "files that are gone": lambda key, good: entries.written(
        key, {"result": {"outputs": {"x": {"sha256": 64 * "c", "bytes": 1}}, "printed": ""}}, None
    ),
    "unsigned": lambda key, good: good,
    "signed by another": lambda key, good: entries.written(
        key, {"result": {"outputs": {}, "printed": ""}}, FOREIGN
    ),
}
FOREIGN = Signer("hmac-sha256", "", lambda body, value: False, lambda body: b"foreign")


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_entry_is_replaced_by_the_next_writer(
    kind: str, shared_server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that has not read the entry before replaces it, too. An intact
    entry is unchanged.
    """
    for name, value in shared_server.items():
        monkeypatch.setenv(name, value)
    url, trusted_signer = (
        shared_server["WEBKILN_REMOTE_CACHE"],
        signed(tmp_path) if "signed" in kind else None,
    )
    key, files = canonical.digest(kind.encode()), ActionFiles(tmp_path)
    result = ActionResult({"x": files.file(b"one")}, "first")
    with closing(open_remote(url)) as remote:
        remote.create(
            entries.entry_key(key),
            DAMAGED[kind](key, entries.written(key, {"result": result.to_json()}, None)),
            [],
            overwrite=True,
        )
        files.store(url, result, trusted_signer, key)
        good = entries.written(key, {"result": result.to_json()}, trusted_signer)
        assert remote.entry(entries.entry_key(key)) == good
        files.store(url, ActionResult({"x": files.file(b"one")}, "second"), trusted_signer, key)
        assert remote.entry(entries.entry_key(key)) == good


def test_two_writers_replace_a_damaged_entry_at_once(
    server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    url, files = server["WEBKILN_REMOTE_CACHE"], ActionFiles(tmp_path)
    results = [ActionResult({"x": files.file(data)}) for data in (b"one", b"two")]
    for _ in range(5):
        with closing(open_remote(url)) as remote:
            remote.create(entries.entry_key(KEY), b"garbage", [], overwrite=True)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda result: files.store(url, result), results))
        shared = SharedCache(url)
        result = shared.find(KEY)
        assert result is not None
        assert result.outputs in [other.outputs for other in results]
        assert not shared.lacks(result.outputs.values())
        shared.close()


FAULTS = {
    "500": "missing results are built here",
    "401": "denies access",
    "403": "denies access",
    "never": "does not answer",
    "bytes": "sent bytes that do not match",
    "entries": "has an invalid format",
    "garbage": "has an invalid format",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.sample("401", "bytes", "garbage")
def test_a_build_continues_without_a_failing_remote(
    fault: str, filled_server: tuple[Faulty, Tree]
) -> None:
    server, second = filled_server
    server.fault = fault
    output = second.doit("build", f"model={second.model}", WEBKILN_REMOTE_CACHE=server.url)
    assert second.bytes() == toy_bundle()
    (warning,) = warnings(output)
    assert FAULTS[fault] in warning
    assert server.url in warning


@pytest.mark.parametrize(
    ("fault", "message"),
    [("full", "accepts no more files"), ("read-only", "denies access")],
)
def test_a_remote_that_rejects_writes_is_still_read(
    fault: str, message: str, filled_server: tuple[Faulty, Tree]
) -> None:
    server, second = filled_server
    server.fault = fault
    second.edit("models/toy/model.json", "0.5", "0.75")
    output = second.doit(
        "build", f"model={second.model}", WEBKILN_REMOTE_CACHE=server.url, **WRITES
    )
    (warning,) = warnings(output)
    assert message in warning
    assert "stores nothing there" in warning
    second.edit("models/toy/model.json", "0.75", "0.5")
    second.wipe()
    assert not second.make(
        WEBKILN_REMOTE_CACHE=server.url, WEBKILN_CACHE=str(second.root / "fresh")
    )
    assert second.bytes() == toy_bundle()


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:{port}", "grpc://127.0.0.1:{port}", "/nowhere/at/all"]
)
def test_an_unreachable_remote_is_reported_once(url: str, toy: Tree) -> None:
    output = toy.doit(
        "build", "model=toy", WEBKILN_REMOTE_CACHE=url.format(port=free_port()), **WRITES
    )
    (warning,) = warnings(output)
    assert "does not answer" in warning


@pytest.mark.parametrize("url", ["ftp://somewhere", "s4://bucket"])
def test_an_invalid_address_is_an_error(url: str, toy: Tree) -> None:
    assert "expected a folder or an address" in toy.webkiln(
        "cache", "push", status=2, WEBKILN_REMOTE_CACHE=url, **WRITES
    )


def test_an_interrupted_transfer_is_resumed(filled_server: tuple[Faulty, Tree]) -> None:
    server, second = filled_server
    server.fault = "cut"
    second.make(WEBKILN_REMOTE_CACHE=server.url)
    assert second.bytes() == toy_bundle()
    arriving = {path.name: path.stat().st_size for path in (second.cache / "arriving").glob("*")}
    assert arriving
    server.fault = ""
    second.wipe()
    for folder_name in ("actions", "blobs", "reads"):
        subprocess.run(["rm", "-rf", second.cache / folder_name], check=True)
    assert not second.make(WEBKILN_REMOTE_CACHE=server.url)
    assert not list((second.cache / "arriving").glob("*"))


def test_missing_blobs_of_a_remote_are_rebuilt(filled_server: tuple[Faulty, Tree]) -> None:
    server, second = filled_server
    server.objects = {name: data for name, data in server.objects.items() if name.startswith("ac/")}
    output = second.doit("build", "model=toy", WEBKILN_REMOTE_CACHE=server.url)
    assert second.bytes() == toy_bundle()
    assert not warnings(output)
