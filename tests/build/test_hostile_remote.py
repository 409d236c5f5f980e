"""A hostile remote cache costs one warning: forged entries, and answers that break every rule, over
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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stalls end after three seconds instead of ten. `make soak` uses the ten."""
    for module in ("timeouts", "objects", "reapi"):
        monkeypatch.setattr(f"webkiln.build.remote.{module}.ANSWER_SECONDS", 3.0)
    monkeypatch.setattr("tests.build.hostile.DRIP_SECONDS", 1.0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Soak]:
    found = Soak(tmp_path_factory.mktemp("hostile"), 0)
    yield found
    found.close()


def checked(made: Soak, found: Round, place: Path) -> str:
    """The one warning of a build that published the right bytes."""
    made.check("the build", found, place, poison=False)
    (warning,) = found.warnings
    return warning


def served(held: Mapping[str, bytes]) -> dict[str, bytes]:
    """Entries and blobs in the form of HTTP and gRPC servers."""
    return {
        name: wire.wrapped(data, []) if name.startswith("ac/") else data
        for name, data in held.items()
    }


def wrapped(made: Soak, how: str = "") -> dict[str, bytes]:
    """The contents of a server, with every entry forged in one way."""
    changed = {
        name: forged(data, how, random.Random(0)) if how and name.startswith("ac/") else data
        for name, data in made.good[False].items()
    }
    return served(changed)


@contextmanager
def serving(
    fault: str, held: Mapping[str, bytes], *, method: str = "", s3: bool = False
) -> Iterator[tuple[Hostile, dict[str, str]]]:
    """An HTTP server that fails in one way, for requests of one method or all, and the environment
    of builds that use it.
    """
    server = Hostile(lambda asked, name: fault if method in ("", asked) else "")
    server.held = dict(held)
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


@pytest.mark.parametrize("how", representative(FORGED, *LISTED))
def test_forged_entries_are_not_used(how: str, made: Soak, tmp_path: Path) -> None:
    with serving("", wrapped(made, how)) as (_, reached):
        found = made.build(tmp_path, reached)
    made.check("the build", found, tmp_path, poison=False)
    assert len(found.warnings) == (how != "reads")
    assert not [*(tmp_path / "cache" / "arriving").glob("*")]


def test_an_incomplete_bundle_is_rejected(made: Soak, tmp_path: Path) -> None:
    """Whatever the keyless remote answers, `runtime.js` is published, now and later."""
    with serving("", wrapped(made, "no runtime")) as (_, reached):
        first = made.build(tmp_path, reached)
        assert "lacks the output bundle/runtime.js" in checked(made, first, tmp_path)
        again = made.build(tmp_path, reached)
    assert again.files == made.expected
    assert not again.warnings


def test_a_bundle_must_match_its_manifest(made: Soak, tmp_path: Path) -> None:
    """A missing shard is not a missing name, but the manifest lists it."""
    held = dict(made.good[False])
    for name, data in held.items():
        if b'"bundle/weights-' in data and name.startswith("ac/"):
            header, _, body = data.partition(b"\n")
            entry = canonical.loads(body)
            outputs = entry["result"]["outputs"]
            del outputs[next(path for path in outputs if path.startswith("bundle/weights-"))]
            held[name] = header + b"\n" + canonical.dumps(entry)
    with serving("", served(held)) as (_, reached):
        assert "is not what its bundle/manifest.json lists" in checked(
            made, made.build(tmp_path, reached), tmp_path
        )


def test_a_result_that_becomes_suspect_while_another_input_is_built(
    made: Soak, tmp_path: Path
) -> None:
    """`bundle` has got empty code for wasm from the remote when `link`, another of its inputs,
    fails with that.
    """
    held = {name: data for name, data in made.good[False].items() if not name.startswith("ac/")}
    (code,) = (
        name
        for name, data in made.good[False].items()
        if name.startswith("ac/") and b'"code/main.c"' in data
    )
    held[code] = forged(made.good[False][code], "none", random.Random(0))
    with serving("", served(held)) as (_, reached):
        assert "failed with inputs from it" in checked(
            made, made.build(tmp_path, reached), tmp_path
        )


@pytest.mark.parametrize("fault", representative(QUICK, *ANSWERS))
def test_broken_answers(fault: str, made: Soak, tmp_path: Path) -> None:
    with serving(fault, wrapped(made)) as (server, reached):
        found = made.build(tmp_path, reached)
        assert not server.visits, "a redirect was followed"
    made.check("the build", found, tmp_path, poison=False)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", representative(SLOW, *STALLS))
@pytest.mark.sample(1)
def test_slow_answers(fault: str, made: Soak, tmp_path: Path) -> None:
    with serving(fault, wrapped(made)) as (_, reached):
        assert "does not answer" in checked(made, made.build(tmp_path, reached), tmp_path)


@pytest.mark.usefixtures("impatient")
def test_blobs_that_drip(made: Soak, tmp_path: Path) -> None:
    """Entries are good, and their blobs arrive byte by byte."""
    server = Hostile(lambda method, name: "slow body" if name.startswith("cas/") else "")
    server.held = wrapped(made)
    try:
        found = made.build(tmp_path, {"WEBKILN_REMOTE_CACHE": server.url})
    finally:
        server.close()
    assert "does not answer" in checked(made, found, tmp_path)


@pytest.mark.usefixtures("impatient")
def test_an_upload_that_stalls(made: Soak, tmp_path: Path) -> None:
    with serving("no answer", {}, method="PUT") as (_, reached):
        found = made.build(tmp_path, {**reached, "WEBKILN_CACHE_WRITE": "1"})
    assert "does not answer" in checked(made, found, tmp_path)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    "fault", ["giant length", "redirect to a host", "more than announced", "slow body", "gzip bomb"]
)
@pytest.mark.sample("giant length", "redirect to a host", "gzip bomb")
def test_broken_buckets(fault: str, made: Soak, tmp_path: Path) -> None:
    with serving(fault, made.good[False], s3=True) as (server, reached):
        found = made.build(tmp_path, {**reached, "WEBKILN_CACHE_WRITE": "1"})
        assert not server.leaks, "a redirect was followed with credentials"
    made.check("the build", found, tmp_path, poison=False)


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
def test_broken_calls(fault: str, made: Soak, tmp_path: Path) -> None:
    server = HostileReapi(lambda method, name: fault)
    server.held = wrapped(made)
    try:
        found = made.build(
            tmp_path, {"WEBKILN_REMOTE_CACHE": server.url, "WEBKILN_CACHE_WRITE": "1"}
        )
    finally:
        server.close()
    made.check("the build", found, tmp_path, poison=False)


@pytest.mark.parametrize("kind", SPECIAL)
def test_only_regular_files_of_a_folder_are_read(
    kind: str, made: Soak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.build.soak_remote.SPECIAL", (kind,))
    monkeypatch.setattr(made.random, "choice", lambda values: 1.0 if 1.0 in values else values[0])
    made._laid_out(made.good[False], tmp_path / "shared", broken=True)
    found = made.build(tmp_path, {"WEBKILN_REMOTE_CACHE": str(tmp_path / "shared")})
    checked(made, found, tmp_path)


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "shared" / "ac").symlink_to(tmp_path / "outside")
    shared = SharedCache(str(tmp_path / "shared"), writes=True)
    shared.upload_entry(64 * "a", {"reads": []})
    shared.close()
    assert not [*(tmp_path / "outside").rglob("*")]


def test_a_disk_without_room_is_not_filled(
    made: Soak, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry that names more bytes than fit causes only a warning, though the server would send
    them.
    """
    monkeypatch.setattr("webkiln.build.remote.shared.FREE_BYTES", 1 << 60)
    blob = Blob(canonical.digest(bytes(2 << 20)), 2 << 20)
    with serving("", {f"cas/{blob.sha256}": bytes(2 << 20)}) as (server, _):
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
    key, own = 64 * "a", signer(f"hmac:{tmp_path}/secret")
    deep = b"[" * 1_000_000
    for header in (
        b"webkiln.entry/2 unsigned\n",
        b"webkiln.entry/2 hmac-sha256 " + b"00" * 32 + b"\n",
    ):
        with pytest.raises(EntryError, match=r"is not signed|is signed by another key"):
            entries.read(header + deep, key, own)
    assert entries.read(entries.written(key, {"reads": []}, own), key, own)["reads"] == []


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


def test_a_resumed_transfer_with_wrong_bytes_is_restarted(made: Soak, tmp_path: Path) -> None:
    """The remains of a transfer from a bad server do not make a good one look bad."""
    (tmp_path / "cache" / "arriving").mkdir(parents=True)
    for name in made.good[False]:
        if name.startswith("cas/"):
            (tmp_path / "cache" / "arriving" / name.removeprefix("cas/")).write_bytes(b"?")
    with serving("", wrapped(made)) as (_, reached):
        found = made.build(tmp_path, reached)
    assert found.files == made.expected
    assert not found.warnings


def test_an_invalid_address_is_an_error() -> None:
    remote = open_remote("http://127.0.0.1:9")
    with pytest.raises(UnreachableError):
        remote.entry(64 * "a")
    remote.close()


@pytest.mark.parametrize(
    ("builds", "seed", "warned"), representative([(6, 1, 3), (12, 1, 6)], (6, 1, 3))
)
def test_attacks_at_random(builds: int, seed: int, warned: int) -> None:
    """Seed 1 begins with two poisoned rounds and a good one: three builds without warnings. `make
    soak` runs more rounds.
    """
    counts, longest = soak(builds, seed)
    assert counts["builds with a warning"] >= warned
    assert counts["builds without one"] > 2
    assert longest < LONGEST_SECONDS
