"""`webkiln explain`: the launches of a bundle, per backend: layer, kernel, why it was chosen, operations and bytes."""

import argparse
from pathlib import Path
from typing import Any

from webkiln.backends.host import read_manifest
from webkiln.commands.table import table
from webkiln.errors import RecipeError
from webkiln.ir.notation import size_from_json, size_to_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="the folder of the bundle")
    parser.add_argument("--backend", help="default: all that the bundle has")


def run(options: argparse.Namespace) -> int:
    launches = read_manifest(options.bundle)["launches"]
    if options.backend is not None and options.backend not in launches:
        raise RecipeError(f"{options.bundle} has no backend {options.backend!r}; it has {', '.join(launches)}")
    for backend in [options.backend] if options.backend else launches:
        print(table(f"{options.bundle.name}, {backend}", ("layer", "kernel", "FLOPs", "bytes", "how"), rows(launches[backend])))
    return 0


def rows(launches: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    listed = [(step["layer"], step["kernel"], _count(step["flops"]), _count(step["bytes"]), step["why"]) for step in launches]
    kernels = {step["kernel"] for step in launches}
    totals = (_count(size_to_json(sum(size_from_json(step[key]) for step in launches))) for key in ("flops", "bytes"))
    return [*listed, (f"{len(launches)} launches", f"{len(kernels)} kernels", *totals, "")]


def _count(size: int | str) -> str:
    return size if isinstance(size, str) else f"{size:,}"
