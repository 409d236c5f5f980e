"""`webkiln explain`: list the launches of a bundle by backend: layer, kernel, operations, bytes,
why it has its schedule, and the passes that changed it.
"""

import argparse
from pathlib import Path
from typing import Any

from webkiln.backends.host import read_manifest
from webkiln.build.table import table
from webkiln.errors import RecipeError
from webkiln.ir.notation import size_from_json, size_to_json

KERNELS = ("layer", "kernel", "FLOPs", "bytes", "how", "passes")
CANDIDATES = ("layer", "kernel", "candidate", "", "ms expected", "ms measured")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="the bundle's folder")
    parser.add_argument("--backend", help="default: all backends of the bundle")
    parser.add_argument(
        "--candidates",
        action="store_true",
        help="also list alternatives, with estimated and measured times",
    )


def run(options: argparse.Namespace) -> int:
    launches = read_manifest(options.bundle)["launches"]
    if options.backend is not None and options.backend not in launches:
        raise RecipeError(
            f"{options.bundle} has no backend {options.backend!r}; it has {', '.join(launches)}"
        )
    for backend in [options.backend] if options.backend else launches:
        print(
            table(
                f"{options.bundle.name}, {backend}",
                KERNELS,
                rows(launches[backend]),
            )
        )
        if options.candidates:
            print(
                table(
                    f"{options.bundle.name}, {backend}: candidates",
                    CANDIDATES,
                    candidates(launches[backend]),
                )
            )
    return 0


def rows(launches: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    listed = [
        (
            step["layer"],
            step["kernel"],
            *(_count(step[key]) for key in ("flops", "bytes")),
            step["why"],
            " ".join(step.get("passes", ())),
        )
        for step in launches
    ]
    kernels = {step["kernel"] for step in launches}
    totals = (
        _count(size_to_json(sum(size_from_json(step[key]) for step in launches)))
        for key in ("flops", "bytes")
    )
    return [*listed, (f"{len(launches)} launches", f"{len(kernels)} kernels", *totals, "", "")]


def candidates(launches: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each way to compute a launch, or a convolution of several launches: the chosen
    kernel and the alternatives. A kernel that several layers share is listed once, with the first
    of them.
    """
    found: dict[str, list[tuple[str, ...]]] = {}
    for step in launches:
        for item in step.get("decided", ()):
            if item["key"] not in found:
                found[item["key"]] = [
                    (
                        step["layer"],
                        item["key"],
                        name,
                        "chosen" if name == item["chosen"] else "rejected",
                        _milliseconds(expected),
                        _milliseconds(ms),
                    )
                    for name, expected, ms in item["candidates"]
                ]
    return [row for rows in found.values() for row in rows]


def _milliseconds(ms: float | None) -> str:
    return "" if ms is None else f"{ms:.4f}"


def _count(size: int | str) -> str:
    return size if isinstance(size, str) else f"{size:,}"
