"""`webkiln cache`: statistics of the caches, cleaning, checking, and copying between local and
remote caches.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from webkiln.build.cache import ActionCache, describe_provenance
from webkiln.build.locations import cache_folder
from webkiln.build.progress import size
from webkiln.build.remote.shared import (
    VARIABLE,
    WRITE_VARIABLE,
    SharedCache,
    remote_cache_from_environment,
)
from webkiln.build.remote.signing import signer_from_environment
from webkiln.build.state import live_results
from webkiln.errors import RecipeError, ToolError

UNITS = {"": 1, "K": 1000, "M": 1000**2, "G": 1000**3, "T": 1000**4}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", re.IGNORECASE)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    for name, (_, purpose) in VERBS.items():
        verb = verbs.add_parser(name, help=purpose, description=purpose, allow_abbrev=False)
        if name == "gc":
            verb.add_argument(
                "--max-size",
                metavar="SIZE",
                help="such as 5GB: remove the least recently used results until the caches fit",
            )
        if name == "stat":
            verb.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    cache = ActionCache(cache_folder(), remote_cache_from_environment(), signer_from_environment())
    cache.check()
    try:
        return VERBS[options.verb][0](cache, options)
    finally:
        if cache.shared is not None:
            cache.shared.close()


def _stat(cache: ActionCache, options: argparse.Namespace) -> int:
    counts, provenances = cache.stat(), sorted(cache.provenances().items())
    answers, seconds = (True, 0.0) if cache.shared is None else cache.shared.probe()
    if options.json:
        print(json.dumps(_statistics(cache, counts, provenances, answers=answers), indent=2))
        return 0 if answers else 1
    print(
        f"{cache.root}: {counts['actions']} results, {counts['blobs']} files of"
        f" {size(counts['bytes'])}, {counts['elsewhere']} more in the remote cache"
    )
    for provenance, count in provenances:
        unreadable = "" if cache.trusts(provenance) else ", not readable with this key"
        print(f"  {count} {describe_provenance(provenance)}{unreadable}")
    if cache.shared is None:
        print(f"no remote cache ({VARIABLE})")
        return 0
    writes = (
        "results are stored" if cache.shared.writes else f"nothing is stored ({WRITE_VARIABLE})"
    )
    signed = (
        "no key, so every writer is trusted"
        if cache.shared.signer is None
        else f"signed by {cache.shared.signer.key_id}"
    )
    print(
        f"{cache.shared.address}:"
        f" {f'answers in {1000 * seconds:.0f} ms' if answers else 'does not answer'}; {writes};"
        f" {signed}"
    )
    return 0 if answers else 1


def _statistics(
    cache: ActionCache,
    counts: Mapping[str, int],
    provenances: Sequence[tuple[str, int]],
    *,
    answers: bool,
) -> dict[str, Any]:
    """The statistics as JSON. `remote` is null without a remote cache."""
    shared = cache.shared
    return {
        "folder": str(cache.root),
        "results": counts["actions"],
        "files": counts["blobs"],
        "bytes": counts["bytes"],
        "remote_files": counts["elsewhere"],
        "provenances": [
            {"provenance": name, "results": count, "readable": cache.trusts(name)}
            for name, count in provenances
        ],
        "remote": shared
        and {
            "address": shared.address,
            "answers": answers,
            "writes": shared.writes,
            "key": shared.signer and shared.signer.key_id,
        },
    }


def _gc(cache: ActionCache, options: argparse.Namespace) -> int:
    removed = cache.gc() if options.max_size is None else cache.shrink(_bytes(options.max_size))
    print(
        f"{cache.root}: removed {removed['actions']} results and {removed['blobs']} files of"
        f" {size(removed['bytes'])}"
    )
    return 0


def _verify(cache: ActionCache, options: argparse.Namespace) -> int:
    del options
    damaged = cache.verify()
    for item in damaged:
        print(f"removed: {item}")
    print(
        f"{cache.root}: "
        + (
            f"{len(damaged)} removed, which will be rebuilt when needed"
            if damaged
            else "all bytes are intact"
        )
    )
    return 1 if damaged else 0


def _push(cache: ActionCache, options: argparse.Namespace) -> int:
    del options
    shared = _remote(cache)
    if not shared.writes:
        raise RecipeError(f"{WRITE_VARIABLE} is not 1, so nothing is stored in {shared.address}")
    count, left = 0, Counter[str]()
    for key, result in cache.results():
        if cache.upload(key, result):
            count += 1
        else:
            left[result.provenance] += 1
    shared.wait(_print_progress)
    if shared.failed_uploads:
        raise ToolError(
            f"{shared.address}: {shared.failed_uploads} of {count} results could not be stored"
        )
    print(f"{shared.address}: {count} results are stored")
    for provenance, number in sorted(left.items()):
        origin = describe_provenance(provenance)
        print(f"omitted, since this key does not sign them: {number} {origin}")
    return 0


def _pull(cache: ActionCache, options: argparse.Namespace) -> int:
    """Fetch the results of this machine's trees, so that they are available without the remote
    cache.
    """
    del options
    shared = _remote(cache)
    blobs = {
        blob
        for state in cache.trees()
        for result in live_results(state)
        for blob in result.outputs.values()
    }
    absent = [blob for blob in blobs if not cache.store.is_here(blob)]
    cache.store.fetch(absent)
    left = [blob for blob in absent if not cache.store.is_here(blob)]
    print(
        f"{cache.root}: {len(absent) - len(left)} files of"
        f" {size(sum(blob.bytes for blob in absent) - sum(blob.bytes for blob in left))} fetched"
        f" from {shared.address}"
    )
    if left:
        raise ToolError(
            f"{shared.address}: {len(left)} files are missing; build again to create them"
        )
    return 0


def _remote(cache: ActionCache) -> SharedCache:
    if cache.shared is None:
        raise RecipeError(
            f"{VARIABLE} names no remote cache: a folder, or an address that begins with s3, gs,"
            " az, http, https, grpc or grpcs://"
        )
    return cache.shared


def _bytes(text: str) -> int:
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise RecipeError(f"--max-size is {text!r}, expected a size such as 500MB or 5GB")
    return int(float(found[1]) * UNITS[found[2].upper()])


def _print_progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text}\x1b[K")


VERBS: dict[str, tuple[Callable[[ActionCache, argparse.Namespace], int], str]] = {
    "stat": (_stat, "print statistics, and check the remote cache"),
    "gc": (_gc, "remove results that no tree uses"),
    "verify": (_verify, "check all files, and remove damaged ones"),
    "push": (_push, "store all results of this machine in the remote cache"),
    "pull": (_pull, "fetch the results that this machine's trees use"),
}
