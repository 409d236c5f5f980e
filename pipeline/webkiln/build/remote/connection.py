"""The connection to a remote cache, with its failures, delays and background uploads.

Every failure of a remote ends here. The first one is printed as a warning, and the build continues
without the remote cache.
"""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any

from webkiln.build.progress import warn
from webkiln.build.remote.addresses import open_remote, without_login
from webkiln.build.remote.remote import (
    AbsentError,
    DeniedError,
    FullError,
    LargeError,
    Remote,
    RemoteError,
    UnreachableError,
)

TRANSFERS = 8
"""The number of parallel transfers."""
FAILURES = 3
"""After this many failures or malformed answers, the remote is not used any more."""
USUAL_SECONDS = 1.0
"""The duration of a round trip that does not count as a delay."""
DELAY_SECONDS, STORING_DELAY_SECONDS = 8.0, 20.0
"""The accumulated delay after which the remote is too slow: for answers that a build waits for, and
for uploads. Prompt answers reduce it.
"""
LONGEST_MESSAGE = 400


class RemoteConnection:
    """Used by several threads, and by forked processes, each of which has its own connections."""

    def __init__(self, url: str, *, writes: bool) -> None:
        self.address = without_login(url)
        self.writes = writes
        self._url = url
        self._lock = Lock()
        self._remote: Remote | None = None
        self._process = os.getpid()
        self._off = False
        self._failures = {False: 0, True: 0}
        self._delays = {False: 0.0, True: 0.0}
        self._warned = False
        self._pool = ThreadPoolExecutor(TRANSFERS, "webkiln-remote")
        self._uploads: list[Future[None]] = []

    @property
    def busy(self) -> bool:
        """Whether uploads are in progress."""
        with self._lock:
            return not all(upload.done() for upload in self._uploads)

    def wait(self, report: Callable[[str], None]) -> None:
        """Wait until all uploads are done, and report their progress."""
        while True:
            with self._lock:
                uploads, self._uploads = self._uploads, []
            if not uploads:
                return
            for number, upload in enumerate(uploads):
                report(f"storing results in {self.address}: {number} of {len(uploads)}")
                upload.result()

    def close(self, report: Callable[[str], None] = lambda text: None) -> None:
        self.wait(report)
        self._pool.shutdown(cancel_futures=True)
        if self._remote is not None:
            self._remote.close()

    def _query(
        self, question: Callable[[Remote], Any], default: Any, *, writing: bool = False
    ) -> Any:
        """The answer of the remote, or `default` where it has none. Every RemoteError is handled
        here and becomes the one warning.
        """
        self._join()
        if self._off:
            return default
        try:
            return question(self._connect())
        except AbsentError:
            return default
        except FullError as error:
            self._stop(error, "accepts no more files", writing=True)
        except DeniedError as error:
            self._stop(
                error,
                "denies access; check the credentials",
                writing=writing,
            )
        except LargeError as error:
            self._warn(
                f"{self.address} rejects a file of this size ({error}), so it is not stored there;"
                " check the limits of the server"
            )
        except UnreachableError as error:
            self._stop(error, "does not answer", writing=writing)
        except RemoteError as error:
            effect = "new results remain here" if writing else "missing results are built here"
            self._warn(f"{self.address} failed ({error}); {effect}")
            self._fail(writing=writing)
        return default

    def _timed(self, call: Callable[[], Any], usual: float = 0.0, *, writing: bool = False) -> Any:
        """The answer of a call to the remote, which may take `usual` seconds beyond a round trip.
        Raises UnreachableError where all calls together were too late.
        """
        begun = time.monotonic()
        answer = call()
        self._delay(time.monotonic() - begun - USUAL_SECONDS - usual, writing=writing)
        return answer

    def _delay(self, seconds: float, *, writing: bool) -> None:
        with self._lock:
            # Prompt answers compensate late ones: the average counts.
            self._delays[writing] = max(0.0, self._delays[writing] + seconds)
            late = self._delays[writing] > (STORING_DELAY_SECONDS if writing else DELAY_SECONDS)
        if late:
            raise UnreachableError(f"its answers were {self._delays[writing]:.0f} s late")

    def _fail(self, *, writing: bool = False) -> None:
        """Count a failure. After a few, nothing more is written; after a few failures to read, the
        remote is not used any more.
        """
        with self._lock:
            self._failures[writing] += 1
            if self._failures[writing] >= FAILURES:
                self.writes = False
                self._off |= not writing

    def _connect(self) -> Remote:
        with self._lock:
            if self._remote is None:
                self._remote = open_remote(self._url)
            return self._remote

    def _join(self) -> None:
        """Start afresh in a forked process, which has neither the threads nor the connections of
        its parent.
        """
        if self._process != os.getpid():
            self._process, self._lock, self._remote, self._uploads = os.getpid(), Lock(), None, []
            self._pool = ThreadPoolExecutor(TRANSFERS, "webkiln-remote")

    def _stop(self, error: RemoteError, what: str, *, writing: bool) -> None:
        """Stop using the remote, or stop writing only if writing failed."""
        self.writes = False
        self._off = self._off or not writing
        self._warn(
            f"{self.address} {what} ({error}); the build continues"
            f" {'and stores nothing there' if writing else 'without it'}"
        )

    def _warn(self, message: str) -> None:
        """Print the first warning only. Unprintable characters become question marks."""
        with self._lock:
            warned, self._warned = self._warned, True
        if not warned:
            warn(
                "".join(character if character.isprintable() else "?" for character in message)[
                    :LONGEST_MESSAGE
                ]
            )
