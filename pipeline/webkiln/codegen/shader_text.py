"""Shaders as functions of JavaScript that return their text.

Shaders consist of unrolled blocks, whose lines differ in numbers only. Three or more blocks in
which each number grows by a constant are a call of `repeat`, and values are numbered relative to
the last one that was defined, so that blocks of different shaders are equal. Brotli then takes
between 0.5 and 0.7 of the bytes for the code of a network. `runtime/engines/shader_text.js` reads
what this module writes.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webkiln.errors import InternalError

_VALUE = re.compile(r"\bv(\d+)\b")
_DEFINITION = re.compile(r"(?<=[\w>] )v(\d+)(?= = )")
_FUNCTION = re.compile(r"^(?=(?:fn|void|float|int|uint|bool|[iub]?vec\d) \w+\()", re.MULTILINE)
_NUMBER = re.compile(r"(?<![\d.])(?:0|[1-9]\d{,14})(?![\d.])")
"""Integers that JavaScript adds exactly and prints without an exponent."""
_RESERVED = re.compile(r"[`\\$]")

LEAST_COUNT = 3
"""Any two blocks grow by a constant."""
LEAST_SAVED = 60
"""The least characters that a call replaces, beyond those of the first block."""
MOST_LINES = 40
"""The most lines, or calls, in a block."""
INDICES = "ijklmnopqrstuvwxyz"


def shader_function(text: str) -> str:
    """An arrow function that returns the shader, up to the numbers of its values.

    Raises InternalError: the shader contains a character that template literals escape.
    """
    if reserved := _RESERVED.search(text):
        raise InternalError(f"a shader contains {reserved.group()}")
    forms = _Forms()
    blocks = _fold([_line(line, forms) for line in _relative(text).split("\n")], forms)
    constants = [(number, ()) for block in blocks for number in block.numbers]
    return "() => `" + "\n".join(_print(blocks, iter(constants), 0)) + "`"


@dataclass(frozen=True, slots=True)
class _Block:
    """A line, or `count` repetitions of `blocks`. `numbers`: those of the first repetition, in the
    order of the text; each repetition adds `steps`. Blocks of one `form` differ in `numbers` only.
    `parts`: the text between the numbers of a line. `length`: that of the text.
    """

    form: int
    numbers: tuple[int, ...]
    length: int
    parts: tuple[str, ...] = ()
    count: int = 1
    blocks: tuple["_Block", ...] = ()
    steps: tuple[int, ...] = ()


class _Forms:
    """Numbers of forms."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, ...], int] = {}

    def number(self, *form: object) -> int:
        return self._numbers.setdefault(form, len(self._numbers))


def _relative(text: str) -> str:
    """Write definitions of values as `$`, and values as `$` and the number of definitions since
    their own. Texts in which a function defines a name twice, or uses one that it does not define,
    remain as they are.
    """
    functions, defined = [], 0
    for function in _FUNCTION.split(text):
        names = _DEFINITION.findall(function)
        if len(set(names)) < len(names) or not {*_VALUE.findall(function)} <= {*names}:
            return text
        number = {name: defined + position for position, name in enumerate(names, 1)}

        def replaced(match: re.Match[str], number: dict[str, int] = number) -> str:
            nonlocal defined
            if _DEFINITION.match(match.string, match.start()):
                defined = number[match[1]]
                return "$"
            return f"${defined - number[match[1]]}"

        functions.append(_VALUE.sub(replaced, function))
    return "".join(functions)


def _line(text: str, forms: _Forms) -> _Block:
    parts = tuple(_NUMBER.split(text))
    return _Block(forms.number(*parts), tuple(map(int, _NUMBER.findall(text))), len(text), parts)


def _repetition(
    blocks: Sequence[_Block], count: int, steps: tuple[int, ...], forms: _Forms
) -> _Block:
    return _Block(
        forms.number(count, steps, *(block.form for block in blocks)),
        _numbers(blocks),
        sum(block.length for block in blocks),
        count=count,
        blocks=tuple(blocks),
        steps=steps,
    )


def _fold(blocks: list[_Block], forms: _Forms) -> list[_Block]:
    """Replace repetitions, shortest first, until none is left."""
    size = 1
    while size <= min(MOST_LINES, len(blocks) // LEAST_COUNT):
        folded = _fold_blocks(blocks, size, forms)
        size = size + 1 if len(folded) == len(blocks) else 1
        blocks = folded
    return blocks


def _fold_blocks(blocks: list[_Block], size: int, forms: _Forms) -> list[_Block]:
    """Replace repetitions of `size` blocks each."""
    numbers = [block.form for block in blocks]
    folded, at = [], 0
    while at < len(blocks):
        count, steps = _repeated(blocks, numbers, at, size)
        first = blocks[at : at + size]
        saved = (count - 1) * sum(block.length for block in first)
        if count >= LEAST_COUNT and saved > LEAST_SAVED:
            folded.append(_repetition(first, count, steps, forms))
            at += count * size
        else:
            folded.append(blocks[at])
            at += 1
    return folded


def _repeated(
    blocks: Sequence[_Block], forms: Sequence[int], at: int, size: int
) -> tuple[int, tuple[int, ...]]:
    """How many times the `size` blocks from `at` occur, and what each repetition adds."""
    count, steps = 1, None
    form = forms[at : at + size]
    previous = None
    while forms[(start := at + count * size) : start + size] == form:
        if previous is None:
            previous = _numbers(blocks[at : at + size])
        numbers = _numbers(blocks[start : start + size])
        added = tuple(new - old for new, old in zip(numbers, previous, strict=True))
        if steps is None:
            steps = added
        elif added != steps:
            break
        previous, count = numbers, count + 1
    return count, steps or ()


def _numbers(blocks: Sequence[_Block]) -> tuple[int, ...]:
    return tuple(number for block in blocks for number in block.numbers)


def _print(
    blocks: Sequence[_Block], numbers: Iterator[tuple[int, tuple[tuple[str, int], ...]]], depth: int
) -> list[str]:
    """The text of blocks in a template literal. `numbers`: of each number, its first value and what
    each index of the enclosing calls multiplies.
    """
    lines = []
    for block in blocks:
        own = [next(numbers) for _ in block.numbers]
        if block.count == 1:
            first, *others = block.parts
            terms = map(_term, own)
            lines.append(first + "".join(map("".join, zip(terms, others, strict=True))))
            continue
        index = INDICES[depth]
        inner = [
            (first, (*terms, (index, step)))
            for (first, terms), step in zip(own, block.steps, strict=True)
        ]
        body = "\n".join(_print(block.blocks, iter(inner), depth + 1))
        lines.append(f"${{repeat({block.count},{index}=>`{body}`)}}")
    return lines


def _term(number: tuple[int, tuple[tuple[str, int], ...]]) -> str:
    """A number in a template literal."""
    first, terms = number
    products = [
        f"{'+' if step > 0 else '-'}{'' if abs(step) == 1 else f'{abs(step)}*'}{index}"
        for index, step in terms
        if step
    ]
    if not products:
        return str(first)
    total = "".join([str(first) if first else "", *products])
    return "${" + total.removeprefix("+") + "}"
