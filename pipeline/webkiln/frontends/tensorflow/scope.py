"""The values of nodes while a program is traversed: names of tensors, and handles."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from webkiln.frontends.tensorflow.source import Body

DEEPEST = 64
"""The maximum depth of calls."""
WITHIN = ">"
VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable"})
TABLES = frozenset({"HashTableV2", "HashTable", "MutableHashTableV2"})
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
PASS_THROUGH = frozenset(
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
"""Operators that output their operands."""


@dataclass(frozen=True, slots=True)
class Handle:
    """A handle by name: a variable, a table, or a variable's checkpoint entry (`restored`)."""

    kind: str
    name: str


TensorRef = str | Handle


@dataclass
class Scope:
    """The values of one body: outputs by node, and arguments."""

    body: Body
    arguments: Mapping[str, TensorRef]
    outputs: dict[str, Sequence[TensorRef]] = field(default_factory=dict)
    depth: int = 0
    path: str = ""
    """The calls that lead to this body, each followed by `WITHIN`."""
    final_values: dict[str, Sequence[TensorRef]] = field(default_factory=dict)
    """Final values of TensorFlow 1 loops, by frame name."""
