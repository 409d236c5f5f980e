"""The remote cache of a build. Everything that it sends is checked.

`$WEBKILN_REMOTE_CACHE` names it. `$WEBKILN_CACHE_WRITE=1` enables uploads.
"""

import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from webkiln import canonical
from webkiln.build.action import UNSIGNED, ActionResult, Blob
from webkiln.build.remote import entries
from webkiln.build.remote.addresses import SCHEMES, is_address
from webkiln.build.remote.connection import TRANSFERS, USUAL_SECONDS, RemoteConnection
from webkiln.build.remote.entries import EntryError
from webkiln.build.remote.remote import (
    CHUNK,
    SLOWEST,
    Remote,
)
from webkiln.build.remote.signing import VARIABLE as KEY_VARIABLE
from webkiln.build.remote.signing import Signer, signer_from_environment
from webkiln.build.remote.transfer import alone, received
from webkiln.errors import OutputError, RecipeError

VARIABLE, WRITE_VARIABLE = "WEBKILN_REMOTE_CACHE", "WEBKILN_CACHE_WRITE"
LOST = 8
"""After this many missing blobs of one result, the others are not requested."""
FREE_BYTES = 256 << 20
"""The bytes that downloads leave free on the disk."""
Read = TypeVar("Read")
SWITCH = {"": False, "0": False, "false": False, "1": True, "true": True}


def remote_cache_from_environment() -> "SharedCache | None":
    """The remote cache that the environment names, if any."""
    url = os.environ.get(VARIABLE, "")
    if not url:
        return None
    if not is_address(url):
        raise RecipeError(
            f"{VARIABLE} is {url!r}, expected a folder or an address that begins with"
            f" {', '.join(SCHEMES[2:])}://"
        )
    signer = signer_from_environment()
    text = os.environ.get(WRITE_VARIABLE, "").lower()
    if text not in SWITCH:
        raise RecipeError(
            f"{WRITE_VARIABLE} is {os.environ[WRITE_VARIABLE]!r}, expected one of 1, 0, true, false"
        )
    writes = SWITCH[text]
    if writes and signer is not None and signer.sign is None:
        raise RecipeError(
            f"{WRITE_VARIABLE} is 1, but {KEY_VARIABLE} names a public key, which cannot sign;"
            f" name the private key, or unset {WRITE_VARIABLE}"
        )
    return SharedCache(url, signer, writes=writes)


class SharedCache(RemoteConnection):
    """A remote cache as a build uses it: entries and blobs, checked on arrival."""

    def __init__(self, url: str, signer: Signer | None = None, *, writes: bool = False) -> None:
        super().__init__(url, writes=writes)
        self.signer = signer
        self._unavailable: set[str] = set()
        self._damaged: set[str] = set()
        self._arriving = 0
        self._stored: set[str] = set()
        self.failed_uploads = 0
        """The number of results whose upload failed."""

    def may_have(self, blob: Blob) -> bool:
        """Whether a blob that an entry names may be available."""
        return not self._off and blob.sha256 not in self._unavailable

    def probe(self) -> tuple[bool, float]:
        """Whether the remote answers, and in how many seconds."""
        begun = time.monotonic()
        self._query(lambda remote: remote.entry(canonical.key("probe")), None)
        return not self._off and not any(self._failures.values()), time.monotonic() - begun

    @property
    def provenance(self) -> str:
        """The provenance of results that are accepted."""
        return UNSIGNED if self.signer is None else self.signer.key_id

    def find(self, key: str) -> ActionResult | None:
        """The stored result of an action, if it is trusted. Its blobs are not downloaded yet."""
        return self._entry(key, lambda body: entries.result_of(body, self.provenance))

    def reads(self, key: str) -> tuple[str, ...] | None:
        """The discovered inputs that an entry names."""
        return self._entry(key, entries.reads_of)

    def _entry(self, key: str, read: Callable[[dict[str, Any]], Read]) -> Read | None:
        data = self._query(
            lambda remote: self._timed(lambda: remote.entry(entries.entry_key(key))), None
        )
        if data is None:
            return None
        try:
            return read(entries.read(data, key, self.signer))
        except EntryError as error:
            self.distrust(key, str(error), malformed=error.malformed)
            return None

    def distrust(self, key: str, what: str, *, malformed: bool = True) -> None:
        """Warn of an entry that is not used. The next result of this key replaces it."""
        self._warn(f"{self.address}: the entry {key} {what}; such entries are not used")
        self.replace(key)
        if malformed and not self.writes:
            self._fail()

    def replace(self, key: str) -> None:
        """Store the next result of a key even if the remote has one."""
        self._damaged.add(key)

    def blame(self, task: str) -> None:
        """Warn that a step failed with inputs from this cache, and succeeded with inputs built
        here.
        """
        self._warn(
            f"{self.address}: {task} failed with inputs from it, and succeeded with inputs built"
            " here"
        )

    def download(
        self,
        blobs: Collection[Blob],
        path: Callable[[Blob], Path],
        keep: Callable[[Blob, Path], None],
    ) -> None:
        """Download blobs in parallel, each to `path`, where an interrupted transfer is continued.
        `keep` takes those whose bytes match their digests. If too many are missing, the rest is not
        requested.
        """
        self._join()
        pending = [*filter(self.may_have, dict.fromkeys(blobs))]
        lost: list[Blob] = []

        def download(blob: Blob) -> None:
            if len(lost) < LOST and not self._download(blob, path(blob), keep):
                lost.append(blob)
                self._unavailable.add(blob.sha256)

        if pending:
            begun = time.monotonic()
            list(self._pool.map(download, pending))
            usual = (
                USUAL_SECONDS * (1 + len(pending) / TRANSFERS)
                + sum(blob.bytes for blob in pending) / SLOWEST
            )
            late = time.monotonic() - begun - usual
            self._query(lambda remote: self._delay(late, writing=False), None)

    def _download(self, blob: Blob, path: Path, keep: Callable[[Blob, Path], None]) -> bool:
        """Download one blob. Whether it arrived."""
        with alone(path) as file:
            name, arrived = Path(file.name), None
            try:
                if self._has_room(blob, name):
                    arrived = self._query(lambda remote: received(remote, blob, file), None)
            except OutputError:
                arrived = False
                raise
            finally:
                with self._lock:
                    self._arriving -= blob.bytes
                if arrived is False or (arrived is None and not file.tell()):
                    name.unlink()
            if arrived:
                keep(blob, name)
        if arrived is False:
            self._warn(
                f"{self.address} sent bytes that do not match {blob.sha256}; they are not used, and"
                " what needs them is built here"
            )
        return bool(arrived)

    def _has_room(self, blob: Blob, path: Path) -> bool:
        """Whether the disk has room for a blob and for the other downloads, of which it is then
        one.
        """
        with self._lock:
            self._arriving += blob.bytes
            room = shutil.disk_usage(path.parent).free - FREE_BYTES
            fits = self._arriving - path.stat().st_size <= room
        if not fits and blob.bytes > CHUNK:
            self._warn(
                f"{self.address}: {path.parent} has no room for {blob.bytes} bytes of"
                f" {blob.sha256}; what needs them is built here"
            )
        return fits or blob.bytes <= CHUNK

    def upload_result(self, key: str, result: ActionResult, path: Callable[[Blob], Path]) -> None:
        """Upload a result in the background, its blobs first, if uploads are enabled."""
        self._join()
        if self.writes and not self._off and entries.is_sound(result):
            with self._lock:
                self._uploads.append(
                    self._pool.submit(
                        self._store,
                        key,
                        {"result": result.to_json()},
                        [*result.outputs.values()],
                        path,
                    )
                )

    def upload_blobs(
        self,
        blobs: Collection[Blob],
        path: Callable[[Blob], Path],
        *,
        force: Collection[str] = (),
        recheck: bool = False,
    ) -> bool:
        """Upload blobs now, in parallel, unless the remote has them; those with digests in `force`
        in any case. Whether the remote has them all.

        `recheck`: query the remote also for blobs that were uploaded before, since it may have lost
        them.
        """
        self._join()
        with self._lock:
            fresh = [
                blob
                for blob in dict.fromkeys(blobs)
                if recheck or blob.sha256 in force or blob.sha256 not in self._stored
            ]
        absent = (
            self._query(lambda remote: remote.missing(fresh), None, writing=True)
            if fresh
            else set()
        )
        if absent is None:
            return False
        lacking = [blob for blob in fresh if blob in absent or blob.sha256 in force]
        if not all(self._pool.map(lambda blob: self._upload_blob(blob, path(blob)), lacking)):
            return False
        with self._lock:
            self._stored.update(blob.sha256 for blob in fresh)
        return True

    def _upload_blob(self, blob: Blob, path: Path) -> bool:
        def write(remote: Remote) -> bool:
            remote.write(blob, path)
            return True

        return self._query(write, None, writing=True) is not None

    def lacks(self, blobs: Collection[Blob]) -> bool:
        """Whether the remote lacks any of these."""
        absent = self._query(lambda remote: remote.missing(blobs), None)
        if absent is None:
            return False
        with self._lock:
            self._stored.update(blob.sha256 for blob in blobs if blob not in absent)
        return bool(absent)

    def mark_unavailable(self, digests: Iterable[str]) -> None:
        """Do not request these any more."""
        self._unavailable.update(digests)

    def mark_available(self, digests: Iterable[str]) -> None:
        """Request these again: they were uploaded anew."""
        self._unavailable.difference_update(digests)

    @property
    def unavailable(self) -> frozenset[str]:
        """The digests of blobs that were missing or had other bytes."""
        return frozenset(self._unavailable)

    @property
    def is_off(self) -> bool:
        """Whether the remote has failed, so that it is not used any more or stores nothing."""
        return self._off or not self.writes

    def upload_entry(self, key: str, body: dict[str, Any]) -> None:
        """Upload an entry that is not a result, in the background."""
        self._join()
        if self.writes and not self._off:
            with self._lock:
                self._uploads.append(
                    self._pool.submit(self._store, key, body, [], lambda blob: Path(blob.sha256))
                )

    def _store(
        self, key: str, body: dict[str, Any], blobs: Sequence[Blob], path: Callable[[Blob], Path]
    ) -> None:
        with self._lock:
            fresh = [blob for blob in dict.fromkeys(blobs) if blob.sha256 not in self._stored]
        entry = entries.written(key, body, self.signer)

        def write(remote: Remote) -> bool:
            absent = (
                self._timed(lambda: remote.missing(fresh), len(fresh) / TRANSFERS, writing=True)
                if fresh
                else set()
            )
            absent |= {blob for blob in fresh if blob.sha256 in self._unavailable}
            for blob in absent:
                if not self.writes or not path(blob).is_file():
                    return False
                self._timed(
                    partial(remote.write, blob, path(blob)), blob.bytes / SLOWEST, writing=True
                )
            existing = self._timed(lambda: remote.entry(entries.entry_key(key)), writing=True)
            if not self.writes:
                return False
            if (
                existing is None
                or key in self._damaged
                or self._is_damaged(existing, key, body, remote)
            ):
                self._timed(
                    lambda: remote.create(
                        entries.entry_key(key), entry, blobs, overwrite=existing is not None
                    ),
                    USUAL_SECONDS,
                    writing=True,
                )
            with self._lock:
                self._stored.update(blob.sha256 for blob in fresh)
                self._damaged.discard(key)
            self.mark_available(blob.sha256 for blob in fresh)
            return True

        stored = (
            len(entry) <= entries.LARGEST and self.writes and self._query(write, None, writing=True)
        )
        with self._lock:
            self.failed_uploads += not stored

    def _is_damaged(
        self, existing: bytes, key: str, new: Mapping[str, Any], remote: Remote
    ) -> bool:
        """Whether an existing entry cannot be used by this build, or names missing blobs. `new`
        would be stored instead.
        """
        try:
            body = entries.read(existing, key, self.signer)
            if "result" not in new:
                entries.reads_of(body)
                return False
            existing_outputs = entries.result_of(body, self.provenance).outputs
        except EntryError:
            return True
        outputs = new["result"]["outputs"]
        own = {blob["sha256"] for blob in outputs.values()}
        others = {blob for blob in existing_outputs.values() if blob.sha256 not in own}
        return existing_outputs.keys() != outputs.keys() or bool(others and remote.missing(others))
