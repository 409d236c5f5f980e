"""Operators that are defined by plugins."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from webkiln.errors import SourceError, UnsupportedError
from webkiln.ir.attributes import Attributes
from webkiln.ir.graph import Graph
from webkiln.ir.types import Array, Type
from webkiln.nest.build import Lowering
from webkiln.ops.operator import DEFINED, Case, Operator, define
from webkiln.ops.table import find
from webkiln.plugins import PREFIX, import_file

PluginTypeRule = Callable[[Any, Sequence[Type]], tuple[Type, ...]]


@contextmanager
def defined_by(folder: Path | None) -> Iterator[None]:
    """Import the plugins of a folder in the block; their operators are removed at its end."""
    builtin, modules = dict(DEFINED), set(sys.modules)
    try:
        for path in sorted(folder.iterdir()) if folder is not None else ():
            import_file(path)
        yield
    finally:
        DEFINED.clear()
        DEFINED.update(builtin)
        for name in set(sys.modules) - modules:
            if name.startswith(PREFIX):
                del sys.modules[name]


def written(
    name: str,
    infer: PluginTypeRule,
    reference: Callable[..., tuple[Array, ...]],
    texts: Mapping[str, str],
    *,
    attributes: type[Attributes] = Attributes,
    arguments: tuple[str, ...] = (),
    arity: tuple[int, int] = (1, 1),
    cases: Iterable[Case] = (),
) -> Operator[Any]:
    """Define an operator by the source of a kernel for each backend.

    `texts` maps backends to the statements that set `y`, the element of the only output with the
    row-major index `i`: in C (wasm), JavaScript (js), WGSL (webgpu) or GLSL ES 3.00 (webgl).
    `x0(n)` is element n of the first input, as float32, int32 or uint32 (on GPUs, every dtype is
    stored as one of these). `attributes` is the class of the attributes. Those in `arguments` are
    integers, and `count` is the number of elements of the output.
    """
    declared = [field.name for field in fields(attributes)]
    if unknown := sorted(set(arguments) - set(declared)):
        raise SourceError(
            f"operator {name}: the arguments {', '.join(unknown)} are not attributes of"
            f" {attributes.__name__}, which has {', '.join(declared) or 'none'}"
        )

    def lower(low: Lowering, attrs: Attributes) -> None:
        low.custom_kernel(texts, {argument: getattr(attrs, argument) for argument in arguments})

    samples = tuple(cases)
    return define(
        Operator(
            name,
            infer,
            reference,
            lower,
            attributes,
            arity,
            lambda: samples,
            backends=tuple(texts),
        )
    )


def check_backends(graph: Graph, backends: Iterable[str]) -> None:
    """Raise UnsupportedError with the nodes whose operators lack a kernel for a backend."""
    requested = tuple(backends)
    items = []
    for node in graph.nodes:
        supported = find(node.op).backends
        if supported is not None and (
            missing := [name for name in requested if name not in supported]
        ):
            where, what = (
                node.layer or node.name,
                f"{node.op} has no kernel for {', '.join(missing)}",
            )
            items.append((where, what, f"Write one, or build for {', '.join(supported)} only."))
    if items:
        raise UnsupportedError(graph.name, items)
