"""`webkiln profile`: measure a bundle's launches and layers. Writes a table, a page with a flame
chart, and a trace.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from webkiln.backends import host
from webkiln.backends.samples import sample_inputs
from webkiln.build.files import write_atomic
from webkiln.build.table import table
from webkiln.codegen.declarations import inputs_of
from webkiln.commands import flame
from webkiln.commands.figures import (
    Figures,
    largest_first,
    launches_of,
    layers_of,
    milliseconds,
    remarks,
    summed,
    where,
)
from webkiln.commands.run import choose_backend, fit, read_arrays
from webkiln.commands.trace import trace
from webkiln.errors import RecipeError, SourceError, ToolError

HEADER = ("ms", "share %", "GFLOP/s", "peak %", "MB", "GB/s", "count", "kernel", "layer")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bundle", type=Path, help="the bundle's folder")
    parser.add_argument("--backend", help="default: the backend that load selects")
    parser.add_argument(
        "--variant",
        help="a variant of the wasm backend; default: the fastest that the engine supports",
    )
    parser.add_argument("--browser", choices=host.HOSTS, default="node")
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of the wasm backend; default: 1"
    )
    parser.add_argument(
        "--runs", type=int, default=20, help="measured runs, after a warm-up; default: 20"
    )
    parser.add_argument(
        "--inputs",
        type=Path,
        metavar="NPZ",
        help="one array per input, by name; default: random inputs",
    )
    parser.add_argument(
        "--trace",
        type=Path,
        metavar="JSON",
        help="write the fastest run for chrome://tracing or Perfetto",
    )
    parser.add_argument(
        "--html", type=Path, metavar="HTML", help="write a page with a flame chart and tables"
    )
    parser.add_argument("--timeout", type=float, default=600.0, metavar="SECONDS")


def run(options: argparse.Namespace) -> int:
    manifest = host.read_manifest(options.bundle)
    if "single" in manifest:
        raise RecipeError(
            f"{options.bundle}: a single file has no profile.js; build the model as a"
            " folder (--format folder)"
        )
    if not (options.bundle / manifest.get("profile", {}).get("module", "profile.js")).is_file():
        raise SourceError(
            f"{options.bundle}: there is no profile.js, which times launches; build the bundle"
            " again"
        )
    for name in ("threads", "runs"):
        if getattr(options, name) < 1:
            raise RecipeError(f"--{name} is {getattr(options, name)}, expected at least 1")
    backend = choose_backend(options, manifest)
    inputs = (
        next(iter(sample_inputs(manifest).values()))
        if options.inputs is None
        else fit(read_arrays(options.inputs), inputs_of(manifest))
    )
    profile = host.profile_bundle(
        options.bundle,
        backend,
        inputs,
        host=options.browser,
        variant=options.variant,
        threads=options.threads,
        runs=options.runs,
        timeout=options.timeout,
    )
    if not profile["runs"]:
        raise ToolError(
            f"{options.bundle}: the GPU reported invalid times for every run; run it again"
        )
    name = f"{manifest['name']} in {options.browser}"
    print(shown(name, profile))
    if options.trace is not None:
        write_atomic(options.trace, json.dumps(trace(name, profile)).encode())
    if options.html is not None:
        write_atomic(options.html, flame.page(name, profile).encode())
    return 0


def shown(name: str, profile: Mapping[str, Any]) -> str:
    """The tables of launches and, if there are fewer, of layers, with totals."""
    launches = launches_of(profile)
    layers = layers_of(launches)
    total = summed(launches, "all launches", "")
    rest, share = (
        profile["runMs"] - total.ms,
        f" ({100 * total.ms / profile['runMs']:.1f} %)" if profile["runMs"] else "",
    )
    title = "\n".join(
        [
            f"{name}, {where(profile)}: {milliseconds(profile['runMs'], total)} ms per run",
            (
                f"launches take {milliseconds(total.ms, total)} ms of it{share}, inputs, outputs"
                f" and calls {milliseconds(max(rest, 0), total)} ms"
            ),
            *remarks(profile),
        ]
    )
    tables = [table(title, HEADER, _rows(launches, total, profile["peakGflops"]))]
    if len(layers) < len(launches):
        tables.append(table("by layer", HEADER, _rows(layers, total, profile["peakGflops"])))
    return "\n".join(tables)


def _rows(figures: Sequence[Figures], total: Figures, peak: float | None) -> list[tuple[str, ...]]:
    return [_row(item, total, peak) for item in (*largest_first(figures), total)]


def _row(item: Figures, total: Figures, peak: float | None) -> tuple[str, ...]:
    return (
        milliseconds(item.ms, total),
        f"{100 * item.ms / total.ms:.1f}" if total.ms else "",
        f"{item.gflops:.2f}" if item.gflops else "",
        f"{100 * item.gflops / peak:.1f}" if item.gflops and peak else "",
        f"{item.bytes / 1e6:.3f}" if item.bytes is not None else "",
        f"{item.gigabytes:.2f}" if item.gigabytes else "",
        f"{item.count:,.2f}".removesuffix(".00"),
        item.kernel,
        item.layer,
    )
