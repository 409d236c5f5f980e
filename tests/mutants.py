"""How many small mistakes the tests see: `make mutants`, or `python -m tests.mutants [--count 60]
[--seed 1] [--folder passes] [--without FILE]`.

Changes one operator, number, condition or return of passes/, plan/, weights/ or build/ at a time,
in a copy of the tree, and runs the tests that matter for that module. Prints what survived, and the
score of each folder.
"""

import argparse
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec, TestOutcome

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = Path("pipeline/webkiln")
FOLDERS = ("passes", "plan", "weights", "build")
LEFT_OUT = ("ReplaceBinaryOperator_BitOr_", "_Is", "_IsNot")
"""Changes of types in annotations, and of comparisons into ones that only identity tells from them.
"""
PATIENCE_SECONDS = 400
"""After so long, which is several times what the tests of a module take, a defect counts as found:
it made them hang.
"""
TESTS = {
    "passes": ("tests/passes",),
    "plan": ("tests/codegen", "tests/plan"),
    "weights": ("tests/weights",),
}
BUILD = ("engine", "stamps", "closure", "damage", "publish", "digests")
"""Tests of the whole engine, for modules of build/ that have none of their own name."""
NAMED = {
    "build/build_log": ("doit_questions", "progress"),
    "build/cache": ("engine", "damage", "read_only"),
    "build/consumption": ("doit_questions", "engine"),
    "build/doit_commands": ("doit", "doit_questions"),
    "build/doit_run": ("doit", "doit_questions"),
    "build/doit_task": ("doit", "doit_questions"),
    "build/engine": ("stamps", "doit_questions"),
    "build/execution": ("engine", "damage"),
    "build/executor": ("engine", "scratch"),
    "build/file_stamps": ("digests", "discovered_inputs"),
    "build/graph": ("engine", "incremental"),
    "build/keys": ("engine", "closure"),
    "build/lookup": ("stamps", "doit_questions"),
    "build/reads": ("discovered_inputs", "digests"),
    "build/reporter": ("doit", "doit_questions"),
    "build/runner": ("engine", "damage"),
    "build/session": ("doit", "doit_questions"),
    "build/share": ("closure", "engine"),
    "build/source_imports": ("closure",),
    "build/store": ("engine", "damage", "read_only"),
    "build/tools": ("environment", "command_line"),
    "build/why": ("doit_questions",),
}
"""Modules of build/ and their tests, by the ends of the names of both."""


@dataclass(frozen=True)
class Mutant:
    """One change: `operator` of cosmic-ray at its nth place in a module."""

    module: str
    operator: str
    place: int
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.operator.rpartition('/')[2]}"


def mutants(folder: str) -> list[Mutant]:
    """All that can be made of a folder's modules; those of subfolders, which talk to servers, are
    left out.
    """
    found = []
    for path in sorted((ROOT / PACKAGE / folder).glob("*.py")):
        nodes = list(ast_nodes(get_ast_from_path(path)))
        for name in sorted(operator_names()):
            operator = get_operator(name)
            if operator.arguments() or LEFT_OUT[0] in name or name.endswith(LEFT_OUT[1:]):
                continue
            places = [start for node in nodes for start, _ in operator().mutation_positions(node)]
            found += [
                Mutant(f"{folder}/{path.name}", name, place, start[0])
                for place, start in enumerate(places)
            ]
    return found


def tests_of(module: str, without: Sequence[str]) -> tuple[str, ...]:
    """The files and folders of tests that matter for a module, those that are left out not among
    them.
    """
    folder, name = module.removesuffix(".py").split("/")
    if folder in TESTS:
        listed: tuple[str, ...] = TESTS[folder]
    else:
        own = (name,) if (ROOT / "tests" / "build" / f"test_{name}.py").is_file() else ()
        listed = tuple(
            f"tests/build/test_{item}.py"
            for item in (*own, *NAMED.get(f"{folder}/{name}", () if own else BUILD))
        )
    return tuple(path for path in listed if path not in without)


def command(tests: Sequence[str], without: Sequence[str]) -> str:
    ignored = [f"--ignore={path}" for path in without]
    return shlex.join(
        [
            sys.executable,
            "-m",
            "pytest",
            "-n0",
            "-x",
            "-q",
            "-p",
            "no:cacheprovider",
            *ignored,
            *tests,
        ]
    )


def copied(folder: Path) -> Path:
    """What git knows of the tree, in a folder."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def begin(scratch: str) -> None:
    """Give this process its own copy, which it works in."""
    folder = copied(Path(tempfile.mkdtemp(dir=scratch)))
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder / "pipeline")


def passing(tests: tuple[str, ...], without: Sequence[str]) -> str:
    """What the tests print if they fail as the code is; nothing where they pass."""
    done = subprocess.run(
        shlex.split(command(tests, without)), capture_output=True, text=True, check=False
    )
    return done.stdout[-2000:] if done.returncode else ""


def outcome(mutant: Mutant, without: Sequence[str]) -> tuple[Mutant, str]:
    spec = MutationSpec(
        PACKAGE / mutant.module, mutant.operator, mutant.place, (mutant.line, 0), (mutant.line, 1)
    )
    result = mutate_and_test(
        [spec], command(tests_of(mutant.module, without), without), PATIENCE_SECONDS
    )
    if result.test_outcome is None or result.test_outcome == TestOutcome.INCOMPETENT:
        return mutant, "not tried"
    return mutant, "survived" if result.test_outcome == TestOutcome.SURVIVED else "killed"


def drawn(folders: Sequence[str], count: int, seed: int) -> Iterator[Mutant]:
    """As many of each folder, the same for the same seed. Of what can become many others in a line,
    one: an addition is no likelier than a return.
    """
    for folder in folders:
        r = random.Random(f"{seed} {folder}")
        kinds: dict[tuple[str, int, str], list[Mutant]] = {}
        for mutant in mutants(folder):
            kinds.setdefault(
                (mutant.module, mutant.line, mutant.operator.partition("_")[0]), []
            ).append(mutant)
        yield from (
            r.choice(kinds[kind]) for kind in r.sample(sorted(kinds), count // len(folders))
        )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--folder", action="append", choices=FOLDERS, help="default: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--without", action="append", default=[], metavar="FILE", help="leave these tests out"
    )
    options = parser.parse_args()
    folders = options.folder or FOLDERS
    chosen = list(drawn(folders, options.count, options.seed))
    tally: Counter[tuple[str, str]] = Counter()
    with (
        tempfile.TemporaryDirectory(prefix="webkiln-mutants-") as scratch,
        ProcessPoolExecutor(options.processes, initializer=begin, initargs=(scratch,)) as pool,
    ):
        sets = sorted({tests_of(mutant.module, options.without) for mutant in chosen})
        for tests, printed in zip(
            sets, pool.map(passing, sets, [options.without] * len(sets)), strict=True
        ):
            if printed:
                print(f"{' '.join(tests)} fails as the code is:\n{printed}", file=sys.stderr)
                return 1
        for mutant, result in pool.map(outcome, chosen, [options.without] * len(chosen)):
            tally[mutant.module.partition("/")[0], result] += 1
            print(f"{result:10} {mutant}", flush=True)
    for folder in folders:
        killed, survived = tally[folder, "killed"], tally[folder, "survived"]
        print(f"{folder}: {killed} of {killed + survived} killed")
    killed, survived = (
        sum(count for (_, what), count in tally.items() if what == wanted)
        for wanted in ("killed", "survived")
    )
    print(f"all: {killed} of {killed + survived} killed, {killed / max(killed + survived, 1):.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
