"""How much a model may grow when its functions are inlined: 30 functions, each of which calls the
one
before it twice, become 2^30 nodes.
"""

from webkiln.errors import SourceError

INLINED, INLINED_PER_NODE = 1 << 15, 8


class Inlining:
    """Counts the nodes of one model, which messages call `name`, while functions are inlined."""

    def __init__(self, name: str, file_nodes: int) -> None:
        self.name = name
        self.limit = INLINED + INLINED_PER_NODE * file_nodes
        self._count = 0

    def add(self, nodes: int = 1) -> None:
        """SourceError where the model has too many nodes."""
        self._count += nodes
        if self._count > self.limit:
            raise SourceError(
                f"{self.name}: has more than {self.limit:,} nodes once its functions are inlined;"
                " refused"
            )
