"""The text form of a Program, for tests, dumps and people: `parse(print_program(p)) == p`.

program attention
buffer x: float32[16,64] input
buffer w: float32[64,64] constant
buffer y: float32[16,64]
live y
y: float32[16,64] = nest(x: float32[16,64], w: float32[64,64]) @dense
  where p0 = 16; p1 = 64
  for a0 < p0, a1 < p1
  reduce r0 < p1
  acc0 = sum(in0[a0, r0] * in1[r0, a1])
  out0[a0, a1] = max(acc0, 0.0)

`buffer h: float32[4] as float16` is stored as float16. `alias v = y`: the elements of the Variable
v are those of the buffer y. `decided KEY {...}` describes a choice between algorithms. Steps before
the line `main` transform constants when a model is loaded. Expressions are those of `expr_text.py`.
Other steps are

copy x: float32[4] -> y: float32[2,2] @layer
repeat i0 < 4:
branch c: bool[] @layer:
loop i0 < 10 while c: bool[] -> u0 <= 10 @layer:
z: int64[u0,1] = procedure(x: float32[4]) -> u0 <= 4 @layer
y: float32[4] = custom(x: float32[4]) @layer

Nested blocks are indented; the second block of a branch follows the line `else:`. The statements of
a procedure (`procedure_text.py`) follow its step, and so does a custom kernel, as a line of JSON.
The name of a buffer is written as in the text form of graphs.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from webkiln.errors import InternalError
from webkiln.ir.notation import parse_size, parse_sizes
from webkiln.ir.text import escape_name, unescape_name
from webkiln.ir.types import Type
from webkiln.nest import custom_kernel as custom_kernels
from webkiln.nest.expr import Expr
from webkiln.nest.expr_text import ExprParser, ExprPrinter
from webkiln.nest.nest import Accumulator, Loop, Nest, Operand, make_output
from webkiln.nest.procedure_text import procedure_lines, read_procedure
from webkiln.nest.program import Buffer, Kind, Program
from webkiln.nest.steps import (
    Branch,
    Copy,
    CustomCall,
    HostCall,
    NestCall,
    Repeat,
    Step,
    View,
    WhileLoop,
)
from webkiln.nest.text_blocks import INDENT, Block, blocks

_NAME = r"[^\s,:;()=@{}]+"
_VIEW = rf"{_NAME}: \w+\[[^\]]*\]"
_BUFFER = re.compile(rf"({_VIEW})(?: as (\w+))?(?: (input|constant|state))?")
_STEP = re.compile(
    rf"(?P<outputs>{_VIEW}(?:; {_VIEW})*) = (?P<kind>nest|procedure|custom)"
    rf"\((?P<inputs>(?:{_VIEW}(?:, {_VIEW})*)?)\)"
    r"(?P<exact> exact)?(?: of (?P<part>\S+))?(?: -> (?P<result>\w+ <= [^@]+?))?"
    r"(?: @(?P<layer>\S+))?"
)
_COPY = re.compile(rf"copy ({_VIEW}) -> ({_VIEW})(?: @(\S+))?")
_REPEAT = re.compile(r"repeat (\w+) < (.+):")
_BRANCH = re.compile(rf"branch ({_VIEW})(?: @(\S+))?:")
_LOOP = re.compile(rf"loop (\w+)(?: < (.+?))? while ({_VIEW})(?: -> (\w+ <= [^@]+?))?(?: @(\S+))?:")
_LOOPS = re.compile(r"([\w']+) < ((?:[^,(]|\([^)]*\))+)(?:, |$)")

WIDTH = 88


def print_program(program: Program) -> str:
    lines = [f"program {escape_name(program.name)}"]
    for buffer in program.buffers.values():
        storage = f" as {buffer.storage}" if buffer.storage != buffer.type.dtype else ""
        kind = f" {buffer.kind}" if buffer.kind != "local" else ""
        lines.append(f"buffer {_view(View(buffer.name, buffer.type))}{storage}{kind}")
    if program.live_out:
        lines.append(f"live {', '.join(map(escape_name, sorted(program.live_out)))}")
    for name, root in sorted(program.roots.items()):
        lines.append(f"alias {escape_name(name)} = {escape_name(root)}")
    for key, data in program.decided.items():
        lines.append(f"decided {escape_name(key)} {json.dumps(data)}")
    if program.init:
        lines += [*print_steps(program.init), "main"]
    return "\n".join([*lines, *print_steps(program.steps)]) + "\n"


def print_steps(steps: Iterable[Step]) -> list[str]:
    return [line for step in steps for line in _step_lines(step)]


def _step_lines(step: Step) -> list[str]:
    match step:
        case NestCall():
            marks = " exact" if step.exact else ""
            marks += f" of {escape_name(step.part_of)}" if step.part_of else ""
            head = f"{_head(step, 'nest')}{marks}{_layer(step.layer)}"
            return [head, *_where(step.args), *_nest_lines(step.nest)]
        case HostCall():
            head = f"{_head(step, 'procedure')}{_result(step.result)}{_layer(step.layer)}"
            body = (INDENT + line for line in procedure_lines(step.procedure))
            return [head, *_where(step.args), *body]
        case CustomCall():
            data = custom_kernels.to_json(step.kernel)
            head = f"{_head(step, 'custom')}{_layer(step.layer)}"
            return [head, *_where(step.args), INDENT + json.dumps(data)]
        case Copy():
            return [f"copy {_view(step.source)} -> {_view(step.target)}{_layer(step.layer)}"]
        case Repeat():
            return [f"repeat {step.counter} < {step.count}:", *_block(step.steps)]
        case Branch():
            head = f"branch {_view(step.condition)}{_layer(step.layer)}:"
            return [head, *_block(step.then), "else:", *_block(step.otherwise)]
        case WhileLoop():
            bound = "" if step.bound is None else f" < {step.bound}"
            result = f"{_result(step.result)}{_layer(step.layer)}:"
            head = f"loop {step.counter}{bound} while {_view(step.condition)}{result}"
            return [head, *_block(step.steps)]
        case _:
            raise InternalError(f"{step.label}: there is no text form")


def _block(steps: Iterable[Step]) -> list[str]:
    return [INDENT + line for line in print_steps(steps)]


def _view(view: View) -> str:
    return f"{escape_name(view.name)}: {view.type.dtype}[{','.join(map(str, view.shape))}]"


def _head(step: NestCall | HostCall | CustomCall, kind: str) -> str:
    outputs, inputs = "; ".join(map(_view, step.outputs)), ", ".join(map(_view, step.inputs))
    return f"{outputs} = {kind}({inputs})"


def _where(args: Mapping[str, int]) -> list[str]:
    """The values of arguments, as many on a line as fit."""
    lines: list[str] = []
    for name, value in args.items():
        text = f"{name} = {value}"
        if lines and len(lines[-1]) + len(text) < WIDTH:
            lines[-1] += f"; {text}"
        else:
            lines.append(f"{INDENT}where {text}")
    return lines


def _layer(layer: str) -> str:
    return f" @{escape_name(layer)}" if layer else ""


def _result(result: tuple[str, int] | None) -> str:
    return "" if result is None else f" -> {result[0]} <= {result[1]}"


def _nest_lines(nest: Nest) -> list[str]:
    loops = (*nest.axes, *nest.reduce)
    printer = ExprPrinter([*(loop.extent for loop in loops), *nest.roots])
    lines = [
        f"{word} {', '.join(f'{loop.axis} < {printer.text(loop.extent)}' for loop in part)}"
        for word, part in (("for", nest.axes), ("reduce", nest.reduce))
        if part
    ]
    accumulators = [
        f"acc{number} = {item.combiner}({printer.text(item.body)})"
        for number, item in enumerate(nest.accumulators)
    ]
    stores = [
        f"out{number}[{', '.join(map(printer.text, index))}] = {printer.text(value)}"
        for number, out in enumerate(nest.outputs)
        for value, index in out.stores
    ]
    return [INDENT + line for line in (*lines, *printer.lines, *accumulators, *stores)]


def parse(text: str) -> Program:
    """Parse the text form of a Program. Raises InternalError with the line that does not parse."""
    name, live = "program", frozenset[str]()
    buffers: dict[str, Buffer] = {}
    roots: dict[str, str] = {}
    decided: dict[str, Any] = {}
    init: tuple[Step, ...] = ()
    body: list[Block] = []
    for line, block in blocks(text.splitlines()):
        keyword, _, rest = line.partition(" ")
        if keyword == "program":
            name = unescape_name(rest)
        elif keyword == "buffer":
            buffer = _read_buffer(rest)
            buffers[buffer.name] = buffer
        elif keyword == "live":
            live = frozenset(unescape_name(item) for item in rest.split(", "))
        elif keyword == "alias":
            alias, _, root = rest.partition(" = ")
            roots[unescape_name(alias)] = unescape_name(root)
        elif keyword == "decided":
            key, _, data = rest.partition(" ")
            decided[unescape_name(key)] = _read_json(data)
        elif line == "main":
            init, body = _read_steps(body), []
        else:
            body.append((line, block))
    steps = _read_steps(body)
    calls = tuple(step for step in init if isinstance(step, NestCall))
    return Program(name, buffers, steps, live, roots, calls, decided)


def parse_steps(text: str) -> tuple[Step, ...]:
    return _read_steps(blocks(text.splitlines()))


def _read_steps(items: Iterable[Block]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for line, block in items:
        if line == "else:" and steps and isinstance(steps[-1], Branch):
            last = steps.pop()
            assert isinstance(last, Branch)
            otherwise = _read_steps(blocks(block))
            steps.append(Branch(last.condition, last.then, otherwise, last.layer))
        else:
            steps.append(_read_step(line, block))
    return tuple(steps)


def _read_step(line: str, block: Sequence[str]) -> Step:
    def inner() -> tuple[Step, ...]:
        return _read_steps(blocks(block))

    if match := _STEP.fullmatch(line):
        return _read_call(match, block)
    if match := _COPY.fullmatch(line):
        return Copy(_read_view(match[1]), _read_view(match[2]), unescape_name(match[3] or ""))
    if match := _REPEAT.fullmatch(line):
        return Repeat(match[1], parse_size(match[2]), inner())
    if match := _BRANCH.fullmatch(line):
        return Branch(_read_view(match[1]), inner(), (), unescape_name(match[2] or ""))
    if match := _LOOP.fullmatch(line):
        counter, bound, condition, result, layer = match.groups()
        return WhileLoop(
            counter,
            _read_view(condition),
            None if bound is None else parse_size(bound),
            inner(),
            unescape_name(layer or ""),
            _read_result(result),
        )
    raise InternalError(f"text form: cannot read {line!r}")


def _read_call(match: re.Match[str], block: Sequence[str]) -> Step:
    outputs, inputs = (
        tuple(_read_view(text) for text in re.findall(_VIEW, match[end] or ""))
        for end in ("outputs", "inputs")
    )
    args: dict[str, int] = {}
    while block and block[0].startswith("where "):
        pairs = (item.split(" = ") for item in block[0].removeprefix("where ").split("; "))
        args |= {name: parse_size(value) for name, value in pairs}
        block = block[1:]
    layer = unescape_name(match["layer"] or "")
    if match["kind"] == "nest":
        nest = _read_nest(block, args, inputs, outputs)
        part = unescape_name(match["part"] or "")
        return NestCall(nest, inputs, outputs, args, layer, part, match["exact"] is not None)
    if match["kind"] == "custom":
        kernel = custom_kernels.from_json(_read_json("\n".join(block)))
        return CustomCall(kernel, inputs, outputs, args, layer)
    dtypes = [[view.type.dtype for view in views] for views in (inputs, outputs)]
    procedure = read_procedure(block, args, *dtypes)
    return HostCall(procedure, inputs, outputs, args, layer, _read_result(match["result"]))


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise InternalError(f"text form: {text!r} is not JSON: {error}") from error


def _read_view(text: str) -> View:
    name, _, type_ = text.rpartition(": ")
    dtype, _, sizes = type_.removesuffix("]").partition("[")
    return View(unescape_name(name), Type(dtype, parse_sizes(sizes)))


def _read_buffer(text: str) -> Buffer:
    match = _BUFFER.fullmatch(text)
    if match is None:
        raise InternalError(f"text form: {text!r} is not `name: dtype[shape]` of a buffer")
    view = _read_view(match[1])
    kinds: Mapping[str, Kind] = {"input": "input", "constant": "constant", "state": "state"}
    return Buffer(
        view.name, view.type, match[2] or view.type.dtype, kinds.get(match[3] or "", "local")
    )


def _read_result(text: str | None) -> tuple[str, int] | None:
    if text is None:
        return None
    name, _, bound = text.partition(" <= ")
    return name, parse_size(bound)


def _read_nest(
    lines: Sequence[str], args: Mapping[str, int], inputs: Sequence[View], outputs: Sequence[View]
) -> Nest:
    """A nest over these operands."""
    texts: dict[str, list[tuple[str, str]]] = {"for": [], "reduce": [], "acc": [], "out": []}
    defined: dict[str, str] = {}
    for line in lines:
        keyword, _, rest = line.partition(" ")
        left, _, right = line.partition(" = ")
        if keyword in ("for", "reduce"):
            texts[keyword] = [(name, extent) for name, extent in _LOOPS.findall(rest)]
        elif left.startswith("%"):
            defined[left] = right
        elif left[:3] in ("acc", "out"):
            texts[left[:3]].append((left, right))
        else:
            raise InternalError(f"text form: cannot read {line!r}")
    names = [name for word in ("for", "reduce") for name, _ in texts[word]]
    parser = ExprParser(names, args, [view.type.dtype for view in inputs], defined)
    accumulators = tuple(_read_accumulator(right, parser.parse) for _, right in texts["acc"])
    parser.accumulators = [item.body.type for item in accumulators]
    axes, reduce = (
        tuple(Loop(name, parser.parse(extent)) for name, extent in texts[word])
        for word in ("for", "reduce")
    )
    return Nest(
        tuple(Operand(view.type.dtype, view.type.rank) for view in inputs),
        tuple(
            make_output(
                Operand(view.type.dtype, view.type.rank),
                [
                    _read_store(left, right, parser.parse)
                    for left, right in texts["out"]
                    if left.startswith(f"out{number}[")
                ],
            )
            for number, view in enumerate(outputs)
        ),
        axes,
        reduce,
        accumulators,
    )


def _read_accumulator(text: str, read: Callable[[str], Expr]) -> Accumulator:
    combiner, _, body = text.removesuffix(")").partition("(")
    return Accumulator(combiner, read(body))


def _read_store(
    left: str, right: str, read: Callable[[str], Expr]
) -> tuple[Expr, tuple[Expr, ...]]:
    index = left.partition("[")[2].removesuffix("]")
    return read(right), tuple(map(read, _separated(index)))


def _separated(text: str) -> list[str]:
    """The parts of a list that commas outside of brackets separate."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
