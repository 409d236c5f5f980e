"""`webkiln inspect`: layers, shapes, parameters, operations and kernels of a model file; everything unsupported is named at once."""

import argparse
from typing import Any

from webkiln import canonical
from webkiln.backends.launches import launches
from webkiln.build.action import Action
from webkiln.build.cache import cache_folder
from webkiln.build.engine import Engine
from webkiln.build.graph import ModelGraph, Selection
from webkiln.commands import explain
from webkiln.commands.build import add_source_arguments, recipe_of
from webkiln.commands.table import table
from webkiln.ir.graph import Graph
from webkiln.ir.guards import said
from webkiln.ir.serial import from_json
from webkiln.ir.types import Type


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_source_arguments(parser)


def run(options: argparse.Namespace) -> int:
    recipe = recipe_of(options)
    state = cache_folder() / "state" / canonical.digest(str(options.source.absolute()).encode())
    with Engine(state) as engine:
        actions = ModelGraph(recipe, engine.share)
        graph = from_json(_output(engine, actions.convert(), "graph.json"))
        programs = {
            backend: _output(engine, actions.lower(backend, Selection(recipe.backends)), "program.json") for backend in recipe.backends
        }
    for item in graph.residues:
        print(f"{item.name} is {item} ({', '.join(item.layers)})")
    for guard in graph.guards:
        print(f"{said(guard.a, graph.residues)} is {said(guard.b, graph.residues)} ({guard.layer})")
    print(table(f"{recipe.name}: what the source says", ("layer", "operators", "output", "parameters"), layer_rows(graph)))
    for backend, program in programs.items():
        print(
            table(f"{recipe.name}, {backend}", ("layer", "kernel", "FLOPs", "bytes", "how"), explain.rows(list(launches(program["main"]))))
        )
    return 0


def _output(engine: Engine, action: Action, name: str) -> dict[str, Any]:
    blob = engine.run(action).outputs[name]
    return dict(canonical.read(engine.cache.store.path(blob.sha256)))


def layer_rows(graph: Graph) -> list[tuple[str, ...]]:
    """One row a layer: its operators, the type of its last output, the elements of the slots that it is first to read."""
    seen: set[str] = set()
    layers: dict[str, dict[str, Any]] = {}

    def told(type_: Type) -> Type:
        return Type(type_.dtype, tuple(said(size, graph.residues) for size in type_.shape))

    for node in graph.nodes:
        row = layers.setdefault(node.layer or node.name, {"operators": [], "output": "", "parameters": 0})
        row["operators"].append(node.op)
        row["output"] = str(told(graph.type(node.outputs[0])))
        for name in node.inputs:
            if name in graph.slots and name not in seen:
                seen.add(name)
                row["parameters"] += graph.type(name).size
    rows = [(name, " ".join(row["operators"]), row["output"], f"{row['parameters']:,}") for name, row in layers.items()]
    inputs = [(name, "input", str(told(graph.type(name))), "0") for name in graph.inputs]
    total = sum(row["parameters"] for row in layers.values())
    return [*inputs, *rows, (f"{len(layers)} layers", "", "", f"{total:,}")]
