"""`verify` reports the first violation in a graph."""

from dataclasses import replace

import pytest

from tests.ir.texts import STATEFUL
from webkiln.errors import InternalError, ShapeError
from webkiln.ir.axis import OrderNC
from webkiln.ir.graph import Constant, Node, State, Variable
from webkiln.ir.types import Type, broadcast
from webkiln.ir.verify import verify
from webkiln.ops.table import OPERATORS, attributes_of, infer, parse

GRAPH = parse(STATEFUL)


def without(mapping, name):
    return {key: value for key, value in mapping.items() if key != name}


BROKEN = {
    "reads total before it is defined": GRAPH.edit(states=()),
    "has no entry in the table": GRAPH.edit(variables=without(GRAPH.variables, "limits")),
    "but not defined": GRAPH.edit(
        variables={**GRAPH.variables, "extra": Variable("extra", Type("float32", ()))}
    ),
    "which is not defined": GRAPH.edit(outputs={"y": "missing"}),
    "defined by ReduceSum and by Add": GRAPH.edit(
        nodes=(GRAPH.nodes[0], replace(GRAPH.nodes[1], outputs=("sum",)))
    ),
    "the outputs have type": GRAPH.edit(
        variables={**GRAPH.variables, "sum": Variable("sum", Type("float32", (3,)))}
    ),
    "has 1 values": GRAPH.edit(constants={**GRAPH.constants, "limits": Constant((1.0,))}),
    "depends on an input": GRAPH.edit(states=(State("total", "x", "total", "next"),)),
    "state total has conflicting types": GRAPH.edit(
        variables={**GRAPH.variables, "start": Variable("start", Type("float32", (1,)))}
    ),
    "order N,C has 2 axes": GRAPH.edit(
        variables={**GRAPH.variables, "start": Variable("start", Type("float32", ()), OrderNC)}
    ),
}


def test_valid_graphs_pass():
    verify(GRAPH, infer)


@pytest.mark.parametrize("message", BROKEN)
def test_violations_are_reported(message):
    with pytest.raises(InternalError, match=message):
        verify(BROKEN[message], infer)


def test_unknown_operators_and_attributes_are_rejected():
    with pytest.raises(InternalError, match="no operator 'Relux'"):
        infer(Node("Relux", ("x",), ("y",)), [Type("float32", ())])
    with pytest.raises(InternalError, match=r"unknown attributes \['axis'\]"):
        attributes_of("Relu", {"axis": 1})
    with pytest.raises(
        InternalError, match=r"my_layer: unknown attributes \[\], missing \['axes'\]"
    ):
        attributes_of("ReduceSum", {"keepdims": True}, "my_layer")
    with pytest.raises(
        InternalError, match=r"the attributes are Attributes\(\), expected Reduction"
    ):
        infer(Node("ReduceSum", ("x",), ("y",)), [Type("float32", ())])


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_errors_about_the_number_of_operands_name_the_layer(name):
    case = next(iter(OPERATORS[name].cases()))
    types = [Type(str(array.dtype), array.shape) for array in case.inputs]
    low, high = OPERATORS[name].arity
    assert low <= len(types) <= high
    if high < 1 << 16:
        with pytest.raises(ShapeError, match=rf"my_layer \({name}\): expected {low} to {high}"):
            infer(
                Node(name, (), ("y",), attributes_of(name, case.attrs), "my_layer"),
                (types or [Type("float32", ())]) * (high + 1),
            )


def test_shape_errors_suggest_a_fix():
    conv = next(iter(OPERATORS["Conv"].cases()))
    x, w = Type("float32", (1, 8, 8, 64)), Type("float32", (3, 3, 32, 8))
    with pytest.raises(
        ShapeError, match=r"conv1 \(Conv\): .*x has 64 channels.*groups=2 would fit"
    ):
        infer(Node("Conv", ("x", "w"), ("y",), attributes_of("Conv", conv.attrs), "conv1"), [x, w])
    with pytest.raises(ShapeError, match="the sizes of axis 1 differ: 3 and 4"):
        broadcast([(2, 3), (2, 4)])
    with pytest.raises(ShapeError, match="dtype 'float31' does not exist"):
        Type("float31", ())
