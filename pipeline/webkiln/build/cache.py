"""The action cache: key -> ActionResult. A damaged, truncated or incomplete entry is a miss.
Failures are not cached.

Each entry records its provenance. With a signing key, an entry that was neither built here nor
signed by that key is a miss.
"""

import errno
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build.action import BUILT, FLEET, HERE, UNSIGNED, ActionResult
from webkiln.build.files import write_atomic
from webkiln.build.outputs import Expected
from webkiln.build.remote.shared import SharedCache
from webkiln.build.remote.signing import Signer
from webkiln.build.scratch import sweep
from webkiln.build.state import live_blobs
from webkiln.build.store import LocalStore
from webkiln.errors import OutputError

SCHEMA = "webkiln.action/2"
GRACE_SECONDS = 3600.0
READS = 8
"""The number of sets of discovered inputs that are kept for one action."""
FETCHED = ""
"""Replaces the key of a result for discovered inputs from the remote cache, which does not state
it.
"""
UNUSED_SECONDS = 30 * 24 * 3600.0
"""How long discovered inputs are kept after they were last used."""


class ActionCache:
    """One folder: `actions/`, `reads/` (discovered inputs), the store `blobs/`, sandboxes in
    `tmp/`, and `trees/`, the trees whose results are alive.

    `base`, another cache, is read too, but never written.
    """

    def __init__(
        self,
        root: Path,
        shared: SharedCache | None = None,
        signer: Signer | None = None,
        base: Path | None = None,
    ) -> None:
        self.root = root
        self._base = base
        self.shared = shared
        self.signer = signer
        self.store = LocalStore(
            root / "blobs", shared, base / "blobs" if base is not None else None
        )

    def check(self) -> None:
        """Raise OutputError where results cannot be stored."""
        try:
            self.sandboxes.mkdir(parents=True, exist_ok=True)
            if not os.access(self.sandboxes, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        except OSError as error:
            raise OutputError(
                f"{self.root}: the cache cannot be written ({error.strerror}); set the environment"
                " variable WEBKILN_CACHE to another folder"
            ) from error

    @property
    def sandboxes(self) -> Path:
        return self.root / "tmp"

    def trusts(self, provenance: str) -> bool:
        """Whether results of this provenance are used: all without a key; else those built here and
        those that the key signed.
        """
        return self.signer is None or provenance in BUILT or provenance == self.signer.key_id

    def get(self, key: str, expected: Expected, *, built_only: bool = False) -> ActionResult | None:
        """The complete result of a key, from this machine or from the remote cache. Blobs of a
        bundle are downloaded at once, other blobs when they are needed.

        With `built_only`, only a result that was built here counts.
        """
        local = self.local(key)
        if (
            local is not None
            and not expected.fault(local.outputs)
            and (local.provenance in BUILT or not built_only)
        ):
            return local
        return (
            None
            if built_only or self.shared is None
            else self._download(key, expected, self.shared)
        )

    def _download(self, key: str, expected: Expected, shared: SharedCache) -> ActionResult | None:
        result = shared.find(key)
        if result is None:
            return None
        if fault := expected.fault(result.outputs):
            shared.distrust(key, fault)
            return None
        self.store.mark_remote(result.outputs.values())
        if expected.manifest:  # the files of a bundle arrive together with its manifest
            self.store.fetch(result.outputs.values())
        lacking = not all(map(self.store.has, result.outputs.values()))
        fault_of_manifest = (
            None if lacking else expected.fault_of_manifest(result.outputs, self.store.read)
        )
        if fault_of_manifest is None:
            shared.replace(key)
        elif fault_of_manifest:
            shared.distrust(key, fault_of_manifest)
        if fault_of_manifest != "":
            return None
        self._write(key, result)
        return result

    def local(self, key: str) -> ActionResult | None:
        """The result of a key, if it is on this machine and trusted."""
        result = self._complete(key)
        return result if result is not None and self.trusts(result.provenance) else None

    def _complete(self, key: str) -> ActionResult | None:
        """The result of a key, trusted or not, if its blobs are available."""
        result = self._recorded(key)
        return (
            result
            if result is not None and all(map(self.store.has, result.outputs.values()))
            else None
        )

    def _recorded(self, key: str) -> ActionResult | None:
        """The result in the entry of a key, in this cache or else in `base`."""
        entry = _entry(self._path(key), key)
        return (
            _entry(_path(self._base, "actions", key), key)
            if entry is None and self._base is not None
            else entry
        )

    def put(self, key: str, result: ActionResult, *, overwrite: bool = False) -> None:
        """Create the entry. An existing one that is complete and equally trusted stays, unless
        `overwrite` is set.
        """
        existing = self.local(key)
        if (
            overwrite
            or existing is None
            or (existing.provenance not in BUILT and result.provenance in BUILT)
        ):
            self._write(key, result)
        self.upload(key, result)

    def upload(self, key: str, result: ActionResult) -> bool:
        """Upload a result to the remote cache, if there is one that accepts results. False for a
        result that is not trusted, which is never uploaded.
        """
        if not self.trusts(result.provenance):
            return False
        if self.shared is not None:
            self.shared.upload_result(key, result, lambda blob: self.store.path(blob.sha256))
        return True

    def _write(self, key: str, result: ActionResult) -> None:
        body = {
            "schema": SCHEMA,
            "key": key,
            "provenance": result.provenance,
            "result": result.to_json(),
        }
        write_atomic(
            self._path(key), canonical.dumps({"body": body, "sha256": canonical.key(body)})
        )

    def reads(self, key: str) -> list[tuple[str, ...]]:
        """The sets of names that runs of an action have read, latest first. `key` covers declared
        inputs only.
        """
        rows = [row for row in self._reads(key) if self.trusts(row[2])]
        if any(result == FETCHED for _, result, _ in rows):
            with suppress(OSError):  # only `base` has the file
                os.utime(self._path(key, "reads"))
        if rows or self.shared is None:
            return [tuple(names) for names, _, _ in rows]
        fetched = self.shared.reads(_reads_key(key))
        if fetched is None:
            return []
        self._record_reads(key, [list(fetched), FETCHED, self.shared.provenance])
        return [fetched]

    def record_reads(
        self, key: str, names: Iterable[str], result: str, provenance: str = HERE
    ) -> None:
        """Remember what a run read. Its result has the key `result` and this provenance."""
        listed = list(names)
        self._record_reads(key, [listed, result, provenance])
        if self.shared is not None and self.trusts(provenance):
            self.shared.upload_entry(_reads_key(key), {"reads": listed})

    def _record_reads(self, key: str, row: list[Any]) -> None:
        rows = [row, *(other for other in self._reads(key) if other[0] != row[0])][:READS]
        write_atomic(
            self._path(key, "reads"), canonical.dumps({"body": rows, "sha256": canonical.key(rows)})
        )

    def _reads(self, key: str) -> list[Any]:
        own = _rows(self._path(key, "reads"))
        below = _rows(_path(self._base, "reads", key)) if self._base is not None else []
        return [*own, *(row for row in below if row not in own)]

    def register(self, state: Path) -> None:
        """Register the state folder of a tree; `gc` keeps what its manifests name."""
        name = self.root / "trees" / canonical.digest(os.fsencode(state))
        if not name.exists():
            write_atomic(name, os.fsencode(state))

    def stat(self) -> dict[str, int]:
        blobs = [self.store.path(digest) for digest in self.store.digests()]
        return {
            "actions": sum(1 for _ in self._entries()),
            "blobs": len(blobs),
            "bytes": sum(path.stat().st_size for path in blobs),
            "elsewhere": sum(1 for _ in self.store.marked()),
        }

    def results(self) -> Iterator[tuple[str, ActionResult]]:
        """Every complete entry with its key, trusted or not."""
        for path in self._entries():
            result = self._complete(path.name)
            if result is not None:
                yield path.name, result

    def provenances(self) -> Counter[str]:
        """The number of entries by provenance."""
        entries = (self._recorded(path.name) for path in self._entries())
        return Counter(result.provenance for result in entries if result is not None)

    def verify(self) -> list[str]:
        """Read every blob and every entry. Remove damaged ones and entries that are not trusted,
        and return their names.
        """
        damaged = []
        for digest in self.store.digests():
            path = self.store.path(digest)
            if canonical.file_digest(path) != digest:
                damaged.append(f"blob {digest}")
                path.unlink()
        for path in self._entries():
            result = self._complete(path.name)
            if result is None or not self.trusts(result.provenance):
                source = "" if result is None else f" ({describe_provenance(result.provenance)})"
                damaged.append(f"action {path.name}{source}")
                path.unlink()
        return damaged

    def shrink(self, max_bytes: int, grace: float = GRACE_SECONDS) -> dict[str, int]:
        """Remove the least recently used blobs, and the entries that name them, until at most
        `max_bytes` are left. Blobs younger than `grace` seconds stay.
        """
        stats = sorted(
            ((path.stat(), path) for path in map(self.store.path, self.store.digests())),
            key=lambda pair: pair[0].st_atime,
        )
        left, limit = sum(stat.st_size for stat, _ in stats), time.time() - grace
        removed = {"actions": 0, "blobs": 0, "bytes": 0}
        for stat, path in stats:
            if left <= max_bytes:
                break
            if stat.st_mtime < limit:
                path.unlink()
                left -= stat.st_size
                removed["blobs"] += 1
                removed["bytes"] += stat.st_size
        for path in self._entries():
            if self._complete(path.name) is None:
                path.unlink()
                removed["actions"] += 1
        return removed

    def gc(self, grace: float = GRACE_SECONDS) -> dict[str, int]:
        """Remove what no live manifest names. What is younger than `grace` seconds may belong to a
        running build, and stays; so do sandboxes of running processes.
        """
        live = self._live()
        limit = time.time() - grace
        removed = {"actions": 0, "blobs": 0, "bytes": 0}
        for path in self._entries():
            result = self._complete(path.name)
            alive = result is not None and all(
                blob.sha256 in live for blob in result.outputs.values()
            )
            if not alive and path.stat().st_mtime < limit:
                path.unlink()
                removed["actions"] += 1
        for digest in self.store.digests():
            path = self.store.path(digest)
            stat = path.stat()
            if digest not in live and stat.st_mtime < limit:
                path.unlink()
                removed["blobs"] += 1
                removed["bytes"] += stat.st_size
        for mark in list(self.store.marked()):
            if mark.name not in live and mark.stat().st_mtime < limit:
                mark.unlink()
        for path in sorted(self.root.glob("arriving/*")):
            if path.stat().st_mtime < limit:
                path.unlink()
        for path in sorted(self.root.glob("reads/??/*")):
            results = {result for _, result, _ in self._reads(path.name)}
            oldest = limit - UNUSED_SECONDS if FETCHED in results else limit
            if path.stat().st_mtime < oldest and not any(
                self._path(result).exists() for result in results - {FETCHED}
            ):
                path.unlink()
        sweep(self.sandboxes, limit)
        return removed

    def _path(self, key: str, part: str = "actions") -> Path:
        return _path(self.root, part, key)

    def _entries(self) -> Iterable[Path]:
        return (
            path for path in sorted(self.root.glob("actions/??/*")) if not path.name.startswith(".")
        )

    def trees(self) -> Iterator[Path]:
        """The state folders of the registered trees that still exist."""
        for name in self.root.glob("trees/*"):
            state = Path(os.fsdecode(name.read_bytes()))
            if state.is_dir():
                yield state
            else:
                name.unlink()

    def _live(self) -> set[str]:
        return {digest for state in self.trees() for digest in live_blobs(state)}


def _path(root: Path, part: str, key: str) -> Path:
    return root / part / key[:2] / key


def _entry(path: Path, key: str) -> ActionResult | None:
    """The result in an entry file; None where it is absent or damaged."""
    try:
        entry = canonical.read(path)
        body = entry["body"]
        if entry["sha256"] != canonical.key(body) or body["key"] != key or body["schema"] != SCHEMA:
            return None
        return ActionResult.from_json(body["result"], body["provenance"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _rows(path: Path) -> list[Any]:
    """The sets of discovered inputs in a file; empty where it is absent or damaged."""
    try:
        entry = canonical.read(path)
        rows = entry["body"] if entry["sha256"] == canonical.key(entry["body"]) else []
        return [row for row in rows if len(row) == 3]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def describe_provenance(provenance: str) -> str:
    """A provenance in words."""
    words = {
        HERE: "built here",
        FLEET: "built by a fleet",
        UNSIGNED: "from a remote cache, unsigned",
    }
    return words.get(provenance, f"from a remote cache, signed by {provenance}")


def _reads_key(key: str) -> str:
    """The key of the discovered inputs in the remote cache, for an action with this key by its
    declared inputs.
    """
    return canonical.key({"reads": key})
