"""Builds with remote caches that attack at random, each in a separate tree and cache.

`python -m tests.build.soak_remote [BUILDS] [SEED] [PROCESSES]`. A server (HTTP, S3, gRPC, a folder)
has valid entries and blobs. In each round some entries are forged, some answers are broken, or
both. In good rounds, which may not warn, nothing is. No attack may cause a wrong byte, a failed
build, more than one warning, a traceback, a request to another host, or more than 30 seconds in
total. Some rounds poison entries in ways that builds without a key accept; a later build with the
key may use nothing of that.
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
from tests.build.hostile import QUICK, SLOW, Hostile, Objects
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
    """The result of one build."""

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
            keyed: self._valid_objects(folder / f"written-{keyed}", keyed=keyed)
            for keyed in (False, True)
        }

    def keyed(self) -> dict[str, str]:
        return {"WEBKILN_CACHE_KEY": f"hmac:{self.key}"}

    def build(self, root: Path, environment: Mapping[str, str]) -> Round:
        """Run one build. The digests of the machine's own files are cached."""
        for part, name in (("state", "digests.json"), ("cache", "derived.json")):
            (root / part).mkdir(parents=True, exist_ok=True)
            if (cached := self.folder / "alone" / part / name).is_file() and not (
                root / part / name
            ).exists():
                shutil.copyfile(cached, root / part / name)
        recipe = read_recipe(self.tree.root / "models" / "toy" / "recipe.toml")
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith("WEBKILN")
        }
        output: list[str] = []
        warn.cache_clear()
        start, errors = time.monotonic(), io.StringIO()
        with (
            mock.patch.dict(os.environ, inherited | dict(environment), clear=True),
            mock.patch("webkiln.build.remote.connection.warn", output.append),
            mock.patch("sys.stderr", errors),
            Engine(
                root / "state", cache=root / "cache", shared=self.share, executor=self.pool
            ) as engine,
        ):
            action = ModelGraph(recipe, self.share, PASSES).bundle(Selection(recipe.backends))
            engine.publish(action, "bundle/", root / "bundle")
        files = {
            path.relative_to(root / "bundle").as_posix(): path.read_bytes()
            for path in (root / "bundle").rglob("*")
            if path.is_file()
        }
        return Round(files, tuple(output), time.monotonic() - start, errors.getvalue())

    def _valid_objects(self, root: Path, *, keyed: bool) -> Objects:
        """The files that a build stores in a shared folder, as `ac/KEY` and `cas/DIGEST`."""
        shared = root / "shared"
        shared.mkdir(parents=True)
        self.build(
            root,
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
        objects = dict(self.good[keyed]) if good else self._objects(keyed=keyed, poison=poison)
        traits = {"key": keyed, "poison": poison, "good": good, "slow": slow}
        label = ", ".join([transport, *(name for name, is_set in traits.items() if is_set)])
        description = f"seed {self.seed}, build {number} ({label})"
        with tempfile.TemporaryDirectory(dir=self.folder) as name:
            root = Path(name)
            with self._serve(
                transport, objects, root, slow=slow, broken=not poison and not good
            ) as server_environment:
                result = self.build(root, environment | server_environment)
            self.check(description, result, root, poison=poison, good=good)
            if poison:
                result = self.build(root, self.keyed())
                self.check(
                    f"{description}, and then with the key", result, root, poison=False, good=True
                )

    def check(
        self, description: str, result: Round, root: Path, *, poison: bool, good: bool = False
    ) -> None:
        self.longest = max(self.longest, result.seconds)
        self.counts["builds with a warning" if result.warnings else "builds without one"] += 1
        assert poison or result.files == self.expected, f"{description} published other bytes"
        assert len(result.warnings) <= (0 if good else 1), (
            f"{description} warned {len(result.warnings)} times: {result.warnings}"
        )
        assert all(line.isprintable() for line in result.warnings), (
            f"{description}: {result.warnings!r}"
        )
        assert result.seconds < LONGEST_SECONDS, (
            f"{description} took {result.seconds:.0f} s: {result.warnings}"
        )
        assert "Traceback" not in result.stderr, f"{description}: {result.stderr}"
        bytes_arriving = sum(
            path.stat().st_size for path in (root / "cache" / "arriving").glob("*")
        )
        assert bytes_arriving < 1 << 20, f"{description} left {bytes_arriving} bytes of transfers"

    def _objects(self, *, keyed: bool, poison: bool) -> Objects:
        objects = dict(self.good[keyed])
        names = [name for name in objects if name.startswith("ac/")]
        # Builds request the entries of earlier steps if some are missing.
        for name in self.random.sample(names, self.random.choice((0, 0, 1, 2, len(names) // 2))):
            del objects[name]
        if poison:
            blob = b"export const stolen = true;"
            objects[f"cas/{canonical.digest(blob)}"] = blob
            return {
                name: poisoned(data, blob) if name.startswith("ac/") else data
                for name, data in objects.items()
            }
        share = self.random.choice((0.0, 0.1, 0.5, 1.0))
        kind = self.random.choice(FORGED)
        for name in [*objects]:
            if self.random.random() < share and name.startswith("ac/"):
                objects[name] = self._forged(objects[name], kind, keyed=keyed)
            elif self.random.random() < 0.02:
                del objects[name]
        return objects

    def _forged(self, entry: bytes, kind: str, *, keyed: bool) -> bytes:
        self.counts[f"forged: {kind}"] += 1
        if keyed and self.random.random() < 0.3:
            index = self.random.randrange(len(entry))
            return (
                entry[:index]
                + bytes([entry[index] ^ 1 << self.random.randrange(8)])
                + entry[index + 1 :]
            )
        return forged(entry, kind, self.random)

    @contextmanager
    def _serve(
        self, transport: str, objects: Objects, root: Path, *, slow: bool, broken: bool
    ) -> Iterator[dict[str, str]]:
        """Run the server, and yield the environment of builds that use it."""
        if transport == "folder":
            self._write_files(objects, root / "shared", broken=broken)
            yield {"WEBKILN_REMOTE_CACHE": str(root / "shared")}
            return
        choose = self._chooser(transport, slow=slow, broken=broken)
        server = HostileReapi(choose) if transport == "grpc" else Hostile(choose)
        wrapped = {
            name: wire.wrapped(data, []) if name.startswith("ac/") else data
            for name, data in objects.items()
        }
        server.objects = dict(objects) if transport == "s3" else wrapped
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
            # obstore follows redirects, but without credentials.
            assert not (server.leaks if transport == "s3" else server.visits), (
                "a redirect was followed"
            )

    def _chooser(self, transport: str, *, slow: bool, broken: bool) -> Callable[[str, str], str]:
        faults = [*(RPC if transport == "grpc" else QUICK)]
        patient = [*(RPC_SLOW if transport == "grpc" else SLOW)]
        selected = [self.random.choice(patient)] if slow else self.random.sample(faults, 2)
        share = self.random.choice((0.05, 0.3, 1.0)) if broken else 0.0
        generator = random.Random(self.random.random())

        def choose(method: str, name: str) -> str:
            return generator.choice(selected) if generator.random() < share else ""

        return choose

    def _write_files(self, objects: Objects, root: Path, *, broken: bool) -> None:
        """Write objects as files, some of them as special files."""
        share = self.random.choice((0.0, 0.1, 1.0)) if broken else 0.0
        for name, data in objects.items():
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
    """Returns the number of each event, and the seconds of the longest build. Raises the failure of
    a round.
    """
    with tempfile.TemporaryDirectory() as folder:
        soak_run = Soak(Path(folder), seed)
        try:
            for number in range(builds):
                soak_run.round(number)
        finally:
            soak_run.close()
    return soak_run.counts, soak_run.longest


def main(builds: int, seed: int, processes: int) -> tuple[Counter[str], float]:
    """Like `soak`, in parts of fifty builds, several of them in parallel. Stops at the first
    failure.
    """
    shares = [min(PART, builds - start) for start in range(0, builds, PART)]
    counts, longest, context = Counter[str](), 0.0, multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context) as pool:
        parts = [pool.submit(soak, share, seed + number) for number, share in enumerate(shares)]
        for finished, part in enumerate(as_completed(parts), 1):
            try:
                part_counts, seconds = part.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            counts, longest = counts + part_counts, max(longest, seconds)
            print(f"{finished} of {len(parts)} parts of {PART} builds", file=sys.stderr, flush=True)
    return counts, longest


if __name__ == "__main__":
    count, start, width = (
        int(sys.argv[n]) if len(sys.argv) > n else default
        for n, default in ((1, 1000), (2, 0), (3, 4))
    )
    counts, longest = main(count, start, width)
    print("\n".join(f"{number:7d} {name}" for name, number in sorted(counts.items())))
    print(
        f"{count} builds: no wrong byte, no traceback, at most one warning each; the longest took"
        f" {longest:.1f} s"
    )
