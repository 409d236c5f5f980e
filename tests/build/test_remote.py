"""The remote cache: real servers, failing servers, concurrent writers, signatures, and the requests
of a restored build.
"""

import json
import os
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.build.remotes import (
    QUICK,
    REAL,
    Faulty,
    connect_proxy,
    documented_directives,
    faulty,
    free_port,
    nginx,
)
from tests.build.tree import Tree, checkout, executed, toy_bundle, warm
from tests.sampling import representative
from webkiln import canonical
from webkiln.build.action import ActionResult, Blob
from webkiln.build.cache import ActionCache
from webkiln.build.outputs import Expected
from webkiln.build.remote import entries, wire
from webkiln.build.remote.addresses import open_remote
from webkiln.build.remote.network import BUNDLES, PORTS, proxy
from webkiln.build.remote.remote import UnreachableError
from webkiln.build.remote.shared import SharedCache, remote_cache_from_environment
from webkiln.build.remote.signing import Signer, signer

WRITES = {"WEBKILN_CACHE_WRITE": "1"}
KEY = 64 * "a"


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy or authority except those that a test sets."""
    for name in [name for name in os.environ if name.lower().endswith("_proxy") or name in BUNDLES]:
        monkeypatch.delenv(name)


@pytest.fixture(params=representative(REAL, "nginx"))
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[dict[str, str]]:
    place = tmp_path / "server"
    place.mkdir()
    with REAL[request.param](place) as reached:
        yield reached


@pytest.fixture
def trees(tmp_path: Path) -> list[Tree]:
    """Checkouts of one project, each with its own cache, as on separate machines."""
    return [checkout(tmp_path / f"tree{n}", tmp_path / f"cache{n}", toy=True) for n in range(2)]


def warnings(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith("warning:")]


@pytest.fixture(scope="module")
def buildgrid(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A server that takes seconds to start, for all tests whose entries differ."""
    with REAL["reapi"](tmp_path_factory.mktemp("buildgrid")) as reached:
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


@pytest.mark.parametrize("standing", representative(REAL, "folder", "reapi"), indirect=True)
def test_results_of_one_machine_are_used_by_another(
    standing: dict[str, str], trees: list[Tree]
) -> None:
    for tree in trees:
        tree.edit("models/toy/model.json", "0.5", "0.625")
    first, second = trees
    assert first.make(**standing, **WRITES)
    assert not second.make(**standing)
    assert second.bytes() == first.bytes()
    assert not second.make(**standing), "local results are not requested"


def test_nothing_is_uploaded_without_permission(toy: Tree) -> None:
    with faulty() as server:
        assert toy.make(WEBKILN_REMOTE_CACHE=server.url)
        assert server.asked
        assert not [line for line in server.asked if not line.startswith(("GET ", "HEAD "))]
        assert not server.held


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


def test_a_whole_cache_is_pushed_and_pulled(server: dict[str, str], trees: list[Tree]) -> None:
    first, second = trees
    warm(first)
    assert "WEBKILN_CACHE_WRITE is not 1" in first.webkiln("cache", "push", status=2, **server)
    assert " results are there" in first.webkiln("cache", "push", **server, **WRITES)
    assert not second.make(**server)
    assert " more in the remote cache" in second.webkiln("cache", "stat", **server)
    assert "fetched from" in second.webkiln("cache", "pull", **server)
    assert "0 files" in second.webkiln("cache", "pull", **server)
    second.bundle.rename(second.root / "gone")
    assert not second.make(), "nothing is requested any more"


@pytest.fixture
def filled(held: dict[str, bytes], toy: Tree) -> Iterator[tuple[Faulty, Tree]]:
    """A server with the results of another tree, which fails on demand; and a tree that has built
    nothing.
    """
    with faulty() as server:
        server.held |= held
        yield server, toy


def test_a_bundle_needs_one_lookup_and_its_files(filled: tuple[Faulty, Tree]) -> None:
    server, second = filled
    second.webkiln("build", "models/toy", "-o", "out", WEBKILN_REMOTE_CACHE=server.url)
    entries = [line for line in server.asked if line.startswith("GET ac/")]
    blobs = [line for line in server.asked if line.startswith("GET cas/")]
    assert len(entries) == 1
    assert sorted(blobs) == sorted(
        {f"GET cas/{canonical.digest(data)}" for data in toy_bundle().values()}
    )
    assert len(server.asked) == len(entries) + len(blobs)


def test_doit_makes_one_request_for_a_bundle(filled: tuple[Faulty, Tree]) -> None:
    server, second = filled
    assert not second.build(WEBKILN_REMOTE_CACHE=server.url)
    assert len([line for line in server.asked if line.startswith("GET ac/")]) == 1
    assert second.bytes() == toy_bundle()
    assert not second.build(), "restored results are up to date without the remote cache"


def test_a_build_ends_after_its_uploads(trees: list[Tree]) -> None:
    """A server that answers late still receives results after doit has printed its last line."""
    first, second = trees
    with faulty() as server:
        server.latency = 0.3
        assert "Traceback" not in first.doit(
            "build", f"model={first.model}", WEBKILN_REMOTE_CACHE=server.url, **WRITES
        )
        server.latency = 0.0
        server.asked.clear()
        assert not second.build(WEBKILN_REMOTE_CACHE=server.url)
        assert len([line for line in server.asked if line.startswith("GET ac/")]) == 1


def test_damaged_blobs_of_a_remote_are_replaced(
    filled: tuple[Faulty, Tree], tmp_path: Path
) -> None:
    server, second = filled
    server.held = {name: data[: len(data) // 2] for name, data in server.held.items()}
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


def signed(folder: Path) -> Signer:
    (folder / "secret").write_bytes(b"s" * 32)
    return signer(f"hmac:{folder}/secret")


class Written:
    """Results of one action and their files, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, data: bytes) -> Blob:
        blob = Blob(canonical.digest(data), len(data))
        (self.folder / blob.sha256).write_bytes(data)
        return blob

    def path(self, blob: Blob) -> Path:
        return self.folder / blob.sha256

    def store(
        self, url: str, result: ActionResult, own: Signer | None = None, key: str = KEY
    ) -> None:
        shared = SharedCache(url, own, writes=True)
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


@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_entry_is_replaced_by_the_next_writer(
    how: str, standing: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that has not read it before replaces it, too. An intact entry stays."""
    for name, value in standing.items():
        monkeypatch.setenv(name, value)
    url, own = standing["WEBKILN_REMOTE_CACHE"], signed(tmp_path) if "signed" in how else None
    key, written = canonical.digest(how.encode()), Written(tmp_path)
    result = ActionResult({"x": written.file(b"one")}, "first")
    with closing(open_remote(url)) as remote:
        remote.create(
            entries.entry_key(key),
            DAMAGED[how](key, entries.written(key, {"result": result.to_json()}, None)),
            [],
            overwrite=True,
        )
        written.store(url, result, own, key)
        good = entries.written(key, {"result": result.to_json()}, own)
        assert remote.entry(entries.entry_key(key)) == good
        written.store(url, ActionResult({"x": written.file(b"one")}, "second"), own, key)
        assert remote.entry(entries.entry_key(key)) == good


def test_two_writers_replace_a_damaged_entry_at_once(
    server: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in server.items():
        monkeypatch.setenv(name, value)
    url, written = server["WEBKILN_REMOTE_CACHE"], Written(tmp_path)
    results = [ActionResult({"x": written.file(data)}) for data in (b"one", b"two")]
    for _ in range(5):
        with closing(open_remote(url)) as remote:
            remote.create(entries.entry_key(KEY), b"garbage", [], overwrite=True)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda result: written.store(url, result), results))
        shared = SharedCache(url)
        found = shared.find(KEY)
        assert found is not None
        assert found.outputs in [result.outputs for result in results]
        assert not shared.lacks(found.outputs.values())
        shared.close()


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
    (noted,) = (path for path in (tmp_path / "two" / "reads").glob("*/*"))
    os.utime(noted, (0, 0))
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
        assert " results are not stored there" in first.webkiln(
            "cache", "push", status=2, **server, **WRITES
        )


def test_a_server_that_rejects_uploads_is_still_read(filled: tuple[Faulty, Tree]) -> None:
    server, second = filled
    server.fault = "no puts"
    second.edit("models/toy/model.json", "1 2 3", "4 5 6")
    output = second.doit(
        "build", f"model={second.model}", WEBKILN_REMOTE_CACHE=server.url, **WRITES
    )
    assert (
        "405 Method Not Allowed); results that are not stored there stay here"
        in warnings(output)[0]
    )
    second.edit("models/toy/model.json", "4 5 6", "1 2 3")
    assert not second.make(WEBKILN_REMOTE_CACHE=server.url, **WRITES)


@pytest.mark.parametrize(
    ("said", "writes"),
    [("0", False), ("false", False), ("", False), ("true", True), ("TRUE", True), ("1", True)],
)
def test_values_of_the_write_variable(
    said: str, writes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEBKILN_REMOTE_CACHE", "/somewhere")
    monkeypatch.setenv("WEBKILN_CACHE_WRITE", said)
    found = remote_cache_from_environment()
    assert found is not None
    assert found.writes is writes


def test_an_invalid_write_variable_is_an_error(toy: Tree) -> None:
    output = toy.doit(
        "build", status=2, WEBKILN_REMOTE_CACHE="/somewhere", WEBKILN_CACHE_WRITE="yes"
    )
    assert "WEBKILN_CACHE_WRITE is 'yes', expected one of 1, 0, true, false" in output


def test_a_proxy_of_the_environment(trees: list[Tree]) -> None:
    """A host that only the proxy reaches, for builds and for `webkiln cache`."""
    first, second = trees
    with faulty() as proxy:
        by_proxy = {
            "WEBKILN_REMOTE_CACHE": "http://cache.invalid",
            "HTTP_PROXY": proxy.url.replace("//", "//me:token@"),
        }
        warm(first).webkiln("cache", "push", **by_proxy, **WRITES)
        assert not second.make(**by_proxy)
        assert "answers in" in second.webkiln("cache", "stat", **by_proxy)
        assert {*proxy.logins} == {f"Basic {b64encode(b'me:token').decode()}"}


@pytest.mark.parametrize(
    "excluded", ["127.0.0.1", "127.0.0.1:{port}", "localhost,127.0.0.0/8", "*"]
)
def test_servers_excluded_from_proxies(excluded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with faulty() as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")
        with (
            closing(open_remote(server.url)) as remote,
            pytest.raises(UnreachableError, match="through the proxy"),
        ):
            remote.entry(KEY)
        monkeypatch.setenv("NO_PROXY", excluded.format(port=urlsplit(server.url).port))
        with closing(open_remote(server.url)) as remote:
            assert remote.entry(KEY) is None


PROXIES = [
    ({"http_proxy": "p:1"}, "http", "cache.example", "http://p:1"),
    ({"HTTPS_PROXY": "http://me:a%40b@p"}, "https", "cache.example", "http://me:a%40b@p:80"),
    ({"HTTP_PROXY": "http://p:1"}, "https", "cache.example", ""),
    ({"ALL_PROXY": "http://p:1"}, "https", "cache.example", "http://p:1"),
    (
        {"HTTPS_PROXY": "http://p:1", "HTTP_PROXY": "http://q:1"},
        "grpc",
        "cache.example",
        "http://p:1",
    ),
    ({"HTTP_PROXY": "http://q:1"}, "grpcs", "cache.example", "http://q:1"),
    ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "example"}, "http", "cache.example", ""),
    ({"HTTP_PROXY": "http://p:1", "no_proxy": ".example"}, "http", "cache.example", ""),
    ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "ample"}, "http", "cache.example", "http://p:1"),
    (
        {"HTTP_PROXY": "http://p:1", "NO_PROXY": "cache.example:81"},
        "http",
        "cache.example",
        "http://p:1",
    ),
    ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8, fd00::/8"}, "http", "10.1.2.3", ""),
    ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8, fd00::/8"}, "http", "fd00::1", ""),
    ({"HTTP_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http", "11.1.2.3", "http://p:1"),
]


@pytest.mark.parametrize(("environment", "scheme", "host", "expected"), PROXIES)
def test_the_choice_of_a_proxy(
    environment: dict[str, str],
    scheme: str,
    host: str,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = proxy(scheme, host, PORTS[scheme])
    assert (found.url if found is not None else "") == expected


BUCKETS = [
    ("", True),
    ("other", True),
    ("127.0.0.1", False),
    ("127.0.0.0/8", False),
    ("localhost,127.0.0.1", False),
]


@pytest.mark.parametrize(("excluded", "by_proxy"), BUCKETS)
@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_proxies_of_buckets(
    variable: str, excluded: str, by_proxy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with faulty() as server, faulty() as proxy:
        access = {
            "AWS_ENDPOINT_URL": server.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "x",
        }
        for name, value in {
            **access,
            variable: proxy.url.replace("//", "//me:a%40b@"),
            "NO_PROXY": excluded,
        }.items():
            monkeypatch.setenv(name, value)
        with closing(open_remote("s3://cache/team")) as remote:
            assert remote.entry(KEY) is None
        assert (bool(proxy.asked), bool(server.asked)) == (by_proxy, not by_proxy)
        assert {*proxy.logins} <= {f"Basic {b64encode(b'me:a@b').decode()}"}


@pytest.mark.parametrize(
    "kind",
    representative(
        ["nginx with TLS", "reapi", "reapi with TLS", "s3 with TLS"], "nginx with TLS", "reapi"
    ),
)
@pytest.mark.parametrize("excluded", [False, True])
@pytest.mark.sample("False-nginx with TLS", "True-nginx with TLS", "False-reapi")
def test_connections_through_a_proxy(
    kind: str, excluded: bool, trees: list[Tree], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Connections use CONNECT. A proxy that `NO_PROXY` excludes is not used."""
    first, second = trees
    running = (
        nullcontext(request.getfixturevalue("buildgrid"))
        if kind == "reapi"
        else REAL[kind](tmp_path)
    )
    with running as reached, connect_proxy("me:to@ken") as (port, asked):
        by_proxy = {
            **reached,
            "HTTPS_PROXY": f"http://me:to%40ken@127.0.0.1:{port}",
            **({"NO_PROXY": "localhost,127.0.0.1"} if excluded else {}),
        }
        warm(first).webkiln("cache", "push", **by_proxy, **WRITES)
        assert not second.make(**by_proxy)
        assert bool(asked) is not excluded
        assert "answers in" in second.webkiln("cache", "stat", **by_proxy)
        if not excluded:
            wrong = by_proxy | {"HTTPS_PROXY": f"http://me:wrong@127.0.0.1:{port}"}
            assert len(warnings(second.webkiln("cache", "stat", status=1, **wrong))) == 1


CERTIFIED = [
    (kind, variable)
    for kind in ("nginx with TLS", "reapi with TLS", "s3 with TLS")
    for variable in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    if kind != "s3 with TLS" or variable == "SSL_CERT_FILE"
]


@pytest.mark.parametrize(
    ("kind", "variable"),
    representative(
        CERTIFIED, ("nginx with TLS", "SSL_CERT_FILE"), ("nginx with TLS", "REQUESTS_CA_BUNDLE")
    ),
)
def test_an_authority_of_the_environment(
    kind: str, variable: str, toy: Tree, tmp_path: Path
) -> None:
    with REAL[kind](tmp_path) as reached:
        authority = reached.pop("SSL_CERT_FILE")
        (warning,) = warnings(toy.webkiln("cache", "stat", status=1, **reached))
        assert "certificate" in warning.lower()
        if kind == "nginx with TLS":
            assert (
                "its certificate is not trusted (unable to get local issuer certificate); set"
                " SSL_CERT_FILE to the certificate of its authority" in warning
            )
        assert "answers in" in toy.webkiln("cache", "stat", **reached, **{variable: authority})


def test_invalid_certificates_are_reported(toy: Tree, tmp_path: Path) -> None:
    output = toy.webkiln(
        "cache",
        "stat",
        status=1,
        WEBKILN_REMOTE_CACHE="https://127.0.0.1:1",
        SSL_CERT_FILE=str(tmp_path / "none.pem"),
    )
    assert "none.pem cannot be read" in warnings(output)[0]


FAULTS = {
    "500": "what it does not provide is built here",
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
    fault: str, filled: tuple[Faulty, Tree]
) -> None:
    server, second = filled
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
    fault: str, message: str, filled: tuple[Faulty, Tree]
) -> None:
    server, second = filled
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


def test_an_interrupted_transfer_is_resumed(filled: tuple[Faulty, Tree]) -> None:
    server, second = filled
    server.fault = "cut"
    second.make(WEBKILN_REMOTE_CACHE=server.url)
    assert second.bytes() == toy_bundle()
    arriving = {path.name: path.stat().st_size for path in (second.cache / "arriving").glob("*")}
    assert arriving
    server.fault = ""
    second.wipe()
    for part in ("actions", "blobs", "reads"):
        subprocess.run(["rm", "-rf", second.cache / part], check=True)
    assert not second.make(WEBKILN_REMOTE_CACHE=server.url)
    assert not list((second.cache / "arriving").glob("*"))


def test_missing_blobs_of_a_remote_are_rebuilt(filled: tuple[Faulty, Tree]) -> None:
    server, second = filled
    server.held = {name: data for name, data in server.held.items() if name.startswith("ac/")}
    output = second.doit("build", "model=toy", WEBKILN_REMOTE_CACHE=server.url)
    assert second.bytes() == toy_bundle()
    assert not warnings(output)


def keys(folder: Path, kind: str) -> tuple[str, str]:
    """(environment of the writer, environment of the reader)"""
    if kind == "hmac":
        (folder / "secret").write_bytes(b"s" * 32)
        return f"hmac:{folder}/secret", f"hmac:{folder}/secret"
    private, public = folder / "private.pem", folder / "public.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(
        ["openssl", "pkey", "-in", private, "-pubout", "-out", public],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return f"ed25519:{private}", f"ed25519:{public}"


@pytest.mark.parametrize("kind", representative(["hmac", "ed25519"], "ed25519"))
def test_only_signed_entries_are_accepted(kind: str, trees: list[Tree], tmp_path: Path) -> None:
    writer, reader = keys(tmp_path, kind)
    first, second = trees
    with faulty() as server:
        first.make(WEBKILN_REMOTE_CACHE=server.url, WEBKILN_CACHE_KEY=writer, **WRITES)
        assert not second.make(WEBKILN_REMOTE_CACHE=server.url, WEBKILN_CACHE_KEY=reader)
        poison(server)
        second.wipe()
        output = second.doit(
            "build",
            "model=toy",
            WEBKILN_REMOTE_CACHE=server.url,
            WEBKILN_CACHE_KEY=reader,
            WEBKILN_CACHE=str(tmp_path / "fresh"),
        )
        assert second.bytes() == first.bytes(), "injected bytes do not reach a bundle"
        (warning,) = warnings(output)
        assert "signed by another key" in warning


def poison(server: Faulty) -> None:
    """Let every entry name other bytes, stored under their own digest, as anyone with write access
    could.
    """
    other = b"export const stolen = true;"
    server.held[f"cas/{canonical.digest(other)}"] = other
    for name, data in list(server.held.items()):
        if name.startswith("ac/"):
            header, _, rest = wire.unwrapped(data).partition(b"\n")
            body = json.loads(rest)
            for blob in body.get("result", {}).get("outputs", {}).values():
                blob |= {"sha256": canonical.digest(other), "bytes": len(other)}
            server.held[name] = wire.wrapped(header + b"\n" + canonical.dumps(body), [])


def test_unsigned_entries_are_rejected_with_a_key(
    filled: tuple[Faulty, Tree], tmp_path: Path
) -> None:
    server, second = filled
    output = second.doit(
        "build",
        "model=toy",
        WEBKILN_REMOTE_CACHE=server.url,
        WEBKILN_CACHE_KEY=keys(tmp_path, "hmac")[1],
    )
    assert second.bytes() == toy_bundle()
    (warning,) = warnings(output)
    assert "is not signed" in warning


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("rot13:secret", "expected the file of a key"),
        ("hmac:missing", "cannot be read"),
        ("hmac:short", "has 5 bytes, expected at least 32"),
        ("ed25519:short", "is not a key in PEM"),
    ],
)
def test_invalid_keys_are_errors(key: str, message: str, toy: Tree) -> None:
    (toy.root / "short").write_bytes(b"short")
    assert message in toy.webkiln(
        "cache", "stat", status=2, WEBKILN_REMOTE_CACHE="http://127.0.0.1:1", WEBKILN_CACHE_KEY=key
    )


def test_a_public_key_cannot_sign(toy: Tree, tmp_path: Path) -> None:
    _, public = keys(tmp_path, "ed25519")
    output = toy.webkiln(
        "cache",
        "stat",
        status=2,
        WEBKILN_REMOTE_CACHE="http://127.0.0.1:1",
        WEBKILN_CACHE_KEY=public,
        **WRITES,
    )
    assert "names a public key, which cannot sign" in output


def test_an_entry_is_never_changed(filled: tuple[Faulty, Tree]) -> None:
    server, second = filled
    before = dict(server.held)
    second.make(WEBKILN_REMOTE_CACHE=server.url, **WRITES)
    assert server.held == before
    second.webkiln("cache", "push", WEBKILN_REMOTE_CACHE=server.url, **WRITES)
    assert {name: data for name, data in server.held.items() if name in before} == before


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
        server.held[f"ac/{entries.entry_key(key)}"] = wire.wrapped(entry, [])
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
