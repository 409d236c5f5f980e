"""What webkiln makes of a recorded call: right, wrong, refused with a reason, or no model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tests.conformance.keras.calls import NoModel, Rebuilt, rebuild
from tests.conformance.keras.record import Call
from webkiln.errors import UnsupportedError, WebkilnError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.policies import storable
from webkiln.ir.graph import Graph
from webkiln.ir.types import DTYPES

TOLERANCES = {"float16": 2e-2, "bfloat16": 4e-2, "float32": 1e-4, "float64": 1e-4}


@dataclass(frozen=True)
class Converted:
    """A call, and the graph of its model."""

    rebuilt: Rebuilt
    graph: Graph
    inputs: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Refused:
    """`kind` is "not a model", "refused" or "broken"."""

    kind: str
    reason: str


def convert(call: Call) -> Converted | Refused:
    try:
        rebuilt = rebuild(call)
    except NoModel as error:
        return Refused("not a model", str(error))
    try:
        graph = KerasConverter().convert(rebuilt.model)
    except UnsupportedError as error:
        return Refused("refused", "; ".join(dict.fromkeys(what for _, what, _ in error.items)))
    except WebkilnError as error:
        return Refused("refused", str(error))
    except Exception as error:  # noqa: BLE001  # a defect, which is counted
        return Refused("broken", f"{type(error).__name__}: {error}")
    inputs = {name: value.astype(storable(value.dtype.name)) for name, value in rebuilt.inputs.items()}
    return Converted(rebuilt, graph, inputs)


def objection(converted: Converted, got: Mapping[str, np.ndarray]) -> str | None:
    """What is wrong with outputs."""
    references = converted.rebuilt.outputs
    dtypes = [output.dtype for output in converted.rebuilt.model.outputs]
    if len(got) != len(references):
        return f"{len(got)} outputs, expected {len(references)}"
    for (name, value), reference, dtype in zip(got.items(), references, dtypes, strict=True):
        if value.shape != reference.shape:
            return f"{name} is {list(value.shape)}, expected {list(reference.shape)}"
        if value.dtype != reference.dtype:
            return f"{name} is {value.dtype}, expected {reference.dtype}"
        if (found := differs(value, reference, TOLERANCES.get(dtype, 0.0))) is not None:
            return f"{name} {found}"
    return None


def differs(got: np.ndarray, reference: np.ndarray, tolerance: float) -> str | None:
    if reference.dtype.kind != "f":
        wrong = got != reference
    else:
        got, reference = got.astype("float64"), reference.astype("float64")
        special = ~np.isfinite(reference) | ~np.isfinite(got)
        same = (got == reference) | (np.isnan(got) & np.isnan(reference))
        finite = np.abs(np.where(special, 0, reference))
        near = np.abs(np.where(special, 0, got - reference)) <= tolerance * np.maximum(finite, 0.01 * finite.max(initial=0)) + 1e-6
        wrong = np.where(special, ~same, ~near)
    if not wrong.any():
        return None
    place = tuple(int(index[0]) for index in np.nonzero(wrong)) if wrong.ndim else ()
    return f"differs at {int(wrong.sum())} of {wrong.size} places; at {list(place)} {got[place]}, expected {reference[place]}"


def plain_reason(reason: str) -> str:
    """A reason without what differs between calls of one kind."""
    return re.sub(r"\d+", "n", re.sub(r"\[[^\]]*\]", "[...]", reason))[:160]


def unstorable(values: Sequence[np.ndarray]) -> str | None:
    foreign = sorted({value.dtype.name for value in values} - {*DTYPES, "bfloat16"})
    return f"dtype {foreign[0]}" if foreign else None
