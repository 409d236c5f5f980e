"""Fuzzing of model files: each mutated file is read and compiled within limits, in a separate
process.

A format has three functions. `make(seed, folder)` writes a mutated file and returns a description
of the mutation. `attempt(folder, phase)` reads and compiles the file. `judge(folder)` returns the
reason why an accepted file should have been rejected, if any. While `phase` is `checking`, the
process represents a probe, which may crash: the file then counts as refused.

`python -m tests.fuzz.files FORMAT [number] [--seed first] [--keep FOLDER]` tries mutated files of a
format of `tests/fuzz/<format>_files.py`; `--keep` only writes the file of the first seed. Files
that need much time or memory (`hostile_<format>.py`) come first.
"""

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.conformance.bulk import optimised
from tests.programs import program, write_code
from webkiln.backends.table import REGISTRY
from webkiln.codegen.templates import Templates
from webkiln.errors import InternalError, UserError
from webkiln.frontends.core.arrays import expansion_limit
from webkiln.ir.graph import Graph
from webkiln.ops.budget import limited
from webkiln.ops.evaluate import ConstantValues
from webkiln.weights.shards import pieces, stored, write

TEMPLATES = Templates(Path(__file__).resolve().parents[2])

CPU_S = 20
MEMORY_BYTES = 2 << 30
EXTREME = (
    b"\xff" * 9 + b"\x01",
    b"\x00",
    b"\x7f",
    b"\x80\x80\x80\x80\x08",
    b"\xff\xff\xff\xff\x07",
)
FINDINGS = ("traceback", "internal", "hang", "crash", "memory", "judged")


@dataclass(frozen=True)
class Format:
    make: Callable[[int, Path], str]
    attempt: Callable[[Path, Callable[[str], None]], None]
    judge: Callable[[Path], str | None]


@dataclass(frozen=True)
class Outcome:
    """`kind` is accepted, refused or one of FINDINGS."""

    seed: int
    mutation: str
    kind: str
    text: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind in FINDINGS


def outcome(form: Format, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mutation = form.make(seed, folder)
        log = folder / "log"
        log.touch()
        begin = time.monotonic()
        process = os.fork()
        if not process:
            os._exit(_inside(form, folder, log))
        _, status, usage = os.wait4(process, 0)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        phase, *_ = [line["phase"] for line in reversed(lines) if "phase" in line] or ["checking"]
        last = next((line for line in lines if "kind" in line), None)
        if last is not None:
            kind, text = last["kind"], last["text"]
        else:
            signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            kind = "hang" if signalled in (signal.SIGXCPU, signal.SIGKILL) else "crash"
            text = (
                f"{phase}: signal {signalled}, {usage.ru_utime + usage.ru_stime:.1f} s of CPU,"
                f" {time.monotonic() - begin:.1f} s"
            )
        if phase == "checking" and kind in ("hang", "crash", "memory"):
            kind = "refused"
        return Outcome(seed, mutation, kind, text)


def _inside(form: Format, folder: Path, log: Path) -> int:
    """Run in the child process: write one line of JSON for each phase, and one for the outcome."""
    with log.open("a") as file, Path(os.devnull).open("w") as devnull:
        os.dup2(devnull.fileno(), 1)
        os.dup2(devnull.fileno(), 2)

        def say(**line: str) -> None:
            file.write(f"{json.dumps(line)}\n")
            file.flush()

        resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
        before = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (before + MEMORY_BYTES, before + MEMORY_BYTES))
        try:
            with expansion_limit(
                sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
            ):
                form.attempt(folder, lambda phase: say(phase=phase))
            wrong = form.judge(folder)
            say(kind="judged" if wrong else "accepted", text=wrong or "")
        except InternalError:
            say(kind="internal", text=traceback.format_exc())
        except UserError as error:
            say(kind="refused", text=str(error))
        except MemoryError:
            say(kind="memory", text=traceback.format_exc())
        except BaseException:  # noqa: BLE001 (any exception is a finding)
            say(kind="traceback", text=traceback.format_exc())
        return 0


def outcomes(form: Format, seeds: range) -> Iterator[Outcome]:
    """Yield outcomes in the order of the seeds, with one process per processor."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda seed: outcome(form, seed), seeds)


def compile_and_pack(graph: Graph, phase: Callable[[str], None]) -> None:
    """Optimise, print the program of js, and evaluate and encode the weights, like the stages of a
    build.
    """
    phase("optimising")
    slots = graph.weights
    changed = optimised(graph)
    phase("printing")
    with tempfile.TemporaryDirectory() as folder:
        write_code(program(changed, REGISTRY["js"], "float32"), TEMPLATES, Path(folder) / "code")
    phase("packing")
    weights = stored(changed)
    with limited(sum(value.nbytes for value in slots.values())):
        values = ConstantValues(changed, slots.__getitem__, [weight.name for weight in weights])
        for _ in write(pieces(weights, "float32"), values):
            pass


def mutate_bytes(rng: random.Random, data: bytes) -> bytes:
    """Change bits, lengths and entire pieces of a file, which must not be empty."""
    result = bytearray(data)
    start, end = sorted(rng.choices(range(len(result) + 1), k=2))
    match rng.choice(["flip", "early", "cut", "drop", "repeat", "random", "length"]):
        case "flip":
            for _ in range(rng.randint(1, 6)):
                result[rng.randrange(len(result))] ^= 1 << rng.randrange(8)
        case "early":
            result[rng.randrange(min(60, len(result)))] ^= 1 << rng.randrange(8)
        case "cut":
            del result[start:]
        case "drop":
            del result[start : min(end, start + 20)]
        case "repeat":
            result[start:start] = result[start : start + 30]
        case "random":
            result[start : start + 4] = rng.randbytes(4)
        case "length":
            result[start : start + 1] = rng.choice(EXTREME)
    return bytes(result)


def hostile(name: str) -> dict[str, Format]:
    """The small files of `hostile_<format>.py` that need much time or memory, by name."""
    if not Path(__file__).with_name(f"hostile_{name}.py").exists():
        return {}
    module, form = (
        import_module(f"tests.fuzz.hostile_{name}"),
        import_module(f"tests.fuzz.{name}_files").FORMAT,
    )

    def format_of(source: Callable[[], object]) -> Format:
        return Format(
            lambda _, folder: f"{source.__name__}, {module.write(source, folder)}",
            form.attempt,
            lambda folder: None,
        )

    return {source.__name__: format_of(source) for source in module.HOSTILE}


def try_all(form: Format, number: int, first: int = 0, extra: Iterable[Format] = ()) -> int:
    """Print the findings and a summary; return the exit status."""
    kinds: Counter[str] = Counter()
    for result in (
        *(outcome(one, 0) for one in extra),
        *outcomes(form, range(first, first + number)),
    ):
        kinds[result.kind] += 1
        if result.is_finding:
            print(
                f"seed {result.seed}: {result.mutation}: {result.kind}\n{result.text}", flush=True
            )
        if sum(kinds.values()) % 500 == 0:
            print(dict(kinds), file=sys.stderr, flush=True)
    print(f"{kinds.total()} files: {dict(kinds)}")
    return int(any(kinds[kind] for kind in FINDINGS))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "format",
        choices=sorted(
            path.stem.removesuffix("_files") for path in Path(__file__).parent.glob("*_files.py")
        ),
    )
    parser.add_argument("number", nargs="?", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    module = import_module(f"tests.fuzz.{options.format}_files")
    module.originals()
    if options.keep:
        print(keep(module.FORMAT, options.seed, options.keep))
        return 0
    return try_all(module.FORMAT, options.number, options.seed, hostile(options.format).values())


def keep(form: Format, seed: int, folder: Path) -> str:
    """Write the file of a seed, for inspection."""
    with suppress(FileExistsError):
        folder.mkdir(parents=True)
    return form.make(seed, folder)


if __name__ == "__main__":
    sys.exit(main())
