"""The registry of the handlers that convert a format's operators. Registered handlers take
precedence over built-in ones.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from webkiln.frontends.nodes.call import NodeHandler
from webkiln.frontends.nodes.fold import Folds

Tables = Mapping[str, Mapping[str, NodeHandler]]
"""Domain -> operator -> handler. '' is the format's own domain."""
Refusal = tuple[str, str]
"""Why an operator is not converted, and what to do instead."""


class NodeHandlers:
    """The handlers and the shape arithmetic of one format.

    `own_domain` is its domain's name in messages. `advice` is the hint for an operator without a
    handler, unless `refused` has a specific one. With `supports_subgraphs`, messages suggest
    options that exclude unsupported nodes.
    """

    def __init__(
        self,
        tables: Tables,
        folds: Folds,
        *,
        own_domain: str,
        advice: str,
        refused: Mapping[str, Refusal] | None = None,
        supports_subgraphs: bool = False,
    ) -> None:
        self.tables, self.folds, self.own_domain, self.advice, self.supports_subgraphs = (
            tables,
            folds,
            own_domain,
            advice,
            supports_subgraphs,
        )
        self.refused = refused or {}
        self._registered: dict[tuple[str, str], NodeHandler] = {}

    def register(self, op: str, domain: str = "") -> Callable[[NodeHandler], NodeHandler]:
        """Decorator: register a function of a `NodeCall` for an operator. It takes precedence over
        the built-in handler.
        """

        def register(handler: NodeHandler) -> NodeHandler:
            self._registered[domain, op] = handler
            return handler

        return register

    def find(self, domain: str, op: str) -> NodeHandler | None:
        return self._registered.get((domain, op)) or self.tables.get(domain, {}).get(op)

    def domains(self) -> list[str]:
        """The domains of all known operators."""
        return sorted({*self.tables, *(domain for domain, _ in self._registered)})

    @contextmanager
    def isolated(self) -> Iterator[None]:
        """Discard handlers registered inside the context when it exits."""
        before, self._registered = self._registered, {}
        try:
            yield
        finally:
            self._registered = before
