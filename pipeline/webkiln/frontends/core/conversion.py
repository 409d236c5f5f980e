"""What every format's conversion results in, and what the user's code writes for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from webkiln.frontends.core.arrays import Weight
from webkiln.ir.graph import Graph

SOURCE = "source"
"""The name of graphs in a build, whose keys do not have the model's: messages that begin with it
get that of the user's file.
"""


@dataclass(frozen=True)
class Converted:
    """A graph, the weights by slot, and what other files of the stage hold, by their names."""

    graph: Graph
    weights: Mapping[str, Weight]
    files: Mapping[str, Any] = field(default_factory=dict)
