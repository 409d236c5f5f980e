"""Hostile remote caches cost one warning: forged entries, and answers that violate every rule, for
each transport.
"""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.build.forgeries import FORGED, forged
from tests.build.hostile import QUICK, SLOW, Hostile
from tests.build.hostile_reapi import RPC, RPC_SLOW, HostileReapi
from tests.build.soak_remote import LONGEST_SECONDS, SPECIAL, Round, Soak, soak
from tests.sampling import representative
from webkiln import canonical
from webkiln.build.action import Blob
from webkiln.build.remote import entries, wire
from webkiln.build.remote.addresses import open_remote
from webkiln.build.remote.entries import EntryError
from webkiln.build.remote.remote import UnreachableError
from webkiln.build.remote.shared import SharedCache
from webkiln.build.remote.signing import signer

LISTED = (
    "nested",
    "newline",
    "surrogate",
    "long",
    "never made",
    "no runtime",
    "lacking",
    "petabyte",
    "nine thousand",
    "deep lists",
    "deep in UTF-16",
    "long number",
)
ANSWERS = (
    "redirect malformed",
    "redirect to a file",
    "redirect to a host",
    "long header",
    "many headers",
    "endless headers",
    "endless chunk size",
    "giant length",
    "no length, and more",
    "more than announced",
    "gzip bomb",
    "control characters",
)
STALLS = ("no answer", "slow head", "slow body")


@pytest.fixture(scope="module")
def soak_rounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Soak]:
    rounds = Soak(tmp_path_factory.mktemp("hostile"), 0)
    yield rounds
    rounds.close()


def only_warning(soak_rounds: Soak, result: Round, folder: Path) -> str:
    """The only warning of a build, which must have published the right bytes."""
    soak_rounds.check("the build", result, folder, poison=False)
    (warning,) = result.warnings
    return warning


def in_server_format(objects: Mapping[str, bytes]) -> dict[str, bytes]:
    """Entries and blobs in the format of HTTP and gRPC servers."""
    return {
        name: wire.wrapped(data, []) if name.startswith("ac/") else data
        for name, data in objects.items()
    }


def server_objects(soak_rounds: Soak, kind: str = "") -> dict[str, bytes]:
    """The contents of a server with entries forged in one way."""
    altered = {
        name: forged(data, kind, random.Random(0)) if kind and name.startswith("ac/") else data
        for name, data in soak_rounds.good[False].items()
    }
    return in_server_format(altered)


@contextmanager
def hostile_server(
    fault: str, objects: Mapping[str, bytes], *, method: str = "", s3: bool = False
) -> Iterator[tuple[Hostile, dict[str, str]]]:
    """An HTTP server with one fault for requests of one method or all, and the environment of
    builds that use it.
    """
    server = Hostile(lambda request_method, name: fault if method in ("", request_method) else "")
    server.objects = dict(objects)
    access = {
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "x",
    }
    try:
        yield (
            server,
            {"WEBKILN_REMOTE_CACHE": "s3://cache/team", **access}
            if s3
            else {"WEBKILN_REMOTE_CACHE": server.url},
        )
    finally:
        server.close()


@pytest.mark.parametrize("kind", representative(FORGED, *LISTED))
def test_forged_entries_are_not_used(kind: str, soak_rounds: Soak, tmp_path: Path) -> None:
    with hostile_server("", server_objects(soak_rounds, kind)) as (_, server_environment):
        result = soak_rounds.build(tmp_path, server_environment)
    soak_rounds.check("the build", result, tmp_path, poison=False)
    assert len(result.warnings) == (kind != "reads")
    assert not [*(tmp_path / "cache" / "arriving").glob("*")]


def test_an_incomplete_bundle_is_rejected(soak_rounds: Soak, tmp_path: Path) -> None:
    """Although the remote lists no `runtime.js`, this build and the next one publish it."""
    with hostile_server("", server_objects(soak_rounds, "no runtime")) as (_, server_environment):
        first = soak_rounds.build(tmp_path, server_environment)
        assert "lacks the output bundle/runtime.js" in only_warning(soak_rounds, first, tmp_path)
        second = soak_rounds.build(tmp_path, server_environment)
    assert second.files == soak_rounds.expected
    assert not second.warnings


def test_a_bundle_must_match_its_manifest(soak_rounds: Soak, tmp_path: Path) -> None:
    """Shards have no fixed names, but the manifest lists a missing one."""
    objects = dict(soak_rounds.good[False])
    for name, data in objects.items():
        if b'"bundle/weights-' in data and name.startswith("ac/"):
            header, _, body = data.partition(b"\n")
            entry = canonical.loads(body)
            outputs = entry["result"]["outputs"]
            del outputs[next(path for path in outputs if path.startswith("bundle/weights-"))]
            objects[name] = header + b"\n" + canonical.dumps(entry)
    with hostile_server("", in_server_format(objects)) as (_, server_environment):
        assert "is not what its bundle/manifest.json lists" in only_warning(
            soak_rounds, soak_rounds.build(tmp_path, server_environment), tmp_path
        )


def test_a_result_that_becomes_suspect_while_another_input_is_built(
    soak_rounds: Soak, tmp_path: Path
) -> None:
    """`bundle` has received empty wasm code from the remote when `link`, which produces another of
    its inputs, fails because of that code.
    """
    objects = {
        name: data for name, data in soak_rounds.good[False].items() if not name.startswith("ac/")
    }
    (code,) = (
        name
        for name, data in soak_rounds.good[False].items()
        if name.startswith("ac/") and b'"code/main.c"' in data
    )
    objects[code] = forged(soak_rounds.good[False][code], "none", random.Random(0))
    with hostile_server("", in_server_format(objects)) as (_, server_environment):
        assert "failed with inputs from it" in only_warning(
            soak_rounds, soak_rounds.build(tmp_path, server_environment), tmp_path
        )


@pytest.mark.parametrize("fault", representative(QUICK, *ANSWERS))
def test_broken_answers(fault: str, soak_rounds: Soak, tmp_path: Path) -> None:
    with hostile_server(fault, server_objects(soak_rounds)) as (server, server_environment):
        result = soak_rounds.build(tmp_path, server_environment)
        assert not server.visits, "a redirect was followed"
    soak_rounds.check("the build", result, tmp_path, poison=False)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", representative(SLOW, *STALLS))
@pytest.mark.sample(1)
def test_slow_answers(fault: str, soak_rounds: Soak, tmp_path: Path) -> None:
    with hostile_server(fault, server_objects(soak_rounds)) as (_, server_environment):
        assert "does not answer" in only_warning(
            soak_rounds, soak_rounds.build(tmp_path, server_environment), tmp_path
        )


@pytest.mark.usefixtures("impatient")
def test_blobs_that_drip(soak_rounds: Soak, tmp_path: Path) -> None:
    """Entries are valid, but blobs arrive byte by byte."""
    server = Hostile(lambda method, name: "slow body" if name.startswith("cas/") else "")
    server.objects = server_objects(soak_rounds)
    try:
        result = soak_rounds.build(tmp_path, {"WEBKILN_REMOTE_CACHE": server.url})
    finally:
        server.close()
    assert "does not answer" in only_warning(soak_rounds, result, tmp_path)


@pytest.mark.usefixtures("impatient")
def test_an_upload_that_stalls(soak_rounds: Soak, tmp_path: Path) -> None:
    with hostile_server("no answer", {}, method="PUT") as (_, server_environment):
        result = soak_rounds.build(tmp_path, {**server_environment, "WEBKILN_CACHE_WRITE": "1"})
    assert "does not answer" in only_warning(soak_rounds, result, tmp_path)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "fault", ["giant length", "redirect to a host", "more than announced", "slow body", "gzip bomb"]
)
@pytest.mark.sample("giant length", "redirect to a host", "gzip bomb")
def test_broken_buckets(fault: str, soak_rounds: Soak, tmp_path: Path) -> None:
    with hostile_server(fault, soak_rounds.good[False], s3=True) as (server, server_environment):
        result = soak_rounds.build(tmp_path, {**server_environment, "WEBKILN_CACHE_WRITE": "1"})
        assert not server.leaks, "a redirect was followed with credentials"
    soak_rounds.check("the build", result, tmp_path, poison=False)


CALLS = (
    "larger than allowed",
    "digest that is none",
    "stdout elsewhere",
    "more bytes",
    "unknown with control characters",
    "slow stream",
)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", representative((*RPC, *RPC_SLOW), *CALLS))
def test_broken_calls(fault: str, soak_rounds: Soak, tmp_path: Path) -> None:
    server = HostileReapi(lambda method, name: fault)
    server.objects = server_objects(soak_rounds)
    try:
        result = soak_rounds.build(
            tmp_path, {"WEBKILN_REMOTE_CACHE": server.url, "WEBKILN_CACHE_WRITE": "1"}
        )
    finally:
        server.close()
    soak_rounds.check("the build", result, tmp_path, poison=False)


@pytest.mark.parametrize("kind", SPECIAL)
def test_only_regular_files_of_a_folder_are_read(
    kind: str, soak_rounds: Soak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.build.soak_remote.SPECIAL", (kind,))
    monkeypatch.setattr(
        soak_rounds.random, "choice", lambda values: 1.0 if 1.0 in values else values[0]
    )
    soak_rounds._write_files(soak_rounds.good[False], tmp_path / "shared", broken=True)
    result = soak_rounds.build(tmp_path, {"WEBKILN_REMOTE_CACHE": str(tmp_path / "shared")})
    only_warning(soak_rounds, result, tmp_path)


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "shared" / "ac").symlink_to(tmp_path / "outside")
    shared = SharedCache(str(tmp_path / "shared"), writes=True)
    shared.upload_entry(64 * "a", {"reads": []})
    shared.close()
    assert not [*(tmp_path / "outside").rglob("*")]


def test_an_entry_beyond_the_free_space_is_not_downloaded(
    soak_rounds: Soak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry with more bytes than the disk can store causes only a warning, though the server
    would send them.
    """
    monkeypatch.setattr("webkiln.build.remote.shared.FREE_BYTES", 1 << 60)
    blob = Blob(canonical.digest(bytes(2 << 20)), 2 << 20)
    with hostile_server("", {f"cas/{blob.sha256}": bytes(2 << 20)}) as (server, _):
        output: list[str] = []
        monkeypatch.setattr("webkiln.build.remote.connection.warn", output.append)
        shared = SharedCache(server.url)
        shared.download(
            [blob], lambda blob: tmp_path / blob.sha256, lambda blob, path: pytest.fail("was kept")
        )
        shared.close()
    assert "has no room" in output[0]
    assert not [*tmp_path.iterdir()]


def test_signatures_are_checked_before_anything_is_parsed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"s" * 32)
    key, trusted_signer = 64 * "a", signer(f"hmac:{tmp_path}/secret")
    deep = b"[" * 1_000_000
    for header in (
        b"webkiln.entry/2 unsigned\n",
        b"webkiln.entry/2 hmac-sha256 " + b"00" * 32 + b"\n",
    ):
        with pytest.raises(EntryError, match=r"is not signed|is signed by another key"):
            entries.read(header + deep, key, trusted_signer)
    assert (
        entries.read(entries.written(key, {"reads": []}, trusted_signer), key, trusted_signer)[
            "reads"
        ]
        == []
    )


LEADING_OUT = (
    "0/../a",
    "0/../../../dev/zero",
    "x/a",
    "0//a",
    "-1/a",
    "0/a\nb",
    "9999/a",
    "0",
    "",
    7,
    "import:0/..:a",
    "import:0/a:../b",
    "import:0/a:..",
    "import:0/a:b,",
    "import:0/a:",
    "import:0/a:b/c",
    "package:../a",
)


@pytest.mark.parametrize("name", LEADING_OUT)
def test_discovered_inputs_outside_roots_are_rejected(name: object) -> None:
    with pytest.raises(EntryError):
        entries.reads_of({"reads": [name]})


def test_valid_discovered_inputs() -> None:
    names = (
        "0/a.py",
        "12/b/c d/",
        "0/.",
        "0/./",
        "stat:0/a",
        "tree:1/",
        "import:0/.:a,_sysconfigdata__linux_x86_64-linux-gnu",
        "package:numpy",
    )
    assert entries.reads_of({"reads": [*names]}) == names


def test_a_resumed_transfer_with_wrong_bytes_is_restarted(
    soak_rounds: Soak, tmp_path: Path
) -> None:
    """Partial downloads from a hostile server do not discredit a good one."""
    (tmp_path / "cache" / "arriving").mkdir(parents=True)
    for name in soak_rounds.good[False]:
        if name.startswith("cas/"):
            (tmp_path / "cache" / "arriving" / name.removeprefix("cas/")).write_bytes(b"?")
    with hostile_server("", server_objects(soak_rounds)) as (_, server_environment):
        result = soak_rounds.build(tmp_path, server_environment)
    assert result.files == soak_rounds.expected
    assert not result.warnings


def test_an_invalid_address_is_an_error() -> None:
    remote = open_remote("http://127.0.0.1:9")
    with pytest.raises(UnreachableError):
        remote.entry(64 * "a")
    remote.close()


@pytest.mark.parametrize(
    ("builds", "seed", "warned"), representative([(6, 1, 3), (12, 1, 6)], (6, 1, 3))
)
def test_attacks_at_random(builds: int, seed: int, warned: int) -> None:
    """Seed 1 begins with two poisoned rounds and a good one, which are three builds without
    warnings. `make soak` runs more rounds.
    """
    counts, longest = soak(builds, seed)
    assert counts["builds with a warning"] >= warned
    assert counts["builds without one"] > 2
    assert longest < LONGEST_SECONDS
