"""Who converts which operator of a format: the user's handlers first, then the format's own tables."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from webkiln.frontends.nodes.call import NodeHandler
from webkiln.frontends.nodes.fold import Folds

Tables = Mapping[str, Mapping[str, NodeHandler]]
"""Domain -> operator -> its handler; the format's own domain is ''."""
Refusal = tuple[str, str]
"""What an operator does that is not converted, and what to do instead."""


class NodeHandlers:
    """The handlers and the shape arithmetic of one format. `own_domain` is what messages call its
    domain, `advice` what to do about an operator without a handler, where `refused` does not say
    more of it; of one that `can_be_cut` messages say how to cut it off.
    """

    def __init__(
        self,
        tables: Tables,
        folds: Folds,
        *,
        own_domain: str,
        advice: str,
        refused: Mapping[str, Refusal] | None = None,
        can_be_cut: bool = False,
    ) -> None:
        self.tables, self.folds, self.own_domain, self.advice, self.can_be_cut = (
            tables,
            folds,
            own_domain,
            advice,
            can_be_cut,
        )
        self.refused = refused or {}
        self._registered: dict[tuple[str, str], NodeHandler] = {}

    def register(self, op: str, domain: str = "") -> Callable[[NodeHandler], NodeHandler]:
        """Decorator: convert nodes of this operator by a function of the `NodeCall`. It precedes
        built-in handlers.
        """

        def register(handler: NodeHandler) -> NodeHandler:
            self._registered[domain, op] = handler
            return handler

        return register

    def find(self, domain: str, op: str) -> NodeHandler | None:
        return self._registered.get((domain, op)) or self.tables.get(domain, {}).get(op)

    def domains(self) -> list[str]:
        """Every domain of which an operator is known."""
        return sorted({*self.tables, *(domain for domain, _ in self._registered)})

    @contextmanager
    def isolated(self) -> Iterator[None]:
        """What is registered inside is forgotten at the end."""
        before, self._registered = self._registered, {}
        try:
            yield
        finally:
            self._registered = before
