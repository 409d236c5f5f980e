"""The text form of expressions: `max(in0[a0, r0] * in1[r0], 0.0)`.

`+ - * /` and comparisons are infix, and operands that are infix are in parentheses. A load is
`in0[i, j]`, or `in0[i, j if guard else other]`. `i32(x)` casts; `i32!(x)` casts a float that is in
range; `i32&(x)` keeps the bits. Numbers are f32 with a decimal point and i32 without one; others
have their type, as in `u32:7`. An expression that is used several times is a line of its own, and
`%0` refers to it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from webkiln.errors import InternalError
from webkiln.nest.expr import (
    BOOL,
    FLOAT,
    INT,
    NUMPY,
    OPERATIONS,
    REAL,
    Expr,
    acc,
    accindex,
    apply,
    arg,
    axis,
    const,
    load,
    make,
    select,
    walk,
)
from webkiln.nest.nest import COMPUTE, load_guard, load_index

INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
    "and": "&",
    "or": "|",
}
OPERATOR = {symbol: op for op, symbol in INFIX.items()}
LEAVES = ("const", "axis", "arg", "local", "acc", "accindex")
TOKEN = re.compile(
    r"\s*(?:(?P<reference>%\d+)"
    r"|(?P<number>-?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|inf|nan)(?![\w.]))"
    r"|(?P<typed>\w+:-?(?:[\d.]+(?:e[-+]?\d+)?|inf|nan))"
    r"|(?P<word>[A-Za-z_][\w'.]*[!&]?)"
    r"|(?P<mark><=|>=|==|!=|[-+*/<>&|(),\[\]]))"
)


class ExprPrinter:
    """Prints the expressions of one nest. `lines` defines those that are used several times."""

    def __init__(self, roots: Sequence[Expr]) -> None:
        uses = Counter(item for expr in walk(roots) for item in expr.args)
        uses.update(set(roots))
        shared = [expr for expr in walk(roots) if uses[expr] > 1 and expr.op not in LEAVES]
        self.names = {expr: f"%{number}" for number, expr in enumerate(shared)}
        self.lines = [f"{name} = {self._whole(expr)}" for expr, name in self.names.items()]

    def text(self, expr: Expr) -> str:
        return self.names.get(expr) or self._whole(expr)

    def _whole(self, expr: Expr) -> str:
        match expr.op:
            case "const":
                return number_text(expr)
            case "axis" | "arg" | "local":
                return str(expr.value)
            case "acc":
                return f"acc{expr.value}"
            case "accindex":
                return f"acc{expr.value}.index"
            case "load":
                return self._load(expr)
            case "cast":
                return f"{expr.type}{'!' if expr.value else ''}({self.text(expr.args[0])})"
            case "bitcast":
                return f"{expr.type}&({self.text(expr.args[0])})"
            case op if op in INFIX:
                a, b = map(self._operand, expr.args)
                return f"{a} {INFIX[op]} {b}"
        return f"{expr.op}({', '.join(map(self.text, expr.args))})"

    def _operand(self, expr: Expr) -> str:
        text = self.text(expr)
        return f"({text})" if expr.op in INFIX and expr not in self.names else text

    def _load(self, expr: Expr) -> str:
        index = ", ".join(map(self.text, load_index(expr)))
        if (guard := load_guard(expr)) is not None:
            condition, other = map(self.text, guard)
            index = f"{index} if {condition} else {other}"
        return f"{self.operand(expr.value[0])}[{index}]"

    def operand(self, position: int) -> str:
        return f"in{position}"


def number_text(expr: Expr) -> str:
    if expr.type == BOOL:
        return str(expr.value).lower()
    text = repr(expr.value)
    return text if expr.type in (FLOAT, INT) else f"{expr.type}:{text}"


class ExprParser:
    """Parses expressions of one nest. `dtypes` are those of its inputs, `lines` the expressions
    that references name, and `accumulators` the types of accumulators.
    """

    def __init__(
        self,
        axes: Iterable[str],
        args: Iterable[str],
        dtypes: Sequence[str],
        lines: Mapping[str, str],
    ) -> None:
        self.axes, self.args, self.dtypes = frozenset(axes), frozenset(args), dtypes
        self.lines = lines
        self.defined: dict[str, Expr] = {}
        self.accumulators: Sequence[str] = ()
        self.locals: dict[str, Expr] = {}
        self.first_output = 0
        self.tokens: list[tuple[str, str]] = []
        self.at = 0

    def parse(self, text: str) -> Expr:
        self.tokens, self.at = list(_tokens(text)), 0
        expr = self._expression()
        if self.at < len(self.tokens):
            raise InternalError(f"text form: cannot read {text!r} from {self.tokens[self.at][1]!r}")
        return expr

    def _peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def _next(self) -> tuple[str, str]:
        if self.at >= len(self.tokens):
            raise InternalError("text form: an expression ends early")
        self.at += 1
        return self.tokens[self.at - 1]

    def _expect(self, text: str) -> None:
        if (found := self._next()[1]) != text:
            raise InternalError(f"text form: expected {text!r}, got {found!r}")

    def _expression(self) -> Expr:
        left = self._operand()
        if self._peek() in OPERATOR:
            op = OPERATOR[self._next()[1]]
            return apply(op, left, self._operand())
        return left

    def _operand(self) -> Expr:
        kind, text = self._next()
        if kind == "reference":
            return self._defined(text)
        if kind == "number":
            return const(float(text), FLOAT) if _is_real(text) else const(int(text), INT)
        if kind == "typed":
            type_, _, value = text.partition(":")
            return const(float(value) if type_ in REAL else int(value), type_)
        if text == "(":
            inner = self._expression()
            self._expect(")")
            return inner
        if kind != "word":
            raise InternalError(f"text form: {text!r} begins no operand")
        return self._word(text)

    def _defined(self, name: str) -> Expr:
        if name not in self.lines:
            raise InternalError(f"text form: {name} is not defined")
        if name not in self.defined:
            tokens, at = self.tokens, self.at
            self.defined[name] = self.parse(self.lines[name])
            self.tokens, self.at = tokens, at
        return self.defined[name]

    def _word(self, text: str) -> Expr:
        if text in ("true", "false"):
            return const(text == "true", BOOL)
        if match := re.fullmatch(r"acc(\d+)(\.index)?", text):
            position = int(match[1])
            return accindex(position) if match[2] else acc(position, self.accumulators[position])
        if (match := re.fullmatch(r"(in|out)(\d+)", text)) and self._peek() == "[":
            return self._load(int(match[2]) + (self.first_output if match[1] == "out" else 0))
        if text in self.locals:
            return self.locals[text]
        if text in self.axes or text in self.args:
            return axis(text) if text in self.axes else arg(text)
        return self._call(text)

    def _load(self, position: int) -> Expr:
        self._expect("[")
        index: list[Expr] = []
        guard = other = None
        while self._peek() != "]":
            if self._peek() == "if":
                self._next()
                guard = self._expression()
                self._expect("else")
                other = self._expression()
                break
            index.append(self._expression())
            if self._peek() == ",":
                self._next()
        self._expect("]")
        return load(position, COMPUTE[self.dtypes[position]], index, guard, other)

    def _call(self, name: str) -> Expr:
        self._expect("(")
        operands: list[Expr] = []
        while self._peek() != ")":
            operands.append(self._expression())
            if self._peek() == ",":
                self._next()
        self._expect(")")
        if name in OPERATIONS:
            return apply(name, *operands)
        if name == "select":
            return select(*operands)
        type_ = name.rstrip("!&")
        if type_ not in NUMPY or len(operands) != 1:
            raise InternalError(f"text form: there is no operation {name}")
        if name.endswith("&"):
            return make("bitcast", type_, tuple(operands))
        return make("cast", type_, tuple(operands), value=True if name.endswith("!") else None)


def _is_real(text: str) -> bool:
    return not text.lstrip("-").isdigit()


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text.rstrip()):
        match = TOKEN.match(text, at)
        if match is None:
            raise InternalError(f"text form: cannot read {text[at:]!r}")
        assert match.lastgroup is not None
        yield match.lastgroup, match[match.lastgroup]
        at = match.end()
