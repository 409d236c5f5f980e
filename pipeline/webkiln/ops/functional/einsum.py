"""Einsum with an ellipsis, implicit results and axes of size 1."""

from collections.abc import Sequence
from string import ascii_letters

from webkiln.errors import ShapeError
from webkiln.ops.builder import GraphBuilder, Tensor
from webkiln.ops.pieces import reshaped


def einsum(b: GraphBuilder, operands: Sequence[Tensor], equation: str) -> Tensor:
    """An ellipsis covers the axes without letters; without `->`, the result has the letters that
    occur once, in alphabetical order. Axes of size 1 broadcast. Raise ShapeError if the equation
    has another number of terms than there are operands.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise ShapeError(
            f"{b.layer}: the equation has {len(terms)} terms, there are {len(operands)} operands"
        )
    if not arrow:
        letters = "".join(term.replace("...", "") for term in terms)
        right = ("..." if "..." in left else "") + "".join(
            sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        )
    *expanded, result = without_ellipsis([*terms, right], [x.type.rank for x in operands])
    squeezed = [
        _without_ones(b, x, term, expanded, operands)
        for x, term in zip(operands, expanded, strict=True)
    ]
    present = "".join(term for _, term in squeezed)
    axes = "".join(letter for letter in result if letter in present)
    y = b.op(
        "Einsum",
        [x for x, _ in squeezed],
        {"equation": f"{','.join(term for _, term in squeezed)}->{axes}"},
    )
    sizes = dict(zip(axes, y.shape, strict=True))
    return reshaped(b, y, tuple(sizes.get(letter, 1) for letter in result))


def without_ellipsis(terms: Sequence[str], ranks: Sequence[int]) -> list[str]:
    """The terms of operands of these ranks, and of the result, with letters for each `...`."""
    counts = [
        rank - len(term.replace("...", "")) if "..." in term else 0
        for term, rank in zip(terms, ranks, strict=False)
    ]
    used = "".join(terms)
    free = "".join(letter for letter in ascii_letters if letter not in used)
    free = free[: max(counts, default=0)]
    return [
        term.replace("...", free[len(free) - count :])
        for term, count in zip(terms, [*counts, len(free)], strict=True)
    ]


def _without_ones(
    b: GraphBuilder, x: Tensor, term: str, terms: Sequence[str], operands: Sequence[Tensor]
) -> tuple[Tensor, str]:
    """The operand without the axes of size 1 that other operands broadcast."""
    widest = {
        letter: max(
            (
                y.shape[other.index(letter)]
                for y, other in zip(operands, terms, strict=True)
                if letter in other
            ),
            key=str,
        )
        for letter in term
    }
    axes = [axis for axis, letter in enumerate(term) if x.shape[axis] != 1 or widest[letter] == 1]
    return reshaped(b, x, [x.shape[axis] for axis in axes]), "".join(term[axis] for axis in axes)
