"""The provenance of results. A build with a key uses only results that were built here or signed by
the key, even if a build without the key has accepted others.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from tests.build.faulty_remote import Faulty, faulty
from tests.build.tree import Tree, checkout, toy_bundle, warm
from tests.sampling import representative
from webkiln import canonical
from webkiln.build.action import FLEET, HERE, UNSIGNED, ActionResult, Blob, combined_provenance
from webkiln.build.cache import ActionCache
from webkiln.build.digests import STAMP_MARGIN_NS
from webkiln.build.outputs import single
from webkiln.build.remote import wire
from webkiln.build.remote.shared import SharedCache
from webkiln.build.remote.signing import signer

WRITES = {"WEBKILN_CACHE_WRITE": "1"}
STOLEN = b"export const stolen = true;\n"
KEY = 64 * "a"


@pytest.fixture
def trees(tmp_path: Path) -> list[Tree]:
    """Checkouts of one project, each with its own cache, as on separate machines."""
    return [checkout(tmp_path / f"tree{n}", tmp_path / f"cache{n}", toy=True) for n in range(2)]


@pytest.fixture
def secret(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "secret").write_bytes(b"s" * 32)
    return {"WEBKILN_CACHE_KEY": f"hmac:{tmp_path}/secret"}


@pytest.fixture
def poisoned(remote_objects: dict[str, bytes], toy: Tree) -> Iterator[tuple[Faulty, Tree]]:
    """A server with the results of a build, whose bundles are missing and whose generated code was
    replaced, and a tree that has built from it.
    """
    with faulty() as server:
        server.objects |= remote_objects
        server.objects[f"cas/{canonical.digest(STOLEN)}"] = STOLEN
        for name, data in list(server.objects.items()):
            if name.startswith("ac/"):
                header, _, text = wire.unwrapped(data).partition(b"\n")
                body = json.loads(text)
                outputs = body.get("result", {}).get("outputs", {})
                if "code/js.js" in outputs:
                    outputs["code/js.js"] = {
                        "sha256": canonical.digest(STOLEN),
                        "bytes": len(STOLEN),
                    }
                    server.objects[name] = wire.wrapped(header + b"\n" + canonical.dumps(body), [])
                elif "bundle/manifest.json" in outputs:
                    del server.objects[name]
        toy.make(WEBKILN_REMOTE_CACHE=server.url)
        assert toy.bytes()["js.js"] == STOLEN, "without a key it is accepted"
        yield server, toy


def stamp(tree: Tree) -> None:
    """Record stamps which state that a tree is up to date."""
    time.sleep(STAMP_MARGIN_NS / 1e9)
    tree.doit("build", "model=toy")
    assert [*canonical.read(tree.state / "stamps.json")["rows"]] == ["bundle:toy"]


@pytest.mark.parametrize(
    ("state", "remote"),
    representative(
        product(["kept", "stamped", "gone"], [True, False]), ("stamped", True), ("kept", False)
    ),
)
def test_a_key_invalidates_results_accepted_without_it(
    state: str, remote: bool, poisoned: tuple[Faulty, Tree], secret: dict[str, str]
) -> None:
    """The previous inputs of the tree are invalid in its stamps, its manifests, its cache, and the
    source key of its bundle.
    """
    server, second = poisoned
    if state == "stamped":
        stamp(second)
    if state == "gone":
        second.wipe()
    second.doit(
        "build", "model=toy", **secret, **({"WEBKILN_REMOTE_CACHE": server.url} if remote else {})
    )
    assert second.bytes() == toy_bundle()
    assert not second.build(**secret), "then it is up to date"
    assert not second.build(), "also without the key"
    assert second.bytes() == toy_bundle()


def test_results_of_others_are_not_signed(
    poisoned: tuple[Faulty, Tree], secret: dict[str, str], tmp_path: Path
) -> None:
    server, second = poisoned
    output = second.webkiln("cache", "stat", WEBKILN_REMOTE_CACHE=server.url)
    foreign = next(line for line in output.splitlines() if "from a remote cache, unsigned" in line)
    count = int(foreign.split()[0])
    assert count > 5
    assert f"{count} from a remote cache, unsigned, not readable with this key" in second.webkiln(
        "cache", "stat", **secret
    )
    (tmp_path / "team").mkdir()
    team = {"WEBKILN_REMOTE_CACHE": str(tmp_path / "team"), **secret}
    output = second.webkiln("cache", "push", **team, **WRITES)
    assert (
        f"omitted, since this key does not sign them: {count} from a remote cache, unsigned"
        in output
    )
    # A result built here from foreign code is signed for exactly that code, which a build with
    # the key never has.
    other = checkout(tmp_path / "other", tmp_path / "fresh", toy=True)
    other.make(**team)
    assert other.bytes() == toy_bundle()
    second.make(**secret)
    assert second.bytes() == toy_bundle()


def test_verify_lists_results_that_the_key_did_not_sign(
    poisoned: tuple[Faulty, Tree], secret: dict[str, str]
) -> None:
    server, second = poisoned
    assert "all bytes are intact" in second.webkiln(
        "cache", "verify", WEBKILN_REMOTE_CACHE=server.url
    )
    output = second.webkiln("cache", "verify", status=1, WEBKILN_REMOTE_CACHE=server.url, **secret)
    assert "(from a remote cache, unsigned)" in output
    assert "all bytes are intact" in second.webkiln(
        "cache", "verify", WEBKILN_REMOTE_CACHE=server.url, **secret
    )


def test_signed_results_are_trusted_with_their_key_only(trees: list[Tree], tmp_path: Path) -> None:
    first, second = trees
    private, public, other = (tmp_path / name for name in ("private.pem", "public.pem", "other"))
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    other.write_bytes(b"o" * 32)
    with faulty() as server:
        first.make(
            WEBKILN_REMOTE_CACHE=server.url, WEBKILN_CACHE_KEY=f"ed25519:{private}", **WRITES
        )
        reader = {"WEBKILN_CACHE_KEY": f"ed25519:{public}"}
        assert not second.make(WEBKILN_REMOTE_CACHE=server.url, **reader)
        second.webkiln("cache", "pull", WEBKILN_REMOTE_CACHE=server.url, **reader)
    assert "from a remote cache, signed by ed25519:" in second.webkiln("cache", "stat", **reader)
    assert not second.make(**reader), "downloaded results are local and signed"
    assert second.make(WEBKILN_CACHE_KEY=f"hmac:{other}"), "another key did not sign it"


def test_key_ids_reveal_no_secret(tmp_path: Path) -> None:
    data = b"s" * 32
    (tmp_path / "secret").write_bytes(data)
    (tmp_path / "other").write_bytes(b"t" * 32)
    team_signer, other = (signer(f"hmac:{tmp_path}/{name}") for name in ("secret", "other"))
    assert team_signer.key_id == signer(f"hmac:{tmp_path}/secret").key_id != other.key_id
    assert team_signer.key_id.partition(":")[2] not in canonical.digest(data)
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True)
    subprocess.run(["openssl", "pkey", "-in", private, "-pubout", "-out", public], check=True)
    assert signer(f"ed25519:{private}").key_id == signer(f"ed25519:{public}").key_id


def test_entries_of_earlier_versions_do_not_count(toy: Tree) -> None:
    warm(toy)
    for path in (toy.cache / "actions").glob("??/*"):
        body = canonical.read(path)["body"] | {"schema": "webkiln.action/1"}
        canonical.write(path, {"body": body, "sha256": canonical.key(body)})
    assert toy.make()


def test_a_provenance_from_a_remote_is_ignored(tmp_path: Path) -> None:
    """The provenance in an entry is not read."""
    result = {"outputs": {"x": {"sha256": KEY, "bytes": 1}}, "printed": "", "provenance": HERE}
    with faulty() as server:
        shared = SharedCache(server.url, writes=True)
        shared.upload_entry(KEY, {"result": result, "provenance": HERE})
        shared.wait(lambda text: None)
        result = ActionCache(tmp_path, shared).get(KEY, single("x"))
        shared.close()
    assert result is not None
    assert result.provenance == UNSIGNED


def test_discovered_inputs_have_a_provenance(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"s" * 32)
    trusted_signer = signer(f"hmac:{tmp_path}/secret")
    with faulty() as server:
        keyless = ActionCache(tmp_path / "cache", SharedCache(server.url))
        keyless.record_reads(KEY, ["0/a"], KEY, UNSIGNED)
        assert keyless.reads(KEY) == [("0/a",)]
        keyed = ActionCache(
            tmp_path / "cache", SharedCache(server.url, trusted_signer, writes=True), trusted_signer
        )
        assert keyed.reads(KEY) == []
        keyed.record_reads(KEY, ["0/b"], KEY, UNSIGNED)
        assert keyed.shared is not None
        keyed.shared.wait(lambda text: None)
        assert not [name for name in server.requests if name.startswith("PUT")], (
            "they are not signed"
        )
        keyed.record_reads(KEY, ["0/c"], KEY)
        assert keyed.reads(KEY) == [("0/c",)]


def test_an_untrusted_entry_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"s" * 32)
    (tmp_path / "x").write_bytes(b"x")
    cache = ActionCache(tmp_path / "cache", None, signer(f"hmac:{tmp_path}/secret"))
    blob = cache.store.put(tmp_path / "x")
    cache._write(KEY, ActionResult({"x": blob}, "foreign", UNSIGNED))
    assert cache.get(KEY, single("x")) is None
    cache.put(KEY, ActionResult({"x": blob}, "own"))
    result = cache.get(KEY, single("x"))
    assert result is not None
    assert (result.printed, result.provenance) == ("own", HERE)


def test_the_least_trusted_part_determines_the_provenance() -> None:
    assert combined_provenance([]) == combined_provenance([HERE]) == HERE
    assert combined_provenance([HERE, FLEET]) == FLEET
    assert combined_provenance([HERE, "key", FLEET]) == "key"
    assert (
        combined_provenance(["key", "other"]) == combined_provenance([HERE, UNSIGNED]) == UNSIGNED
    )


def test_a_step_that_fails_with_foreign_inputs_is_built_here(
    remote_objects: dict[str, bytes], toy: Tree
) -> None:
    """Without a key, a remote may return any result. If a step fails because of it, its inputs are
    built here.
    """
    with faulty() as server:
        server.objects |= remote_objects
        junk = Blob(canonical.digest(b"{"), 1)
        server.objects[f"cas/{junk.sha256}"] = b"{"
        for name, data in list(server.objects.items()):
            if name.startswith("ac/"):
                header, _, text = wire.unwrapped(data).partition(b"\n")
                body = json.loads(text)
                if "program.json" in body["result"]["outputs"]:
                    body["result"]["outputs"]["program.json"] = {"sha256": junk.sha256, "bytes": 1}
                    server.objects[name] = wire.wrapped(header + b"\n" + canonical.dumps(body), [])
                elif "graph.json" not in body["result"]["outputs"]:
                    del server.objects[name]
        output = toy.doit("build", "model=toy", WEBKILN_REMOTE_CACHE=server.url)
    (warning,) = [line for line in output.splitlines() if line.startswith("warning:")]
    assert "succeeded with inputs built here" in warning
    assert "Traceback" not in output
    assert toy.bytes() == toy_bundle()
