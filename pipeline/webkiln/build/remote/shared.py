"""The remote cache as a build uses it: what comes is checked, what fails is told once, and a build goes on without it.

`$WEBKILN_REMOTE_CACHE` names it, `$WEBKILN_CACHE_WRITE=1` lets results be stored in it.
"""

import fcntl
import hashlib
import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from webkiln import canonical
from webkiln.build.action import ActionResult, Blob
from webkiln.build.files import beside
from webkiln.build.progress import warn
from webkiln.build.remote.folder import FolderRemote
from webkiln.build.remote.remote import CHUNK, AbsentError, DeniedError, FullError, Remote, RemoteError, UnreachableError
from webkiln.build.remote.signing import VARIABLE as KEY_VARIABLE
from webkiln.build.remote.signing import Signer, signer
from webkiln.errors import RecipeError

VARIABLE, WRITE_VARIABLE = "WEBKILN_REMOTE_CACHE", "WEBKILN_CACHE_WRITE"
SCHEMA = "webkiln.entry/1"
TRANSFERS = 8
"""Blobs under way at once."""
FAILURES = 3
"""So many answers that are none, and nothing is asked any more."""
PATIENCE_SECONDS, SLOWEST = 30.0, 10_000
"""After so long, fewer bytes a second are no answer."""
DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
SCHEMES = ("", "file", "http", "https", "grpc", "grpcs", "s3", "gs", "az")


def opened(url: str) -> Remote:
    """The remote cache at an address of one of `SCHEMES`. Raises RemoteError where nothing is there."""
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


def of_environment() -> "SharedCache | None":
    """The remote cache that the environment names, if any."""
    url = os.environ.get(VARIABLE, "")
    key = os.environ.get(KEY_VARIABLE, "")
    if not url:
        return None
    if urlsplit(url).scheme not in SCHEMES:
        raise RecipeError(f"{VARIABLE} is {url!r}, expected a folder or an address that begins with {', '.join(SCHEMES[2:])}://")
    given = signer(key) if key else None
    writes = os.environ.get(WRITE_VARIABLE, "") == "1"
    if writes and given is not None and given.sign is None:
        raise RecipeError(
            f"{WRITE_VARIABLE} is 1 and {KEY_VARIABLE} names a public key, which signs nothing; name the private one, or leave writing out"
        )
    return SharedCache(url, given, writes=writes)


class SharedCache:
    """Asked by several threads, and by processes that were forked, of which each has connections of its own."""

    def __init__(self, url: str, signer: Signer | None = None, *, writes: bool = False) -> None:
        self.place = _shown(url)
        self.signer = signer
        self.writes = writes
        self._url = url
        self._lock = Lock()
        self._remote: Remote | None = None
        self._process = os.getpid()
        self._off = False
        self._failures = 0
        self._told: set[str] = set()
        self._refused: set[str] = set()
        self._pool = ThreadPoolExecutor(TRANSFERS, "webkiln-remote")
        self._offers: list[Future[None]] = []
        self._stored: set[str] = set()

    def offers(self, blob: Blob) -> bool:
        """Whether a blob may be had that an entry named."""
        return not self._off and blob.sha256 not in self._refused

    def probe(self) -> tuple[bool, float]:
        """Whether the remote answers, and in how many seconds."""
        begun = time.monotonic()
        self._asked(lambda remote: remote.entry(canonical.key("probe")), None)
        return not self._off and not self._failures, time.monotonic() - begun

    def find(self, key: str) -> ActionResult | None:
        """The result of an action that somebody stored, if it may be believed; its blobs are not here yet."""
        body = self.body(key)
        if body is None:
            return None
        result = _result(body)
        if result is None:
            self._distrusted(key, "is not as webkiln writes it")
        return result

    def body(self, key: str) -> dict[str, Any] | None:
        """What an entry says, where it is whole, of this key, and signed if it has to be."""
        data = self._asked(lambda remote: remote.entry(key), None)
        if data is None:
            return None
        try:
            entry = canonical.loads(data)
            body, signature = entry["body"], entry.get("signature")
            if body["schema"] != SCHEMA or body["key"] != key:
                self._distrusted(key, "belongs to another key")
                return None
        except (ValueError, KeyError, TypeError, AttributeError):
            self._distrusted(key, "is not as webkiln writes it")
            return None
        if self.signer is not None and not self.signer.accepts(canonical.dumps(body), signature):
            self._distrusted(key, f"is {'not signed' if signature is None else 'signed by somebody else'}")
            return None
        return dict(body)

    def bring(self, blobs: Collection[Blob], place: Callable[[Blob], Path], keep: Callable[[Blob, Path], None]) -> None:
        """Fetch blobs, several at once, each to `place`, where what an earlier attempt left is gone on with; `keep` takes over those that are what
        they should be."""
        self._join()
        wanted = [*filter(self.offers, dict.fromkeys(blobs))]
        if wanted:
            list(self._pool.map(lambda blob: self._bring(blob, place(blob), keep), wanted))

    def _bring(self, blob: Blob, path: Path, keep: Callable[[Blob, Path], None]) -> None:
        with _alone(path) as file:
            whole = self._asked(lambda remote: _received(remote, blob, file), None)
            if whole:
                keep(blob, Path(file.name))
            elif whole is False:
                Path(file.name).unlink()
        if not whole:
            self._refused.add(blob.sha256)
        if whole is False:
            self._warn(
                "bytes", f"{self.place} gave other bytes than those of {blob.sha256}, which are not used; what they are for is made here"
            )

    def offer(self, key: str, result: ActionResult, path: Callable[[Blob], Path]) -> None:
        """Store a result in the background, its blobs first, where results are stored."""
        self._join()
        if self.writes and not self._off:
            with self._lock:
                self._offers.append(self._pool.submit(self._store, key, {"result": result.to_json()}, [*result.outputs.values()], path))

    def deliver(self, blobs: Collection[Blob], path: Callable[[Blob], Path], *, anyway: Collection[str] = ()) -> bool:
        """Store blobs now, several at once, where they are not there; those with digests in `anyway` whatever the remote says. Whether it has them all."""
        self._join()
        with self._lock:
            fresh = [blob for blob in dict.fromkeys(blobs) if blob.sha256 in anyway or blob.sha256 not in self._stored]
        absent = self._asked(lambda remote: remote.missing(fresh), None, writing=True) if fresh else set()
        if absent is None:
            return False
        lacking = [blob for blob in fresh if blob in absent or blob.sha256 in anyway]
        if not all(self._pool.map(lambda blob: self._delivered(blob, path(blob)), lacking)):
            return False
        with self._lock:
            self._stored.update(blob.sha256 for blob in fresh)
        return True

    def _delivered(self, blob: Blob, path: Path) -> bool:
        def write(remote: Remote) -> bool:
            remote.write(blob, path)
            return True

        return self._asked(write, None, writing=True) is not None

    def lacks(self, blobs: Collection[Blob]) -> bool:
        """Whether the remote says that it has not all of these."""
        return bool(self._asked(lambda remote: remote.missing(blobs), set()))

    def refuse(self, digests: Iterable[str]) -> None:
        """Believe no longer that these may be had."""
        self._refused.update(digests)

    def accept(self, digests: Iterable[str]) -> None:
        """Believe it again, of blobs that were stored anew."""
        self._refused.difference_update(digests)

    @property
    def refused(self) -> frozenset[str]:
        """The digests whose bytes were not to be had, or were others."""
        return frozenset(self._refused)

    @property
    def is_off(self) -> bool:
        """Whether the remote failed, and is asked no more or stores nothing more."""
        return self._off or not self.writes

    def note(self, key: str, body: dict[str, Any]) -> None:
        """Store what is no result, in the background."""
        self._join()
        if self.writes and not self._off:
            with self._lock:
                self._offers.append(self._pool.submit(self._store, key, body, [], lambda blob: Path(blob.sha256)))

    def _store(self, key: str, said: dict[str, Any], blobs: Sequence[Blob], path: Callable[[Blob], Path]) -> None:
        if not self.writes:
            return
        with self._lock:
            fresh = [blob for blob in dict.fromkeys(blobs) if blob.sha256 not in self._stored]
        body = {"schema": SCHEMA, "key": key, **said}
        entry: dict[str, Any] = {"body": body}
        if self.signer is not None:
            entry["signature"] = self.signer.signature(canonical.dumps(body))

        def write(remote: Remote) -> None:
            for blob in remote.missing(fresh) if fresh else ():
                if not path(blob).is_file():
                    return
                remote.write(blob, path(blob))
            remote.create(key, canonical.dumps(entry), blobs)
            with self._lock:
                self._stored.update(blob.sha256 for blob in fresh)

        self._asked(write, None, writing=True)

    @property
    def busy(self) -> bool:
        """Whether something is being stored."""
        with self._lock:
            return not all(offer.done() for offer in self._offers)

    def settle(self, tell: Callable[[str], None]) -> None:
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
        self.settle(tell)
        self._pool.shutdown(cancel_futures=True)
        if self._remote is not None:
            self._remote.close()

    def _asked(self, question: Callable[[Remote], Any], nothing: Any, *, writing: bool = False) -> Any:
        """The answer of the remote, or `nothing` where it has none; what keeps it from answering is told once."""
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
            self._stop(error, "does not let this build in; see whose credentials these are", writing=writing)
        except UnreachableError as error:
            self._stop(error, "does not answer", writing=False)
        except RemoteError as error:
            with self._lock:
                self._failures += 1
            self._warn("failed", f"{self.place} failed ({error}); what is not had from it is made here")
            if self._failures >= FAILURES:
                self._off = True
        return nothing

    def _opened(self) -> Remote:
        with self._lock:
            if self._remote is None:
                self._remote = opened(self._url)
            return self._remote

    def _join(self) -> None:
        """Begin anew in a process that was forked, which has neither the threads of the other one nor connections of its own."""
        if self._process != os.getpid():
            self._process, self._lock, self._remote, self._offers = os.getpid(), Lock(), None, []
            self._pool = ThreadPoolExecutor(TRANSFERS, "webkiln-remote")

    def _stop(self, error: RemoteError, what: str, *, writing: bool) -> None:
        """Ask no more, or, where that is what it does not do, write no more."""
        self.writes = False
        self._off = self._off or not writing
        self._warn("failed", f"{self.place} {what} ({error}); the build goes on {'and stores nothing there' if writing else 'without it'}")

    def _distrusted(self, key: str, what: str) -> None:
        self._warn("distrusted", f"{self.place}: the entry {key} {what}; such entries are not used")

    def _warn(self, kind: str, message: str) -> None:
        with self._lock:
            told = kind in self._told
            self._told.add(kind)
        if not told:
            warn(message)


@contextmanager
def _alone(path: Path) -> Iterator[BinaryIO]:
    """A file to go on with, or another one where somebody else is at it."""
    file = path.open("ab+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        free = os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        free = False  # locked, or taken over by the store since it was opened
    if not free:
        file.close()
        file = beside(path).open("ab+")
    with file:
        yield file


def _received(remote: Remote, blob: Blob, file: BinaryIO) -> bool:
    """Read what a file lacks of a blob; whether it then has the bytes."""
    file.seek(0)
    digest, size = hashlib.sha256(), 0
    while chunk := file.read(CHUNK):
        digest.update(chunk)
        size += len(chunk)
    begun, before = time.monotonic(), size
    for chunk in remote.read(blob, size) if size < blob.bytes else ():
        file.write(chunk)
        digest.update(chunk)
        size += len(chunk)
        if size > blob.bytes:
            break
        taken = time.monotonic() - begun
        if taken > PATIENCE_SECONDS and size - before < SLOWEST * taken:
            raise UnreachableError(f"{(size - before) / taken:.0f} bytes a second are too slow")
    file.flush()
    return size == blob.bytes and digest.hexdigest() == blob.sha256


def _result(body: Mapping[str, Any]) -> ActionResult | None:
    """The result that an entry says, if its parts are what they should be: names and digests become paths."""
    try:
        result = ActionResult.from_json(body["result"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return result if is_sound(result) and isinstance(result.printed, str) else None


def is_sound(result: ActionResult) -> bool:
    """Whether the names of a result may become paths, and its digests are some."""
    return all(_is_path(path) and _is_blob(blob) for path, blob in result.outputs.items())


def _is_path(path: Any) -> bool:
    parts = path.removesuffix("/").split("/") if isinstance(path, str) else [""]
    return not any(part in ("", ".", "..") for part in parts) and not set(path) & set("\\\0:")


def _is_blob(blob: Blob) -> bool:
    return isinstance(blob.sha256, str) and DIGEST.fullmatch(blob.sha256) is not None and type(blob.bytes) is int and blob.bytes >= 0


def _shown(url: str) -> str:
    """An address without its login."""
    split = urlsplit(url)
    return split._replace(netloc=split.netloc.rpartition("@")[2]).geturl() if split.scheme else url
