"""Warnings about kernels that compute one element at a time on a backend that has vectors."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from webkiln import canonical
from webkiln.build import progress
from webkiln.ir.notation import size_from_json
from webkiln.ir.solve import nominal_size

MIN_SHARE = 0.01
"""Kernels with at most this share of the operations of a model are not reported."""
MAX_LAYERS = 5


def warn(bundles: Iterable[Path]) -> None:
    """Print the warnings about bundles. Those of two encodings are equal, and printed once."""
    manifests = [canonical.read(folder / "manifest.json") for folder in bundles]
    found = (text for item in manifests for text in warnings(item["name"], item["launches"]))
    for text in found:
        progress.warn(text)


def warnings(model: str, launches: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    """One for each backend with scalar kernels that have more than `MIN_SHARE` of the operations:
    their layers and why they are scalar, longest first. `launches`: those of each backend. Symbolic
    sizes count at nominal values.
    """
    for backend, steps in launches.items():
        total = sum(map(_operations, steps))
        kernels: dict[str, list[Mapping[str, Any]]] = {}
        for step in steps:
            if step.get("scalar"):
                kernels.setdefault(step["kernel"], []).append(step)
        shares = {
            name: sum(map(_operations, group)) / total for name, group in kernels.items() if total
        }
        slow = sorted(
            (name for name, share in shares.items() if share > MIN_SHARE),
            key=lambda name: -shares[name],
        )
        if slow:
            share = _percent(sum(shares[name] for name in slow))
            lines = (
                f"{_percent(shares[name])} in"
                f" {few(step['layer'] for step in kernels[name])}: {kernels[name][0]['why']}"
                for name in slow
            )
            head = f"{model}, {backend}: {share} of the operations are not vectorised"
            yield "\n  ".join([head, *lines])


def _operations(step: Mapping[str, Any]) -> int:
    return nominal_size(size_from_json(step["flops"]))


def few(layers: Iterable[str]) -> str:
    """The names of the first layers, and the number of the others."""
    names = [*dict.fromkeys(layers)]
    more = len(names) - MAX_LAYERS
    return ", ".join(names[:MAX_LAYERS]) + (f" and {more} more" if more > 0 else "")


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
