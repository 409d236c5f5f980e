"""The steps of a program in C and JavaScript, and the part that the runtime reads."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from typing import Any

from webkiln.ir import dim
from webkiln.ir.dim import Size, sum_sizes
from webkiln.ir.notation import size_from_json

PREFIX = "d_"
"""Keeps placeholders, counters and data-dependent sizes distinct from all other names in generated
code.
"""
BLOCKS = ("steps", "then", "else")
"""The keys of steps that contain other steps."""
FUNCTIONS = {"floordiv": "wk_floordiv", "max": "wk_greatest", "min": "wk_least"}


@lru_cache(maxsize=4096)
def size(value: int | str) -> str:
    return dim.render(size_from_json(value), PREFIX, FUNCTIONS)


@dataclass(frozen=True, slots=True)
class Language:
    """How the steps of a program are printed: the declaration of a counter, a launch, a copy of
    bytes, a host call, the test of a bool, the profiler marker after a step, and on GPUs the test
    of the number of multiprocessors.
    """

    counter: str
    launch: Callable[[dict[str, Any]], str]
    copy: str
    host: Callable[[dict[str, Any]], str]
    flag: str
    mark: str
    device: str = ""


def sites(items: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The launches, copies and host calls in the order of the code, each once. Profiler markers
    carry their numbers.
    """
    for step in items:
        if _is_block(step):
            for block in BLOCKS:
                yield from sites(step.get(block, ()))
        else:
            yield step


def steps(items: Iterable[dict[str, Any]], language: Language) -> list[str]:
    """The lines of code of the steps. Those of a part of a program have their number as `site`."""
    return _steps(items, language, count())


def _steps(
    items: Iterable[dict[str, Any]], language: Language, numbers: Iterator[int]
) -> list[str]:
    return [line for step in items for line in _step(step, language, numbers)]


def _step(step: dict[str, Any], language: Language, numbers: Iterator[int]) -> list[str]:
    if not _is_block(step):
        number = step["site"] if "site" in step else next(numbers)
        return [_site(step, language), language.mark.format(site=number)]
    if "then" in step:
        yes, no = (_indented(_steps(step[name], language, numbers)) for name in ("then", "else"))
        return [f"if ({_condition(step, language)}) {{", *yes, "} else {", *no, "}"]
    inner = _indented(_steps(step["steps"], language, numbers))
    if "repeat" in step:
        name = f"{PREFIX}{step['repeat']}"
        return [
            f"for ({language.counter}{name} = 0; {name} < {size(step['count'])}; {name}++) {{",
            *inner,
            "}",
        ]
    name = f"{PREFIX}{step['loop']}"
    bound = "" if step["bound"] is None else f"{name} < {size(step['bound'])} && "
    loop = [f"for (; {bound}{_flag(step['while'], language)}; {name}++) {{", *inner, "}"]
    result = [f"{PREFIX}{step['result']} = {name};"] if step["result"] else []
    return ["{", *_indented([f"{language.counter}{name} = 0;", *loop, *result]), "}"]


def _is_block(step: dict[str, Any]) -> bool:
    return any(block in step for block in BLOCKS)


def _site(step: dict[str, Any], language: Language) -> str:
    if "kernel" in step:
        return f"{language.launch(step)};"
    if "copy" in step:
        return language.copy.format(
            target=size(step["to"]), source=size(step["from"]), bytes=size(step["copy"])
        )
    assignment = f"{PREFIX}{step['result']} = " if step["result"] else ""
    return f"{assignment}{language.host(step)};"


def _condition(step: dict[str, Any], language: Language) -> str:
    """The condition of a branch."""
    if "multiprocessors" in step:
        return language.device.format(least=step["multiprocessors"])
    return _flag(step["if"], language)


def _flag(offset: int | str, language: Language) -> str:
    return language.flag.format(place=size(offset))


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def is_dynamic(items: Iterable[dict[str, Any]]) -> bool:
    """Whether the control flow of the steps depends on values computed by earlier steps."""
    return any(
        any(is_dynamic(step.get(block, ())) for block in BLOCKS)
        if {"repeat", "multiprocessors"} & set(step)
        else not {"kernel", "copy"} & set(step)
        for step in items
    )


def flops(items: Iterable[dict[str, Any]]) -> Size:
    """The operations of all launches. A loop of unknown length counts once, and of branches on the
    device the second block.
    """
    return sum_sizes(
        times * size_from_json(step.get("flops", 0)) for step, times in _launches(items)
    )


def work(items: Iterable[dict[str, Any]]) -> dict[str, Size]:
    """The operations and bytes of all launches of each kernel."""
    costs: dict[str, Size] = {}
    for step, times in _launches(items):
        cost = size_from_json(step["flops"]) + size_from_json(step["bytes"])
        costs[step["kernel"]] = costs.get(step["kernel"], 0) + times * cost
    return costs


def _launches(
    items: Iterable[dict[str, Any]], times: Size = 1
) -> Iterator[tuple[dict[str, Any], Size]]:
    """All launches of kernels, and how often each runs. A loop of unknown length counts once, and
    of branches on the device the second block.
    """
    for step in items:
        for block in BLOCKS if "multiprocessors" not in step else ("else",):
            yield from _launches(
                step.get(block, ()),
                times * size_from_json(step["count"]) if "repeat" in step else times,
            )
        if "kernel" in step:
            yield step, times


def parameters(program: dict[str, Any]) -> list[str]:
    return [f"{PREFIX}{name}" for name in program["placeholders"]]


def counters(items: Iterable[dict[str, Any]]) -> list[str]:
    """The counters of all loops, each once."""
    names: dict[str, None] = {}
    for step in items:
        names |= dict.fromkeys(
            f"{PREFIX}{step[kind]}" for kind in ("repeat", "loop") if kind in step
        )
        for block in BLOCKS:
            names |= dict.fromkeys(counters(step.get(block, ())))
    return list(names)


def data_dependent(program: dict[str, Any]) -> list[str]:
    return [f"{PREFIX}{name}" for name in program["data_dependent"]]


def runtime_literal(program: dict[str, Any]) -> str:
    """The part of a program that the runtime reads, as a JavaScript object. Parts that depend on
    placeholders are functions of them.
    """

    def tensors(items: list[dict[str, Any]], *keys: str) -> list[dict[str, Any]]:
        sized = [
            {
                **item,
                "shape": list(map(size_from_json, item["shape"])),
                "offset": size_from_json(item["offset"]),
            }
            for item in items
        ]
        return [
            {key: item[key] for key in (*keys, "dtype", "storage", "shape", "offset")}
            for item in sized
        ]

    def sized(item: dict[str, Any]) -> dict[str, Any]:
        return {"text": item["text"], "size": size_from_json(item["size"])}

    layout: dict[str, Any] = {
        "memory": size_from_json(program["memory"]),
        "inputs": tensors(program["inputs"], "name"),
        "outputs": tensors(program["outputs"], "name"),
        "layers": tensors(program["layers"], "layer", "variable"),
        "flops": flops(program["main"]),
        "guards": [
            sized(guard)
            | {"layer": guard["layer"]}
            | ({"equals": sized(guard["equals"])} if "equals" in guard else {})
            for guard in program["guards"]
        ],
    }
    if "buffers" in program:
        layout["buffers"] = [size_from_json(buffer["elements"]) for buffer in program["buffers"]]
    value = {
        "placeholders": program["placeholders"],
        **({"divisibility": program["divisibility"]} if program["divisibility"] else {}),
        "loaded": program["loaded"],
        "states": program["states"],
        "staging": program["staging"],
        **({"segments": program["segments"]} if "segments" in program else {}),
        "init": [
            [-1, *entry["after"]]
            if "after" in entry
            else [
                entry["shard"],
                entry["start"],
                entry["bytes"],
                *([entry["narrow"]] if "narrow" in entry else []),
            ]
            for entry in program["init"]
        ],
    }
    names = ", ".join([*parameters(program), *data_dependent(program)])
    return f"{literal(value)[:-1]},layout:({names}) => ({literal(layout)})}}"


def literal(value: Any) -> str:
    """A JavaScript literal. Symbolic sizes are expressions."""
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(f"{json.dumps(key)}:{literal(value[key])}" for key in sorted(value))
            + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(literal, value)) + "]"
    return dim.render(value, PREFIX, FUNCTIONS) if dim.is_symbolic(value) else json.dumps(value)
