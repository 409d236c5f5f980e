"""The backends by name, the fastest first."""

from webkiln.backends.js import backend as js
from webkiln.backends.wasm import backend as wasm
from webkiln.backends.webgl import backend as webgl
from webkiln.backends.webgpu import backend as webgpu
from webkiln.program_builder.loop_backend import LoopBackend

REGISTRY: dict[str, LoopBackend] = {
    item.name: item for item in (webgpu.BACKEND, wasm.BACKEND, webgl.BACKEND, js.BACKEND)
}
