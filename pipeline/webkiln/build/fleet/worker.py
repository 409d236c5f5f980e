"""What a machine of a fleet does: it takes an request's inputs from the remote cache, runs the
stage,
and stores the outputs there.

Where its code or its tools are others than those that the result's key will name, it says so and
runs nothing.
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
    """Run requests one after another on this machine, until one fails. They are answered together,
    as
    an event of dask's: each with the digests of its outputs, the last one maybe with what kept it
    from running.
    """
    from distributed import get_worker

    with LOCK:
        worker = _worker()
    made: dict[str, Files] = {}
    answers = []
    for data in requests:
        try:
            request = RemoteAction.from_json(data).after(made)
        except KeyError:
            break
        answer = worker.perform(request)
        answers.append(answer)
        match answer:
            case {"status": "done", "outputs": outputs}:
                made[request.task] = {path: Blob(*blob) for path, blob in outputs.items()}
            case _:
                break
    get_worker().log_event(topic, {"request": name, "answer": answers})


def own_cache() -> SharedCache:
    """The remote cache of this machine, into which what it makes is written. Raises RecipeError
    where there is none.
    """
    shared = remote_cache_from_environment()
    if shared is None:
        raise RecipeError(
            f"{VARIABLE} names no remote cache; what machines of a fleet make and read goes through"
            " one that all of them reach"
        )
    shared.writes = True
    return shared


class RemoteWorker:
    """Runs requests, of several threads at once, in worker processes that stay warm."""

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
        made = {path: [blob.sha256, blob.bytes] for path, blob in outputs.items()}
        return {"status": "done", "outputs": made, "printed": printed, "tools": table}

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
            places = output_paths(folder / "out", request.outputs)
            stage = self._share.stage(request.stage)
            outcome = self._pool.execute(
                Job(
                    request.task,
                    stage,
                    inputs,
                    places,
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
            raise _UnfitError(f"it cannot store results in {shared.place}")
        return outputs, outcome.printed

    def _connected(self) -> ActionCache:
        """The cache, with a remote one that is asked again though it failed before."""
        assert self._cache.shared is not None
        if self._cache.shared.is_off:
            self._cache = ActionCache(self._root, own_cache())
        return self._cache

    def _check_code(self, request: RemoteAction) -> None:
        for name, digest in request.code.items():
            try:
                same = self._is(self._share.file(name), digest)
            except OSError:
                raise _UnfitError(f"its webkiln is another one: {name} is not there") from None
            if not same:
                raise _UnfitError(f"its webkiln is another one: {name} differs")

    def _is(self, path: Path, digest: str) -> bool:
        """Whether a file has this digest in keys, which name data by all bytes, and sources without
        their comments.
        """
        own = self._digests.digest(path)
        if own == digest or path.suffix != ".py":
            return own == digest
        try:
            return own_source(path, own, self._derived)[2] == digest
        except UserError:
            return False  # no source that webkiln accepts

    def _fitting(self, request: RemoteAction) -> int:
        """Which of the tables of tools is true here. What a browser on another machine is, the
        build has asked.
        """
        try:
            own = self._toolchain.actual(
                name for name in request.tools[0] if not name.endswith(ELSEWHERE)
            )
        except ToolError as error:
            raise _UnfitError(str(error)) from error
        wanted: dict[str, str] = {}
        for number, table in enumerate(request.tools):
            wanted = {name: table[name] for name, version in own.items() if version != table[name]}
            if not wanted:
                return number
        raise _UnfitError(
            "; ".join(
                f"{name} is {own[name]} there, {version} is wanted"
                for name, version in wanted.items()
            )
        )


class _UnfitError(Exception):
    """Why this machine does not do it."""


@functools.cache
def _worker() -> RemoteWorker:
    return RemoteWorker(share(), cache_folder())
