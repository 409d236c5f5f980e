"""Where tests run bundles, Node and the browsers, and what each of them runs: the table that tests
are parametrised over.
"""

import pytest

from tests.sampling import representative
from webkiln.backends.browsers import BROWSERS
from webkiln.backends.host import HOSTS, why_not
from webkiln.backends.table import VARIANTS
from webkiln.recipe.values import BACKENDS, USUAL_BACKENDS

PAGES = tuple(BROWSERS)
BEST = dict.fromkeys(PAGES, "relaxed") | {"node": "simd"}
"""The variant of the wasm backend that a load chooses; Node 20 runs the other behind a flag."""

A_PART_OF_A_VARIANT = representative([("relaxed", 4), ("relaxed", 1), ("simd", 1)], ("relaxed", 4))
"""Variants of the wasm backend, and of how many cases of a large cross product each tries one:
`make test` tries a quarter.
"""

every_host = pytest.mark.parametrize("host", HOSTS)
one_page = pytest.mark.parametrize("browser", representative(PAGES, PAGES[0]))
"""The first browser in each run of the tests, the others by `make formats` alone."""
every_page = pytest.mark.parametrize("browser", PAGES)
PAGE_LEGS = [
    (browser, backend)
    for browser in PAGES
    for backend in BACKENDS
    if why_not(browser, backend) is None
]
"""Every backend in every browser that has it."""
every_page_leg = pytest.mark.parametrize(("browser", "backend"), PAGE_LEGS)


def backends(host: str) -> tuple[str, ...]:
    """What is asked of a host: a browser is asked for everything, Node has no GPU."""
    return BACKENDS if host in PAGES else USUAL_BACKENDS


def legs(host: str) -> set[tuple[str, str | None]]:
    """The backends with their variants that a host is asked for and runs."""
    asked = {
        (backend, variant) for backend in backends(host) for variant in VARIANTS[backend] or (None,)
    }
    return {leg for leg in asked if why_not(host, *leg) is None}
