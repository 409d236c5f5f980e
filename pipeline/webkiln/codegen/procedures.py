"""Print a procedure, statement by statement, for the languages that run on the CPU."""

from collections.abc import Sequence

from webkiln.codegen.dialect import Sequential
from webkiln.nest.expr import Expr
from webkiln.nest.procedure import Procedure, Set, Statement, StoreElement, While


def body(procedure: Procedure, dialect: Sequential) -> list[str]:
    """The statements of the procedure's function. Its operands are `x0`, `x1`, ... and `y0`, `y1`,
    ...
    """
    return _Printer(procedure, dialect).run()


class _Printer:
    def __init__(self, procedure: Procedure, dialect: Sequential) -> None:
        self.procedure, self.dialect = procedure, dialect
        names = [
            *(f"x{n}" for n in range(len(procedure.inputs))),
            *(f"y{n}" for n in range(len(procedure.outputs))),
        ]
        self.operands = list(zip(names, procedure.operands, strict=True))

    def run(self) -> list[str]:
        lines = [self.dialect.variable(type_, name) for name, type_ in self.procedure.locals]
        lines += self.block(self.procedure.body)
        return (
            lines
            if self.procedure.result is None
            else [*lines, f"return {self.value(self.procedure.result)};"]
        )

    def block(self, statements: Sequence[Statement]) -> list[str]:
        return [line for item in statements for line in self.statement(item)]

    def statement(self, item: Statement) -> list[str]:
        if isinstance(item, Set):
            return [f"{item.name} = {self.value(item.value)};"]
        if isinstance(item, StoreElement):
            name, operand = self.operands[len(self.procedure.inputs) + item.output]
            return [
                self.dialect.store(operand, name, self.value(item.index), self.value(item.value))
            ]
        if isinstance(item, While):
            return [
                f"while ({self.value(item.condition)}) {{",
                *_indented(self.block(item.body)),
                "}",
            ]
        rest = ["} else {", *_indented(self.block(item.otherwise))] if item.otherwise else []
        return [
            f"if ({self.value(item.condition)}) {{",
            *_indented(self.block(item.then)),
            *rest,
            "}",
        ]

    def value(self, expr: Expr) -> str:
        if expr.op == "const":
            return self.dialect.literal(expr.value, expr.type)
        if expr.op in ("arg", "local"):
            return str(expr.value)
        args = [self.value(item) for item in expr.args]
        if expr.op != "load":
            return f"({self.dialect.scalar(expr, args)})"
        position, guarded = expr.value
        name, operand = self.operands[position]
        if guarded:
            return f"({self.dialect.guarded(operand, name, args[0], args[1], args[2])})"
        return f"({self.dialect.load(operand, name, args[0])})"


def _indented(lines: Sequence[str]) -> list[str]:
    return ["  " + line for line in lines]
