"""Mutation testing: `make mutants`, or `python -m tests.mutants [--count 60] [--seed 1] [--folder
passes] [--without FILE]`.

Changes one operator, number, condition or return of passes/, plan/, weights/ or build/ at a time,
in a copy of the tree, and runs the tests of that module. Prints the surviving mutants and the score
of each folder.
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
EXCLUDED = ("ReplaceBinaryOperator_BitOr_", "_Is", "_IsNot")
"""Mutations of `|` in annotations, and of comparisons into identity comparisons, which are mostly
equivalent.
"""
PATIENCE_SECONDS = 400
"""The timeout of a mutant, several times the duration of a module's tests. A mutant that times out
counts as killed.
"""
TESTS = {
    "passes": ("tests/passes",),
    "plan": ("tests/codegen", "tests/plan"),
    "weights": ("tests/weights",),
}
BUILD = ("engine", "stamps", "closure", "damage", "publish", "digests")
"""Tests of the entire engine, for modules of build/ without tests of the same name."""
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
"""Modules of build/ and their tests, by the suffixes of both names."""


@dataclass(frozen=True)
class Mutant:
    """One change: cosmic-ray's `operator` at its `index`-th position in a module."""

    module: str
    operator: str
    index: int
    line: int

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.operator.rpartition('/')[2]}"


def mutants(folder: str) -> list[Mutant]:
    """All mutants of the modules directly in a folder. Subfolders, which communicate with servers,
    are excluded.
    """
    result = []
    for path in sorted((ROOT / PACKAGE / folder).glob("*.py")):
        nodes = list(ast_nodes(get_ast_from_path(path)))
        for name in sorted(operator_names()):
            operator = get_operator(name)
            if operator.arguments() or EXCLUDED[0] in name or name.endswith(EXCLUDED[1:]):
                continue
            positions = [
                start for node in nodes for start, _ in operator().mutation_positions(node)
            ]
            result += [
                Mutant(f"{folder}/{path.name}", name, index, start[0])
                for index, start in enumerate(positions)
            ]
    return result


def tests_of(module: str, without: Sequence[str]) -> tuple[str, ...]:
    """The files and folders of tests for a module, except those in `without`."""
    folder, name = module.removesuffix(".py").split("/")
    if folder in TESTS:
        paths: tuple[str, ...] = TESTS[folder]
    else:
        same_name = (name,) if (ROOT / "tests" / "build" / f"test_{name}.py").is_file() else ()
        paths = tuple(
            f"tests/build/test_{item}.py"
            for item in (*same_name, *NAMED.get(f"{folder}/{name}", () if same_name else BUILD))
        )
    return tuple(path for path in paths if path not in without)


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


def copy_tree(folder: Path) -> Path:
    """Copy the files that git tracks or would add into a folder, and return it."""
    process = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, process.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def begin(scratch: str) -> None:
    """Give this process its own copy of the tree as working directory."""
    folder = copy_tree(Path(tempfile.mkdtemp(dir=scratch)))
    os.chdir(folder)
    os.environ["PYTHONPATH"] = str(folder / "pipeline")


def failure_output(tests: tuple[str, ...], without: Sequence[str]) -> str:
    """The output of the tests if they fail on the unchanged code, otherwise ""."""
    process = subprocess.run(
        shlex.split(command(tests, without)), capture_output=True, text=True, check=False
    )
    return process.stdout[-2000:] if process.returncode else ""


def outcome(mutant: Mutant, without: Sequence[str]) -> tuple[Mutant, str]:
    spec = MutationSpec(
        PACKAGE / mutant.module, mutant.operator, mutant.index, (mutant.line, 0), (mutant.line, 1)
    )
    result = mutate_and_test(
        [spec], command(tests_of(mutant.module, without), without), PATIENCE_SECONDS
    )
    if result.test_outcome is None or result.test_outcome == TestOutcome.INCOMPETENT:
        return mutant, "not tried"
    return mutant, "survived" if result.test_outcome == TestOutcome.SURVIVED else "killed"


def draw(folders: Sequence[str], count: int, seed: int) -> Iterator[Mutant]:
    """The same number of mutants of each folder, reproducible by seed. Mutants of one kind in the
    same line count as one, so that an addition is no likelier than a return.
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
    selected = list(draw(folders, options.count, options.seed))
    tally: Counter[tuple[str, str]] = Counter()
    with (
        tempfile.TemporaryDirectory(prefix="webkiln-mutants-") as scratch,
        ProcessPoolExecutor(options.processes, initializer=begin, initargs=(scratch,)) as pool,
    ):
        sets = sorted({tests_of(mutant.module, options.without) for mutant in selected})
        for tests, printed in zip(
            sets, pool.map(failure_output, sets, [options.without] * len(sets)), strict=True
        ):
            if printed:
                print(f"{' '.join(tests)} fails as the code is:\n{printed}", file=sys.stderr)
                return 1
        for mutant, result in pool.map(outcome, selected, [options.without] * len(selected)):
            tally[mutant.module.partition("/")[0], result] += 1
            print(f"{result:10} {mutant}", flush=True)
    for folder in folders:
        killed, survived = tally[folder, "killed"], tally[folder, "survived"]
        print(f"{folder}: {killed} of {killed + survived} killed")
    killed, survived = (
        sum(count for (_, result), count in tally.items() if result == outcome_name)
        for outcome_name in ("killed", "survived")
    )
    print(f"all: {killed} of {killed + survived} killed, {killed / max(killed + survived, 1):.0%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
