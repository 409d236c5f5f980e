"""The state dicts in what torch.save wrote: one under any key, or one of several."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import torch

from webkiln.errors import SourceError

USUAL = ("state_dict", "model_state_dict", "model")
"""Keys that are preferred to others."""
OPTIMISER = frozenset({"state", "param_groups"})
"""The keys of the state of an optimiser."""
SHOWN = 8
States = dict[str, dict[str, torch.Tensor]]
"""By the path of keys, joined by dots; '' is the file itself."""


def state_dict_of(
    checkpoint: Any, where: str, own: Collection[str] = (), *, joined: bool = False
) -> dict[str, torch.Tensor]:
    """The tensors of a model by name. Of several state dicts, the one under a usual key, or the one
    with the names `own`.

    If neither decides, the tensors of all, with their keys as prefixes, if `joined`; otherwise
    raises SourceError with all candidates.
    """
    for key in USUAL:
        if isinstance(checkpoint, dict) and isinstance(checkpoint.get(key), dict):
            checkpoint = checkpoint[key]
    states = dict(_found(checkpoint, ""))
    if len(states) > 1 and not own:
        states.pop("", None)
    for fits in (lambda names: names == set(own), lambda names: bool(names & set(own))):
        fitting = {path: state for path, state in states.items() if fits(state.keys())}
        if fitting and not joined:
            states = fitting
    if not states:
        raise SourceError(f"{where}: contains no state dict; save model.state_dict()")
    if len(states) == 1:
        return next(iter(states.values()))
    if joined:
        return {
            f"{path}.{name}" if path else name: value
            for path, state in states.items()
            for name, value in state.items()
        }
    names = [
        f"{path or 'the file itself'} (tensors: {len(state)})" for path, state in states.items()
    ]
    last = next(path for path in reversed(states) if path)
    raise SourceError(
        f"{where}: contains {len(states)} state dicts: {', '.join(names[:SHOWN])}"
        f"{', ...' if len(names) > SHOWN else ''}; save one alone, or choose one with a function"
        " state_dict(tensors) in the module of the function. It receives all tensors, such as"
        f" {last}.{next(iter(states[last]))}, and returns those of the model by name"
    )


def _found(value: Any, path: str) -> Iterator[tuple[str, dict[str, torch.Tensor]]]:
    """Dicts of tensors. Whatever else is beside the tensors, such as a number of epochs, is
    dropped.
    """
    if not isinstance(value, Mapping) or value.keys() >= OPTIMISER:
        return
    if not all(isinstance(key, str) for key in value):
        return
    tensors = {key: item for key, item in value.items() if isinstance(item, torch.Tensor)}
    nested = [pair for key, item in value.items() for pair in _found(item, f"{path}.{key}")]
    if tensors:
        yield path.removeprefix("."), tensors
    yield from nested
