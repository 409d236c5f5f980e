"""What nodes give while a program is walked: names of tensors of the spec, and handles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from webkiln.frontends.tensorflow.source import Body

DEEPEST = 64
"""How deep functions may call each other."""
WITHIN = ">"
VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
TABLES = frozenset({"HashTableV2", "HashTable", "MutableHashTableV2"})
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
PASSED = frozenset(
    {
        "Identity",
        "IdentityN",
        "StopGradient",
        "PreventGradient",
        "Snapshot",
        "PlaceholderWithDefault",
        "CheckNumerics",
        "EnsureShape",
        "ReadVariableOp",
        "DisableCopyOnRead",
        "OptimizationBarrier",
        "RefIdentity",
        "Bitcopy",
    }
)
"""Operators that give their operands."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A variable, a table, or what a checkpoint has of a variable (`restored`), by its name."""

    kind: str
    name: str


TensorRef = str | Handle


@dataclass
class Scope:
    """What the nodes of one body gave so far: by node, its outputs; and what its arguments are."""

    body: Body
    arguments: Mapping[str, TensorRef]
    made: dict[str, Sequence[TensorRef]] = field(default_factory=dict)
    depth: int = 0
    path: str = ""
    """The calls that lead to it, each with `WITHIN` behind it."""
    left: dict[str, Sequence[TensorRef]] = field(default_factory=dict)
    """What loops of TensorFlow 1 gave at their ends, by the names of their frames."""
