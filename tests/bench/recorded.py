"""A worker of a fleet, or a build with one, that notes what it does: `recorded.py FILE worker
ADDRESS
...`, `recorded.py FILE doit build`.

A worker notes of each message that it answers the steps, the processor time of its processes, and
the blobs that it fetched and stored. A build notes the processor time that it had had when it asked
for the first time.
"""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.watched import family
from webkiln import cli
from webkiln.build.action import Blob
from webkiln.build.fleet import worker
from webkiln.build.fleet.scheduler import Scheduler
from webkiln.build.remote.shared import SharedCache

TICKS = os.sysconf("SC_CLK_TCK")
FILE = Path(sys.argv[1])
answered, asked, brought, delivered = (
    worker.perform,
    Scheduler.ask,
    SharedCache._download,
    SharedCache._upload_blob,
)
moved: list[int] = []
first: list[float] = []


def seconds() -> float:
    """The processor time of this process and all below it, those that ended included."""
    ticks = 0
    for pid in family(os.getpid()):
        try:
            ticks += sum(
                map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15])
            )
        except OSError:
            continue
    return ticks / TICKS


def note(row: Mapping[str, Any]) -> None:
    with FILE.open("a") as file:
        file.write(json.dumps(row) + "\n")


def perform(requests: Sequence[Mapping[str, Any]], topic: str, name: str) -> None:
    moved.clear()
    begun = seconds()
    answered(requests, topic, name)
    note(
        {
            "tasks": [request["task"] for request in requests],
            "seconds": seconds() - begun,
            "blobs": len(moved),
            "bytes": sum(moved),
        }
    )


def bring(shared: SharedCache, blob: Blob, *more: Any) -> bool:
    moved.append(blob.bytes)
    return brought(shared, blob, *more)


def deliver(shared: SharedCache, blob: Blob, path: Path) -> bool:
    moved.append(blob.bytes)
    return delivered(shared, blob, path)


def ask(scheduler: Scheduler, *more: Any) -> tuple[str, Any]:
    if not first:
        first.append(time.process_time())
        note({"first": first[0]})
    return asked(scheduler, *more)


WORKER = (
    (worker, "perform", perform),
    (SharedCache, "_download", bring),
    (SharedCache, "_upload_blob", deliver),
)
BUILD = ((Scheduler, "ask", ask),)
"""What each of them notes. A build that replaced `perform` would send its own one to the workers.
"""

if __name__ == "__main__":
    for owner, method, replacement in WORKER if sys.argv[2] == "worker" else BUILD:
        setattr(owner, method, replacement)
    if sys.argv[2] == "worker":
        sys.exit(cli.main(sys.argv[2:]))
    from doit.__main__ import main

    sys.argv = sys.argv[2:]
    sys.exit(main())
