"""Every operator converts and lowers with every dtype that the standard allows. The other operands
do not change.
"""

from collections.abc import Iterator

import onnx
import pytest
from onnx import defs

from tests.conformance.cases import Conformance, cases_in_scope
from tests.frontends.onnx.running import source_inputs
from tests.programs import lower
from webkiln.errors import WebkilnError
from webkiln.frontends.nodes.call import DataDependentError
from webkiln.frontends.onnx.converter import OnnxConverter
from webkiln.frontends.onnx.load import describe_model
from webkiln.frontends.onnx.operators.elementwise import DTYPES
from webkiln.ir.graph import Graph

NAMES = {"float": 1, "double": 11} | {name: number for number, name in DTYPES.items()}
EXEMPT = {"Loop", "Scan", "BitCast"}
"""Operators whose nested graphs have types, or whose result has a fixed width."""
BOOLS = {"Col2Im": "sums of booleans"}
"""Operators whose booleans the standard allows, but which are rejected."""


def first_cases() -> dict[str, Conformance]:
    """The first single-node case of each operator."""
    cases: dict[str, Conformance] = {}
    for case in cases_in_scope():
        if case.kind == "node" and "expanded" not in case.name and len(case.model.graph.node) == 1:
            cases.setdefault(case.model.graph.node[0].op_type, case)
    return {op: case for op, case in cases.items() if defs.has(op) and op not in EXEMPT}


def retyped(case: Conformance) -> Iterator[tuple[str, onnx.ModelProto]]:
    """The case in every other dtype of each of its type parameters."""
    node = case.model.graph.node[0]
    schema = defs.get_schema(
        node.op_type, next(entry.version for entry in case.model.opset_import if not entry.domain)
    )

    def names_of(
        names: list[str], formals: list[defs.OpSchema.FormalParameter], parameter: str
    ) -> set[str]:
        return {
            name
            for n, name in enumerate(names)
            if formals[min(n, len(formals) - 1)].type_str == parameter
        }

    for constraint in schema.type_constraints:
        moved = names_of(list(node.input), list(schema.inputs), constraint.type_param_str)
        if not moved:
            continue
        for text in constraint.allowed_type_strs:
            name = text.removeprefix("tensor(").removesuffix(")")
            if name in NAMES:
                changed = onnx.ModelProto()
                changed.CopyFrom(case.model)
                for value in changed.graph.output:
                    value.ClearField("type")
                for value in changed.graph.input:
                    if value.name in moved:
                        value.type.tensor_type.elem_type = NAMES[name]
                yield name, changed


def converted(case: Conformance, model: onnx.ModelProto) -> Graph:
    operands, _ = case.data[0]
    values = {item.name: value for item, value in zip(model.graph.input, operands, strict=True)}
    spec, blobs = describe_model(model, case.name, None)
    fixed = {}
    while True:
        try:
            return OnnxConverter(
                input_shapes={name: value.shape for name, value in values.items()}, values=fixed
            ).convert(spec, blobs)
        except DataDependentError as error:
            sources = [
                name for name in source_inputs(spec.graph, error.tensor) if name not in fixed
            ]
            if not sources:
                raise
            fixed |= {name: values[name] for name in sources}


@pytest.mark.parametrize("part", range(4))
def test_every_operator_converts_with_every_dtype(part: int) -> None:
    rejected, tried = [], 0
    for op, case in list(first_cases().items())[part::4]:
        for name, model in retyped(case):
            tried += 1
            try:
                lower(converted(case, model))
            except WebkilnError as error:
                if not (op in BOOLS and name == "bool"):
                    rejected.append(f"{op} of {name}: {error}")
    assert not rejected
    assert tried > 200
