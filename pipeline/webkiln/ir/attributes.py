"""The base class of the attributes of operators."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, replace
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of an operator that has none, and the base class of all others.

    A subclass is a frozen dataclass. Its fields hold what graph.json can store: numbers, strings,
    sizes, tuples of these, None and graphs.
    """

    def as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def non_default(self) -> dict[str, Any]:
        """The attributes whose values differ from their defaults: those that files contain.

        Representations are compared, because 0, -0.0 and False are equal.
        """
        stored = {}
        for name, field in self.__dataclass_fields__.items():
            value = getattr(self, name)
            if field.default is MISSING or repr(value) != repr(field.default):
                stored[name] = value
        return stored

    def map(self, change: Callable[[Any], Any]) -> Self:
        """Apply `change` to every value."""
        return replace(self, **{name: change(value) for name, value in self.as_dict().items()})


@dataclass(frozen=True, slots=True)
class UncheckedAttributes(Attributes):
    """The attributes of a node that was read without the definition of its operator."""

    values: Mapping[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return dict(self.values)

    def non_default(self) -> dict[str, Any]:
        return dict(self.values)

    def map(self, change: Callable[[Any], Any]) -> Self:
        return replace(self, values={name: change(value) for name, value in self.values.items()})


AttributesOf = Callable[[str, Mapping[str, Any], str], Attributes]
"""(operator, values, layer) -> the attributes of a node. Raises InternalError if names are unknown
or missing.
"""


def unchecked(op: str, values: Mapping[str, Any], layer: str) -> Attributes:
    return UncheckedAttributes(values)
