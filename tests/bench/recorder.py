"""Runs a worker of a fleet, or a build with a fleet, and records what it does:

    recorder.py FILE worker ADDRESS ...
    recorder.py FILE doit build

A worker records for each message that it answers: the steps, the processor time of its processes,
and the blobs that it downloaded and uploaded. A build records the processor time that it had used
when it sent its first request.
"""

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.bench.processes import family
from webkiln import cli
from webkiln.build.action import Blob
from webkiln.build.fleet import worker
from webkiln.build.fleet.scheduler import Scheduler
from webkiln.build.remote.shared import SharedCache

TICKS = os.sysconf("SC_CLK_TCK")
FILE = Path(sys.argv[1])
original_perform, original_ask, original_download, original_upload = (
    worker.perform,
    Scheduler.ask,
    SharedCache._download,
    SharedCache._upload_blob,
)
transfers: list[int] = []
first_request: list[float] = []


def seconds() -> float:
    """The processor time of this process and all its descendants, including those that ended."""
    ticks = 0
    for pid in family(os.getpid()):
        try:
            ticks += sum(
                map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15])
            )
        except OSError:
            continue
    return ticks / TICKS


def record(row: Mapping[str, Any]) -> None:
    with FILE.open("a") as file:
        file.write(json.dumps(row) + "\n")


def perform(requests: Sequence[Mapping[str, Any]], topic: str, name: str) -> None:
    transfers.clear()
    start = seconds()
    original_perform(requests, topic, name)
    record(
        {
            "tasks": [request["task"] for request in requests],
            "seconds": seconds() - start,
            "blobs": len(transfers),
            "bytes": sum(transfers),
        }
    )


def download(shared: SharedCache, blob: Blob, *arguments: Any) -> bool:
    transfers.append(blob.bytes)
    return original_download(shared, blob, *arguments)


def upload(shared: SharedCache, blob: Blob, path: Path) -> bool:
    transfers.append(blob.bytes)
    return original_upload(shared, blob, path)


def ask(scheduler: Scheduler, *arguments: Any) -> tuple[str, Any]:
    if not first_request:
        first_request.append(time.process_time())
        record({"first": first_request[0]})
    return original_ask(scheduler, *arguments)


WORKER = (
    (worker, "perform", perform),
    (SharedCache, "_download", download),
    (SharedCache, "_upload_blob", upload),
)
BUILD = ((Scheduler, "ask", ask),)
"""(owner, method, replacement) of each. A build must not replace `perform`, since it sends that
function to the workers.
"""

if __name__ == "__main__":
    for owner, method, replacement in WORKER if sys.argv[2] == "worker" else BUILD:
        setattr(owner, method, replacement)
    if sys.argv[2] == "worker":
        sys.exit(cli.main(sys.argv[2:]))
    from doit.__main__ import main

    sys.argv = sys.argv[2:]
    sys.exit(main())
