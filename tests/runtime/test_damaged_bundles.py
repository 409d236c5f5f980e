"""Bundles with damaged files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosts import BEST, every_host
from tests.runtime.damage import alter, break_off, lengthen, rebuild, truncate
from tests.runtime.loads import Y, places, shard
from tests.runtime.tampering import perform
from webkiln.codegen.bundles import PIECE_BYTES

DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (truncate, "Truncated"),
    (lengthen, "Altered"),
    (alter, "Altered"),
    (Path.unlink, "MissingFile"),
]


@every_host
@places
@pytest.mark.parametrize(
    "damage_and_code", DAMAGES, ids=["truncated", "longer", "altered", "missing"]
)
@pytest.mark.parametrize("which", ["weights", "wasm"])
@pytest.mark.sample(8)
def test_damaged_files(
    host: str,
    worker: bool,
    damage_and_code: tuple[Callable[[Path], None], str],
    which: str,
    copied: Path,
) -> None:
    damage, code = damage_and_code
    name = {"weights": shard(copied), "wasm": f"{BEST[host]}.wasm"}[which]
    damage(copied / name)
    got = perform(host, copied, "loadError", {"worker": worker, "backends": ["wasm"]})
    assert (got["name"], got["code"]) == ("WebkilnError", code)
    assert name in got["message"]


@every_host
@pytest.mark.parametrize("piece", [0, 1, -1], ids=["first", "second", "last"])
@pytest.mark.sample(3)
def test_damage_in_each_piece(host: str, piece: int, copied: Path) -> None:
    path = copied / shard(copied)
    data = bytearray(path.read_bytes())
    assert len(data) > PIECE_BYTES
    data[min(piece * PIECE_BYTES + 100, len(data) - 1) if piece >= 0 else -1] ^= 1
    path.write_bytes(data)
    got = perform(host, copied, "loadError", {"backends": ["wasm"]})
    assert got["code"] == "Altered"
    assert path.name in got["message"]


@every_host
@places
@pytest.mark.parametrize(
    ("damage", "code"),
    [(break_off, "MissingFile"), (rebuild, "Altered"), (Path.unlink, "MissingFile")],
)
@pytest.mark.parametrize("backend", ["wasm", "js"])
@pytest.mark.sample(6)
def test_damaged_modules(
    host: str, worker: bool, damage: Callable[[Path], None], code: str, backend: str, copied: Path
) -> None:
    damage(copied / f"{backend}.js")
    got = perform(host, copied, "loadError", {"worker": worker, "backends": [backend]})
    assert (got["name"], got["code"]) == ("WebkilnError", code)
    assert f"{backend}.js" in got["message"]


@every_host
@places
@pytest.mark.parametrize(
    ("damage", "code"),
    [(break_off, "MissingFile"), (rebuild, "Altered"), (Path.unlink, "MissingFile")],
)
@pytest.mark.sample(3)
def test_damaged_profiles(
    host: str, worker: bool, damage: Callable[[Path], None], code: str, copied: Path
) -> None:
    damage(copied / "profile.js")
    got = perform(host, copied, "loadError", {"worker": worker, "profile": True})
    assert (got["name"], got["code"]) == ("WebkilnError", code)
    assert "profile.js" in got["message"]
    assert perform(host, copied, "run", {"worker": worker})["y"] == Y
