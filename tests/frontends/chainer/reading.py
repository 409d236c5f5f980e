"""Nets of the corpus as webkiln reads them."""

from pathlib import Path

from webkiln.frontends.chainer.converter import ChainerConverter
from webkiln.frontends.chainer.model_functions import made_model
from webkiln.ir.graph import Graph
from webkiln.plugins import importable

HERE = Path(__file__).parent
CORPUS = HERE / "corpus"


MODULES = ("nets", "function_nets", "window_nets", "sequence_nets", "option_nets")
"""Those of the corpus."""


def module_of(name: str) -> str:
    """Which of them a net is in."""
    return next(
        module
        for module in MODULES
        if f"\ndef {name}(" in (HERE / f"{module}.py").read_text("utf-8")
    )


def recorded(name, shapes=None, weights=None, module=None, folder=HERE, **parameters):  # type: ignore[no-untyped-def]
    with importable(folder):
        return made_model(
            {"module": module or module_of(name), "function": name, "parameters": parameters},
            shapes or {},
            weights,
        )


def snapshot(name: str) -> Path:
    return next(CORPUS.glob(f"{name}.weights.*"))


def converted(name: str, shapes=None) -> Graph:  # type: ignore[no-untyped-def]
    return ChainerConverter().convert(*recorded(name, shapes, snapshot(name)))
