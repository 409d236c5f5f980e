"""Every backend by name, best first."""

from webkiln.backends import js, wasm
from webkiln.nest.facts import Facts

FACTS: dict[str, Facts] = {"wasm": wasm.FACTS, "js": js.FACTS}
VARIANTS: dict[str, tuple[str, ...]] = {"wasm": wasm.VARIANTS, "js": ()}
