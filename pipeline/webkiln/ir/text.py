"""The text form of a Graph, for tests, dumps and people: parsing what is printed returns an equal
graph. Attributes that have their default values are left out.

graph digits
input image: float32[1,64] N,C
input noise: float32[1,2] N,C ~ normal(mean=0.0, stddev=1.0)
slot dense/kernel: float32[16,64]
const two: float32[] = [2.0]
v: float32[1,16] N,C = MatMul(image, dense/kernel) {"transpose_b":true} @dense
output scores = v

Divisibility constraints list the remainders, the modulus and the quotient of a placeholder; guards
list two sizes that must be equal. Both name the layers that require them:

size H: 0 of 32 H_by32@up1, up2
equal T == S @sum

A graph in an attribute, such as the body of a Scan, follows its node: the name of the attribute and
a colon, indented by two spaces, then the graph, indented by four. White space and characters of the
notation are percent-encoded in names; the empty name is `""`.
"""

import json
import re
from typing import Any
from urllib.parse import quote, unquote

from webkiln.errors import InternalError
from webkiln.ir.attributes import AttributesOf
from webkiln.ir.axis import parse_order
from webkiln.ir.graph import (
    Constant,
    Distribution,
    Divisibility,
    Graph,
    Guard,
    Node,
    SizeConstraints,
    State,
    Variable,
)
from webkiln.ir.notation import parse_size, parse_sizes
from webkiln.ir.serial import constant_json, decode, encode, read_constant
from webkiln.ir.types import Type

_NAME = r"[^\s,:()=]+"
_RESERVED = re.compile(r"""[\s,:;()=@{}%"\x00-\x1f\x7f]+""")
_TYPED = re.compile(
    rf"({_NAME}): (\w+)\[([^\]]*)\](?: ([\w,]+))?(?: ~ (\w+)\((.*)\))?(?: = \[(.*)\])?$"
)
_SIZE = re.compile(r"(\w+): ([\d, ]+) of (\d+) (\w*)@(.*)")
_NODE = re.compile(r"(.*) = (\w+)\(([^)]*)\)(?: (\{.*\}))?(?: @(.*))?$")


def escape_name(name: str) -> str:
    """Percent-encode the characters of a name that the text form reserves."""
    return _RESERVED.sub(lambda match: quote(match.group(), safe=""), name) or '""'


def unescape_name(name: str) -> str:
    """The inverse of `escape_name`."""
    return "" if name == '""' else unquote(name)


def print_graph(graph: Graph) -> str:
    lines = [f"graph {escape_name(graph.name)}"]
    lines += [f"input {_typed(graph.variables[name])}" for name in graph.inputs]
    lines += [f"slot {_typed(graph.variables[name])}" for name in sorted(graph.slots)]
    for name in sorted(graph.constants):
        lines.append(
            f"const {_typed(graph.variables[name])} = {_text(constant_json(graph.constants[name]))}"
        )
    for state in graph.states:
        names = " ".join(map(escape_name, (state.name, state.initial, state.output)))
        lines.append(f"state {names} -> {_typed(graph.variables[state.input])}")
    for item in graph.constraints.divisibility:
        remainders = ", ".join(map(str, item.remainders))
        lines.append(
            f"size {escape_name(item.name)}: {remainders} of {item.modulus}"
            f" {item.quotient}@{', '.join(map(escape_name, item.layers))}"
        )
    for guard in graph.constraints.guards:
        lines.append(f"equal {guard.a} == {guard.b} @{escape_name(guard.layer)}")
    for node in graph.nodes:
        outputs = "; ".join(_typed(graph.variables[name]) for name in node.outputs)
        values = node.attrs.non_default()
        nested = {key: value for key, value in values.items() if isinstance(value, Graph)}
        plain = {key: value for key, value in values.items() if key not in nested}
        attrs = f" {_json(plain)}" if plain else ""
        layer = f" @{escape_name(node.layer)}" if node.layer else ""
        lines.append(
            f"{outputs} = {node.op}({', '.join(map(escape_name, node.inputs))}){attrs}{layer}"
        )
        for key, body in nested.items():
            lines += [f"  {key}:", *(f"    {line}" for line in print_graph(body).splitlines())]
    lines += [
        f"output {escape_name(name)} = {escape_name(variable)}"
        for name, variable in graph.outputs.items()
    ]
    return "\n".join(lines) + "\n"


def parse(text: str, attributes_of: AttributesOf) -> Graph:
    """Parse the text form of a Graph, whose operators are those of `attributes_of`. Raises
    InternalError with the line that does not parse.
    """
    reader = _GraphReader(attributes_of)
    for line, block in _blocks(text):
        reader.read(line, block)
    return reader.graph()


class _GraphReader:
    """The parts of a graph, read line by line."""

    def __init__(self, attributes_of: AttributesOf) -> None:
        self._attributes_of = attributes_of
        self._name = "graph"
        self._inputs: list[str] = []
        self._outputs: dict[str, str] = {}
        self._slots: set[str] = set()
        self._constants: dict[str, Constant] = {}
        self._states: list[State] = []
        self._variables: dict[str, Variable] = {}
        self._nodes: list[Node] = []
        self._guards: list[Guard] = []
        self._divisibility: list[Divisibility] = []

    def read(self, line: str, block: list[str]) -> None:
        """Read a line and the more deeply indented lines that follow it."""
        keyword, _, rest = line.partition(" ")
        match keyword:
            case "graph":
                self._name = unescape_name(rest)
            case "input":
                self._inputs.append(self._declare(rest))
            case "slot":
                self._slots.add(self._declare(rest))
            case "const":
                typed, _, values = rest.partition(" = ")
                self._constants[self._declare(typed)] = read_constant(_read_json(values), {})
            case "state":
                head, _, typed = rest.partition(" -> ")
                state, initial, output = map(unescape_name, head.split())
                self._states.append(State(state, initial, self._declare(typed), output))
            case "size":
                self._divisibility.append(_read_divisibility(rest))
            case "equal":
                self._guards.append(_read_guard(rest))
            case "output":
                output, _, variable = rest.partition(" = ")
                self._outputs[unescape_name(output)] = unescape_name(variable)
            case _:
                self._nodes.append(self._read_node(line, block))

    def graph(self) -> Graph:
        return Graph(
            self._name,
            tuple(self._nodes),
            self._variables,
            tuple(self._inputs),
            self._outputs,
            frozenset(self._slots),
            self._constants,
            tuple(self._states),
            SizeConstraints(tuple(self._guards), tuple(self._divisibility)),
        )

    def _declare(self, typed: str) -> str:
        variable = _read_variable(typed.strip())
        self._variables[variable.name] = variable
        return variable.name

    def _read_node(self, line: str, block: list[str]) -> Node:
        match = _NODE.match(line)
        if not match:
            raise InternalError(f"text form: cannot read {line!r}")
        results, op, args, attrs, layer = match.groups()
        outputs = tuple(self._declare(typed) for typed in results.split(";"))
        operands = tuple(unescape_name(arg.strip()) for arg in args.split(",") if arg.strip())
        nested = {
            key.removesuffix(":"): parse("\n".join(body), self._attributes_of)
            for key, body in _blocks("\n".join(block))
        }
        layer = unescape_name(layer or "")
        stored = (decode(_read_json(attrs)) if attrs else {}) | nested
        return Node(op, operands, outputs, self._attributes_of(op, stored, layer), layer)


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InternalError(f"text form: {text!r} is not JSON: {error}") from error


def _read_variable(typed: str) -> Variable:
    match = _TYPED.match(typed)
    if not match:
        raise InternalError(f"text form: {typed!r} is not `name: dtype[shape] order`")
    name, dtype, shape, order, function, parameters, sizes = match.groups()
    values = tuple(
        (key, _read_json(value))
        for key, value in (part.split("=") for part in (parameters or "").split(", ") if part)
    )
    return Variable(
        unescape_name(name),
        Type(dtype, parse_sizes(shape)),
        parse_order(order) if order else None,
        Distribution(function, values) if function else None,
        parse_sizes(sizes) if sizes else (),
    )


def _read_divisibility(text: str) -> Divisibility:
    match = _SIZE.fullmatch(text)
    if not match:
        raise InternalError(
            f"text form: cannot read {text!r} as `name: remainders of modulus quotient@layers`"
        )
    name, remainders, modulus, quotient, layers = match.groups()
    return Divisibility(
        unescape_name(name),
        int(modulus),
        tuple(map(int, remainders.split(", "))),
        quotient,
        tuple(map(unescape_name, layers.split(", "))),
    )


def _read_guard(text: str) -> Guard:
    sizes, _, layer = text.partition(" @")
    a, b = map(parse_size, sizes.split(" == "))
    return Guard(unescape_name(layer), a, b)


def _blocks(text: str) -> list[tuple[str, list[str]]]:
    """The lines of the outermost indentation, each with the more deeply indented lines that follow
    it.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    blocks: list[tuple[str, list[str]]] = []
    for line in lines:
        if line[margin] == " ":
            blocks[-1][1].append(line)
        else:
            blocks.append((line.strip(), []))
    return blocks


def _typed(variable: Variable) -> str:
    order = f" {variable.order}" if variable.order is not None and len(variable.order) else ""
    distribution = f" ~ {variable.distribution}" if variable.distribution is not None else ""
    sizes = f" = [{', '.join(map(str, variable.sizes))}]" if variable.sizes else ""
    return f"{escape_name(variable.name)}: {variable.type}{order}{distribution}{sizes}"


def _json(value: Any) -> str:
    return _text(encode(value))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
