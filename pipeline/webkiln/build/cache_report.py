"""How the caches of keys and values of a model are held, in words."""

from collections.abc import Mapping
from math import prod

from webkiln.ir.dim import all_known
from webkiln.ir.graph import Graph
from webkiln.ir.types import itemsize
from webkiln.lower import narrow_caches
from webkiln.lower.caches import find_caches

LISTED = 3
"""The most states that are named."""


def described_caches(graph: Graph, dtype: str) -> Mapping[str, str]:
    """A sentence by label about the states that can be caches. Empty if there are none, unless the
    recipe rounds caches.
    """
    found = find_caches(graph)
    caches = found.states(graph)
    if not caches:
        return {} if dtype == "float32" else {"caches": _none(found.others, dtype)}
    names = {state.name for state in caches}
    narrowed = narrow_caches.run(graph, dtype).graph
    sizes = [_bytes(item, names) for item in (graph, narrowed)]
    count = f"{len(caches)} state{'s' * (len(caches) > 1)} in {dtype}"
    before, after = sizes
    if before is None or after is None:
        return {"caches": count}
    if dtype == "float32":
        return {"caches": f"{count}, {before / 1e6:.2g} MB; --caches float16 or int8 narrows them"}
    return {"caches": f"{count}, {after / 1e6:.2g} MB, {after / before:.2f} of float32"}


def _none(others: Mapping[str, str], dtype: str) -> str:
    reasons = [f"{name}: {reason}" for name, reason in others.items()]
    more = [f"{len(reasons) - LISTED} more"] if len(reasons) > LISTED else []
    listed = f" ({'; '.join([*reasons[:LISTED], *more])})" if reasons else ""
    return f"none, so that {dtype} changes nothing; no state is a cache{listed}"


def _bytes(graph: Graph, names: set[str]) -> int | None:
    """The bytes of caches with their scales; None if they are symbolic."""
    total = 0
    for state in graph.states:
        if state.name.removesuffix(narrow_caches.SCALES) in names:
            type_ = graph.type(state.input)
            if (sizes := all_known(type_.shape)) is None:
                return None
            total += prod(sizes) * itemsize(type_.dtype)
    return total
