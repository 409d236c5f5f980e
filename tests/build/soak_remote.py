"""Builds against remote caches that attack at random, each in a tree and a cache of its own.

`python -m tests.build.soak_remote [BUILDS] [SEED] [PROCESSES]`. A server (HTTP, S3, gRPC, a folder)
holds good entries and blobs. In each round some entries are forged, some answers are broken, or
both; in good rounds, which may not warn, nothing is. None may cost a wrong byte, a failed build,
more than one warning, a traceback, a request to another host, or 30 seconds in all. Some rounds
poison entries in ways that are believed without a key: a later build with the key may use nothing
of that.
"""

import io
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from tests.build.forgeries import FORGED, forged, poisoned
from tests.build.hostile import QUICK, SLOW, Held, Hostile
from tests.build.hostile_reapi import RPC, RPC_SLOW, HostileReapi
from tests.build.tree import checkout
from webkiln import canonical
from webkiln.build.engine import Engine
from webkiln.build.executor import LocalPool
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.progress import warn
from webkiln.build.remote import wire
from webkiln.build.share import Share
from webkiln.recipe.read import read_recipe

PART = 50
PASSES = ("drop_noop", "sort_nothing")
LONGEST_SECONDS = 30.0
GOOD_ROUNDS = 0.2
SLOW_ROUNDS = 0.12
TRANSPORTS = ("http", "http", "s3", "grpc", "folder")
SPECIAL = ("pipe", "folder", "link", "short", "device", "loop")


@dataclass(frozen=True)
class Round:
    """The outcome of one build."""

    files: dict[str, bytes]
    warnings: tuple[str, ...]
    seconds: float
    stderr: str


class Soak:
    def __init__(self, folder: Path, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.folder = folder
        self.tree = checkout(folder / "tree", folder / "cache", toy=True)
        self.share = Share(self.tree.root, self.tree.root / "pipeline" / "webkiln")
        self.pool = LocalPool(self.tree.root / "pipeline", size=1)
        self.key = folder / "secret"
        self.key.write_bytes(os.urandom(32))
        self.counts: Counter[str] = Counter()
        self.longest = 0.0
        self.expected = self.build(folder / "alone", {}).files
        self.good = {
            keyed: self._written(folder / f"written-{keyed}", keyed=keyed)
            for keyed in (False, True)
        }

    def keyed(self) -> dict[str, str]:
        return {"WEBKILN_CACHE_KEY": f"hmac:{self.key}"}

    def build(self, place: Path, environment: Mapping[str, str]) -> Round:
        """One build, with the digests of the machine's own files cached."""
        for part, name in (("state", "digests.json"), ("cache", "derived.json")):
            (place / part).mkdir(parents=True, exist_ok=True)
            if (known := self.folder / "alone" / part / name).is_file() and not (
                place / part / name
            ).exists():
                shutil.copyfile(known, place / part / name)
        recipe = read_recipe(self.tree.root / "models" / "toy" / "recipe.toml")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WEBKILN")}
        output: list[str] = []
        warn.cache_clear()
        begun, errors = time.monotonic(), io.StringIO()
        with (
            mock.patch.dict(os.environ, kept | dict(environment), clear=True),
            mock.patch("webkiln.build.remote.connection.warn", output.append),
            mock.patch("sys.stderr", errors),
            Engine(
                place / "state", cache=place / "cache", shared=self.share, executor=self.pool
            ) as engine,
        ):
            action = ModelGraph(recipe, self.share, PASSES).bundle(Selection(recipe.backends))
            engine.publish(action, "bundle/", place / "bundle")
        files = {
            path.relative_to(place / "bundle").as_posix(): path.read_bytes()
            for path in (place / "bundle").rglob("*")
            if path.is_file()
        }
        return Round(files, tuple(output), time.monotonic() - begun, errors.getvalue())

    def _written(self, place: Path, *, keyed: bool) -> Held:
        """The files that a good build stores in a folder, as `ac/KEY` and `cas/DIGEST`."""
        shared = place / "shared"
        shared.mkdir(parents=True)
        self.build(
            place,
            {
                "WEBKILN_REMOTE_CACHE": str(shared),
                "WEBKILN_CACHE_WRITE": "1",
                **(self.keyed() if keyed else {}),
            },
        )
        return {
            f"{path.parent.parent.name}/{path.name}": path.read_bytes()
            for path in shared.glob("*/*/*")
        }

    def round(self, number: int) -> None:
        transport, keyed = self.random.choice(TRANSPORTS), self.random.random() < 0.5
        environment = {
            **(self.keyed() if keyed else {}),
            **({"WEBKILN_CACHE_WRITE": "1"} if self.random.random() < 0.4 else {}),
        }
        poison = not keyed and self.random.random() < 0.2
        good = not poison and self.random.random() < GOOD_ROUNDS
        slow = not poison and not good and self.random.random() < SLOW_ROUNDS
        held = dict(self.good[keyed]) if good else self._held(keyed=keyed, poison=poison)
        traits = {"key": keyed, "poison": poison, "good": good, "slow": slow}
        named = ", ".join([transport, *(name for name, holds in traits.items() if holds)])
        what = f"seed {self.seed}, build {number} ({named})"
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            place = Path(name)
            with self._served(
                transport, held, place, slow=slow, broken=not poison and not good
            ) as reached:
                found = self.build(place, environment | reached)
            self.check(what, found, place, poison=poison, good=good)
            if poison:
                found = self.build(place, self.keyed())
                self.check(f"{what}, and then with the key", found, place, poison=False, good=True)

    def check(
        self, what: str, found: Round, place: Path, *, poison: bool, good: bool = False
    ) -> None:
        self.longest = max(self.longest, found.seconds)
        self.counts["builds with a warning" if found.warnings else "builds without one"] += 1
        assert poison or found.files == self.expected, f"{what} published other bytes"
        assert len(found.warnings) <= (0 if good else 1), (
            f"{what} warned {len(found.warnings)} times: {found.warnings}"
        )
        assert all(line.isprintable() for line in found.warnings), f"{what}: {found.warnings!r}"
        assert found.seconds < LONGEST_SECONDS, (
            f"{what} took {found.seconds:.0f} s: {found.warnings}"
        )
        assert "Traceback" not in found.stderr, f"{what}: {found.stderr}"
        arriving = sum(path.stat().st_size for path in (place / "cache" / "arriving").glob("*"))
        assert arriving < 1 << 20, f"{what} left {arriving} bytes of transfers"

    def _held(self, *, keyed: bool, poison: bool) -> Held:
        held = dict(self.good[keyed])
        names = [name for name in held if name.startswith("ac/")]
        # Without some entries, builds request those of earlier steps.
        for name in self.random.sample(names, self.random.choice((0, 0, 1, 2, len(names) // 2))):
            del held[name]
        if poison:
            blob = b"export const stolen = true;"
            held[f"cas/{canonical.digest(blob)}"] = blob
            return {
                name: poisoned(data, blob) if name.startswith("ac/") else data
                for name, data in held.items()
            }
        share = self.random.choice((0.0, 0.1, 0.5, 1.0))
        how = self.random.choice(FORGED)
        for name in [*held]:
            if self.random.random() < share and name.startswith("ac/"):
                held[name] = self._forged(held[name], how, keyed=keyed)
            elif self.random.random() < 0.02:
                del held[name]
        return held

    def _forged(self, entry: bytes, how: str, *, keyed: bool) -> bytes:
        self.counts[f"forged: {how}"] += 1
        if keyed and self.random.random() < 0.3:
            at = self.random.randrange(len(entry))
            return entry[:at] + bytes([entry[at] ^ 1 << self.random.randrange(8)]) + entry[at + 1 :]
        return forged(entry, how, self.random)

    @contextmanager
    def _served(
        self, transport: str, held: Held, place: Path, *, slow: bool, broken: bool
    ) -> Iterator[dict[str, str]]:
        """The environment in which a build reaches the server."""
        if transport == "folder":
            self._laid_out(held, place / "shared", broken=broken)
            yield {"WEBKILN_REMOTE_CACHE": str(place / "shared")}
            return
        choose = self._chooser(transport, slow=slow, broken=broken)
        server = HostileReapi(choose) if transport == "grpc" else Hostile(choose)
        wrapped = {
            name: wire.wrapped(data, []) if name.startswith("ac/") else data
            for name, data in held.items()
        }
        server.held = dict(held) if transport == "s3" else wrapped
        try:
            if transport == "s3":
                access = {
                    "AWS_ENDPOINT_URL": server.url,
                    "AWS_ACCESS_KEY_ID": "test",
                    "AWS_SECRET_ACCESS_KEY": "test",
                    "AWS_REGION": "x",
                }
                yield {"WEBKILN_REMOTE_CACHE": "s3://cache/team", **access}
            else:
                yield {"WEBKILN_REMOTE_CACHE": server.url}
        finally:
            server.close()
            self.counts += Counter(
                {
                    f"{transport} {name.partition(' ')[2]}": count
                    for name, count in server.counts.items()
                }
            )
        if isinstance(server, Hostile):
            # obstore follows redirects, without credentials.
            assert not (server.leaks if transport == "s3" else server.visits), (
                "a redirect was followed"
            )

    def _chooser(self, transport: str, *, slow: bool, broken: bool) -> Callable[[str, str], str]:
        faults = [*(RPC if transport == "grpc" else QUICK)]
        patient = [*(RPC_SLOW if transport == "grpc" else SLOW)]
        chosen = [self.random.choice(patient)] if slow else self.random.sample(faults, 2)
        share = self.random.choice((0.05, 0.3, 1.0)) if broken else 0.0
        own = random.Random(self.random.random())

        def choose(method: str, name: str) -> str:
            return own.choice(chosen) if own.random() < share else ""

        return choose

    def _laid_out(self, held: Held, root: Path, *, broken: bool) -> None:
        """Write objects as files, and some as something else."""
        share = self.random.choice((0.0, 0.1, 1.0)) if broken else 0.0
        for name, data in held.items():
            part, digest = name.split("/")
            path = root / part / digest[:2] / digest
            path.parent.mkdir(parents=True, exist_ok=True)
            if self.random.random() >= share:
                path.write_bytes(data)
                continue
            kind = self.random.choice(SPECIAL)
            self.counts[f"folder {kind}"] += 1
            match kind:
                case "pipe":
                    os.mkfifo(path)
                case "folder":
                    path.mkdir()
                case "link":
                    (root.parent / "elsewhere").write_bytes(data)
                    path.symlink_to(root.parent / "elsewhere")
                case "device":
                    path.symlink_to("/dev/zero")
                case "loop":
                    path.symlink_to(path)
                case _:
                    path.write_bytes(data[: len(data) // 2])

    def close(self) -> None:
        self.pool.close()


def soak(builds: int, seed: int) -> tuple[Counter[str], float]:
    """The number of each event, and the seconds of the longest build. Raises the failure of a
    round.
    """
    with tempfile.TemporaryDirectory() as folder:
        made = Soak(Path(folder), seed)
        try:
            for number in range(builds):
                made.round(number)
        finally:
            made.close()
    return made.counts, made.longest


def main(builds: int, seed: int, processes: int) -> tuple[Counter[str], float]:
    """As `soak`, in parts of fifty builds, several in parallel. The first failure ends it."""
    shares = [min(PART, builds - begun) for begun in range(0, builds, PART)]
    counts, longest, context = Counter[str](), 0.0, multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context) as pool:
        parts = [pool.submit(soak, share, seed + number) for number, share in enumerate(shares)]
        for done, part in enumerate(as_completed(parts), 1):
            try:
                more, seconds = part.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            counts, longest = counts + more, max(longest, seconds)
            print(f"{done} of {len(parts)} parts of {PART} builds", file=sys.stderr, flush=True)
    return counts, longest


if __name__ == "__main__":
    count, start, width = (
        int(sys.argv[n]) if len(sys.argv) > n else default
        for n, default in ((1, 1000), (2, 0), (3, 4))
    )
    counted, longest = main(count, start, width)
    print("\n".join(f"{number:7d} {name}" for name, number in sorted(counted.items())))
    print(
        f"{count} builds: no wrong byte, no traceback, at most one warning each; the longest took"
        f" {longest:.1f} s"
    )
