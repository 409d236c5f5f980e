"""Operators that draw random numbers, and the distributions that they draw from."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Draw:
    """A distribution, and the positions of the operands with its bounds, if it has any. The shape
    is operand 0.
    """

    distribution: str
    bounds: tuple[int, int] | None = None


DRAWS: Mapping[str, Draw] = {
    "RandomUniform": Draw("uniform"),
    "RandomStandardNormal": Draw("normal"),
    "TruncatedNormal": Draw("truncated_normal"),
    "RandomUniformInt": Draw("randint", (1, 2)),
    "StatelessRandomUniform": Draw("uniform"),
    "StatelessRandomNormal": Draw("normal"),
    "StatelessTruncatedNormal": Draw("truncated_normal"),
    "StatelessRandomUniformInt": Draw("randint", (2, 3)),
    "StatelessRandomUniformV2": Draw("uniform"),
    "StatelessRandomNormalV2": Draw("normal"),
    "StatelessTruncatedNormalV2": Draw("truncated_normal"),
    "StatelessRandomUniformIntV2": Draw("randint", (4, 5)),
}
PARAMETERS: Mapping[str, tuple[float, float]] = {
    "uniform": (0.0, 1.0),
    "normal": (0.0, 1.0),
    "truncated_normal": (0.0, 1.0),
}
"""The parameters of the distributions without bounds."""
DERIVED = frozenset({"Multinomial", "RandomShuffle"})
"""Operators that compute their results from uniform numbers."""
