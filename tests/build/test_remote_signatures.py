"""Signed entries of the remote cache, and the keys that sign them."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.build.faulty_remote import Faulty, faulty, warnings
from tests.build.tree import Tree, toy_bundle
from tests.sampling import representative
from webkiln import canonical
from webkiln.build.remote import wire

WRITES = {"WEBKILN_CACHE_WRITE": "1"}

pytestmark = pytest.mark.usefixtures("direct")


def keys(folder: Path, kind: str) -> tuple[str, str]:
    """(environment of the writer, environment of the reader)."""
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
    """Replace the outputs of every entry, as anyone with write access could."""
    other = b"export const stolen = true;"
    server.objects[f"cas/{canonical.digest(other)}"] = other
    for name, data in list(server.objects.items()):
        if name.startswith("ac/"):
            header, _, rest = wire.unwrapped(data).partition(b"\n")
            body = json.loads(rest)
            for blob in body.get("result", {}).get("outputs", {}).values():
                blob |= {"sha256": canonical.digest(other), "bytes": len(other)}
            server.objects[name] = wire.wrapped(header + b"\n" + canonical.dumps(body), [])


def test_unsigned_entries_are_rejected_with_a_key(
    filled_server: tuple[Faulty, Tree], tmp_path: Path
) -> None:
    server, second = filled_server
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
