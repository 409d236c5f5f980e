"""The text form of procedures: assignments, stores, loops and branches.

t0 = 0
while t0 < p0:
  if in0[t0] < 0.0:
    out0[t0] = 0.0
  else:
    out0[t0] = in0[t0]
  t0 = t0 + 1
return t0

Expressions are those of `expr_text.py`, with the variables of the procedure. `out0[i]` in an
expression is an element of an output.
"""

from collections.abc import Iterator, Mapping, Sequence

from webkiln.errors import InternalError
from webkiln.ir.dim import Size
from webkiln.nest.expr import Expr, local
from webkiln.nest.expr_text import ExprParser, ExprPrinter
from webkiln.nest.nest import Operand
from webkiln.nest.procedure import Procedure, Set, Statement, StoreElement, When, While
from webkiln.nest.text_blocks import INDENT, Block, blocks


class _Printer(ExprPrinter):
    """Prints every expression where it is evaluated."""

    def __init__(self, inputs: int) -> None:
        super().__init__([])
        self.inputs = inputs

    def operand(self, position: int) -> str:
        return f"in{position}" if position < self.inputs else f"out{position - self.inputs}"


def procedure_lines(procedure: Procedure) -> list[str]:
    printer = _Printer(len(procedure.inputs))
    lines = list(_lines(procedure.body, printer))
    if procedure.result is not None:
        lines.append(f"return {printer.text(procedure.result)}")
    return lines


def _lines(body: Sequence[Statement], printer: ExprPrinter) -> Iterator[str]:
    for item in body:
        match item:
            case Set(name, value):
                yield f"{name} = {printer.text(value)}"
            case StoreElement(output, index, value):
                yield f"out{output}[{printer.text(index)}] = {printer.text(value)}"
            case While(condition, inner):
                yield f"while {printer.text(condition)}:"
                yield from (INDENT + line for line in _lines(inner, printer))
            case When(condition, then, otherwise):
                yield f"if {printer.text(condition)}:"
                yield from (INDENT + line for line in _lines(then, printer))
                if otherwise:
                    yield "else:"
                    yield from (INDENT + line for line in _lines(otherwise, printer))


def read_procedure(
    lines: Sequence[str], args: Mapping[str, Size], inputs: Sequence[str], outputs: Sequence[str]
) -> Procedure:
    """A procedure over operands of these dtypes."""
    reader = _Reader(args, inputs, outputs)
    body = reader.statements(blocks(lines))
    return Procedure(
        tuple(Operand(dtype, 1) for dtype in inputs),
        tuple(Operand(dtype, 1) for dtype in outputs),
        tuple(args),
        tuple(reader.locals.items()),
        body,
        reader.result,
    )


class _Reader:
    def __init__(
        self, args: Mapping[str, Size], inputs: Sequence[str], outputs: Sequence[str]
    ) -> None:
        self.parser = ExprParser((), args, [*inputs, *outputs], {})
        self.parser.first_output = len(inputs)
        self.locals: dict[str, str] = {}
        self.result: Expr | None = None

    def statements(self, items: Iterator[Block]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for line, block in items:
            if line == "else:" and found and isinstance(found[-1], When):
                last = found.pop()
                assert isinstance(last, When)
                found.append(When(last.condition, last.then, self.statements(blocks(block))))
            elif line.startswith("return "):
                self.result = self.parser.parse(line.removeprefix("return "))
            else:
                found.append(self._statement(line, block))
        return tuple(found)

    def _statement(self, line: str, block: Sequence[str]) -> Statement:
        keyword, _, rest = line.partition(" ")
        if keyword in ("while", "if") and rest.endswith(":"):
            condition = self.parser.parse(rest.removesuffix(":"))
            inner = self.statements(blocks(block))
            return While(condition, inner) if keyword == "while" else When(condition, inner)
        left, _, right = line.partition(" = ")
        if left.startswith("out") and left.endswith("]"):
            output, _, index = left.removesuffix("]").partition("[")
            position = int(output.removeprefix("out"))
            return StoreElement(position, self.parser.parse(index), self.parser.parse(right))
        if not left.isidentifier() or not right:
            raise InternalError(f"text form: cannot read {line!r}")
        value = self.parser.parse(right)
        self.locals.setdefault(left, value.type)
        self.parser.locals[left] = local(left, self.locals[left])
        return Set(left, value)
