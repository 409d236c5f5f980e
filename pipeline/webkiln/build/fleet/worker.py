"""A worker of a fleet: it downloads the inputs of remote actions from the remote cache, runs the
stages, and uploads the outputs.

If its code or its tools differ from those in the key of the result, it reports that and runs
nothing.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

from webkiln.build.action import Blob
from webkiln.build.cache import ActionCache
from webkiln.build.derived import Derived
from webkiln.build.digests import FileDigests
from webkiln.build.executor import Job, LocalPool
from webkiln.build.fleet.remote_action import Files, RemoteAction
from webkiln.build.locations import cache_folder
from webkiln.build.remote.shared import VARIABLE, SharedCache, remote_cache_from_environment
from webkiln.build.sandbox import (
    InputFile,
    MissingInput,
    collect_outputs,
    output_paths,
    place_inputs,
    sandbox,
)
from webkiln.build.share import Share, share
from webkiln.build.source_imports import own_source
from webkiln.build.tools import ELSEWHERE, Toolchain
from webkiln.errors import InternalError, RecipeError, ToolError, UserError

LOCK = Lock()


def perform(requests: Sequence[Mapping[str, Any]], topic: str, name: str) -> None:
    """Execute remote actions one after the other on this machine, until one fails. The answers are
    sent together, as an event of dask: for each action the digests of its outputs, or for the last
    one the reason why it failed.
    """
    from distributed import get_worker

    with LOCK:
        worker = _worker()
    outputs_by_task: dict[str, Files] = {}
    answers = []
    for data in requests:
        try:
            request = RemoteAction.from_json(data).after(outputs_by_task)
        except KeyError:
            break
        answer = worker.perform(request)
        answers.append(answer)
        match answer:
            case {"status": "done", "outputs": outputs}:
                outputs_by_task[request.task] = {
                    path: Blob(*blob) for path, blob in outputs.items()
                }
            case _:
                break
    get_worker().log_event(topic, {"request": name, "answer": answers})


def own_cache() -> SharedCache:
    """The remote cache of this machine, with uploads enabled. Raises RecipeError where there is
    none.
    """
    shared = remote_cache_from_environment()
    if shared is None:
        raise RecipeError(
            f"{VARIABLE} names no remote cache; workers of a fleet exchange files through one that"
            " all of them can reach"
        )
    shared.writes = True
    return shared


class RemoteWorker:
    """Executes remote actions for several threads, in warm worker processes."""

    def __init__(self, shared: Share, root: Path) -> None:
        self._share = shared
        self._root = root
        self._cache = ActionCache(root, own_cache())
        self._cache.check()
        self._digests = FileDigests(root / "fleet.json")
        self._derived = Derived(root / "derived.json")
        self._toolchain = Toolchain(shared.root, self._derived, installed=shared.installed)
        self._pool = LocalPool(shared.package.parent, homes=self._cache.sandboxes)

    def perform(self, request: RemoteAction) -> dict[str, Any]:
        try:
            self._check_code(request)
            table = self._fitting(request)
            outputs, printed = self._run(request)
        except _UnfitError as unfit:
            return {"status": "unfit", "text": str(unfit)}
        except MissingInput as missing:
            return {"status": "missing", "digests": [item.sha256 for item in missing.items]}
        except UserError as error:
            return {
                "status": "user",
                "type": type(error).__name__,
                "text": str(error),
                "printed": "",
            }
        except InternalError as error:
            return {"status": "internal", "text": str(error)}
        outputs_by_task = {path: [blob.sha256, blob.bytes] for path, blob in outputs.items()}
        return {"status": "done", "outputs": outputs_by_task, "printed": printed, "tools": table}

    def _run(self, request: RemoteAction) -> tuple[dict[str, Blob], str]:
        cache = self._connected()
        store, shared = cache.store, cache.shared
        assert shared is not None
        items = {
            role: {inside: InputFile(blob.sha256, blob) for inside, blob in files.items()}
            for role, files in request.files.items()
        }
        blobs = [*request.blobs()]
        shared.mark_available(blob.sha256 for blob in blobs)
        store.mark_remote(blobs)
        with sandbox(cache.sandboxes) as folder:
            inputs = place_inputs(store, folder / "in", items)
            paths = output_paths(folder / "out", request.outputs)
            stage = self._share.stage(request.stage)
            outcome = self._pool.execute(
                Job(
                    request.task,
                    stage,
                    inputs,
                    paths,
                    request.params,
                    request.code,
                    request.timeout,
                )
            )
            outputs = collect_outputs(store, folder / "out", request.outputs, request.task)
        if not shared.upload_blobs(
            outputs.values(),
            lambda blob: store.path(blob.sha256),
            force=request.doubted,
            recheck=True,
        ):
            raise _UnfitError(f"it cannot store results in {shared.address}")
        return outputs, outcome.printed

    def _connected(self) -> ActionCache:
        """The cache, with a new connection to the remote cache if that has failed."""
        assert self._cache.shared is not None
        if self._cache.shared.is_off:
            self._cache = ActionCache(self._root, own_cache())
        return self._cache

    def _check_code(self, request: RemoteAction) -> None:
        for name, digest in request.code.items():
            try:
                same = self._is(self._share.file(name), digest)
            except OSError:
                raise _UnfitError(f"its webkiln differs: it has no {name}") from None
            if not same:
                raise _UnfitError(f"its webkiln differs in {name}")

    def _is(self, path: Path, digest: str) -> bool:
        """Whether a file has this digest in keys. It covers all bytes of data, and sources without
        their comments.
        """
        own = self._digests.digest(path)
        if own == digest or path.suffix != ".py":
            return own == digest
        try:
            return own_source(path, own, self._derived)[2] == digest
        except UserError:
            return False  # not a source that webkiln accepts

    def _fitting(self, request: RemoteAction) -> int:
        """The index of the table of tools that holds here. The build has queried browsers on other
        machines itself.
        """
        try:
            own = self._toolchain.actual(
                name for name in request.tools[0] if not name.endswith(ELSEWHERE)
            )
        except ToolError as error:
            raise _UnfitError(str(error)) from error
        differing: dict[str, str] = {}
        for number, table in enumerate(request.tools):
            differing = {
                name: table[name] for name, version in own.items() if version != table[name]
            }
            if not differing:
                return number
        raise _UnfitError(
            "; ".join(
                f"{name} is {own[name]} there, but {version} is required"
                for name, version in differing.items()
            )
        )


class _UnfitError(Exception):
    """The reason why this worker cannot execute an action."""


@functools.cache
def _worker() -> RemoteWorker:
    return RemoteWorker(share(), cache_folder())
