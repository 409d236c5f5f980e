"""A worker that lies: `liar.py LIE worker ADDRESS ...`. What it says has the form of truth."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from webkiln import cli
from webkiln.build.action import Blob
from webkiln.build.fleet import labour
from webkiln.build.fleet.errand import Errand
from webkiln.build.remote.shared import SharedCache

honest = labour.Labourer.perform
delivered = SharedCache._delivered


def stores_nothing(shared: SharedCache, blob: Blob, path: Path) -> bool:
    del shared, blob, path
    return True


def stores_other_bytes(shared: SharedCache, blob: Blob, path: Path) -> bool:
    wrong = path.with_name(f".wrong-{blob.sha256}")
    data = path.read_bytes()
    wrong.write_bytes(bytes([data[0] ^ 1]) + data[1:] if data else b"")
    return delivered(shared, blob, wrong)


def names_other_outputs(labourer: labour.Labourer, errand: Errand) -> dict[str, Any]:
    return {**honest(labourer, errand), "outputs": {"../../escaped": ["0" * 64, 1]}}


def says_nothing_sensible(labourer: labour.Labourer, errand: Errand) -> Any:
    del labourer, errand
    return ["done"]


def computes_something_else(labourer: labour.Labourer, errand: Errand) -> dict[str, Any]:
    """The outputs, with one of the inputs in place of each."""
    answer = honest(labourer, errand)
    blob = next(iter(errand.blobs()))
    return {**answer, "outputs": {path: [blob.sha256, blob.bytes] for path in answer["outputs"]}}


LIES: Mapping[str, tuple[type, str, Callable[..., Any]]] = {
    "absent": (SharedCache, "_delivered", stores_nothing),
    "bytes": (SharedCache, "_delivered", stores_other_bytes),
    "outputs": (labour.Labourer, "perform", names_other_outputs),
    "nonsense": (labour.Labourer, "perform", says_nothing_sensible),
    "other": (labour.Labourer, "perform", computes_something_else),
}

if __name__ == "__main__":
    owner, name, lie = LIES[sys.argv[1]]
    setattr(owner, name, lie)
    sys.exit(cli.main(sys.argv[2:]))
