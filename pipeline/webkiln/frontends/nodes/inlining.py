"""A limit for the growth of a model when its functions are inlined: a chain of 30 functions, each
of which calls the previous one twice, expands to 2^30 nodes.
"""

from webkiln.errors import SourceError

INLINED, INLINED_PER_NODE = 1 << 15, 8


class Inlining:
    """Counts nodes while the functions of a model are inlined. Messages call the model `name`."""

    def __init__(self, name: str, file_nodes: int) -> None:
        self.name = name
        self.limit = INLINED + INLINED_PER_NODE * file_nodes
        self._count = 0

    def add(self, nodes: int = 1) -> None:
        """Count nodes; raise SourceError beyond the limit."""
        self._count += nodes
        if self._count > self.limit:
            raise SourceError(
                f"{self.name}: has more than {self.limit:,} nodes after inlining its functions;"
                " refused"
            )
