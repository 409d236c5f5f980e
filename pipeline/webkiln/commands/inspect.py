"""`webkiln inspect`: describe a model file without building it: format, producer, inputs, outputs,
and everything that does not convert.
"""

import argparse
import json
import tempfile
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from webkiln import canonical
from webkiln.backends.launches import launches
from webkiln.backends.table import REGISTRY
from webkiln.build import progress, quantization, scalar_kernels
from webkiln.build.action import Action, Folder, Local, Product
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.build.locations import state_folder
from webkiln.build.progress import size
from webkiln.build.table import table
from webkiln.commands import explain
from webkiln.commands.build import add_source_arguments, recipe_file, recipe_of
from webkiln.errors import RecipeError, SourceError, UnsupportedError
from webkiln.frontends.core.formats import recognise_format
from webkiln.frontends.core.model_format import ModelFormat
from webkiln.frontends.core.model_interface import ModelInterface
from webkiln.frontends.core.unsupported_formats import UnsupportedFormat
from webkiln.frontends.inspect.archive_listing import (
    ModelEntry,
    find_models,
    is_archive,
    unpack_in_subprocess,
)
from webkiln.frontends.inspect.facts import FileFacts, SignatureFacts, TensorFacts, clean
from webkiln.frontends.inspect.inspection import (
    Inspection,
    inspect_graph,
    inspect_in_subprocess,
    inspector,
    to_json,
)
from webkiln.frontends.nodes import narrow
from webkiln.ir.attributes import unchecked
from webkiln.ir.graph import Graph
from webkiln.ir.guards import expand_quotients
from webkiln.ir.serial import from_json
from webkiln.ir.types import DTYPES, Type
from webkiln.recipe.recipe import Recipe
from webkiln.recipe.sources import ModuleSource, PathSource, UrlSource

WIDTH = 80
LABEL = 14
TOGETHER = "\xa0"
"""A space that does not wrap."""
MOST_PARTS = 40
"""How many kinds of nodes are listed."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--kernels",
        action="store_true",
        help="also lower the model: list its layers and each backend's kernels",
    )


def run(options: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(prefix="webkiln-inspect-") as name:
        scratch = Path(name)
        called = str(options.source)
        if (found := _archive_models(options.source, scratch)) is not None:
            shown = _listing(options.source, found, scratch)
            if len(found) != 1:
                print(
                    json.dumps(
                        {"holds": [{"path": path, "format": title} for path, title in shown]}
                    )
                    if options.json
                    else _several(called, shown)
                )
                return 0
            ((inside, _),) = shown
            called = f"{called}: {inside}"
            (held,) = found
            if isinstance(held.format, UnsupportedFormat):
                raise SourceError(held.format.refusal(called))
            options.source = held.path
        recipe = recipe_of(options)
        state = state_folder(options.source)
        with Engine(state) as engine:
            actions, inspection = _inspected(recipe, engine, scratch)
            quantised = _quantised(actions, engine) if inspection.converts else {}
            if options.json:
                print(
                    json.dumps(
                        {
                            "name": recipe.name,
                            "file": called,
                            "format": actions.format.name,
                            **to_json(inspection),
                            "quantisation": quantised,
                        },
                        indent=2,
                    )
                )
            else:
                lines = _summary(f"{called}: {actions.format.title}", recipe, inspection)
                for label, text in quantised.items():
                    lines += _labelled(label, [text])
                print("\n".join(lines))
            if not inspection.converts:
                if options.json:
                    return 2
                raise _refusal(recipe, inspection)
            lowered = _lowered(recipe, actions, engine, listed=options.kernels)
            if options.kernels:
                _print_kernels(recipe, actions, engine, lowered)
            for text in scalar_kernels.warnings(recipe.name, lowered):
                progress.warn(text)
    return 0


def _archive_models(source: Path, scratch: Path) -> list[ModelEntry] | None:
    """The models in a folder or an archive."""
    if not source.exists() or recipe_file(source) is not None:
        return None
    known = recognise_format(source)
    if isinstance(known, ModelFormat):
        return None
    folder = source
    if not source.is_dir():
        if known is not None or not is_archive(source):
            return None
        folder = scratch / "unpacked"
        folder.mkdir()
        unpack_in_subprocess(source, folder)
    found = find_models(folder)
    if not found:
        if isinstance(known, UnsupportedFormat):
            raise SourceError(known.refusal(source.name))
        raise SourceError(f"{source}: contains no model of a known format; name the model file")
    return found


def _listing(source: Path, found: Sequence[ModelEntry], scratch: Path) -> list[tuple[str, str]]:
    """Paths in the folder or archive, and the formats there."""
    root = source if source.is_dir() else scratch / "unpacked"
    return [(clean(item.path.relative_to(root).as_posix()), item.format.title) for item in found]


def _several(called: str, shown: Sequence[tuple[str, str]]) -> str:
    lines = [f"{called}: contains {len(shown)} models; name one of them"]
    return "\n".join([*lines, *(f"  {path}: {title}" for path, title in shown)])


def _inspected(recipe: Recipe, engine: Engine, scratch: Path) -> tuple[ModelGraph, Inspection]:
    """A recipe's source. The outputs of functions, downloads and export scripts are unknown until
    they run.
    """
    actions = ModelGraph(recipe, engine.share)
    if isinstance(recipe.source, ModuleSource):
        graph = from_json(_output(engine, actions.convert(), "graph.json"), unchecked)
        model = inspector(actions.format.name).describe_spec(
            _output(engine, actions.load(), "spec.json")
        )
        return actions, inspect_graph(FileFacts(), model, ModelInterface(graph))
    looked = actions
    if not isinstance(recipe.source, PathSource):
        blob = engine.run(actions.fetch()).outputs["source"]
        name = (
            recipe.source.url.partition("?")[0].rpartition("/")[2]
            if isinstance(recipe.source, UrlSource)
            else recipe.name
        )
        path = (
            scratch
            / "fetched"
            / (
                name
                if name.endswith(actions.format.suffixes)
                else f"{name}{actions.format.suffixes[0]}"
            )
        )
        path.parent.mkdir()
        path.symlink_to(engine.cache.store.file(blob).absolute())
        reading = replace(recipe.reading, format=actions.format.name)
        looked = ModelGraph(replace(recipe, source=PathSource(path), reading=reading), engine.share)
    inputs, params = _laid_out([looked.fetch(), looked.load(), looked.convert()], scratch)
    if not inputs["source"].is_file():
        raise SourceError(f"{inputs['source']}: no such file; give the path of a model file")
    code = recipe.user_code
    trusted = code.trust_source or bool(code.plugins or code.operators)
    return actions, inspect_in_subprocess(actions.format.name, inputs, params, trusted=trusted)


def _laid_out(actions: Sequence[Action], scratch: Path) -> tuple[dict[str, Path], dict[str, Any]]:
    """The user's files that actions read, at the paths where their programs expect them, and the
    actions' parameters.
    """
    inputs: dict[str, Path] = {}
    params: dict[str, Any] = {}
    for action in actions:
        params |= action.params
        for role, item in action.inputs.items():
            if isinstance(item, Local):
                inputs[role] = item.path.absolute()
            elif isinstance(item, Folder) and role not in inputs:
                inputs[role] = scratch / "inputs" / role
                for name, path in item.files:
                    place = inputs[role] / name
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.symlink_to(path.absolute())
    return inputs, params


def _refusal(recipe: Recipe, found: Inspection) -> Exception:
    if found.unsupported:
        return UnsupportedError(
            recipe.source.path.name if isinstance(recipe.source, PathSource) else recipe.name,
            found.unsupported,
        )
    return RecipeError(found.reason)


def _summary(title: str, recipe: Recipe, found: Inspection) -> list[str]:
    model = found.model
    lines = textwrap.wrap(f"{title}{_size(recipe)}", WIDTH, subsequent_indent="  ")
    for name, value in found.file.rows:
        lines += _labelled(name, [value])
    lines += _labelled(
        "signatures",
        [_signature(item, alone=len(found.file.signatures) == 1) for item in found.file.signatures],
    )
    for name, items in (("inputs", model.inputs), ("outputs", model.outputs)):
        lines += _labelled(name, list(map(tensor_text, items)))
    lines += _labelled("sizes", found.sizes)
    lines += _labelled("states", [clean(", ".join(found.states))] if found.states else [])
    lines += _labelled("weights", [_weights(model.weights)] if model.weights else [])
    if model.parts:
        kinds = sorted(model.parts.items(), key=lambda item: (-item[1], item[0]))
        more = [f"and {len(kinds) - MOST_PARTS} kinds more"] if len(kinds) > MOST_PARTS else []
        expanded = ", ".join(
            [*(f"{clean(kind)}{TOGETHER}{count}" for kind, count in kinds[:MOST_PARTS]), *more]
        )
        lines += _labelled("nodes", [f"{sum(model.parts.values()):,}: {expanded}"])
    count = len(found.unsupported)
    verdict = {
        True: "yes",
        None: "not known",
        False: f"no, {count} unsupported part{'s' * (count != 1)}" if count else "no",
    }
    return [*lines, *_labelled("converts", [verdict[found.converts]])]


def _size(recipe: Recipe) -> str:
    if not isinstance(recipe.source, PathSource) or not recipe.source.path.exists():
        return ""
    path = recipe.source.path
    files = [item for item in path.rglob("*") if item.is_file()] if path.is_dir() else [path]
    return f", {size(sum(item.stat().st_size for item in files))}"


def _labelled(label: str, values: Sequence[str]) -> list[str]:
    """Values in a column next to a label, wrapped."""
    lines = [
        line
        for value in values
        for line in textwrap.wrap(
            value,
            WIDTH - LABEL - 2,
            subsequent_indent="  ",
            break_on_hyphens=False,
            break_long_words=False,
        )
        or [""]
    ]
    return [
        f"  {label if number == 0 else '':<{LABEL}}{line}".rstrip().replace(TOGETHER, " ")
        for number, line in enumerate(lines)
    ]


def _signature(item: SignatureFacts, *, alone: bool) -> str:
    """Tensors by name; a single value is a property of the model."""
    ends = " -> ".join(", ".join(map(tensor_text, items)) for items in (item.inputs, item.outputs))
    return clean(item.name) if alone else f"{clean(item.name)}: {ends}"


def tensor_text(item: TensorFacts) -> str:
    shape = (
        ""
        if item.shape is None
        else f"[{', '.join('?' if one is None else str(one) for one in item.shape)}]"
    )
    return clean(f"{item.name} {item.dtype}{shape}".rstrip()).replace(" ", TOGETHER)


def _weights(weights: Mapping[str, tuple[str, tuple[int, ...]]]) -> str:
    elements = sum(prod(shape) for _, shape in weights.values())
    bits = {dtype: 8 * np.dtype(dtype).itemsize for dtype in DTYPES} | narrow.BITS
    total = sum(-(-prod(shape) * bits.get(dtype, 16) // 8) for dtype, shape in weights.values())
    return (
        f"{elements:,} numbers in {len(weights):,} array{'s' * (len(weights) != 1)}, {size(total)}"
    )


def _quantised(actions: ModelGraph, engine: Engine) -> dict[str, str]:
    optimised = actions.optimize()
    assert isinstance(optimised, Product)
    engine.run(optimised.action)
    return quantization.described(engine, actions)


def _lowered(
    recipe: Recipe, actions: ModelGraph, engine: Engine, *, listed: bool
) -> dict[str, list[dict[str, Any]]]:
    """The launches of the model on each backend. If they are not listed, only on backends that have
    vectors and support the model.
    """
    found = {}
    for backend in recipe.backends:
        if not listed and REGISTRY[backend].target.vectors.width == 1:
            continue
        action = actions.lower(backend, Selection(recipe.backends))
        try:
            program = _output(engine, action, "program.json")
        except UnsupportedError:
            if listed:
                raise
        else:
            found[backend] = list(launches(program["main"]))
    return found


def _print_kernels(
    recipe: Recipe,
    actions: ModelGraph,
    engine: Engine,
    found: Mapping[str, list[dict[str, Any]]],
) -> None:
    graph = from_json(_output(engine, actions.convert(), "graph.json"), unchecked)
    head = ("layer", "operators", "output", "parameters")
    print(f"\n{table(f'{recipe.name}: the source', head, layer_rows(graph))}")
    for backend, launched in found.items():
        print(table(f"{recipe.name}, {backend}", explain.KERNELS, explain.rows(launched)))


def _output(engine: Engine, action: Action, name: str) -> dict[str, Any]:
    blob = engine.run(action).outputs[name]
    return dict(canonical.read(engine.cache.store.file(blob)))


def layer_rows(graph: Graph) -> list[tuple[str, ...]]:
    """One row per layer: its operators, the dtype of its last output, and the number of weights
    that it is the first to read.
    """
    seen: set[str] = set()
    layers: dict[str, dict[str, Any]] = {}

    def expanded(type_: Type) -> Type:
        return Type(
            type_.dtype,
            tuple(expand_quotients(size, graph.constraints.divisibility) for size in type_.shape),
        )

    for node in graph.nodes:
        row = layers.setdefault(
            node.layer or node.name, {"operators": [], "output": "", "parameters": 0}
        )
        row["operators"].append(node.op)
        row["output"] = str(expanded(graph.type(node.outputs[0])))
        for name in node.inputs:
            if name in graph.slots and name not in seen:
                seen.add(name)
                row["parameters"] += graph.type(name).size
    rows = [
        (name, " ".join(row["operators"]), row["output"], f"{row['parameters']:,}")
        for name, row in layers.items()
    ]
    inputs = [(name, "input", str(expanded(graph.type(name))), "0") for name in graph.inputs]
    total = sum(row["parameters"] for row in layers.values())
    return [*inputs, *rows, (f"{len(layers)} layers", "", "", f"{total:,}")]
