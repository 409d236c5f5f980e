"""The verdict on a recorded call: right, wrong, refused with a reason, or no model."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tests.conformance.bulk import Failed, Ran, run_graphs
from tests.conformance.keras.calls import Expected, NoModel, rebuild
from tests.conformance.keras.record import Call
from webkiln.errors import UnsupportedError, WebkilnError
from webkiln.frontends.keras.converter import KerasConverter
from webkiln.frontends.keras.policies import storable
from webkiln.ir.graph import Graph

TOGETHER = 400
"""Graphs per page."""
TOLERANCES = {"float16": 2e-2, "bfloat16": 4e-2, "float32": 1e-4, "float64": 1e-4}
LEAST = {"float16": 1e-3, "bfloat16": 1e-3}
"""Permitted absolute differences near 0, for dtypes that round in many steps."""
SUBNORMAL = "numbers below 1.2e-38 may count as 0 on GPUs"
EXPLAINED = {"test_argmax_negative_zero": SUBNORMAL, "test_argmin_negative_zero": SUBNORMAL}
"""Why GPUs do not reach the accuracy of the tests of Keras."""
NOISES = 4
"""The permitted multiple of the change of Keras's outputs if its inputs are rounded differently."""


@dataclass(frozen=True)
class Converted:
    """The graph of the model of a call."""

    call: Call
    graph: Graph
    expected: Expected


@dataclass(frozen=True)
class Refused:
    """`kind` is "not a model", "refused" or "broken"."""

    call: Call
    kind: str
    reason: str


def convert(call: Call) -> Converted | Refused:
    try:
        model, expected = rebuild(call)
    except NoModel as error:
        return Refused(call, "not a model", str(error))
    try:
        graph = KerasConverter().convert(model)
    except UnsupportedError as error:
        return Refused(
            call, "refused", "; ".join(dict.fromkeys(what for _, what, _ in error.items))
        )
    except WebkilnError as error:
        return Refused(call, "refused", str(error))
    except Exception as error:  # noqa: BLE001  # a defect, which is counted
        return Refused(call, "broken", f"{type(error).__name__}: {error}")
    return Converted(
        call,
        graph,
        replace(expected, inputs={name: expected.inputs[name] for name in graph.inputs}),
    )


def objection(converted: Converted, got: Mapping[str, np.ndarray]) -> str | None:
    """The reason why outputs are wrong, or None."""
    wanted = converted.expected
    if len(got) != len(wanted.outputs):
        return f"{len(got)} outputs, expected {len(wanted.outputs)}"
    for (name, value), reference, dtype, noise in zip(
        got.items(), wanted.outputs, wanted.dtypes, wanted.noise, strict=True
    ):
        if value.shape != reference.shape:
            return f"{name} is {list(value.shape)}, expected {list(reference.shape)}"
        if value.dtype not in (reference.dtype, storable(dtype)):
            return f"{name} is {value.dtype}, expected {reference.dtype}"
        told, expected = (
            settled(converted.call, array) for array in (value, reference.astype(value.dtype))
        )
        if (
            found := differs(
                told, expected, TOLERANCES.get(dtype, 0.0), LEAST.get(dtype, 1e-6) + NOISES * noise
            )
        ) is not None:
            return f"{name} {found}"
    return None


def settled(call: Call, array: np.ndarray) -> np.ndarray:
    """The part of an output that the call defines: singular vectors up to their sign, the greatest
    elements up to their order, and sorted values up to the positions of NaN, which TensorFlow puts
    anywhere.
    """
    if call.name in ("svd", "SVD"):
        rows, columns = call.args[0].shape[-2:]
        if array.shape[-2:] == (rows, rows) != (columns, columns):
            array = array[..., : min(rows, columns)]
        elif array.shape[-2:] == (columns, columns):
            array = array[..., : min(rows, columns), :]
        return np.abs(array)
    unordered = (call.name == "top_k" and call.kwargs.get("sorted") is False) or (
        call.name == "unique" and array.ndim == 1 and array.dtype.kind == "f"
    )
    return np.sort(array, axis=-1) if unordered else array


def differs(got: np.ndarray, reference: np.ndarray, tolerance: float, least: float) -> str | None:
    if reference.dtype.kind != "f":
        wrong = got != reference
    else:
        got, reference = got.astype("float64"), reference.astype("float64")
        special = ~np.isfinite(reference) | ~np.isfinite(got)
        same = (got == reference) | (np.isnan(got) & np.isnan(reference))
        finite = np.abs(np.where(special, 0, reference))
        near = (
            np.abs(np.where(special, 0, got) - np.where(special, 0, reference))
            <= tolerance * np.maximum(finite, 0.01 * finite.max(initial=0)) + least
        )
        wrong = np.where(special, ~same, ~near)
    if not wrong.any():
        return None
    position = tuple(int(index[0]) for index in np.nonzero(wrong)) if wrong.ndim else ()
    return (
        f"{int(wrong.sum())} of {wrong.size} elements differ; at {list(position)} {got[position]},"
        f" expected {reference[position]}"
    )


def judge(converted: Sequence[Converted], backend: str, folder: Path) -> list[str | None]:
    """The reason why each graph is wrong on a backend, or None."""
    found: list[str | None] = []
    for start in range(0, len(converted), TOGETHER):
        part = converted[start : start + TOGETHER]
        outcomes = run_graphs(
            [item.graph for item in part],
            [item.expected.inputs for item in part],
            backend,
            folder / str(start),
        )
        found += [wrong_with(item, outcome) for item, outcome in zip(part, outcomes, strict=True)]
    return found


def wrong_with(item: Converted, outcome: Ran | Failed) -> str | None:
    return outcome.message if isinstance(outcome, Failed) else objection(item, outcome.outputs)


def explained(call: Call, backend: str) -> str | None:
    """The documented reason why a call is not right on a backend."""
    return EXPLAINED.get(call.test.rpartition("::")[2]) if backend in ("webgpu", "webgl") else None


def summary(reason: str) -> str:
    """A reason without the details that differ between calls of one kind."""
    return re.sub(r"(?<![\w.])\d+(\.\d+)?", "n", re.sub(r"\[[^\]]*\]", "[...]", reason))[:160]
