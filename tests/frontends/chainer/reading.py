"""Records nets of the corpus."""

from pathlib import Path
from typing import Any

import numpy as np

from webkiln.frontends.chainer.converter import ChainerConverter
from webkiln.frontends.chainer.model_functions import record_function
from webkiln.ir.graph import Graph
from webkiln.ops.evaluate import run_graph
from webkiln.plugins import importable

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"


MODULES = (
    "nets",
    "function_nets",
    "layer_nets",
    "window_nets",
    "sequence_nets",
    "option_nets",
    "layer_option_nets",
)
"""The modules with the nets of the corpus."""


def module_of(name: str) -> str:
    """The module of a net."""
    return next(
        module
        for module in MODULES
        if f"\ndef {name}(" in (HERE / f"{module}.py").read_text("utf-8")
    )


def recorded(name, shapes=None, weights=None, module=None, folder=HERE, **parameters):  # type: ignore[no-untyped-def]
    with importable(folder):
        return record_function(
            {"module": module or module_of(name), "function": name, "parameters": parameters},
            shapes or {},
            weights,
        )


def snapshot(name: str) -> Path:
    return next(CORPUS.glob(f"{name}.weights.*"))


def converted(name: str, shapes=None) -> Graph:  # type: ignore[no-untyped-def]
    return ChainerConverter().convert(*recorded(name, shapes, snapshot(name)))


def small(
    name: str, shapes: Any = None, weights: Path | None = None, dims: Any = None, **parameters: Any
) -> Graph:
    model, blobs = recorded(name, shapes, weights, "small", **parameters)
    return ChainerConverter(dims).convert(model, blobs)


def computed(graph: Graph, *inputs: np.ndarray) -> list[np.ndarray]:
    outputs, _ = run_graph(graph, dict(zip(graph.inputs, inputs, strict=True)))
    return list(outputs.values())
