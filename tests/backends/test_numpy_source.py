"""A backend need not print loops: a small one that starts from the graph compiles through the same
stages.
"""

import random
import sys
from importlib import import_module
from runpy import run_path

import numpy as np
import pytest

from tests.backends.numpy_source import backend, printer
from tests.lower.fused_calls import deviations, values_of
from tests.passes.graphs import Builder, evaluate_graph
from webkiln import canonical
from webkiln.errors import UnsupportedError
from webkiln.ir.graph import Graph
from webkiln.ir.serial import to_json

UNARY = ("Neg", "Abs", "Exp", "Tanh", "Relu", "Identity")
BINARY = ("Add", "Sub", "Mul", "Max", "Min")


def graph(seed: int) -> Graph:
    """A random graph of the operators that the backend has."""
    draw, b = random.Random(seed), Builder()
    x = b.declare("x", b.variables[b.slot(4, 6)].type)
    values = [x]
    for _ in range(draw.randint(3, 12)):
        first, second = draw.choice(values), draw.choice(values)
        kind = draw.choice(("unary", "binary", "product", "transpose", "reshape", "scalar"))
        if kind == "unary":
            values.append(b.op(draw.choice(UNARY), b.op("Tanh", first)))
        elif kind == "binary" and b.shape(first) == b.shape(second):
            values.append(b.op(draw.choice(BINARY), first, second))
        elif kind == "product":
            values.append(b.op("MatMul", first, b.slot(b.shape(first)[1], draw.choice((4, 6)))))
        elif kind == "transpose":
            values.append(b.op("Transpose", first, perm=(1, 0)))
        elif kind == "reshape":
            values.append(b.op("Reshape", first, shape=(b.shape(first)[1], b.shape(first)[0])))
        else:
            values.append(b.op(draw.choice(BINARY), first, b.scalar(draw.uniform(-1, 1))))
    return Graph(
        "g", tuple(b.nodes), b.variables, ("x",), {"y": values[-1]}, frozenset(b.slots), b.constants
    )


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backend where the stages look for it."""
    for module in (backend, printer):
        name = module.__name__.rpartition(".")[2]
        monkeypatch.setitem(sys.modules, f"webkiln.backends.numpy.{name}", module)
    monkeypatch.setitem(sys.modules, "webkiln.backends.numpy", import_module("tests.backends"))


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("seed", range(40))
def test_stages_compile_graphs_for_it(seed, tmp_path):
    model = graph(seed)
    values = values_of(model, seed)
    canonical.write(tmp_path / "graph.json", to_json(model))
    stage = {name: import_module(f"stages.{name}") for name in ("lower", "generate")}
    stage["lower"].run(
        {"graph.json": tmp_path / "graph.json"},
        {"program.json": tmp_path / "program.json"},
        {"backend": "numpy", "encoding": "float32"},
    )
    stage["generate"].run(
        {"program.json": tmp_path / "program.json"}, {"code/": tmp_path / "code"}, {}
    )
    run = run_path(str(tmp_path / "code" / "numpy.py"))["run"]
    weights = {name: values[name] for name in model.slots}
    with np.errstate(all="ignore"):
        results = run({"x": values["x"]}, weights)
    assert not deviations(results, evaluate_graph(model, values))


def test_it_refuses_what_it_does_not_have_all_at_once():
    b = Builder()
    x = b.declare("x", b.variables[b.slot(4, 6)].type)
    y = b.op("Sigmoid", b.op("Erf", b.op("Relu", x)))
    model = Graph("g", tuple(b.nodes), b.variables, ("x",), {"y": y}, frozenset(b.slots))
    with pytest.raises(UnsupportedError, match=r"2 unsupported parts(.|\n)*Erf(.|\n)*Sigmoid"):
        backend.BACKEND.compile(model, None)
