"""Read the text form of a Program (`nest/text.py`)."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from webkiln.errors import InternalError
from webkiln.ir.dim import Size, known_shape
from webkiln.ir.notation import parse_size, parse_sizes
from webkiln.ir.text import unescape_name
from webkiln.ir.types import Type
from webkiln.nest import custom_kernel as custom_kernels
from webkiln.nest import schedule as schedules
from webkiln.nest.choice import Choice
from webkiln.nest.expr import Expr
from webkiln.nest.expr_text import ExprParser
from webkiln.nest.nest import Accumulator, Loop, Nest, Operand, make_output
from webkiln.nest.procedure_text import read_procedure
from webkiln.nest.program import Buffer, Kind, PanelLayout, Program, State, TexelLayout
from webkiln.nest.schedule import Panel
from webkiln.nest.steps import (
    Branch,
    Copy,
    CustomCall,
    DeviceBranch,
    HostCall,
    NestCall,
    Parallel,
    Repeat,
    Step,
    View,
    WhileLoop,
    Workgroups,
)
from webkiln.nest.text_blocks import Block, blocks

_NAME = r"[^\s,:;()=@{}]+"
_VIEW = rf"{_NAME}: \w+\[[^\]]*\]"
_BUFFER = re.compile(
    rf"({_VIEW})(?: as (\w+))?(?: (input|constant|state))?"
    r"(?: (texels|(?:panel|quarters)\([^)]*\)))?(?: segment (\d+))?(?: at (.+))?"
)
_ITEMS = re.compile(r"(where|part|why|form|schedule|decision) (.+)")
_STATE = re.compile(rf"({_NAME}) = ({_NAME}) then ({_NAME})")
_STEP = re.compile(
    rf"(?P<outputs>{_VIEW}(?:; {_VIEW})*) = (?P<kind>nest|procedure|custom)"
    rf"\((?P<inputs>(?:{_VIEW}(?:, {_VIEW})*)?)\)"
    r"(?P<exact> exact)?(?: -> (?P<result>\w+ <= [^@]+?))?(?: @(?P<layer>\S+))?"
)
_COPY = re.compile(rf"copy ({_VIEW}) -> ({_VIEW})(?: @(\S+))?")
_REPEAT = re.compile(r"repeat (\w+) < (.+):")
_WORKGROUPS = re.compile(r"workgroups (\w+) < (.+?) of (\d+)(?: sharing (.+))?:")
_BRANCH = re.compile(rf"branch ({_VIEW})(?: @(\S+))?:")
_DEVICE = re.compile(r"device (\d+):")
_LOOP = re.compile(rf"loop (\w+)(?: < (.+?))? while ({_VIEW})(?: -> (\w+ <= [^@]+?))?(?: @(\S+))?:")
_LOOPS = re.compile(r"([\w']+) < ((?:[^,(]|\([^)]*\))+)(?:, |$)")


def parse(text: str) -> Program:
    """Parse the text form of a Program. Raises InternalError with the line that does not parse."""
    name, live, caches = "program", frozenset[str](), frozenset[str]()
    states: list[State] = []
    memory: Any = None
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
            live = frozenset(map(unescape_name, rest.split(", ")))
        elif keyword == "caches":
            caches = frozenset(map(unescape_name, rest.split(", ")))
        elif keyword == "alias":
            alias, _, root = rest.partition(" = ")
            roots[unescape_name(alias)] = unescape_name(root)
        elif keyword == "state":
            names = _STATE.fullmatch(rest)
            if names is None:
                raise InternalError(f"text form: {line!r} is not `state NAME = NAME then NAME`")
            states.append(State(*map(unescape_name, names.groups())))
        elif keyword == "memory":
            memory = _read_json(rest)
        elif line == "decided:":
            decision = _read_decision(_items_of(block)[0])
            decided[decision["key"]] = decision
        elif line == "main":
            init, body = _read_steps(body), []
        else:
            body.append((line, block))
    steps = _read_steps(body)
    calls = tuple(step for step in init if isinstance(step, NestCall))
    return Program(name, buffers, steps, live, roots, calls, decided, tuple(states), caches, memory)


def parse_steps(text: str) -> tuple[Step, ...]:
    return _read_steps(blocks(text.splitlines()))


def _read_steps(items: Iterable[Block]) -> tuple[Step, ...]:
    steps: list[Step] = []
    for line, block in items:
        last = steps[-1] if steps else None
        if line == "else:" and isinstance(last, Branch | DeviceBranch):
            steps[-1] = replace(last, otherwise=_read_steps(blocks(block)))
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
    if match := _WORKGROUPS.fullmatch(line):
        counter, count, size, names = match.groups()
        shared = tuple(map(unescape_name, names.split(", "))) if names else ()
        return Workgroups(counter, parse_size(count), inner(), int(size), shared)
    if line == "parallel:":
        return Parallel(inner())
    if match := _BRANCH.fullmatch(line):
        return Branch(_read_view(match[1]), inner(), (), unescape_name(match[2] or ""))
    if match := _DEVICE.fullmatch(line):
        return DeviceBranch(int(match[1]), inner(), ())
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
    items, block = _items_of(block)
    args = {name: parse_size(value) for name, value in items.get("where", {}).items()}
    layer = unescape_name(match["layer"] or "")
    if match["kind"] == "nest":
        choice = _read_choice(items) if "why" in items else None
        nest = _read_nest(block, args, inputs, outputs)
        (part,), exact = items.get("part", ("",)), match["exact"] is not None
        form = schedules.form_from_json(_read_items(items, "form")) if "form" in items else None
        return NestCall(nest, inputs, outputs, args, layer, part, exact, form, choice)
    if match["kind"] == "custom":
        kernel = custom_kernels.from_json(_read_json("\n".join(block)))
        return CustomCall(kernel, inputs, outputs, args, layer)
    dtypes = [[view.type.dtype for view in views] for views in (inputs, outputs)]
    procedure = read_procedure(block, args, *dtypes)
    return HostCall(procedure, inputs, outputs, args, layer, _read_result(match["result"]))


def _items_of(block: Sequence[str]) -> tuple[dict[str, dict[str, str]], Sequence[str]]:
    """The names and values of the first lines, by keyword, and the other lines. The texts of `why`
    and `part` are names.
    """
    items: dict[str, dict[str, str]] = {}
    while block and (found := _ITEMS.fullmatch(block[0])):
        parts = [found[2]] if found[1] in ("why", "part") else found[2].split("; ")
        pairs = (part.partition(" = ") for part in parts)
        items.setdefault(found[1], {}).update((name, value) for name, _, value in pairs)
        block = block[1:]
    return items, block


def _read_choice(items: Mapping[str, Mapping[str, str]]) -> Choice:
    (why,) = items["why"]
    schedule = schedules.from_json(_read_items(items, "schedule"))
    return Choice(schedule, why, _read_decision(items) if "decision" in items else None)


def _read_decision(items: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    decision = _read_items(items, "decision")
    if not {"key", "chosen"} <= decision.keys():
        raise InternalError("text form: a decision has no `key` or `chosen`")
    rest = {name: decision.pop(name) for name in ("key", "chosen")}
    return rest | {"candidates": [[name, *times] for name, times in decision.items()]}


def _read_items(items: Mapping[str, Mapping[str, str]], word: str) -> dict[str, Any]:
    return {name: _read_json(value) for name, value in items.get(word, {}).items()}


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
    segment = None if match[5] is None else int(match[5])
    address = None if match[6] is None else parse_size(match[6])
    kind, layout = kinds.get(match[3] or "", "local"), _read_layout(match[4])
    return Buffer(view.name, view.type, match[2] or view.type.dtype, kind, layout, address, segment)


def _read_layout(text: str | None) -> PanelLayout | TexelLayout | None:
    if text is None or text == "texels":
        return None if text is None else TexelLayout()
    keyword, _, rest = text.removesuffix(")").partition("(")
    if keyword == "quarters":
        return TexelLayout(parse_size(rest))
    shape, (dim,), order, (block, *together) = (
        known_shape(parse_sizes(part), "a panel") for part in rest.split("; ")
    )
    return PanelLayout(shape, Panel(0, dim, order, block, *together))


def _read_result(text: str | None) -> tuple[str, Size] | None:
    if text is None:
        return None
    name, _, bound = text.partition(" <= ")
    return name, parse_size(bound)


def _read_nest(
    lines: Sequence[str], args: Mapping[str, Size], inputs: Sequence[View], outputs: Sequence[View]
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
