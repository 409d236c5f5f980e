"""Bundles with damaged files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosts import BEST, every_host
from tests.runtime.damage import alter, break_off, lengthen, rebuild, truncate
from tests.runtime.loads import Y, shard, worker_or_main
from tests.runtime.tampering import perform
from webkiln.codegen.bundles import PIECE_BYTES

DAMAGES: list[tuple[Callable[[Path], None], str]] = [
    (truncate, "Truncated"),
    (lengthen, "Altered"),
    (alter, "Altered"),
    (Path.unlink, "MissingFile"),
]


@every_host
@worker_or_main
@pytest.mark.parametrize(
    "damage_and_code", DAMAGES, ids=["truncated", "longer", "altered", "missing"]
)
@pytest.mark.parametrize("kind", ["weights", "wasm"])
@pytest.mark.sample(8)
def test_damaged_files(
    host: str,
    worker: bool,
    damage_and_code: tuple[Callable[[Path], None], str],
    kind: str,
    bundle_copy: Path,
) -> None:
    damage, code = damage_and_code
    name = {"weights": shard(bundle_copy), "wasm": f"{BEST[host]}.wasm"}[kind]
    damage(bundle_copy / name)
    error = perform(host, bundle_copy, "loadError", {"worker": worker, "backends": ["wasm"]})
    assert (error["name"], error["code"]) == ("WebkilnError", code)
    assert name in error["message"]


@every_host
@pytest.mark.parametrize("piece", [0, 1, -1], ids=["first", "second", "last"])
@pytest.mark.sample(3)
def test_damage_in_each_piece(host: str, piece: int, bundle_copy: Path) -> None:
    path = bundle_copy / shard(bundle_copy)
    data = bytearray(path.read_bytes())
    assert len(data) > PIECE_BYTES
    data[min(piece * PIECE_BYTES + 100, len(data) - 1) if piece >= 0 else -1] ^= 1
    path.write_bytes(data)
    error = perform(host, bundle_copy, "loadError", {"backends": ["wasm"]})
    assert error["code"] == "Altered"
    assert path.name in error["message"]


@every_host
@worker_or_main
@pytest.mark.parametrize(
    ("damage", "code"),
    [(break_off, "MissingFile"), (rebuild, "Altered"), (Path.unlink, "MissingFile")],
)
@pytest.mark.parametrize("backend", ["wasm", "js"])
@pytest.mark.sample(6)
def test_damaged_modules(
    host: str,
    worker: bool,
    damage: Callable[[Path], None],
    code: str,
    backend: str,
    bundle_copy: Path,
) -> None:
    damage(bundle_copy / f"{backend}.js")
    error = perform(host, bundle_copy, "loadError", {"worker": worker, "backends": [backend]})
    assert (error["name"], error["code"]) == ("WebkilnError", code)
    assert f"{backend}.js" in error["message"]


@every_host
@worker_or_main
@pytest.mark.parametrize(
    ("damage", "code"),
    [(break_off, "MissingFile"), (rebuild, "Altered"), (Path.unlink, "MissingFile")],
)
@pytest.mark.sample(3)
def test_damaged_profiles(
    host: str, worker: bool, damage: Callable[[Path], None], code: str, bundle_copy: Path
) -> None:
    damage(bundle_copy / "profile.js")
    error = perform(host, bundle_copy, "loadError", {"worker": worker, "profile": True})
    assert (error["name"], error["code"]) == ("WebkilnError", code)
    assert "profile.js" in error["message"]
    assert perform(host, bundle_copy, "run", {"worker": worker})["y"] == Y
