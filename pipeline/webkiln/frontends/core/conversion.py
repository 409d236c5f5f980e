"""The result of converting a model of any format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webkiln.frontends.core.arrays import Weight
from webkiln.ir.graph import Graph

SOURCE = "source"
"""The name of graphs in a build, whose cache keys must not depend on the model's name. Messages
that start with it are rewritten to name the model file.
"""


@dataclass(frozen=True)
class Conversion:
    """A graph, its weights by slot, and further files that the stage writes, by name."""

    graph: Graph
    weights: Mapping[str, Weight]
    files: Mapping[str, Any] = field(default_factory=dict)
