"""Values derived from the content of files, remembered for all trees."""

import pytest

from webkiln import canonical
from webkiln.build import derived
from webkiln.build.derived import Derived


def test_trees_merge_their_values(tmp_path):
    path = tmp_path / "cache" / "derived.json"
    one, other = Derived(path), Derived(path)
    assert one.get("a") is None
    one.remember("a", [["x"], []])
    other.remember("b", "2")
    for session in (one, other):
        session.save()
    reloaded = Derived(path)
    assert (reloaded.get("a"), reloaded.get("b")) == ([["x"], []], "2")
    written_ns = path.stat().st_mtime_ns
    reloaded.save()
    assert path.stat().st_mtime_ns == written_ns


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"body":{"a":1},"sha256":"0"}', b'{"body":[],"sha256":1}']
)
def test_a_damaged_file_is_computed_again(damage, tmp_path):
    path = tmp_path / "derived.json"
    session = Derived(path)
    session.remember("a", 1)
    session.save()
    path.write_bytes(damage)
    session = Derived(path)
    assert session.get("a") is None
    session.remember("a", 2)
    session.save()
    assert Derived(path).get("a") == 2


def test_unused_values_are_dropped(tmp_path, monkeypatch):
    monkeypatch.setattr(derived, "MOST", 3)
    path = tmp_path / "derived.json"
    first = Derived(path)
    for key in "abc":
        first.remember(key, key)
    first.save()
    second = Derived(path)
    second.get("b")
    second.remember("d", "d")
    second.save()
    assert canonical.read(path)["body"] == {"b": "b", "d": "d"}
