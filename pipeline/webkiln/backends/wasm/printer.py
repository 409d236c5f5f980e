"""The sources of the wasm backend: a C file for each kernel and procedure, one that calls them, and
a small ES module.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from webkiln.codegen import c, wasm_memory
from webkiln.codegen.sources import Sources, sources_of
from webkiln.codegen.steps import (
    Language,
    counters,
    data_dependent,
    flops,
    parameters,
    runtime_literal,
    size,
    steps,
    work,
)
from webkiln.codegen.templates import Templates
from webkiln.errors import ToolError
from webkiln.ir.dim import all_known, is_symbolic
from webkiln.nest.custom_kernel import CustomKernel
from webkiln.nest.procedure import Procedure
from webkiln.plan.kernel import Kernel

DATA = (
    "kernels/*.c",
    "kernels/*.c.jinja",
    "kernels/program.wasm.js.jinja",
    "kernels/intrinsics.js",
)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Which launches are divided among threads, and which kernels are called before any run."""

    shared: int = 200_000
    """Operations or bytes of a launch beyond which waking another thread, which takes some
    microseconds, pays.
    """
    short: int = 30_000_000
    """Operations of a run that ends before another thread has woken up."""
    turns: int = 3000
    """Calls of a kernel on empty loops after which engines optimise it, while weights arrive
    instead of during the first run. V8 counts the bytes of code that returned, up to some millions.
    """
    cold: float = 0.005
    """The share of a program's operations and bytes below which warming up a kernel does not pay.
    """


def write(
    program: dict[str, Any],
    templates: Templates,
    folder: Path,
    thresholds: Thresholds = Thresholds(),
) -> None:
    sources = sources_of(program)
    functions = _functions(sources, templates)
    (folder / "kernels").mkdir()
    for name, text in functions.items():
        (folder / "kernels" / f"{name}.c").write_text(text)
    total = flops(program["main"])
    short = not is_symbolic(total) and total < thresholds.short
    hot = [] if short else _hot_kernels(program["main"], thresholds.cold)
    warmed = [_warm_up_call(name, sources.kernels[name]) for name in hot if name in sources.kernels]
    calls = _Calls(None if short else thresholds.shared)
    language = Language(
        counter="",
        launch=calls.launch,
        copy="__builtin_memcpy(m + {target}, m + {source}, {bytes});",
        host=lambda entry: calls.call(entry["host"], entry),
        flag="*(unsigned char *)(m + {place})",
        mark="wk_mark({site});",
    )
    main = steps(program["main"], language)
    main_text = templates.render(
        "main.c",
        kernels=[_declared(name, sources) for name in functions],
        init=[calls.call(entry["kernel"], entry) for entry in program["init"]],
        main=main,
        warmed=warmed,
        turns=thresholds.turns,
        parameters=parameters(program),
        data_dependent=data_dependent(program),
        shared=calls.shared,
        seen=[*parameters(program), *counters(program["main"]), *data_dependent(program)],
        lines=[*main, *calls.shared],
    )
    (folder / "main.c").write_text(main_text)
    metadata, pages = runtime_literal(program), _pages(program)
    text = templates.render(
        "program.wasm.js",
        program=metadata,
        data_dependent=len(program["data_dependent"]),
        pages=pages,
        most=wasm_memory.MAX_PAGES if program["placeholders"] else pages,
        shared=bool(calls.shared),
        warmed=len(warmed),
        short=thresholds.short,
        lines=[metadata],
    )
    (folder / "wasm.js").write_text(text)


def _functions(sources: Sources, templates: Templates) -> dict[str, str]:
    """The C file of each kernel and procedure."""
    return {
        **{name: c.print_kernel(kernel, templates) for name, kernel in sources.kernels.items()},
        **{
            name: c.print_procedure(procedure, templates)
            for name, procedure in sources.procedures.items()
        },
        **{
            name: c.print_custom(kernel, templates)
            for name, kernel in sources.custom_kernels.items()
        },
    }


def _declared(name: str, sources: Sources) -> dict[str, Any]:
    source = sources.find(name)
    return {
        "name": name,
        "returns": "int" if name in sources.procedures else "void",
        "parameters": ["void *"] * len(source.operands)
        + ["int"] * len(_integer_parameters(source)),
    }


def _pages(program: dict[str, Any]) -> int:
    pages = wasm_memory.pages(program["loaded"])
    if pages > wasm_memory.MAX_PAGES:
        raise ToolError(
            f"the program needs {program['loaded']} bytes; WebAssembly memory has at most 4 GiB"
        )
    return pages


class _Calls:
    """Prints calls of kernels. Those beyond `threshold` operations or bytes are collected in
    `shared`, where threads divide them; None: there are none.
    """

    def __init__(self, threshold: int | None) -> None:
        self.threshold = threshold
        self.shared: list[str] = []

    def call(self, name: str, entry: dict[str, Any], part: Sequence[str] = ()) -> str:
        operands = [f"m + {size(offset)}" for offset in entry["operands"]]
        full_range = ["0", size(entry["split"][0])] if "split" in entry else []
        return f"{name}({', '.join([*operands, *map(size, entry['args']), *(part or full_range)])})"

    def launch(self, entry: dict[str, Any]) -> str:
        if self.threshold is None or not _is_shared(entry, self.threshold):
            return self.call(entry["kernel"], entry)
        turns, grain = map(size, entry["split"])
        part = [f"wk_share({turns}, {grain}, {item}, parts)" for item in ("part", "part + 1")]
        self.shared.append(self.call(entry["kernel"], entry, part))
        return f"wk_launch(work, {len(self.shared) - 1})"


def _hot_kernels(items: Sequence[dict[str, Any]], cold: float) -> list[str]:
    """The kernels that take a significant share of a run; all of them if sizes are symbolic."""
    costs = work(items)
    numbers = all_known(costs.values())
    if numbers is None:
        return sorted(costs)
    total = sum(numbers)
    return sorted(name for name, cost in zip(costs, numbers, strict=True) if cost > cold * total)


def _warm_up_call(name: str, kernel: Kernel) -> str:
    """A call of a kernel whose loops have no iterations. Code outside the loops may store an
    element, which overwrites nothing yet.
    """
    arguments = ["m"] * len(kernel.operands) + ["0"] * len(_integer_parameters(kernel))
    return f"{name}({', '.join(arguments)})"


def _is_shared(entry: dict[str, Any], least: int) -> bool:
    """Whether dividing a launch among threads pays. With symbolic sizes it may."""
    costs = [entry["flops"], entry["bytes"]]
    return "split" in entry and any(isinstance(cost, str) or cost >= least for cost in costs)


def _integer_parameters(source: Kernel | Procedure | CustomKernel) -> tuple[str, ...]:
    return (*source.arguments, *source.part) if isinstance(source, Kernel) else source.arguments
