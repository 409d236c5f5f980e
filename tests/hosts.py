"""The hosts that run bundles in tests (Node and the browsers) and the backends that each of them
supports. Tests are parametrised over these tables.
"""

import pytest

from tests.sampling import representative
from webkiln.backends.browsers import BROWSERS
from webkiln.backends.host import HOSTS, why_not
from webkiln.recipe.values import BACKENDS, USUAL_BACKENDS, VARIANTS

PAGES = tuple(BROWSERS)
BEST = dict.fromkeys(PAGES, "relaxed") | {"node": "simd"}
"""The variant of the wasm backend that `load()` chooses. Node 20 runs relaxed SIMD only behind a
flag.
"""

SAMPLED_VARIANTS = representative([("relaxed", 4), ("relaxed", 1), ("simd", 1)], ("relaxed", 4))
"""(variant of the wasm backend, N): every Nth case of a large cross product runs with this variant.
`make test` runs a quarter of the cases.
"""

every_host = pytest.mark.parametrize("host", HOSTS)
one_page = pytest.mark.parametrize("browser", representative(PAGES, PAGES[0]))
"""The first browser in each run of the tests. `make formats` adds the others."""
every_page = pytest.mark.parametrize("browser", PAGES)
PAGE_LEGS = [
    (browser, backend)
    for browser in PAGES
    for backend in BACKENDS
    if why_not(browser, backend) is None
]
"""Every (browser, backend) that works."""
every_page_leg = pytest.mark.parametrize(("browser", "backend"), PAGE_LEGS)


def backends(host: str) -> tuple[str, ...]:
    """The backends to test on a host: all of them in a browser, those without a GPU in Node."""
    return BACKENDS if host in PAGES else USUAL_BACKENDS


def legs(host: str) -> set[tuple[str, str | None]]:
    """The (backend, variant) pairs to test on a host, without those that it does not support."""
    pairs = {
        (backend, variant) for backend in backends(host) for variant in VARIANTS[backend] or (None,)
    }
    return {leg for leg in pairs if why_not(host, *leg) is None}
