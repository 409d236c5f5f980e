"""Every backend by name, best first."""

from webkiln.backends import js, wasm, webgl, webgpu
from webkiln.nest.facts import Facts

FACTS: dict[str, Facts] = {"webgpu": webgpu.FACTS, "wasm": wasm.FACTS, "webgl": webgl.FACTS, "js": js.FACTS}
VARIANTS: dict[str, tuple[str, ...]] = {"webgpu": (), "wasm": wasm.VARIANTS, "webgl": (), "js": ()}
