"""Entries of the local cache: damage, provenance, garbage collection."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.build.signers import hmac_signer
from webkiln import canonical
from webkiln.build.action import FLEET, HERE, UNSIGNED, ActionResult, Blob
from webkiln.build.cache import ActionCache
from webkiln.build.outputs import Expected, single
from webkiln.build.remote.signing import Signer
from webkiln.build.state import TreeState
from webkiln.errors import OutputError

KEY, OTHER = "a" * 64, "b" * 64


@pytest.fixture
def cache(tmp_path: Path) -> ActionCache:
    return ActionCache(tmp_path / "cache")


def blob(cache: ActionCache, data: bytes) -> Blob:
    path = cache.root.parent / "new"
    path.write_bytes(data)
    return cache.store.put(path)


def entry_of(cache: ActionCache, folder: str = "actions") -> Path:
    (path,) = (cache.root / folder).glob("??/*")
    return path


def sealed(body: Any) -> dict[str, Any]:
    return {"body": body, "sha256": canonical.key(body)}


DAMAGE: dict[str, Callable[[Path, Any], object]] = {
    "cut off": lambda path, entry: path.write_bytes(path.read_bytes()[:-1]),
    "empty": lambda path, entry: path.write_bytes(b""),
    "digest": lambda path, entry: canonical.write(path, {**entry, "sha256": "0" * 64}),
    "body": lambda path, entry: canonical.write(
        path, {**entry, "body": {**entry["body"], "more": 1}}
    ),
    "key": lambda path, entry: canonical.write(path, sealed({**entry["body"], "key": OTHER})),
    "schema": lambda path, entry: canonical.write(
        path, sealed({**entry["body"], "schema": "webkiln.action/1"})
    ),
    "no provenance": lambda path, entry: canonical.write(
        path, sealed({k: v for k, v in entry["body"].items() if k != "provenance"})
    ),
    "no outputs": lambda path, entry: canonical.write(
        path, sealed({**entry["body"], "result": {"printed": ""}})
    ),
    "a list": lambda path, entry: canonical.write(path, [entry]),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_entry_is_a_miss_and_is_rebuilt(kind: str, cache: ActionCache) -> None:
    result = ActionResult({"x": blob(cache, b"abc")}, "said")
    cache.put(KEY, result)
    assert cache.get(KEY, single("x")) == result
    path = entry_of(cache)
    DAMAGE[kind](path, canonical.read(path))
    assert cache.get(KEY, single("x")) is None
    assert cache.local(KEY) is None
    assert cache.verify() == [f"action {KEY}"]
    cache.put(KEY, result)
    assert cache.get(KEY, single("x")) == result


@pytest.mark.parametrize("kind", ["gone", "shorter", "longer"])
def test_a_result_without_its_bytes_is_a_miss(kind: str, cache: ActionCache) -> None:
    output = blob(cache, b"abc")
    cache.put(KEY, ActionResult({"x": output, "y": blob(cache, b"other")}))
    path = cache.store.path(output.sha256)
    path.chmod(0o644)
    path.unlink() if kind == "gone" else path.write_bytes(b"ab" if kind == "shorter" else b"abcd")
    assert cache.get(KEY, Expected(frozenset({"x", "y"}))) is None


def test_a_result_without_expected_outputs_is_a_miss(cache: ActionCache) -> None:
    cache.put(KEY, ActionResult({"x": blob(cache, b"abc")}))
    assert cache.get(KEY, Expected(frozenset({"x", "y"}))) is None
    assert cache.get(KEY, single("y")) is None
    assert cache.get(OTHER, single("x")) is None


@pytest.mark.parametrize(
    ("provenance", "plain", "keyed", "is_built"),
    [
        (HERE, True, True, True),
        (FLEET, True, True, True),
        (UNSIGNED, True, False, False),
        ("own", True, True, False),
        ("another", True, False, False),
    ],
)
def test_which_provenances_are_trusted(
    provenance: str,
    plain: bool,
    keyed: bool,
    is_built: bool,
    cache: ActionCache,
    trusted_signer: Signer,
    tmp_path: Path,
) -> None:
    provenances = {"own": trusted_signer.key_id, "another": hmac_signer(tmp_path, "t").key_id}.get(
        provenance, provenance
    )
    cache.put(KEY, ActionResult({"x": blob(cache, b"abc")}, provenance=provenances))
    cache.record_reads(KEY, ["0/a"], OTHER, provenances)
    with_key = ActionCache(cache.root, None, trusted_signer)
    assert (
        cache.get(KEY, single("x")) is not None,
        with_key.get(KEY, single("x")) is not None,
    ) == (plain, keyed)
    assert (bool(cache.reads(KEY)), bool(with_key.reads(KEY))) == (plain, keyed)
    assert (cache.get(KEY, single("x"), built_only=True) is not None) == is_built
    assert len(cache.verify()) == 0
    assert len(with_key.verify()) == (not keyed)


def test_built_results_replace_downloaded_ones_but_not_vice_versa(
    cache: ActionCache,
) -> None:
    fetched = ActionResult({"x": blob(cache, b"abc")}, "fetched", UNSIGNED)
    is_built = ActionResult({"x": blob(cache, b"abd")}, "built", FLEET)
    reloaded = ActionResult({"x": blob(cache, b"abe")}, "again", HERE)
    for result, expected in (
        (fetched, fetched),
        (is_built, is_built),
        (fetched, is_built),
        (reloaded, is_built),
    ):
        cache.put(KEY, result)
        assert cache.local(KEY) == expected
    cache.put(KEY, reloaded, overwrite=True)
    assert cache.local(KEY) == reloaded


READ_DAMAGE: dict[str, Callable[[Path, Any], object]] = {
    "cut off": DAMAGE["cut off"], "digest": DAMAGE["digest"],
    "body": lambda path, entry: canonical.write(path, {**entry, "body": [[["0/b"], OTHER, HERE]]}),
    "shorter rows": lambda path, entry: canonical.write(path, sealed([["0/b"], OTHER])),
    "none": lambda path, entry: path.unlink(),
}  # fmt: skip


@pytest.mark.parametrize("kind", READ_DAMAGE)
def test_damaged_sets_of_discovered_inputs_are_misses(kind: str, cache: ActionCache) -> None:
    cache.record_reads(KEY, ["0/a"], OTHER)
    cache.record_reads(KEY, ["0/a", "0/b"], OTHER)
    assert cache.reads(KEY) == [("0/a", "0/b"), ("0/a",)]
    path = entry_of(cache, "reads")
    READ_DAMAGE[kind](path, canonical.read(path))
    assert cache.reads(KEY) == []


def test_few_sets_of_discovered_inputs_are_stored_latest_first(
    cache: ActionCache,
) -> None:
    for number in range(20):
        cache.record_reads(KEY, [f"0/{number}"], OTHER)
    latest = cache.reads(KEY)
    assert latest[0] == ("0/19",)
    assert 1 < len(latest) < 20
    cache.record_reads(KEY, ["0/18"], OTHER)
    assert cache.reads(KEY)[:2] == [("0/18",), ("0/19",)]
    assert len(cache.reads(KEY)) == len(latest)


def test_the_base_cache_is_read_but_not_changed(cache: ActionCache, tmp_path: Path) -> None:
    result = ActionResult({"x": blob(cache, b"abc")}, "below")
    cache.put(KEY, result)
    cache.record_reads(KEY, ["0/a"], OTHER)
    times = {path: path.stat().st_mtime_ns for path in cache.root.rglob("*")}
    base = ActionCache(tmp_path / "above", base=cache.root)
    assert base.get(KEY, single("x")) == result
    assert base.reads(KEY) == [("0/a",)]
    base.record_reads(KEY, ["0/b"], OTHER)
    assert base.reads(KEY) == [("0/b",), ("0/a",)]
    upper = ActionResult({"x": blob(base, b"abd")}, "above")
    base.put(KEY, upper, overwrite=True)
    assert base.get(KEY, single("x")) == upper
    assert base.store.read(result.outputs["x"]) == b"abc"
    assert {path: path.stat().st_mtime_ns for path in cache.root.rglob("*")} == times


def live(cache: ActionCache, folder: Path, result: ActionResult) -> None:
    """A tree with a result."""
    state = TreeState(folder / "state")
    state.save("load:m", {}, result, {})
    cache.register(state.root)


def test_gc_keeps_live_and_recent_results(cache: ActionCache, tmp_path: Path) -> None:
    expected, removed, half = (
        ActionResult({"x": blob(cache, data)}) for data in (b"kept", b"left", b"half")
    )
    for key, result in zip(
        ("1" * 64, "2" * 64, "3" * 64),
        (expected, removed, ActionResult({**expected.outputs, "y": half.outputs["x"]})),
        strict=True,
    ):
        cache.put(key, result)
    live(cache, tmp_path, expected)
    for key, result in (("1" * 64, "1" * 64), ("2" * 64, "2" * 64)):
        cache.record_reads(key, ["0/a"], result)
    assert cache.gc() == {"actions": 0, "blobs": 0, "bytes": 0}
    assert cache.gc(grace=-1) == {"actions": 2, "blobs": 2, "bytes": 8}
    assert cache.local("1" * 64) == expected
    assert cache.reads("1" * 64) == [("0/a",)]
    assert cache.reads("2" * 64) == []
    assert [*cache.store.digests()] == [expected.outputs["x"].sha256]


def test_gc_removes_deleted_trees_and_partial_downloads(cache: ActionCache, tmp_path: Path) -> None:
    result = ActionResult({"x": blob(cache, b"kept")})
    cache.put(KEY, result)
    live(cache, tmp_path, result)
    (cache.root / "arriving").mkdir()
    (cache.root / "arriving" / "part").write_bytes(b"1")
    cache.gc()
    assert (cache.root / "arriving" / "part").exists()
    cache.gc(grace=-1)
    assert not (cache.root / "arriving" / "part").exists()
    assert [*cache.trees()] == [tmp_path / "state"]
    (tmp_path / "state").rename(tmp_path / "moved")
    assert cache.gc(grace=-1)["blobs"] == 1
    assert [*cache.trees()] == []
    assert not [*(cache.root / "trees").iterdir()]


def test_shrink_removes_the_least_recently_used(cache: ActionCache) -> None:
    blobs = [blob(cache, bytes([number]) * 10) for number in range(4)]
    for number, output in enumerate(blobs):
        cache.put(str(number) * 64, ActionResult({"x": output}))
        os.utime(cache.store.path(output.sha256), (1e9 + (number * 7 + 3) % 4, 1e9))
    young = blob(cache, b"0123456789")
    used = sorted(blobs, key=lambda output: cache.store.path(output.sha256).stat().st_atime)
    assert cache.shrink(30) == {"actions": 2, "blobs": 2, "bytes": 20}
    assert {*cache.store.digests()} == {output.sha256 for output in (*used[2:], young)}
    assert cache.shrink(0) == {"actions": 2, "blobs": 2, "bytes": 20}
    assert [*cache.store.digests()] == [young.sha256]


def test_a_damaged_blob_is_not_used_and_a_missing_one_is_an_error(
    cache: ActionCache, tmp_path: Path
) -> None:
    output = blob(cache, b"abc")
    path = cache.store.path(output.sha256)
    path.chmod(0o644)
    path.write_bytes(b"abd")
    assert cache.store.has(output)
    assert not cache.store.materialise(output, tmp_path / "out", own=True)
    assert not (tmp_path / "out").exists()
    assert not cache.store.has(output)
    with pytest.raises(OutputError, match="is gone"):
        cache.store.file(output)
    assert cache.store.read(output) is None


@pytest.mark.parametrize("own_copy", [True, False])
def test_only_private_copies_do_not_share_bytes_with_the_store(
    own_copy: bool, cache: ActionCache, tmp_path: Path
) -> None:
    output = blob(cache, b"abc")
    assert cache.store.materialise(output, tmp_path / "a" / "out", own=own_copy)
    assert (tmp_path / "a" / "out").read_bytes() == b"abc"
    is_linked = (
        os.stat(tmp_path / "a" / "out").st_ino == os.stat(cache.store.path(output.sha256)).st_ino
    )
    assert is_linked == (not own_copy)


def test_a_manifest_of_a_tree_has_all_fields(tmp_path: Path) -> None:
    state = TreeState(tmp_path / "state")
    result = ActionResult({"x": Blob("c" * 64, 3)}, "printed", UNSIGNED)
    for number in range(3):
        state.save(
            "load:m:detail",
            {"n": number, "reads": {"0/b": 1, "0/a": 2}, "origin": "o"},
            result,
            {Path("/f"): str(number)},
        )
    manifest = state.manifest("load:m:detail")
    assert manifest is not None
    assert (manifest.result, manifest.result.provenance, manifest.reads, manifest.source_key) == (
        result,
        UNSIGNED,
        ("0/a", "0/b"),
        "o",
    )
    assert manifest.key == canonical.key({"n": 2, "reads": {"0/b": 1, "0/a": 2}, "origin": "o"})
    assert [(run.document["n"], run.files) for run in state.runs("load:m:detail")] == [
        (2, {"/f": "2"}),
        (1, {"/f": "1"}),
    ]
    state.save("load:m:detail", {"n": 1}, result, {})
    reloaded = state.manifest("load:m:detail")
    assert reloaded is not None
    assert (reloaded.reads, reloaded.source_key) == ((), None)
    assert [run.document["n"] for run in state.runs("load:m:detail")] == [1, 2]
    state.manifest_path("load:m:detail").write_text("{")
    assert state.manifest("load:m:detail") is None
