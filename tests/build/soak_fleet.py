"""Builds by a fleet whose machines fail at random: each must end well, with the bytes of a build
alone.

`python -m tests.build.soak_fleet [BUILDS] [SEED]`. Most builds are of one to three toys, 15 steps
each; every fiftieth is of forty, 600 steps. While a build runs workers are killed, stopped in
order, paused, added and replaced by those of another version, and the scheduler is killed and
started again at its address. A build may print no traceback, ends with status 0, and does no step
again but those that machines were at when they failed. A step is its stage, its parameters and the
bytes of its inputs. Two toys may need the same step, which two machines may do at the same time: a
step was done again if it ran more often than there are toys that need it.
"""

import itertools
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.build.fleets import FleetWorker, start_worker
from tests.build.remotes import free_port, started
from tests.build.rounds import main, run_rounds
from tests.build.tree import Tree, checkout, executed

STEPS = 15
"""The steps of one toy."""
CHAIN = 9
"""The number of them that a worker may run together."""
SIZES = (1, 1, 2, 3)
BIG, BIG_EVERY = 40, 50
WORKERS = 3
MOST_WORKERS = 5
PATIENCE_SECONDS = 4.0
NAP_SECONDS = 0.04
LONGEST_SECONDS = 300.0
NAP = """def run(inputs, outputs, params):
    import hashlib, json, os, pathlib, time
    files = {{}}
    for role, given in inputs.items():
        place = pathlib.Path(given)
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                files[f"{{role}}/{{path.relative_to(place)}}"] = digest
    what = json.dumps([files, params], sort_keys=True, default=str)
    with open({!r}, "a") as file:
        file.write(os.path.basename(__file__) + " "
          + hashlib.sha256(what.encode()).hexdigest() + "\\n")
    time.sleep({})
"""
"""Logs which step runs, then sleeps."""


class Machines:
    """A scheduler, and workers that come and go."""

    def __init__(self, folder: Path, good: Tree, other: Tree, shared: Path, seed: int) -> None:
        self.folder, self.good, self.other, self.shared = folder, good, other, shared
        self.random = random.Random(seed)
        self.port = free_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: dict[FleetWorker, bool] = {}
        self.numbers = itertools.count()
        self.scheduling = ExitStack()
        self.schedule()

    def schedule(self) -> None:
        command = [
            sys.executable,
            "-m",
            "distributed.cli.dask_scheduler",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--no-dashboard",
        ]
        self.scheduler = self.scheduling.enter_context(started(command, self.port, self.folder))

    def add(self, *, fitting: bool = True) -> FleetWorker:
        tree = self.good if fitting else self.other
        worker = start_worker(
            self.address,
            Tree(tree.root, self.folder / f"cache-of-{next(self.numbers)}", ""),
            str(self.shared),
            processors=1,
        )
        self.workers[worker] = fitting
        return worker

    def restore(self) -> None:
        """Start workers that can run every step, if there are too few, before a build begins."""
        for worker, fitting in [*self.workers.items()]:
            worker.process.send_signal(signal.SIGCONT)
            if worker.process.poll() is not None or not fitting:
                self.end(worker)
        while len(self.workers) < WORKERS:
            self.add()

    def end(self, worker: FleetWorker) -> None:
        worker.process.kill()
        worker.process.wait()
        self.workers.pop(worker, None)

    def one(self) -> FleetWorker | None:
        found = [worker for worker in self.workers if worker.process.poll() is None]
        return self.random.choice(found) if found else None

    def kill(self) -> int:
        if (worker := self.one()) is not None:
            self.end(worker)
        return 1

    def stop(self) -> int:
        if (worker := self.one()) is not None:
            worker.process.terminate()
        return 1

    def pause(self) -> int:
        """Pause it for a moment, or for longer than a timeout."""
        if (worker := self.one()) is not None:
            worker.process.send_signal(signal.SIGSTOP)
            time.sleep(self.random.uniform(0.1, 1.6 * PATIENCE_SECONDS))
            worker.process.send_signal(signal.SIGCONT)
        return 1

    def grow(self) -> int:
        if len(self.workers) < MOST_WORKERS:
            self.add()
        return 0

    def replace(self) -> int:
        """Replace it by one of another version."""
        self.kill()
        if len(self.workers) < MOST_WORKERS:
            self.add(fitting=False)
        return 1

    def reschedule(self) -> int:
        """Kill it, or let it shut down in order."""
        if self.random.random() < 0.5:
            self.scheduler.kill()
        self.scheduling.close()
        time.sleep(self.random.uniform(0, 2.0))
        self.schedule()
        return len(self.workers)

    @property
    def troubles(self) -> tuple[Callable[[], int], ...]:
        """The possible events. Each returns how many workers may have lost their steps."""
        return (self.kill, self.stop, self.pause, self.grow, self.replace, self.reschedule)

    def close(self) -> None:
        for worker in [*self.workers]:
            self.end(worker)
        self.scheduling.close()


class Soak:
    def __init__(self, folder: Path, seed: int, big: int) -> None:
        self.random, self.seed, self.folder = random.Random(seed), seed, folder
        self.ran = folder / "ran"
        self.tree, self.other = (self.checkout(folder / name) for name in ("tree", "other"))
        self.other.edit("stages/pack.py", "def run(", "import sys\n\n\ndef run(")
        self.models = [f"toy{number}" for number in range(max(big, *SIZES))]
        shutil.move(self.tree.root / "models" / "toy", folder / "toy")
        for number, name in enumerate(self.models):
            shutil.copytree(folder / "toy", self.tree.root / "models" / name)
            self.tree.edit(f"models/{name}/model.json", "0.25", f"0.25{number}")
        self.big = big
        self.counts: Counter[str] = Counter()
        self.before = 0
        self.shared = folder / "shared"
        self.shared.mkdir()
        self.known: dict[str, tuple[dict[str, bytes], Counter[str]]] = {}
        self.machines = Machines(folder, self.tree, self.other, self.shared, seed)

    def checkout(self, root: Path) -> Tree:
        tree = checkout(root, root.with_name(f"{root.name}-cache"), toy=True)
        for stage in (root / "stages").iterdir():
            tree.edit(
                f"stages/{stage.name}",
                "def run(inputs, outputs, params):\n",
                NAP.format(str(self.ran), NAP_SECONDS),
            )
        tree.edit(
            "pipeline/webkiln/build/fleet/scheduler.py",
            "PATIENCE_SECONDS = 15.0",
            f"PATIENCE_SECONDS = {PATIENCE_SECONDS}",
        )
        return tree

    def round(self, number: int) -> None:
        size = self.big if number % BIG_EVERY == BIG_EVERY - 1 else self.random.choice(SIZES)
        expected, steps = self.alone(self.models[:size])
        self.machines.restore()
        # Shared results are deleted, so that every step runs.
        shutil.rmtree(self.shared / "ac", ignore_errors=True)
        process = self.begun(
            self.models[:size],
            f"cache{number}",
            WEBKILN_EXECUTOR=self.machines.address,
            WEBKILN_REMOTE_CACHE=str(self.shared),
            WEBKILN_CACHE_WRITE="1",
        )
        events: Counter[str] = Counter()
        lost = 0
        ending = threading.Timer(LONGEST_SECONDS, process.kill)
        ending.start()
        moments = sorted(
            self.random.randrange(size * STEPS)
            for _ in range(max(self.random.randint(1, 2), size // 4))
        )
        for moment in moments:
            while process.poll() is None and len(self.tree.log()) <= moment:
                time.sleep(0.02)
            if process.poll() is None:
                trouble = self.random.choice(self.machines.troubles)
                lost += trouble()
                events[trouble.__name__] += 1
        output, _ = process.communicate()
        ending.cancel()
        what = f"seed {self.seed}, build {number} of {size} toys ({', '.join(events.elements())})"
        assert process.returncode == 0, f"{what} ended with status {process.returncode}:\n{output}"
        assert "Traceback" not in output, f"{what}:\n{output}"
        assert self.files() == expected, f"{what} published other bytes"
        lost, self.before = (
            lost + self.before,
            lost,
        )  # a paused worker may continue its earlier step
        again = sum(count - 1 for count in executed(self.tree.log()).values())
        assert again <= lost * CHAIN, f"{what} began {again} steps again:\n{output}"
        ran = self.ran_steps()
        repeated = (ran - steps).total()
        assert repeated <= lost * CHAIN, (
            f"{what} ran {repeated} steps again, though {lost} workers were disturbed:\n{output}"
        )
        assert not steps.keys() - ran.keys(), (
            f"{what} ran no step of these: {steps.keys() - ran.keys()}"
        )
        self.counts += events + Counter(
            {
                "builds": 1,
                "steps": steps.total(),
                "steps run again": repeated,
                "warnings": output.count("warning:"),
            }
        )
        shutil.rmtree(self.folder / f"cache{number}")

    def alone(self, models: Sequence[str]) -> tuple[dict[str, bytes], Counter[str]]:
        """The bundles that one machine publishes of these toys, and the sum of the steps that it
        runs.
        """
        expected: dict[str, bytes] = {}
        steps: Counter[str] = Counter()
        for model in models:
            if model not in self.known:
                process = self.begun([model], f"alone-{model}")
                output, _ = process.communicate()
                assert process.returncode == 0, output
                self.known[model] = self.files(), self.ran_steps()
            expected |= self.known[model][0]
            steps += self.known[model][1]
        return expected, steps

    def ran_steps(self) -> Counter[str]:
        """How often each step has run since the last build began."""
        return Counter(self.ran.read_text().splitlines())

    def begun(self, models: Sequence[str], cache: str, **environment: str) -> subprocess.Popen[str]:
        """A build of some toys by a user who has built nothing yet."""
        self.tree.wipe()
        self.ran.write_text("")
        (self.folder / cache).mkdir()
        shutil.copy(self.tree.cache / "derived.json", self.folder / cache)
        return subprocess.Popen(
            self.tree.command("build", f"model={','.join(models)}"),
            cwd=self.tree.root,
            env=self.tree.environment(**environment, WEBKILN_CACHE=str(self.folder / cache)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def files(self) -> dict[str, bytes]:
        dist = self.tree.root / "dist"
        return {
            path.relative_to(dist).as_posix(): path.read_bytes()
            for path in dist.rglob("*")
            if path.is_file()
        }


def soak(folder: Path, builds: int, seed: int, big: int = BIG) -> Counter[str]:
    """The number of each event. AssertionError names a difference."""
    made = Soak(folder, seed, big)
    try:
        return run_rounds(made, builds)
    finally:
        made.machines.close()


if __name__ == "__main__":
    main(soak)
