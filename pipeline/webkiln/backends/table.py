"""All backends by name, the fastest first."""

from webkiln.backends import js, wasm, webgl, webgpu
from webkiln.nest.target import Target
from webkiln.recipe.values import WASM_VARIANTS

TARGETS: dict[str, Target] = {
    "webgpu": webgpu.TARGET,
    "wasm": wasm.TARGET,
    "webgl": webgl.TARGET,
    "js": js.TARGET,
}
VARIANTS: dict[str, tuple[str, ...]] = {"webgpu": (), "wasm": WASM_VARIANTS, "webgl": (), "js": ()}
