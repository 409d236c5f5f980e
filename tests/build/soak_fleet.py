"""Builds by a fleet whose machines fail at random. Each build must succeed with the bytes of a
build on one machine.

`python -m tests.build.soak_fleet [BUILDS] [SEED]`. Most builds are of one to three toys with 15
steps each; every fiftieth is of forty toys with 600 steps. During a build workers are killed,
terminated, paused, added, and replaced by workers of another version. The scheduler is killed and
restarted at its address. A build may print no traceback, exits with status 0, and repeats only
steps that failing machines were running. A step is its stage, its parameters and the bytes of its
inputs. Two toys may need the same step, which two machines may run concurrently: a step is repeated
if it ran more often than the number of toys that need it.
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
from tests.build.remotes import free_port, run_server
from tests.build.rounds import main, run_rounds
from tests.build.tree import Tree, checkout, executed

STEPS = 15
"""The steps of one toy."""
CHAIN = 9
"""The number of steps that a worker may run in one request."""
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
    for role, source in inputs.items():
        root = pathlib.Path(source)
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.is_file():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                files[f"{{role}}/{{path.relative_to(root)}}"] = digest
    state = json.dumps([files, params], sort_keys=True, default=str)
    with open({!r}, "a") as file:
        file.write(os.path.basename(__file__) + " "
          + hashlib.sha256(state.encode()).hexdigest() + "\\n")
    time.sleep({})
"""
"""Logs the running step, then sleeps."""


class Machines:
    """A scheduler, and a varying set of workers."""

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
        self.scheduler = self.scheduling.enter_context(run_server(command, self.port, self.folder))

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
        """Before a build, start workers that can run every step if there are too few."""
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

    def pick(self) -> FleetWorker | None:
        running = [worker for worker in self.workers if worker.process.poll() is None]
        return self.random.choice(running) if running else None

    def kill(self) -> int:
        if (worker := self.pick()) is not None:
            self.end(worker)
        return 1

    def stop(self) -> int:
        if (worker := self.pick()) is not None:
            worker.process.terminate()
        return 1

    def pause(self) -> int:
        """Pause a worker for a moment, or for longer than a timeout."""
        if (worker := self.pick()) is not None:
            worker.process.send_signal(signal.SIGSTOP)
            time.sleep(self.random.uniform(0.1, 1.6 * PATIENCE_SECONDS))
            worker.process.send_signal(signal.SIGCONT)
        return 1

    def grow(self) -> int:
        if len(self.workers) < MOST_WORKERS:
            self.add()
        return 0

    def replace(self) -> int:
        """Replace a worker by one of another version."""
        self.kill()
        if len(self.workers) < MOST_WORKERS:
            self.add(fitting=False)
        return 1

    def reschedule(self) -> int:
        """Kill the scheduler or shut it down, and restart it."""
        if self.random.random() < 0.5:
            self.scheduler.kill()
        self.scheduling.close()
        time.sleep(self.random.uniform(0, 2.0))
        self.schedule()
        return len(self.workers)

    @property
    def troubles(self) -> tuple[Callable[[], int], ...]:
        """The possible events. Each returns the number of workers that may have
        lost their steps.
        """
        return (self.kill, self.stop, self.pause, self.grow, self.replace, self.reschedule)

    def close(self) -> None:
        for worker in [*self.workers]:
            self.end(worker)
        self.scheduling.close()


class Soak:
    def __init__(self, folder: Path, seed: int, big: int) -> None:
        self.random, self.seed, self.folder = random.Random(seed), seed, folder
        self.step_log = folder / "step-log"
        self.tree, self.other = (self.checkout(folder / name) for name in ("tree", "other"))
        self.other.edit("stages/pack.py", "def run(", "import sys\n\n\ndef run(")
        self.models = [f"toy{number}" for number in range(max(big, *SIZES))]
        shutil.move(self.tree.root / "models" / "toy", folder / "toy")
        for number, name in enumerate(self.models):
            shutil.copytree(folder / "toy", self.tree.root / "models" / name)
            self.tree.edit(f"models/{name}/model.json", "0.25", f"0.25{number}")
        self.big = big
        self.counts: Counter[str] = Counter()
        self.lost_before = 0
        self.shared = folder / "shared"
        self.shared.mkdir()
        self.alone_results: dict[str, tuple[dict[str, bytes], Counter[str]]] = {}
        self.machines = Machines(folder, self.tree, self.other, self.shared, seed)

    def checkout(self, root: Path) -> Tree:
        tree = checkout(root, root.with_name(f"{root.name}-cache"), toy=True)
        for stage in (root / "stages").iterdir():
            tree.edit(
                f"stages/{stage.name}",
                "def run(inputs, outputs, params):\n",
                NAP.format(str(self.step_log), NAP_SECONDS),
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
        # Without shared results every step runs.
        shutil.rmtree(self.shared / "ac", ignore_errors=True)
        process = self.start_build(
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
        description = (
            f"seed {self.seed}, build {number} of {size} toys ({', '.join(events.elements())})"
        )
        assert process.returncode == 0, (
            f"{description} ended with status {process.returncode}:\n{output}"
        )
        assert "Traceback" not in output, f"{description}:\n{output}"
        assert self.files() == expected, f"{description} published other bytes"
        # a paused worker may continue its earlier step
        lost, self.lost_before = lost + self.lost_before, lost
        restarted = sum(count - 1 for count in executed(self.tree.log()).values())
        assert restarted <= lost * CHAIN, f"{description} restarted {restarted} steps:\n{output}"
        step_log = self.ran_steps()
        repeated = (step_log - steps).total()
        assert repeated <= lost * CHAIN, (
            f"{description} repeated {repeated} steps, though {lost} workers were"
            f" disturbed:\n{output}"
        )
        assert not steps.keys() - step_log.keys(), (
            f"{description} did not run these steps: {steps.keys() - step_log.keys()}"
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
        """The bundles of these toys from one machine, and the total of the steps that it runs."""
        expected: dict[str, bytes] = {}
        steps: Counter[str] = Counter()
        for model in models:
            if model not in self.alone_results:
                process = self.start_build([model], f"alone-{model}")
                output, _ = process.communicate()
                assert process.returncode == 0, output
                self.alone_results[model] = self.files(), self.ran_steps()
            expected |= self.alone_results[model][0]
            steps += self.alone_results[model][1]
        return expected, steps

    def ran_steps(self) -> Counter[str]:
        """The number of runs of each step since the last build started."""
        return Counter(self.step_log.read_text().splitlines())

    def start_build(
        self, models: Sequence[str], cache: str, **environment: str
    ) -> subprocess.Popen[str]:
        """Start a build of some toys with an empty cache."""
        self.tree.wipe()
        self.step_log.write_text("")
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
    """Returns the number of each event. Raises AssertionError for a difference."""
    soak_run = Soak(folder, seed, big)
    try:
        return run_rounds(soak_run, builds)
    finally:
        soak_run.machines.close()


if __name__ == "__main__":
    main(soak)
