"""The text form of a Program, for tests, dumps and people: `parse(print_program(p)) == p`, but for
the names of passes that calls carry. `nest/parse.py` reads it.

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

`buffer h: float32[4] as float16` is stored as float16. Its layout and its address may follow:
`panel(4,8; 1; 0; 8)` is a panel of a constant of shape [4,8], blocks of 8 along dimension 1, the
other dimensions in the order 0; `texels` has four elements to a texel, `quarters(32)` also has 32
of them in each layer; `at 64` is the address. `alias v = y`: the elements of the Variable v are
those of the buffer y. `state x = i then y`: the run reads x, which is i before the first run and
then what the preceding run left in y. `caches x, y` lie in memory in their own dtype. `decided:`
and the lines `decision` after it describe a choice between algorithms or forms, and `memory {...}`
what all buffers need. Steps before the line `main` transform constants when a model is loaded. A
scheduled call has lines `why`, `schedule` and, if there were candidates, `decision`. A line `form`
states how workgroups are to compute a product, a line `part` of which choice a call is a part.
Expressions are those of `expr_text.py`. Other steps are

copy x: float32[4] -> y: float32[2,2] @layer
repeat i0 < 4:
workgroups i0 < 4 of 64 sharing x, y:
parallel:
branch c: bool[] @layer:
device 64:
loop i0 < 10 while c: bool[] -> u0 <= 10 @layer:
z: int64[u0,1] = procedure(x: float32[4]) -> u0 <= 4 @layer
y: float32[4] = custom(x: float32[4]) @layer

Nested blocks are indented; the second block of a branch follows the line `else:`. A GPU with at
least 64 multiprocessors runs the first block after `device 64:`, others run the second one. The
statements of a procedure (`procedure_text.py`) follow its step, and so does a custom kernel, as a
line of JSON. The name of a buffer is written as in the text form of graphs.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from webkiln.errors import InternalError
from webkiln.ir.dim import Size
from webkiln.ir.text import escape_name
from webkiln.nest import custom_kernel as custom_kernels
from webkiln.nest import schedule as schedules
from webkiln.nest.choice import Choice
from webkiln.nest.expr_text import ExprPrinter
from webkiln.nest.nest import Nest
from webkiln.nest.procedure_text import procedure_lines
from webkiln.nest.program import Buffer, PanelLayout, Program
from webkiln.nest.schedule import Form
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
from webkiln.nest.text_blocks import INDENT

WIDTH = 88


def print_program(program: Program) -> str:
    lines = [f"program {escape_name(program.name)}"]
    for buffer in program.buffers.values():
        storage = f" as {buffer.storage}" if buffer.storage != buffer.type.dtype else ""
        kind = f" {buffer.kind}" if buffer.kind != "local" else ""
        view = View(buffer.name, buffer.type)
        lines.append(f"buffer {_view(view)}{storage}{kind}{_place(buffer)}")
    if program.live_out:
        lines.append(f"live {', '.join(map(escape_name, sorted(program.live_out)))}")
    for name, root in sorted(program.roots.items()):
        lines.append(f"alias {escape_name(name)} = {escape_name(root)}")
    for state in program.states:
        names = map(escape_name, (state.input, state.initial, state.output))
        lines.append("state {} = {} then {}".format(*names))
    if program.caches:
        lines.append(f"caches {', '.join(map(escape_name, sorted(program.caches)))}")
    for data in program.decided.values():
        lines += ["decided:", *_decision(data)]
    if program.memory is not None:
        lines.append(f"memory {json.dumps(program.memory)}")
    if program.init:
        lines += [*print_steps(program.init), "main"]
    return "\n".join([*lines, *print_steps(program.steps)]) + "\n"


def print_steps(steps: Iterable[Step]) -> list[str]:
    return [line for step in steps for line in _step_lines(step)]


def _step_lines(step: Step) -> list[str]:
    match step:
        case NestCall():
            marks = " exact" if step.exact else ""
            head = f"{_head(step, 'nest')}{marks}{_layer(step.layer)}"
            return [
                head,
                *_items("where", step.args),
                *([f"{INDENT}part {step.part_of}"] if step.part_of else []),
                *_form(step.form),
                *_choice(step.choice),
                *_nest_lines(step.nest),
            ]
        case HostCall():
            head = f"{_head(step, 'procedure')}{_result(step.result)}{_layer(step.layer)}"
            body = (INDENT + line for line in procedure_lines(step.procedure))
            return [head, *_items("where", step.args), *body]
        case CustomCall():
            data = custom_kernels.to_json(step.kernel)
            head = f"{_head(step, 'custom')}{_layer(step.layer)}"
            return [head, *_items("where", step.args), INDENT + json.dumps(data)]
        case Copy():
            return [f"copy {_view(step.source)} -> {_view(step.target)}{_layer(step.layer)}"]
        case Repeat():
            return [f"repeat {step.counter} < {step.count}:", *_block(step.steps)]
        case Workgroups():
            shared = ", ".join(map(escape_name, step.shared))
            head = f"workgroups {step.counter} < {step.count} of {step.size}"
            return [f"{head}{f' sharing {shared}' if shared else ''}:", *_block(step.steps)]
        case Parallel():
            return ["parallel:", *_block(step.steps)]
        case Branch():
            head = f"branch {_view(step.condition)}{_layer(step.layer)}:"
            return [head, *_block(step.then), "else:", *_block(step.otherwise)]
        case DeviceBranch():
            return [f"device {step.least}:", *_block(step.then), "else:", *_block(step.otherwise)]
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


def _place(buffer: Buffer) -> str:
    """The layout and the address of a buffer."""
    layout, text = buffer.layout, ""
    if isinstance(layout, PanelLayout):
        panel = layout.panel
        block = (panel.block,) if panel.together == 1 else (panel.block, panel.together)
        dims = (layout.shape, (panel.dim,), panel.order, block)
        text = f" panel({'; '.join(','.join(map(str, item)) for item in dims)})"
    elif layout is not None:
        text = " texels" if layout.quarter is None else f" quarters({layout.quarter})"
    if buffer.segment is not None:
        text = f"{text} segment {buffer.segment}"
    return text if buffer.address is None else f"{text} at {buffer.address}"


def _form(form: Form | None) -> list[str]:
    return [] if form is None else _items("form", _dumped(schedules.to_json(form)))


def _choice(choice: Choice | None) -> list[str]:
    if choice is None:
        return []
    lines = [f"{INDENT}why {choice.why}"]
    lines += _items("schedule", _dumped(schedules.to_json(choice.schedule)))
    return lines if choice.decision is None else [*lines, *_decision(choice.decision)]


def _decision(decision: Mapping[str, Any]) -> list[str]:
    *rest, (_, candidates) = decision.items()
    rows = {name: times for name, *times in candidates}
    return _items("decision", _dumped(dict(rest) | rows))


def _dumped(data: Mapping[str, Any]) -> dict[str, str]:
    return {name: json.dumps(value) for name, value in data.items()}


def _head(step: NestCall | HostCall | CustomCall, kind: str) -> str:
    outputs, inputs = "; ".join(map(_view, step.outputs)), ", ".join(map(_view, step.inputs))
    return f"{outputs} = {kind}({inputs})"


def _items(keyword: str, values: Mapping[str, Any]) -> list[str]:
    """Names with their values, as many on a line as fit."""
    lines: list[str] = []
    for name, value in values.items():
        text = f"{name} = {value}"
        if lines and len(lines[-1]) + len(text) < WIDTH:
            lines[-1] += f"; {text}"
        else:
            lines.append(f"{INDENT}{keyword} {text}")
    return lines


def _layer(layer: str) -> str:
    return f" @{escape_name(layer)}" if layer else ""


def _result(result: tuple[str, Size] | None) -> str:
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
