"""Run bundles on input sets in a browser or in Node."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from webkiln import canonical
from webkiln.backends import browsers, frame, node, pages, remote
from webkiln.backends.frame import FrameResult
from webkiln.backends.server import ISOLATED
from webkiln.errors import RecipeError, SourceError
from webkiln.recipe.values import BACKENDS, USUAL_BACKENDS

HOSTS = ("node", *browsers.BROWSERS)


def read_manifest(bundle: Path) -> dict[str, Any]:
    try:
        manifest = canonical.read(bundle / "manifest.json")
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SourceError(
            f"{bundle}: there is no manifest.json; give the folder of a bundle"
        ) from error
    except (OSError, ValueError) as error:
        raise SourceError(
            f"{bundle}/manifest.json cannot be read ({error}); build the bundle again"
        ) from error
    if not isinstance(manifest, dict) or manifest.get("schema") != "webkiln.bundle/1":
        raise SourceError(
            f"{bundle}/manifest.json is not of schema webkiln.bundle/1; build the bundle again"
        )
    return manifest


def first_backend(manifest: Mapping[str, Any], host: str) -> str:
    """The backend that the bundle's `load` tries first, among those that the host supports."""
    there = [name for name in BACKENDS if name in manifest["backends"]]
    return next(
        (
            name
            for name in there
            if (name in USUAL_BACKENDS if host == "node" else why_not(host, name) is None)
        ),
        there[0],
    )


def run_bundle(
    bundle: Path,
    backend: str,
    inputs: Sequence[Mapping[str, np.ndarray]],
    *,
    host: str = "node",
    variant: str | None = None,
    layers: bool = False,
    worker: bool = True,
    timeout: float = 600.0,
) -> list[FrameResult]:
    """Run the bundle once on each input set, starting from the initial states, in one session."""
    request = {
        "script": "./harness.js",
        "backend": backend,
        "variant": variant,
        "layers": layers,
        "worker": worker,
        "count": len(inputs),
    }
    return [frame.decode(answer) for answer in _answers(bundle, request, inputs, host, timeout)]


def profile_bundle(
    bundle: Path,
    backend: str,
    inputs: Mapping[str, np.ndarray],
    *,
    host: str = "node",
    variant: str | None = None,
    threads: int | None = None,
    runs: int = 20,
    timeout: float = 600.0,
) -> dict[str, Any]:
    """Profile the bundle on one input set. Returns a `Profile` as declared in
    `runtime/src/types.ts`.
    """
    request = {
        "script": "./harness_profile.js",
        "backend": backend,
        "variant": variant,
        "threads": threads,
        "runs": runs,
    }
    (answer,) = _answers(bundle, request, [inputs], host, timeout, ISOLATED)
    profile: dict[str, Any] = json.loads(answer)
    return profile


def profile_bundles(
    bundles: Sequence[Path],
    backend: str,
    inputs: Mapping[str, np.ndarray],
    *,
    host: str = "node",
    runs: int = 10,
    rounds: int = 3,
    timeout: float = 3600.0,
) -> list[list[dict[str, Any]]]:
    """Profile several bundles in one session. For each round, one profile per bundle."""
    request = {
        "script": "./harness_tune.js",
        "backend": backend,
        "variant": None,
        "threads": 1,
        "runs": runs,
        "rounds": rounds,
    }
    _check(bundles[0], backend, host)
    frames = [frame.encode(inputs)]
    if host == "node":
        urls = [(bundle.resolve() / "index.js").as_uri() for bundle in bundles]
        (answer,) = node.run_frames(bundles[0], {**request, "bundles": urls}, frames, timeout)
    else:
        folders = {f"/bundle.{number}/": bundle for number, bundle in enumerate(bundles)}
        urls = [f"{prefix}index.js" for prefix in folders]
        (answer,) = pages.run_page(
            str(bundles[0]), folders, {**request, "bundles": urls}, frames, timeout, host, ISOLATED
        )
    profiles: list[list[dict[str, Any]]] = json.loads(answer)
    return profiles


def _answers(
    bundle: Path,
    request: dict[str, Any],
    inputs: Sequence[Mapping[str, np.ndarray]],
    host: str,
    timeout: float,
    headers: Mapping[str, str] | None = None,
) -> list[bytes]:
    """Send a request to the harness. Raises RecipeError if the host cannot run it."""
    _check(bundle, request["backend"], host, request["variant"])
    frames = [frame.encode(values) for values in inputs]
    if host == "node":
        return node.run_frames(bundle, request, frames, timeout)
    return pages.run_frames(host, bundle, request, frames, timeout, headers)


def _check(bundle: Path, backend: str, host: str, variant: str | None = None) -> None:
    """Raise RecipeError if a host cannot run a backend or variant."""
    if host not in HOSTS:
        raise RecipeError(f"there is no host '{host}'; the hosts are {', '.join(HOSTS)}")
    if host == "node" and backend not in USUAL_BACKENDS:
        raise RecipeError(
            f"{bundle}: {backend} needs a browser, Node has no GPU; run it with --browser"
            f" {next(iter(browsers.BROWSERS))}"
        )
    if (reason := why_not(host, backend, variant)) is not None:
        raise RecipeError(f"{bundle}: {reason}; run it with another --browser")


def is_remote(host: str) -> bool:
    """Whether a host is a remote browser."""
    return host != "node" and remote.remote_url() is not None


def version(host: str) -> str:
    """The version of a host's browser or of Node."""
    if host == "node":
        return node.find()[1]
    return browsers.version(host)


def why_not(host: str, backend: str, variant: str | None = None) -> str | None:
    """The known reasons why a host does not run a backend or its variants, by name."""
    reason = None if host == "node" else browsers.why_not(host, backend, variant)
    return (
        f"{backend}{f' ({variant})' if variant else ''}: {reason}" if reason is not None else None
    )
