"""The remote cache as a build uses it: what comes is checked, the first failure is a warning, and
the
build continues without it.

`$WEBKILN_REMOTE_CACHE` names it, `$WEBKILN_CACHE_WRITE=1` lets results be stored in it.
"""

import os
import shutil
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import urlsplit

from webkiln import canonical
from webkiln.build.action import UNSIGNED, ActionResult, Blob
from webkiln.build.progress import warn
from webkiln.build.remote import entries
from webkiln.build.remote.entries import EntryError
from webkiln.build.remote.folder import FolderRemote
from webkiln.build.remote.remote import (
    CHUNK,
    SLOWEST,
    AbsentError,
    DeniedError,
    FullError,
    LargeError,
    Remote,
    RemoteError,
    UnreachableError,
)
from webkiln.build.remote.signing import VARIABLE as KEY_VARIABLE
from webkiln.build.remote.signing import Signer, signer_from_environment
from webkiln.build.remote.transfer import alone, received
from webkiln.errors import OutputError, RecipeError

VARIABLE, WRITE_VARIABLE = "WEBKILN_REMOTE_CACHE", "WEBKILN_CACHE_WRITE"
TRANSFERS = 8
"""Blobs under way at once."""
FAILURES = 3
"""After so many failures and malformed answers nothing is asked any more."""
LOST = 8
"""Once so many blobs of one result are not to be had, the others are not asked for."""
USUAL_SECONDS = 1.0
"""A round trip may take so long without counting as a delay."""
DELAY_SECONDS, STORING_DELAY_SECONDS = 8.0, 20.0
"""So much delay beyond what prompt answers make up for, of what a build waits for and of what is
stored beside it, and the remote is too slow to be of use."""
FREE_BYTES = 256 << 20
"""What a transfer leaves free on the disk."""
LONGEST_MESSAGE = 400
Read = TypeVar("Read")
SWITCH = {"": False, "0": False, "false": False, "1": True, "true": True}
SCHEMES = ("", "file", "http", "https", "grpc", "grpcs", "s3", "gs", "az")


def opened(url: str) -> Remote:
    """The remote cache at an address of one of `SCHEMES`. Raises RemoteError where nothing is
    there.
    """
    scheme = urlsplit(url).scheme
    if scheme in ("http", "https"):
        from webkiln.build.remote.http import HttpRemote

        return HttpRemote(url)
    if scheme in ("grpc", "grpcs"):
        from webkiln.build.remote.reapi import ReapiRemote

        return ReapiRemote(url)
    if scheme in ("s3", "gs", "az"):
        from webkiln.build.remote.objects import ObjectRemote

        return ObjectRemote(url)
    return FolderRemote(Path(urlsplit(url).path).expanduser().absolute())


def remote_cache_from_environment() -> "SharedCache | None":
    """The remote cache that the environment names, if any."""
    url = os.environ.get(VARIABLE, "")
    if not url:
        return None
    if not _is_address(url):
        raise RecipeError(
            f"{VARIABLE} is {url!r}, expected a folder or an address that begins with"
            f" {', '.join(SCHEMES[2:])}://"
        )
    given = signer_from_environment()
    said = os.environ.get(WRITE_VARIABLE, "").lower()
    if said not in SWITCH:
        raise RecipeError(
            f"{WRITE_VARIABLE} is {os.environ[WRITE_VARIABLE]!r}, expected one of 1, 0, true, false"
        )
    writes = SWITCH[said]
    if writes and given is not None and given.sign is None:
        raise RecipeError(
            f"{WRITE_VARIABLE} is 1 and {KEY_VARIABLE} names a public key, which signs nothing;"
            " name the private one, or leave writing out"
        )
    return SharedCache(url, given, writes=writes)


class SharedCache:
    """Asked by several threads, and by processes that were forked, of which each has connections of
    its own.
    """

    def __init__(self, url: str, signer: Signer | None = None, *, writes: bool = False) -> None:
        self.place = _shown(url)
        self.signer = signer
        self.writes = writes
        self._url = url
        self._lock = Lock()
        self._remote: Remote | None = None
        self._process = os.getpid()
        self._off = False
        self._failures = {False: 0, True: 0}
        self._delays = {False: 0.0, True: 0.0}
        self._warned = False
        self._unavailable: set[str] = set()
        self._damaged: set[str] = set()
        self._arriving = 0
        self._pool = ThreadPoolExecutor(TRANSFERS, "webkiln-remote")
        self._offers: list[Future[None]] = []
        self._stored: set[str] = set()
        self.failed_uploads = 0
        """How many of the results that were offered are not there."""

    def may_have(self, blob: Blob) -> bool:
        """Whether a blob may be had that an entry named."""
        return not self._off and blob.sha256 not in self._unavailable

    def probe(self) -> tuple[bool, float]:
        """Whether the remote answers, and in how many seconds."""
        begun = time.monotonic()
        self._query(lambda remote: remote.entry(canonical.key("probe")), None)
        return not self._off and not any(self._failures.values()), time.monotonic() - begun

    @property
    def provenance(self) -> str:
        """That of what is believed."""
        return UNSIGNED if self.signer is None else self.signer.key_id

    def find(self, key: str) -> ActionResult | None:
        """The result of an action that somebody stored, if it may be believed; its blobs are not
        here yet.
        """
        return self._entry(key, lambda body: entries.result_of(body, self.provenance))

    def reads(self, key: str) -> tuple[str, ...] | None:
        """The discovered inputs that an entry names."""
        return self._entry(key, entries.reads_of)

    def _entry(self, key: str, read: Callable[[dict[str, Any]], Read]) -> Read | None:
        data = self._query(
            lambda remote: self._timed(lambda: remote.entry(entries.place(key))), None
        )
        if data is None:
            return None
        try:
            return read(entries.read(data, key, self.signer))
        except EntryError as error:
            self.distrust(key, str(error), malformed=error.malformed)
            return None

    def distrust(self, key: str, what: str, *, malformed: bool = True) -> None:
        """Warn of an entry that is not used, which the next result of this key replaces."""
        self._warn(f"{self.place}: the entry {key} {what}; such entries are not used")
        self.replace(key)
        if malformed and not self.writes:
            self._fail()

    def replace(self, key: str) -> None:
        """Store the next result of a key whatever the remote has."""
        self._damaged.add(key)

    def blame(self, task: str) -> None:
        """Warn that a step failed with what came from here, and succeeded with what was built here
        instead.
        """
        self._warn(
            f"{self.place}: what it has for {task} made the step fail, and was built here instead"
        )

    def download(
        self,
        blobs: Collection[Blob],
        place: Callable[[Blob], Path],
        keep: Callable[[Blob, Path], None],
    ) -> None:
        """Fetch blobs, several at once, each to `place`, where a transfer continues an interrupted
        one; `keep` takes over those that have the bytes that their digests say. Where too many are
        not to be had, the rest is not asked for.
        """
        self._join()
        wanted = [*filter(self.may_have, dict.fromkeys(blobs))]
        lost: list[Blob] = []

        def download(blob: Blob) -> None:
            if len(lost) < LOST and not self._download(blob, place(blob), keep):
                lost.append(blob)
                self._unavailable.add(blob.sha256)

        if wanted:
            begun = time.monotonic()
            list(self._pool.map(download, wanted))
            usual = (
                USUAL_SECONDS * (1 + len(wanted) / TRANSFERS)
                + sum(blob.bytes for blob in wanted) / SLOWEST
            )
            late = time.monotonic() - begun - usual
            self._query(lambda remote: self._delay(late, writing=False), None)

    def _download(self, blob: Blob, path: Path, keep: Callable[[Blob, Path], None]) -> bool:
        """Whether a blob arrived."""
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
                f"{self.place} gave other bytes than those of {blob.sha256}, which are not used;"
                " what they are for is made here"
            )
        return bool(arrived)

    def _has_room(self, blob: Blob, path: Path) -> bool:
        """Whether the disk can take a blob beside what arrives already, which then includes it."""
        with self._lock:
            self._arriving += blob.bytes
            room = shutil.disk_usage(path.parent).free - FREE_BYTES
            fits = self._arriving - path.stat().st_size <= room
        if not fits and blob.bytes > CHUNK:
            self._warn(
                f"{self.place}: {path.parent} has no room for {blob.bytes} bytes of {blob.sha256};"
                " what they are for is made here"
            )
        return fits or blob.bytes <= CHUNK

    def upload_result(self, key: str, result: ActionResult, path: Callable[[Blob], Path]) -> None:
        """Store a result in the background, its blobs first, where results are stored."""
        self._join()
        if self.writes and not self._off and entries.is_sound(result):
            with self._lock:
                self._offers.append(
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
        """Store blobs now, several at once, where they are not there; those with digests in
        `force`
        whatever the remote says. Whether it has them all.

        `recheck`: the remote is asked for those too that were stored before, since it may have lost
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
        if not all(self._pool.map(lambda blob: self._uploaded(blob, path(blob)), lacking)):
            return False
        with self._lock:
            self._stored.update(blob.sha256 for blob in fresh)
        return True

    def _uploaded(self, blob: Blob, path: Path) -> bool:
        def write(remote: Remote) -> bool:
            remote.write(blob, path)
            return True

        return self._query(write, None, writing=True) is not None

    def lacks(self, blobs: Collection[Blob]) -> bool:
        """Whether the remote says that it has not all of these."""
        absent = self._query(lambda remote: remote.missing(blobs), None)
        if absent is None:
            return False
        with self._lock:
            self._stored.update(blob.sha256 for blob in blobs if blob not in absent)
        return bool(absent)

    def mark_unavailable(self, digests: Iterable[str]) -> None:
        """Believe no longer that these may be had."""
        self._unavailable.update(digests)

    def mark_available(self, digests: Iterable[str]) -> None:
        """Believe it again, of blobs that were stored overwrite."""
        self._unavailable.difference_update(digests)

    @property
    def unavailable(self) -> frozenset[str]:
        """The digests whose bytes were not to be had, or were others."""
        return frozenset(self._unavailable)

    @property
    def is_off(self) -> bool:
        """Whether the remote failed, and is asked no more or stores nothing more."""
        return self._off or not self.writes

    def upload_entry(self, key: str, body: dict[str, Any]) -> None:
        """Store what is no result, in the background."""
        self._join()
        if self.writes and not self._off:
            with self._lock:
                self._offers.append(
                    self._pool.submit(self._store, key, body, [], lambda blob: Path(blob.sha256))
                )

    def _store(
        self, key: str, said: dict[str, Any], blobs: Sequence[Blob], path: Callable[[Blob], Path]
    ) -> None:
        with self._lock:
            fresh = [blob for blob in dict.fromkeys(blobs) if blob.sha256 not in self._stored]
        entry = entries.written(key, said, self.signer)

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
            held = self._timed(lambda: remote.entry(entries.place(key)), writing=True)
            if not self.writes:
                return False
            if held is None or key in self._damaged or self._is_damaged(held, key, said, remote):
                self._timed(
                    lambda: remote.create(
                        entries.place(key), entry, blobs, overwrite=held is not None
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

    def _is_damaged(self, held: bytes, key: str, said: Mapping[str, Any], remote: Remote) -> bool:
        """Whether an entry that is there is none that this build would use, or names files that are
        not there. `said` is what is stored instead.
        """
        try:
            body = entries.read(held, key, self.signer)
            if "result" not in said:
                entries.reads_of(body)
                return False
            found = entries.result_of(body, self.provenance).outputs
        except EntryError:
            return True
        outputs = said["result"]["outputs"]
        own = {blob["sha256"] for blob in outputs.values()}
        others = {blob for blob in found.values() if blob.sha256 not in own}
        return found.keys() != outputs.keys() or bool(others and remote.missing(others))

    def _timed(self, call: Callable[[], Any], usual: float = 0.0, *, writing: bool = False) -> Any:
        """What a call to the remote gives. Raises UnreachableError where calls took too long in
        all; one takes `usual` seconds beyond a round trip.
        """
        begun = time.monotonic()
        answer = call()
        self._delay(time.monotonic() - begun - USUAL_SECONDS - usual, writing=writing)
        return answer

    def _delay(self, seconds: float, *, writing: bool) -> None:
        with self._lock:
            # Prompt answers make up for late ones: what counts is the average.
            self._delays[writing] = max(0.0, self._delays[writing] + seconds)
            late = self._delays[writing] > (STORING_DELAY_SECONDS if writing else DELAY_SECONDS)
        if late:
            raise UnreachableError(f"its answers came {self._delays[writing]:.0f} s late")

    @property
    def busy(self) -> bool:
        """Whether something is being stored."""
        with self._lock:
            return not all(offer.done() for offer in self._offers)

    def wait(self, tell: Callable[[str], None]) -> None:
        """Wait until everything that was offered is stored, and say how far it is."""
        while True:
            with self._lock:
                offers, self._offers = self._offers, []
            if not offers:
                return
            for number, offer in enumerate(offers):
                tell(f"stores results in {self.place}: {number} of {len(offers)}")
                offer.result()

    def close(self, tell: Callable[[str], None] = lambda text: None) -> None:
        self.wait(tell)
        self._pool.shutdown(cancel_futures=True)
        if self._remote is not None:
            self._remote.close()

    def _query(
        self, question: Callable[[Remote], Any], nothing: Any, *, writing: bool = False
    ) -> Any:
        """The answer of the remote, or `nothing` where it has none. Every RemoteError ends here, as
        the one warning.
        """
        self._join()
        if self._off:
            return nothing
        try:
            return question(self._opened())
        except AbsentError:
            return nothing
        except FullError as error:
            self._stop(error, "stores nothing more", writing=True)
        except DeniedError as error:
            self._stop(
                error,
                "does not let this build in; see whose credentials these are",
                writing=writing,
            )
        except LargeError as error:
            self._warn(
                f"{self.place} does not take a file of this size ({error}), which is not stored"
                " there; see the limits of its server"
            )
        except UnreachableError as error:
            self._stop(error, "does not answer", writing=writing)
        except RemoteError as error:
            self._warn(
                f"{self.place} failed ({error}); what is not"
                f" {'stored there is kept' if writing else 'had from it is made'} here"
            )
            self._fail(writing=writing)
        return nothing

    def _fail(self, *, writing: bool = False) -> None:
        """Count a failure; after a few nothing more is written, or where they are failures to read,
        asked.
        """
        with self._lock:
            self._failures[writing] += 1
            if self._failures[writing] >= FAILURES:
                self.writes = False
                self._off |= not writing

    def _opened(self) -> Remote:
        with self._lock:
            if self._remote is None:
                self._remote = opened(self._url)
            return self._remote

    def _join(self) -> None:
        """Begin overwrite in a process that was forked, which has neither the threads of the other one
        nor connections of its own.
        """
        if self._process != os.getpid():
            self._process, self._lock, self._remote, self._offers = os.getpid(), Lock(), None, []
            self._pool = ThreadPoolExecutor(TRANSFERS, "webkiln-remote")

    def _stop(self, error: RemoteError, what: str, *, writing: bool) -> None:
        """Ask no more, or, where that is what it does not do, write no more."""
        self.writes = False
        self._off = self._off or not writing
        self._warn(
            f"{self.place} {what} ({error}); the build goes on"
            f" {'and stores nothing there' if writing else 'without it'}"
        )

    def _warn(self, message: str) -> None:
        """Tell the first message of all; whoever wrote parts of it, it is one line."""
        with self._lock:
            warned, self._warned = self._warned, True
        if not warned:
            warn(
                "".join(character if character.isprintable() else "?" for character in message)[
                    :LONGEST_MESSAGE
                ]
            )


def _is_address(url: str) -> bool:
    try:
        split = urlsplit(url)
        _ = split.port  # raises for a port that is no number
    except ValueError:
        return False
    return split.scheme in SCHEMES


def _shown(url: str) -> str:
    """An address without its login."""
    split = urlsplit(url)
    return split._replace(netloc=split.netloc.rpartition("@")[2]).geturl() if split.scheme else url
