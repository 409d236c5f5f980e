"""`webkiln explain`: the launches of a bundle, per backend: layer, kernel, why it was chosen,
operations and bytes.
"""

import argparse
from pathlib import Path
from typing import Any

from webkiln.backends.host import read_manifest
from webkiln.build.table import table
from webkiln.errors import RecipeError
from webkiln.ir.notation import size_from_json, size_to_json

CANDIDATES = ("layer", "kernel", "candidate", "", "ms expected", "ms measured")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="the folder of the bundle")
    parser.add_argument("--backend", help="default: all that the bundle has")
    parser.add_argument(
        "--candidates",
        action="store_true",
        help=(
            "also what was chosen and what not, with the times that are expected and were measured"
        ),
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
                ("layer", "kernel", "FLOPs", "bytes", "how"),
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
        (step["layer"], step["kernel"], _count(step["flops"]), _count(step["bytes"]), step["why"])
        for step in launches
    ]
    kernels = {step["kernel"] for step in launches}
    totals = (
        _count(size_to_json(sum(size_from_json(step[key]) for step in launches)))
        for key in ("flops", "bytes")
    )
    return [*listed, (f"{len(launches)} launches", f"{len(kernels)} kernels", *totals, "")]


def candidates(launches: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    """A row for each way to compute what a launch does, or a convolution of several: what was
    chosen,
    and what was not. A kernel that several layers share is told once, with the first of them.
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
