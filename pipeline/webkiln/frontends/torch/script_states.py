"""Attributes of a TorchScript program that get their type in the first run.

A streaming model often starts with an empty tensor or None, and with flags such as the last rate.
Such a program runs a few times on random inputs. If its attributes settle, they get the values of a
settled run, and its states the values that the first run starts from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from webkiln.errors import SourceError
from webkiln.frontends.torch.script import ScriptProgram

RUNS = 3
MAX_CONSTANTS = 16
TOLERANCE = 1e-5
Inputs = tuple[Tensor, ...]


@dataclass(frozen=True)
class _Step:
    """The results of a run, the attributes after it, all values that were assigned, and the
    constants that it created.
    """

    results: list[Any]
    attributes: Mapping[str, Any]
    assigned: Mapping[str, list[Any]]
    created: Sequence[Tensor]


def settle(program: ScriptProgram, draw: Callable[[], Inputs], other: Callable[[], Inputs]) -> None:
    """Give the program the attributes of a settled run. `draw` makes random inputs, `other` those
    of other sizes, where sizes are open.

    Raises SourceError if an attribute changes in each run, if its type depends on an open size, or
    if the first run differs from one that starts settled.
    """
    names = program.unsettled()
    if not names:
        return
    steps = _simulated(program, {}, [draw() for _ in range(RUNS)])
    finals = [
        {name: step.attributes[name] for name in names if name in step.attributes} for step in steps
    ]
    changed = sorted(
        name for name, value in finals[-1].items() if not _same(value, program.original(name))
    )
    if not changed:
        return
    for name in changed:
        _check_settled(name, [final.get(name) for final in finals])
    (elsewhere,) = _simulated(program, {}, [other()])
    for name in changed:
        if not _is_settled([finals[0][name], elsewhere.attributes.get(name)]):
            raise SourceError(
                f"{name} gets its value in the first run, and it depends on the sizes of the input;"
                " set them with --input-shape"
            )
    values = {name: finals[0][name] for name in changed}
    # With the first inputs, a state that depends on them would agree.
    inputs = [draw() for _ in range(RUNS)]
    expected = _simulated(program, {}, inputs)
    for states in _candidates(values, steps[0]):
        if _agree(_simulated(program, {**values, **states}, inputs), expected, changed):
            program.settle({**values, **states})
            return
    raise SourceError(
        f"{', '.join(changed)}: the first value depends on data, or the first run computes"
        " something else than the next ones; start with a tensor of the final shape"
    )


def _candidates(values: Mapping[str, Any], step: _Step) -> Iterator[dict[str, Tensor]]:
    """Initial states: the first values of their final types, zeros, or constants that the first run
    creates.
    """
    states = {name: value for name, value in values.items() if isinstance(value, Tensor)}
    first = {
        name: next(item for item in step.assigned[name] if _is_settled([item, value])).clone()
        for name, value in states.items()
    }
    yield first
    yield {name: torch.zeros_like(value) for name, value in states.items()}
    for constant in step.created[:MAX_CONSTANTS]:
        yield {
            name: (constant if _is_settled([constant, value]) else first[name]).clone()
            for name, value in states.items()
        }


def _simulated(
    program: ScriptProgram, attributes: Mapping[str, Any], inputs: Sequence[Inputs]
) -> list[_Step]:
    """Runs, one after another, from the saved buffers and these attributes."""
    saved = {name: value.clone() for name, value in program.named_buffers()}
    steps = []
    try:
        for item in inputs:
            copies = pytree.tree_map(_cloned, dict(attributes))
            run = program.run(item, copies, recording=True)
            attributes = pytree.tree_map(_cloned, run.attributes)
            results = pytree.tree_map(_cloned, pytree.tree_leaves(run.results))
            steps.append(_Step(results, attributes, run.assigned, run.created))
    finally:
        for name, value in program.named_buffers():
            value.copy_(saved[name])
    return steps


def _check_settled(name: str, values: Sequence[Any]) -> None:
    if any(isinstance(item, Tensor) for item in pytree.tree_leaves(values)) and not all(
        isinstance(item, Tensor) for item in values
    ):
        raise SourceError(
            f"{name} is {type(values[-1]).__name__} of tensors that changes; keep each tensor in an"
            " attribute of its own"
        )
    if not _is_settled(values):
        shown = ", ".join(map(_shown, values))
        raise SourceError(
            f"{name} changes in each run ({shown}); make it a tensor whose shape does not"
            " change, or pass it as an input and return it"
        )


def _is_settled(values: Sequence[Any]) -> bool:
    """Whether tensors have one type, and other values are equal."""
    first, *rest = values
    if isinstance(first, Tensor):
        return all(
            isinstance(item, Tensor) and item.shape == first.shape and item.dtype == first.dtype
            for item in rest
        )
    return all(_same(item, first) for item in rest)


def _agree(steps: Sequence[_Step], expected: Sequence[_Step], names: Sequence[str]) -> bool:
    return all(
        len(step.results) == len(other.results)
        and all(map(_close, step.results, other.results))
        and all(_close(step.attributes[name], other.attributes[name]) for name in names)
        for step, other in zip(steps, expected, strict=True)
    )


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a.shape == b.shape and bool(
            torch.allclose(a.double(), b.double(), TOLERANCE, TOLERANCE, equal_nan=True)
        )
    return _same(a, b)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return isinstance(a, Tensor) and isinstance(b, Tensor) and torch.equal(a, b)
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(_same, a, b))
    return type(a) is type(b) and bool(a == b)


def _cloned(item: Any) -> Any:
    return item.clone() if isinstance(item, Tensor) else item


def _shown(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, Tensor) else repr(value)[:40]
