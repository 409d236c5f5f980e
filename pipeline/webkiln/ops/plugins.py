"""Operators that a user's Python files define."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from webkiln.errors import UnsupportedError
from webkiln.ir.graph import Attributes, Graph
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.ops.operator import DEFINED, Case, Operator, define
from webkiln.ops.table import find
from webkiln.plugins import PREFIX, import_file

PluginTypeRule = Callable[[Attributes, Sequence[Type]], tuple[Type, ...]]


@contextmanager
def defined_by(folder: Path | None) -> Iterator[None]:
    """The operators that the files of a folder define exist inside, and are forgotten at the end."""
    known, modules = dict(DEFINED), set(sys.modules)
    try:
        for path in sorted(folder.iterdir()) if folder is not None else ():
            import_file(path)
        yield
    finally:
        DEFINED.clear()
        DEFINED.update(known)
        for name in set(sys.modules) - modules:
            if name.startswith(PREFIX):
                del sys.modules[name]


def written(
    name: str,
    infer: PluginTypeRule,
    reference: Callable[..., tuple[Array, ...]],
    texts: Mapping[str, str],
    *,
    attributes: Mapping[str, Any] | None = None,
    arguments: tuple[str, ...] = (),
    arity: tuple[int, int] = (1, 1),
    cases: Iterable[Case] = (),
) -> Operator:
    """Define an operator by the text of a kernel for each backend.

    A text is the statements that set `y`, element number `i` (row-major) of the only output, in C
    (wasm), JavaScript (js), WGSL (webgpu) or GLSL ES 3.00 (webgl). `x0(n)` is element n of the
    first input, as float32, int32 or uint32 (on GPUs every dtype is one of these); the attributes
    named in `arguments` are whole numbers, and `count` is how many elements the output has.
    """

    def lower(low: Lowering, attrs: Attributes) -> None:
        low.custom_kernel(texts, {name: attrs[name] for name in arguments})

    samples = tuple(cases)
    return define(
        Operator(
            name,
            infer,
            reference,
            lower,
            attributes or {},
            arity,
            lambda: samples,
            backends=tuple(texts),
        )
    )


def check_backends(graph: Graph, backends: Iterable[str]) -> None:
    """Raise UnsupportedError, with every node whose operator has no kernel for one of the backends."""
    wanted = tuple(backends)
    items = []
    for node in graph.nodes:
        known = find(node.op).backends
        if known is not None and (missing := [name for name in wanted if name not in known]):
            where, what = (
                node.layer or node.name,
                f"{node.op} has no kernel for {', '.join(missing)}",
            )
            items.append((where, what, f"Write one, or build for {', '.join(known)} only."))
    if items:
        raise UnsupportedError(graph.name, items)
