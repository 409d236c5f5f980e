"""The programs of emulated GPUs and of others, if a program has different launches for them. A page
downloads the code of one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from math import inf
from typing import Any

from webkiln.codegen.steps import BLOCKS, sites

EMULATED = "_emulated"
"""Ends the name of the module for emulated GPUs."""
TABLES = ("kernels", "procedures", "custom_kernels", "group_kernels", "parallel_kernels")
SOURCE = ("shard", "start", "bytes", "narrow", "after")
"""What entries of `init` say of the bytes that they read."""

Program = dict[str, Any]
Limits = tuple[float, float]
"""A range of numbers of multiprocessors: the least one, and the end, which is not part of it."""


def programs_of(program: Program, least: int) -> dict[str, Program]:
    """The programs by the ends of their modules' names: one, or one for GPUs of `least`
    multiprocessors or more and one for emulated GPUs. Steps keep the numbers that they have in the
    whole program.
    """
    if not any(least in limits for limits in kernel_limits(program).values()):
        return {"": program}
    numbered = {**program, "main": _numbered(program["main"], count())}
    return {"": _narrowed(numbered, (least, inf)), EMULATED: _narrowed(numbered, (0, least))}


def kernel_limits(program: Mapping[str, Any]) -> dict[str, Limits]:
    """The devices that launch each kernel."""
    found: dict[str, Limits] = {entry["kernel"]: (0, inf) for entry in program["init"]}
    for entry in program["init"]:
        if "then" in entry:
            found.setdefault(entry["then"]["kernel"], (entry["multiprocessors"], inf))
    for name, (first, end) in _launches(program["main"], (0, inf)):
        low, high = found.get(name, (first, end))
        found[name] = min(low, first), max(high, end)
    return found


def _launches(steps: Iterable[dict[str, Any]], around: Limits) -> Iterator[tuple[str, Limits]]:
    first, end = around
    for step in steps:
        if "kernel" in step:
            yield step["kernel"], around
        least = step.get("multiprocessors", 0)
        for block in BLOCKS:
            low = max(first, least) if block == "then" else first
            high = min(end, least) if least and block == "else" else end
            yield from _launches(step.get(block, ()), (low, high))


def _numbered(steps: Iterable[dict[str, Any]], numbers: Iterator[int]) -> list[dict[str, Any]]:
    """The steps with their numbers as `site`."""
    return [
        {**step, **{block: _numbered(step[block], numbers) for block in BLOCKS if block in step}}
        if any(block in step for block in BLOCKS)
        else {**step, "site": next(numbers)}
        for step in steps
    ]


def _narrowed(program: Program, limits: Limits) -> Program:
    """The program of the devices within the limits. It runs on others as well."""
    low, high = limits
    narrowed = {**program, "main": list(_taken(program["main"], limits))}
    never: set[int] = set()
    if "segments" in program:
        held = [
            low < item.get("below", inf) and item.get("from", 0) < high
            for item in program["segments"]
        ]
        never = {number for number, is_held in enumerate(held) if not is_held}
        narrowed["segments"] = [
            {"bytes": item["bytes"], **({} if is_held else {"below": 0})}
            for item, is_held in zip(program["segments"], held, strict=True)
        ]
    narrowed["init"] = _init(program["init"], low, never)
    steps = (*narrowed["init"], *sites(narrowed["main"]))
    used = {step[kind] for step in steps for kind in ("kernel", "host") if kind in step}
    for table in TABLES:
        if table in program:
            narrowed[table] = {name: it for name, it in program[table].items() if name in used}
    return narrowed


def _taken(steps: Iterable[dict[str, Any]], limits: Limits) -> Iterator[dict[str, Any]]:
    """The steps without branches that all devices within the limits decide alike."""
    low, high = limits
    for step in steps:
        least = step.get("multiprocessors")
        if least is not None and not low < least < high:
            yield from _taken(step["then" if least <= low else "else"], limits)
        else:
            yield {
                **step,
                **{block: list(_taken(step[block], limits)) for block in BLOCKS if block in step},
            }


def _init(entries: Iterable[dict[str, Any]], low: float, never: set[int]) -> list[dict[str, Any]]:
    """The entries that write what these devices hold."""
    own = [_launched(entry, low) for entry in entries]
    kept = [not never & set(entry.get("segments", ())) for entry in own]
    return [_renumbered(entry, kept) for entry, is_kept in zip(own, kept, strict=True) if is_kept]


def _launched(entry: dict[str, Any], low: float) -> dict[str, Any]:
    """An entry with the launch of devices of `low` multiprocessors."""
    if "then" not in entry:
        return entry
    if low < entry["multiprocessors"]:
        return {key: entry[key] for key in entry if key not in ("then", "multiprocessors")}
    return {**{key: entry[key] for key in SOURCE if key in entry}, **entry["then"]}


def _renumbered(entry: dict[str, Any], kept: Sequence[bool]) -> dict[str, Any]:
    """An entry that depends on others, after those that are not kept are gone."""
    if "after" not in entry:
        return entry
    first, number = entry["after"]
    return {**entry, "after": [sum(kept[:first]), sum(kept[first : first + number])]}
