"""What `webkiln inspect` finds of one model file, without building anything: read at a glance, in a
process of its own, and converted without weights.

Run: python -m webkiln.frontends.inspect.inspection FILE REQUEST, with the request in JSON: format,
inputs, params, and whether code of the user's may run.
"""

import json
import sys
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from webkiln.errors import (
    InternalError,
    Item,
    RecipeError,
    ShapeError,
    SourceError,
    ToolError,
    UndecidedError,
    UnsupportedError,
    UserError,
    missing_package,
)
from webkiln.frontends.core.format_stages import program
from webkiln.frontends.core.probe import REFUSED, limit_resources, run_probe
from webkiln.frontends.inspect.facts import (
    Description,
    FileFacts,
    Inspector,
    SignatureFacts,
    TensorFacts,
)
from webkiln.frontends.inspect.header_only import glancing
from webkiln.ir import dim
from webkiln.ir.graph import Graph
from webkiln.ir.guards import expand_quotients
from webkiln.ir.types import Type

SCHEMA = "webkiln.inspection/1"
RAISED = {
    kind.__name__: kind for kind in (RecipeError, ShapeError, SourceError, ToolError, InternalError)
}
MARK = "webkiln.inspection:"
"""Begins the line of the answer, among what frameworks print."""


@dataclass(frozen=True)
class Inspection:
    """`converts` is None where that cannot be told, for the `reason`; else a reason is why it does
    not, besides what is `unsupported`.

    `sizes` are what open sizes have to be, `states` the values that are kept between runs.
    """

    file: FileFacts
    model: Description
    converts: bool | None
    unsupported: tuple[Item, ...] = ()
    reason: str = ""
    sizes: tuple[str, ...] = ()
    states: tuple[str, ...] = ()


def inspector(format_name: str) -> Inspector:
    """What a format says of its files."""
    found: Inspector = import_module(f"webkiln.frontends.{format_name}.facts").FACTS
    return found


def inspect_model(
    format_name: str, inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> Inspection:
    """What is in a model file. SourceError where it cannot be read; `params` are what the programs
    `load` and `convert` take.
    """
    found = inspector(format_name)
    with glancing() as glance:
        file = found.told(inputs, params)
        try:
            spec, _ = program(format_name, "load").load(inputs, params)
        except UnsupportedError as error:
            return Inspection(
                file,
                file.glimpsed,
                converts=False,
                unsupported=_distinct([*glance.unsupported, *error.items]),
            )
        except (ToolError, UndecidedError) as error:
            return Inspection(file, file.glimpsed, converts=None, reason=str(error))
        except ImportError as error:
            if (missing := missing_package(error, "reading it")) is None:
                raise
            return Inspection(file, file.glimpsed, converts=None, reason=str(missing))
        return inspect_spec(format_name, found, file, spec, inputs, params, glance.unsupported)


def inspect_spec(
    format_name: str,
    found: Inspector,
    file: FileFacts,
    spec: Mapping[str, Any],
    inputs: Mapping[str, Path],
    params: Mapping[str, Any],
    unsupported: Sequence[Item] = (),
) -> Inspection:
    """What a spec amounts to, by converting it without weights."""
    model = found.described(spec)
    try:
        with program(format_name, "convert").converted(spec, inputs, params) as made:
            graph = made.graph
    except UnsupportedError as error:
        return Inspection(
            file, model, converts=False, unsupported=_distinct([*unsupported, *error.items])
        )
    except UserError as error:
        return Inspection(
            file,
            model,
            converts=False,
            unsupported=_distinct(unsupported),
            reason="" if unsupported else str(error),
        )
    if unsupported:
        return Inspection(file, model, converts=False, unsupported=_distinct(unsupported))
    return inspect_graph(file, model, graph)


def inspect_graph(file: FileFacts, model: Description, graph: Graph) -> Inspection:
    """Of a model that converts the graph knows the types."""

    def tensor(name: str, type_: Type) -> TensorFacts:
        sizes = (expand_quotients(size, graph.divisibility) for size in type_.shape)
        return TensorFacts(
            name,
            type_.dtype,
            tuple(dim.abbreviate(size) if dim.is_symbolic(size) else int(size) for size in sizes),
        )

    inputs = tuple(tensor(name, graph.type(name)) for name in graph.inputs)
    outputs = tuple(tensor(name, graph.type(variable)) for name, variable in graph.outputs.items())
    sizes = [f"{item.name} is {item} ({', '.join(item.layers)})" for item in graph.divisibility]
    sizes += [
        f"{dim.abbreviate(expand_quotients(item.a, graph.divisibility))} is"
        f" {dim.abbreviate(expand_quotients(item.b, graph.divisibility))} ({item.layer})"
        for item in graph.guards
    ]
    known = Description(inputs, outputs, model.parts, model.weights)
    return Inspection(
        file,
        known,
        converts=True,
        sizes=tuple(sizes),
        states=tuple(state.name for state in graph.states),
    )


def _distinct(items: Sequence[Item]) -> tuple[Item, ...]:
    return tuple(dict.fromkeys(items))


def to_json(found: Inspection) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "facts": [list(row) for row in found.file.rows],
        "signatures": [
            {"name": item.name, "inputs": _tensors(item.inputs), "outputs": _tensors(item.outputs)}
            for item in found.file.signatures
        ],
        "inputs": _tensors(found.model.inputs),
        "outputs": _tensors(found.model.outputs),
        "nodes": dict(sorted(found.model.parts.items(), key=lambda item: (-item[1], item[0]))),
        "weights": {
            slot: {"dtype": dtype, "shape": list(shape)}
            for slot, (dtype, shape) in found.model.weights.items()
        },
        "sizes": list(found.sizes),
        "states": list(found.states),
        "converts": found.converts,
        "unsupported": [
            {"where": where, "what": what, "hint": hint} for where, what, hint in found.unsupported
        ],
        "reason": found.reason,
    }


def _tensors(items: Sequence[TensorFacts]) -> list[dict[str, Any]]:
    return [
        {
            "name": item.name,
            "dtype": item.dtype,
            "shape": None if item.shape is None else list(item.shape),
        }
        for item in items
    ]


def from_json(data: Mapping[str, Any]) -> Inspection:
    signatures = tuple(
        SignatureFacts(item["name"], _read(item["inputs"]), _read(item["outputs"]))
        for item in data["signatures"]
    )
    weights = {
        slot: (item["dtype"], tuple(item["shape"])) for slot, item in data["weights"].items()
    }
    return Inspection(
        FileFacts(tuple((name, value) for name, value in data["facts"]), signatures),
        Description(_read(data["inputs"]), _read(data["outputs"]), data["nodes"], weights),
        data["converts"],
        tuple((item["where"], item["what"], item["hint"]) for item in data["unsupported"]),
        data["reason"],
        tuple(data["sizes"]),
        tuple(data["states"]),
    )


def _read(items: Sequence[Mapping[str, Any]]) -> tuple[TensorFacts, ...]:
    return tuple(
        TensorFacts(
            item["name"], item["dtype"], None if item["shape"] is None else tuple(item["shape"])
        )
        for item in items
    )


def inspect_apart(
    format_name: str, inputs: Mapping[str, Path], params: Mapping[str, Any], *, trusted: bool
) -> Inspection:
    """`inspect_model` in a process with limits, which may die of a damaged file. Of `trusted` code
    of the user's memory is not limited.
    """
    request = {
        "format": format_name,
        "inputs": {role: str(path) for role, path in inputs.items()},
        "params": params,
        "trusted": trusted,
    }
    path = inputs["source"]
    beside = inputs.get("external/")
    largest = max(
        [path, *(beside.rglob("*") if beside is not None else ())],
        key=lambda item: item.stat().st_size if item.is_file() else 0,
    )
    status, printed = run_probe(
        "webkiln.frontends.inspect.inspection", largest, [json.dumps(request)]
    )
    answer = next(
        (line.removeprefix(MARK) for line in printed.splitlines() if line.startswith(MARK)), None
    )
    if status is None:
        raise SourceError(
            f"{path.name}: cannot be read in reasonable time; it is damaged, or too large to be"
            " looked at"
        )
    if answer is None:
        raise SourceError(
            f"{path.name}: crashes what reads it, or exhausts its memory; it is damaged; save it"
            " again"
        )
    data = json.loads(answer)
    if status == REFUSED:
        raise RAISED.get(data["type"], SourceError)(data["text"])
    return from_json(data)


def main() -> int:
    request = json.loads(sys.argv[2])
    if not request["trusted"]:
        limit_resources(Path(sys.argv[1]))
    try:
        found = inspect_model(
            request["format"],
            {role: Path(path) for role, path in request["inputs"].items()},
            request["params"],
        )
    except (MemoryError, RecursionError):
        return 1
    except UserError as error:
        return _refused(type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001 - whatever it is must reach the caller
        missing = missing_package(error, "reading it") if isinstance(error, ImportError) else None
        return (
            _refused("InternalError", traceback.format_exc())
            if missing is None
            else _refused("ToolError", str(missing))
        )
    print(f"\n{MARK}{json.dumps(to_json(found))}")
    return 0


def _refused(kind: str, said: str) -> int:
    print(f"\n{MARK}{json.dumps({'type': kind, 'text': said})}")
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
