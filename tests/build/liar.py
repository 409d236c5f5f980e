"""A worker that lies: `liar.py LIE worker ADDRESS ...`. Its answers are well-formed."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from webkiln import cli
from webkiln.build.action import Blob
from webkiln.build.fleet import worker
from webkiln.build.fleet.remote_action import RemoteAction
from webkiln.build.remote.shared import SharedCache

original_perform = worker.RemoteWorker.perform
original_upload = SharedCache._upload_blob


def stores_nothing(shared: SharedCache, blob: Blob, path: Path) -> bool:
    del shared, blob, path
    return True


def stores_other_bytes(shared: SharedCache, blob: Blob, path: Path) -> bool:
    wrong = path.with_name(f".wrong-{blob.sha256}")
    data = path.read_bytes()
    wrong.write_bytes(bytes([data[0] ^ 1]) + data[1:] if data else b"")
    return original_upload(shared, blob, wrong)


def names_other_outputs(worker: worker.RemoteWorker, request: RemoteAction) -> dict[str, Any]:
    return {**original_perform(worker, request), "outputs": {"../../escaped": ["0" * 64, 1]}}


def answers_nonsense(worker: worker.RemoteWorker, request: RemoteAction) -> Any:
    del worker, request
    return ["done"]


def computes_something_else(worker: worker.RemoteWorker, request: RemoteAction) -> dict[str, Any]:
    """Replace each output by one of the inputs."""
    answer = original_perform(worker, request)
    blob = next(iter(request.blobs()))
    return {**answer, "outputs": {path: [blob.sha256, blob.bytes] for path in answer["outputs"]}}


LIES: Mapping[str, tuple[type, str, Callable[..., Any]]] = {
    "absent": (SharedCache, "_upload_blob", stores_nothing),
    "bytes": (SharedCache, "_upload_blob", stores_other_bytes),
    "outputs": (worker.RemoteWorker, "perform", names_other_outputs),
    "nonsense": (worker.RemoteWorker, "perform", answers_nonsense),
    "other": (worker.RemoteWorker, "perform", computes_something_else),
}

if __name__ == "__main__":
    owner, name, lie = LIES[sys.argv[1]]
    setattr(owner, name, lie)
    sys.exit(cli.main(sys.argv[2:]))
