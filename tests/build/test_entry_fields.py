"""Entries of caches: every field, header and signature is checked, for results and for discovered
inputs.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.build.signers import hmac_signer
from webkiln import canonical
from webkiln.build.action import UNSIGNED, ActionResult, Blob
from webkiln.build.remote import entries
from webkiln.build.remote.entries import EntryError
from webkiln.build.remote.shared import SharedCache
from webkiln.build.remote.signing import Signer

KEY, OTHER = "a" * 64, "b" * 64
BLOB = Blob("c" * 64, 3)
BODY = {"result": {"outputs": {"x": {"sha256": BLOB.sha256, "bytes": 3}}, "printed": ""}}
READS = {"reads": ["0/a"]}


def edited(data: bytes, **changes: Any) -> bytes:
    """Replace fields in the body of an entry. The header is unchanged."""
    head, _, body = data.partition(b"\n")
    return head + b"\n" + canonical.dumps({**json.loads(body), **changes})


FORGED: dict[str, Callable[[bytes], bytes]] = {
    "unsigned": lambda data: b"webkiln.entry/2 unsigned\n" + data.partition(b"\n")[2],
    "another algorithm": lambda data: data.replace(b"hmac-sha256", b"ed25519", 1),
    "no header": lambda data: data.partition(b"\n")[2],
    "another form": lambda data: data.replace(b"webkiln.entry/2", b"webkiln.entry/1", 1),
    "part of a signature": lambda data: data.replace(
        data.partition(b"\n")[0], data.partition(b"\n")[0][:-1], 1
    ),
    "shorter signature": lambda data: data.replace(
        data.partition(b"\n")[0], data.partition(b"\n")[0][:-2], 1
    ),
    "signature of nothing": lambda data: (
        b"webkiln.entry/2 hmac-sha256 00\n" + data.partition(b"\n")[2]
    ),
    "a changed byte": lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    "cut off": lambda data: data[:-1],
    "trailing bytes": lambda data: data + b" ",
    "another key": lambda data: edited(data, key=OTHER),
    "another printed text": lambda data: edited(data, result={"outputs": {}, "printed": "x"}),
}


@pytest.mark.parametrize("body", [BODY, READS], ids=["result", "reads"])
@pytest.mark.parametrize("kind", FORGED)
def test_a_modified_signed_entry_is_rejected(
    kind: str, body: dict[str, Any], trusted_signer: Signer
) -> None:
    data = entries.written(KEY, body, trusted_signer)
    assert entries.read(data, KEY, trusted_signer)["key"] == KEY
    with pytest.raises(EntryError):
        entries.read(FORGED[kind](data), KEY, trusted_signer)


def test_an_entry_of_another_key_or_signer_is_rejected(
    trusted_signer: Signer, tmp_path: Path
) -> None:
    signed, plain = entries.written(KEY, BODY, trusted_signer), entries.written(KEY, BODY, None)
    for data, key, author in (
        (signed, OTHER, trusted_signer),
        (signed, KEY, hmac_signer(tmp_path, "t")),
        (plain, OTHER, None),
        (plain, KEY, trusted_signer),
    ):
        with pytest.raises(EntryError):
            entries.read(data, key, author)
    assert (
        entries.read(signed, KEY, None)["result"]
        == entries.read(plain, KEY, None)["result"]
        == BODY["result"]
    )


@pytest.mark.parametrize(
    "changes", [{"schema": "webkiln.entry/1"}, {"schema": None}, {"key": OTHER}]
)
def test_an_entry_of_another_schema_is_rejected(changes: dict[str, Any]) -> None:
    with pytest.raises(EntryError):
        entries.read(edited(entries.written(KEY, BODY, None), **changes), KEY, None)


def result_with(**changes: Any) -> dict[str, Any]:
    return {
        "result": {"outputs": {"x": {"sha256": BLOB.sha256, "bytes": 3} | changes}, "printed": ""}
    }


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"result": {}},
        {"result": {"outputs": {}}},
        {"result": {"outputs": [], "printed": ""}},
        {"result": {"outputs": {}, "printed": 3}},
        {"result": {"outputs": {}, "printed": "\ud800"}},
        result_with(sha256="c" * 63),
        result_with(sha256="C" * 64),
        result_with(sha256=3),
        result_with(bytes=-1),
        result_with(bytes=True),
        result_with(bytes="3"),
        result_with(bytes=1.0),
        result_with(bytes=1 << 60),
    ],
)
def test_invalid_results_are_rejected(body: dict[str, Any]) -> None:
    assert entries.result_of(BODY, UNSIGNED).outputs == {"x": BLOB}
    with pytest.raises(EntryError):
        entries.result_of(body, UNSIGNED)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/x",
        "x/../y",
        "..",
        ".",
        "x//y",
        "a\\b",
        "a:b",
        "a\nb",
        "x/./y",
        "n" * 201,
        "/".join(["n" * 100] * 11),
        3,
    ],
)
def test_invalid_paths(path: object) -> None:
    assert not entries.is_path(path)


@pytest.mark.parametrize("path", ["x", "a/b.c", "a/", "-x", "é", "n" * 200])
def test_valid_paths(path: str) -> None:
    assert entries.is_path(path)


@pytest.fixture
def team(tmp_path: Path) -> Path:
    (tmp_path / "team").mkdir()
    return tmp_path / "team"


def store(team: Path, key: str, data: bytes) -> None:
    name = entries.entry_key(key)
    (team / "ac" / name[:2]).mkdir(parents=True, exist_ok=True)
    (team / "ac" / name[:2] / name).write_bytes(data)


@pytest.fixture
def shared(team: Path, trusted_signer: Signer) -> Iterator[SharedCache]:
    cache = SharedCache(str(team), trusted_signer)
    yield cache
    cache.close()


@pytest.mark.parametrize("author", ["nobody", "another", "own"])
@pytest.mark.parametrize("kind", ["result", "reads"])
def test_a_build_with_a_key_accepts_its_own_signatures(
    kind: str, author: str, shared: SharedCache, team: Path, trusted_signer: Signer, tmp_path: Path
) -> None:
    signers = {"nobody": None, "another": hmac_signer(tmp_path, "t"), "own": trusted_signer}
    store(team, KEY, entries.written(KEY, BODY if kind == "result" else READS, signers[author]))
    result = shared.find(KEY) if kind == "result" else shared.reads(KEY)
    assert (result is not None) == (author == "own")
    if isinstance(result, ActionResult):
        assert result.provenance == trusted_signer.key_id


def test_entries_of_results_and_of_reads_are_not_interchangeable(
    shared: SharedCache, team: Path, trusted_signer: Signer
) -> None:
    store(team, KEY, entries.written(KEY, READS, trusted_signer))
    assert shared.find(KEY) is None
    store(team, OTHER, entries.written(OTHER, BODY, trusted_signer))
    assert shared.reads(OTHER) is None
