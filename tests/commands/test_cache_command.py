"""`webkiln cache`."""

import json
from pathlib import Path

import pytest

from tests.commands.conftest import Call
from webkiln.build.action import UNSIGNED, ActionResult
from webkiln.build.cache import ActionCache
from webkiln.commands import cache as cache_command
from webkiln.errors import RecipeError


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 0),
        ("7", 7),
        ("7B", 7),
        ("1.5K", 1500),
        ("2kB", 2000),
        ("3M", 3_000_000),
        ("4 GiB", 4_000_000_000),
        ("1t", 10**12),
    ],
)
def test_sizes_of_a_cache(text: str, count: int) -> None:
    assert cache_command._bytes(text) == count


@pytest.mark.parametrize("text", ["", "G", "-1", "5X", "1e3", "5GB more"])
def test_invalid_sizes_are_rejected(text: str) -> None:
    with pytest.raises(RecipeError, match="--max-size"):
        cache_command._bytes(text)


KEYS = [digit * 64 for digit in "abc"]


@pytest.fixture
def filled_cache(tmp_path: Path) -> ActionCache:
    """A cache with three results, one of them unsigned and from another machine."""
    cache = ActionCache(tmp_path / "cache")
    for number, (key, provenance) in enumerate(zip(KEYS, ("here", "here", UNSIGNED), strict=True)):
        (tmp_path / "blob").write_bytes(bytes([number]) * 1000)
        cache._write(
            key, ActionResult({"out": cache.store.put(tmp_path / "blob")}, provenance=provenance)
        )
    return cache


def test_cache_stat_counts(filled_cache: ActionCache, call: Call) -> None:
    printed = call("cache", "stat")
    assert "3 results, 3 files of 3.0 KB, 0 more in the remote cache" in printed
    assert "  2 built here\n  1 from a remote cache, unsigned\n" in printed
    assert "no remote cache" in printed


def test_cache_stat_prints_json(
    filled_cache: ActionCache, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statistics = json.loads(call("cache", "stat", "--json"))
    assert statistics == {
        "folder": str(filled_cache.root),
        "results": 3,
        "files": 3,
        "bytes": 3000,
        "remote_files": 0,
        "provenances": [
            {"provenance": "here", "results": 2, "readable": True},
            {"provenance": "unsigned", "results": 1, "readable": True},
        ],
        "remote": None,
    }
    (tmp_path / "team").mkdir()
    monkeypatch.setenv("WEBKILN_REMOTE_CACHE", str(tmp_path / "team"))
    remote = json.loads(call("cache", "stat", "--json"))["remote"]
    assert remote == {
        "address": str(tmp_path / "team"),
        "answers": True,
        "writes": False,
        "key": None,
    }
    monkeypatch.setenv("WEBKILN_REMOTE_CACHE", "http://127.0.0.1:9/")
    printed = call("cache", "stat", "--json", code=1)
    statistics, _ = json.JSONDecoder().raw_decode(printed)
    assert not statistics["remote"]["answers"]


def test_cache_gc_removes_old_unused_results(
    filled_cache: ActionCache, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "removed 0 results and 0 files" in call("cache", "gc")
    monkeypatch.setattr(ActionCache.gc, "__defaults__", (-1,))
    assert "removed 3 results and 3 files" in call("cache", "gc")


def test_cache_gc_to_a_size_retains_recent_results(
    filled_cache: ActionCache, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "removed 0 results and 0 files" in call("cache", "gc", "--max-size", "0")
    monkeypatch.setattr(ActionCache.shrink, "__defaults__", (-1,))
    assert "removed 1 results and 1 files" in call("cache", "gc", "--max-size", "2K")
    assert "removed 0 results and 0 files" in call("cache", "gc", "--max-size", "2KB")
    assert "removed 2 results and 2 files" in call("cache", "gc", "--max-size", "999")


def test_cache_verify_reports_and_removes_damaged_blobs(
    filled_cache: ActionCache, call: Call
) -> None:
    assert "all bytes are intact" in call("cache", "verify")
    blob = next(iter(filled_cache.store.digests()))
    path = filled_cache.store.path(blob)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    printed = call("cache", "verify", code=1)
    assert f"removed: blob {blob}" in printed
    assert "2 removed, which will be rebuilt" in printed
    assert "all bytes are intact" in call("cache", "verify")
    assert "2 results, 2 files" in call("cache", "stat")


def test_cache_push_and_pull(
    filled_cache: ActionCache, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for verb in ("push", "pull"):
        assert "WEBKILN_REMOTE_CACHE names no remote cache" in call("cache", verb, code=2)
    (tmp_path / "team").mkdir()
    (tmp_path / "secret").write_bytes(b"s" * 32)
    monkeypatch.setenv("WEBKILN_REMOTE_CACHE", str(tmp_path / "team"))
    monkeypatch.setenv("WEBKILN_CACHE_KEY", f"hmac:{tmp_path}/secret")
    assert "WEBKILN_CACHE_WRITE is not 1" in call("cache", "push", code=2)
    monkeypatch.setenv("WEBKILN_CACHE_WRITE", "1")
    printed = call("cache", "push")
    assert "2 results are stored" in printed
    assert "omitted, since this key does not sign them: 1 from a remote cache, unsigned" in printed
    assert (
        len([*(tmp_path / "team").glob("ac/??/*")])
        == len([*(tmp_path / "team").glob("cas/??/*")])
        == 2
    )
    printed = call("cache", "stat")
    assert "1 from a remote cache, unsigned, not readable with this key" in printed
    assert "answers in" in printed
    assert "results are stored; signed by hmac-sha256:" in printed
    monkeypatch.setenv("WEBKILN_REMOTE_CACHE", str(tmp_path / "nowhere"))
    assert "does not answer" in call("cache", "stat", code=1)


def test_cache_pull_fetches_the_results_of_all_trees(
    filled_cache: ActionCache, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "team").mkdir()
    monkeypatch.setenv("WEBKILN_REMOTE_CACHE", str(tmp_path / "team"))
    monkeypatch.setenv("WEBKILN_CACHE_WRITE", "1")
    assert "3 results are stored" in call("cache", "push")
    result = filled_cache.local(KEYS[0])
    assert result is not None
    state = tmp_path / "state"
    (state / "m").mkdir(parents=True)
    (state / "m" / "load.json").write_text(
        json.dumps({"key": KEYS[0], "result": result.to_json(), "provenance": "here", "reads": []})
    )
    filled_cache.register(state)
    assert "0 files of 0" in call("cache", "pull")
    blob = result.outputs["out"]
    filled_cache.store.path(blob.sha256).unlink()
    filled_cache.store.mark_remote([blob])
    assert "1 files of 1.0 KB fetched" in call("cache", "pull")
    assert filled_cache.store.path(blob.sha256).read_bytes() == bytes(1000)
    filled_cache.store.path(blob.sha256).unlink()
    (tmp_path / "team" / "cas" / blob.sha256[:2] / blob.sha256).unlink()
    assert "1 files are missing" in call("cache", "pull", code=2)
