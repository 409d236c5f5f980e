"""Who converts which operator: the user's handlers first, then the built-in tables."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from webkiln.frontends.onnx.call import NodeHandler
from webkiln.frontends.onnx.operators.table import DOMAINS

REGISTERED: dict[tuple[str, str], NodeHandler] = {}
"""(domain, operator) -> the user's handler."""


def register_handler(op: str, domain: str = "") -> Callable[[NodeHandler], NodeHandler]:
    """Decorator: convert nodes of this operator by a function of the `Call`. It precedes built-in handlers."""

    def register(handler: NodeHandler) -> NodeHandler:
        REGISTERED[domain, op] = handler
        return handler

    return register


def find_handler(domain: str, op: str) -> NodeHandler | None:
    return REGISTERED.get((domain, op)) or DOMAINS.get(domain, {}).get(op)


def domains() -> list[str]:
    """Every domain of which an operator is known."""
    return sorted({*DOMAINS, *(domain for domain, _ in REGISTERED)})


@contextmanager
def isolated() -> Iterator[None]:
    """What is registered inside is forgotten at the end."""
    before = dict(REGISTERED)
    REGISTERED.clear()
    try:
        yield
    finally:
        REGISTERED.clear()
        REGISTERED.update(before)
