"""Inspect one model file without building it: read its headers in a subprocess, and convert it
without weights.

Run as `python -m webkiln.frontends.inspect.inspection FILE REQUEST`. The request is JSON: format,
inputs, params, and whether user code may run (`trusted`).
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
from webkiln.frontends.core.format_stages import stage_module
from webkiln.frontends.core.model_interface import ModelInterface
from webkiln.frontends.core.probe import REFUSED, limit_resources, run_probe
from webkiln.frontends.inspect.facts import (
    Description,
    FileFacts,
    Inspector,
    SignatureFacts,
    TensorFacts,
)
from webkiln.frontends.inspect.header_only import header_only
from webkiln.ir import dim
from webkiln.ir.guards import expand_quotients

SCHEMA = "webkiln.inspection/1"
RAISED = {
    kind.__name__: kind for kind in (RecipeError, ShapeError, SourceError, ToolError, InternalError)
}
MARK = "webkiln.inspection:"
"""Prefix of the line with the answer; frameworks also print to standard output."""


@dataclass(frozen=True)
class Inspection:
    """The result of an inspection.

    `converts` is None if that cannot be determined; `reason` explains it. If it is False,
    `unsupported` lists the items and `reason` any other error. `sizes` are constraints on symbolic
    sizes, `states` the names of values that are kept between runs.
    """

    file: FileFacts
    model: Description
    converts: bool | None
    unsupported: tuple[Item, ...] = ()
    reason: str = ""
    sizes: tuple[str, ...] = ()
    states: tuple[str, ...] = ()


def inspector(format_name: str) -> Inspector:
    """The inspector of a format."""
    inspector_: Inspector = import_module(f"webkiln.frontends.{format_name}.facts").FACTS
    return inspector_


def inspect_model(
    format_name: str, inputs: Mapping[str, Path], params: Mapping[str, Any]
) -> Inspection:
    """Inspect a model file. `params` are the parameters of the stages `load` and `convert`. Raise
    SourceError if the file cannot be read.
    """
    format_inspector = inspector(format_name)
    with header_only() as findings:
        file = format_inspector.read_facts(inputs, params)
        try:
            spec, _ = stage_module(format_name, "load").load(inputs, params)
        except UnsupportedError as error:
            return Inspection(
                file,
                file.preview,
                converts=False,
                unsupported=_distinct([*findings.unsupported, *error.items]),
            )
        except (ToolError, UndecidedError) as error:
            return Inspection(file, file.preview, converts=None, reason=str(error))
        except ImportError as error:
            if (missing := missing_package(error, "reading it")) is None:
                raise
            return Inspection(file, file.preview, converts=None, reason=str(missing))
        return inspect_spec(
            format_name, format_inspector, file, spec, inputs, params, findings.unsupported
        )


def inspect_spec(
    format_name: str,
    format_inspector: Inspector,
    file: FileFacts,
    spec: Mapping[str, Any],
    inputs: Mapping[str, Path],
    params: Mapping[str, Any],
    unsupported: Sequence[Item] = (),
) -> Inspection:
    """Inspect a spec by converting it without weights."""
    model = format_inspector.describe_spec(spec)
    try:
        with stage_module(format_name, "convert").converted(spec, inputs, params) as conversion:
            graph = conversion.graph
            texts = conversion.files.get("texts.json", {}).get("texts", ())
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
    return inspect_graph(file, model, ModelInterface(graph, texts))


def inspect_graph(file: FileFacts, model: Description, interface: ModelInterface) -> Inspection:
    """The inspection of a model that converts, with the types of its graph."""
    graph = interface.graph
    divisibility = graph.constraints.divisibility

    def tensors(role: str) -> tuple[TensorFacts, ...]:
        return tuple(
            TensorFacts(
                name,
                dtype,
                tuple(
                    dim.abbreviate(size) if dim.is_symbolic(size) else int(size)
                    for size in (expand_quotients(size, divisibility) for size in shape)
                ),
            )
            for name, (dtype, shape) in interface.of(role).items()
        )

    inputs, outputs = tensors("inputs"), tensors("outputs")
    sizes = [f"{item.name} is {item} ({', '.join(item.layers)})" for item in divisibility]
    sizes += [
        f"{dim.abbreviate(expand_quotients(item.a, divisibility))} is"
        f" {dim.abbreviate(expand_quotients(item.b, divisibility))} ({item.layer})"
        for item in graph.constraints.guards
    ]
    description = Description(inputs, outputs, model.parts, model.weights)
    return Inspection(
        file,
        description,
        converts=True,
        sizes=tuple(sizes),
        states=tuple(state.name for state in graph.states),
    )


def _distinct(items: Sequence[Item]) -> tuple[Item, ...]:
    return tuple(dict.fromkeys(items))


def to_json(inspection: Inspection) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "facts": [list(row) for row in inspection.file.rows],
        "signatures": [
            {"name": item.name, "inputs": _tensors(item.inputs), "outputs": _tensors(item.outputs)}
            for item in inspection.file.signatures
        ],
        "inputs": _tensors(inspection.model.inputs),
        "outputs": _tensors(inspection.model.outputs),
        "nodes": dict(sorted(inspection.model.parts.items(), key=lambda item: (-item[1], item[0]))),
        "weights": {
            slot: {"dtype": dtype, "shape": list(shape)}
            for slot, (dtype, shape) in inspection.model.weights.items()
        },
        "sizes": list(inspection.sizes),
        "states": list(inspection.states),
        "converts": inspection.converts,
        "unsupported": [
            {"where": where, "what": what, "hint": hint}
            for where, what, hint in inspection.unsupported
        ],
        "reason": inspection.reason,
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


def inspect_in_subprocess(
    format_name: str, inputs: Mapping[str, Path], params: Mapping[str, Any], *, trusted: bool
) -> Inspection:
    """Run `inspect_model` in a subprocess with limits on memory and time. For `trusted` user code,
    memory is not limited.
    """
    request = {
        "format": format_name,
        "inputs": {role: str(path) for role, path in inputs.items()},
        "params": params,
        "trusted": trusted,
    }
    path = inputs["source"]
    external = inputs.get("external/")
    largest = max(
        [path, *(external.rglob("*") if external is not None else ())],
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
            f"{path.name}: cannot be read in reasonable time; it is damaged or too large"
        )
    if answer is None:
        raise SourceError(
            f"{path.name}: crashes its reader or exhausts its memory; it is damaged; save it again"
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
        inspection = inspect_model(
            request["format"],
            {role: Path(path) for role, path in request["inputs"].items()},
            request["params"],
        )
    except (MemoryError, RecursionError):
        return 1
    except UserError as error:
        return _refused(type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001 - the parent process reports it
        missing = missing_package(error, "reading it") if isinstance(error, ImportError) else None
        return (
            _refused("InternalError", traceback.format_exc())
            if missing is None
            else _refused("ToolError", str(missing))
        )
    print(f"\n{MARK}{json.dumps(to_json(inspection))}")
    return 0


def _refused(kind: str, message: str) -> int:
    print(f"\n{MARK}{json.dumps({'type': kind, 'text': message})}")
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
