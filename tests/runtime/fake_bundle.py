"""A hand-written model, built into bundles by the real stage: y = x * w + total, where total is the
sum of all previous inputs.

It traps if x[0] is above 1e9.
"""

import importlib.util
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from webkiln import canonical
from webkiln.build.names import FOLDER, single_file
from webkiln.recipe.form import Form

ROOT = Path(__file__).resolve().parents[2]
X, Y, W, TOTAL, INITIAL, NEXT, SCALED, STAGING = 0, 64, 128, 192, 256, 320, 384, 448
BULK_BYTES = 1 << 18
BULK = STAGING + BULK_BYTES
MEMORY = BULK + BULK_BYTES
WEIGHT = np.array([1.5, -2.0, 0.25, 8.0], np.float32)
INITIAL_TOTAL = np.float32(10.0)

JS = f"""
export function create() {{
  const buffer = new ArrayBuffer({MEMORY});
  const f = new Float32Array(buffer);
  const move = (to, bytes) => new Uint8Array(buffer).copyWithin(to, {STAGING}, {STAGING} + bytes);
  let notify = () => {{}};
  return {{
    buffer, base: 0,
    watch(callback) {{ notify = callback; }},
    init(i) {{ move([{W}, {BULK}, {INITIAL}][i], [16, {BULK_BYTES}, 4][i]); }},
    run() {{
      if (f[{X // 4}] > 1e9) throw new RangeError('trap');
      let total = f[{TOTAL // 4}];
      for (let i = 0; i < 4; i++) {{
        f[{SCALED // 4} + i] = f[{X // 4} + i] * f[{W // 4} + i];
        f[{Y // 4} + i] = f[{SCALED // 4} + i] + total;
      }}
      for (let i = 0; i < 4; i++) total += f[{X // 4} + i];
      f[{NEXT // 4}] = total;
      notify(0);
    }},
  }};
}}
"""

WASM = """
export async function create(module) {
  return link(await WebAssembly.instantiate(module, {}));
}
export function createSync(module) {
  return link(new WebAssembly.Instance(module, {}));
}
function link({ exports }) {
  const base = exports.base();
  let notify = () => {};
  const run = () => {
    exports.run();
    notify(0);
  };
  return { get buffer() { return exports.memory.buffer; }, base, init: exports.init,
    run, watch(callback) { notify = callback; } };
}
"""

C = f"""
#include <wasm_simd128.h>
extern unsigned char __heap_base;
__attribute__((export_name("base"))) unsigned char *base(void) {{
  return (unsigned char *)(((unsigned long)&__heap_base + 63) & ~63ul);
}}
static float *at(int offset) {{ return (float *)(base() + offset); }}
__attribute__((export_name("init"))) void init(int i) {{
  int to[] = {{{W}, {BULK}, {INITIAL}}}, bytes[] = {{16, {BULK_BYTES}, 4}};
  for (int k = 0; k < bytes[i] / 4; k++) at(to[i])[k] = at({STAGING})[k];
}}
__attribute__((export_name("run"))) void run(void) {{
  if (at({X})[0] > 1e9f) __builtin_trap();
  float total = *at({TOTAL});
  v128_t x = wasm_v128_load(at({X})), w = wasm_v128_load(at({W}));
  wasm_v128_store(at({SCALED}), wasm_f32x4_mul(x, w));
#ifdef __wasm_relaxed_simd__
  wasm_v128_store(at({Y}), wasm_f32x4_relaxed_madd(x, w, wasm_f32x4_splat(total)));
#else
  wasm_v128_store(at({Y}), wasm_f32x4_add(wasm_f32x4_mul(x, w), wasm_f32x4_splat(total)));
#endif
  for (int i = 0; i < 4; i++) total += at({X})[i];
  *at({NEXT}) = total;
}}
"""


def stage(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"stage_{name}", ROOT / "stages" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def expected(x: np.ndarray, total_before: float = float(INITIAL_TOTAL)) -> np.ndarray:
    return (x * WEIGHT + np.float32(total_before)).astype(np.float32)


def program(backend: str, keep_layers: bool) -> dict[str, Any]:
    tensor = {"dtype": "float32", "shape": [1, 4], "order": "NC"}
    layer = {
        "layer": "scale",
        "variable": "scale.out",
        "dtype": "float32",
        "shape": [1, 4],
        "offset": SCALED,
    }
    return {
        "schema": "webkiln.program/6",
        "backend": backend,
        "name": "fake",
        "placeholders": [],
        "data_dependent": [],
        "divisibility": [],
        "zeros": [],
        "guards": [],
        "loaded": MEMORY,
        "memory": MEMORY,
        "inputs": [{**tensor, "name": "x", "offset": X}],
        "outputs": [{**tensor, "name": "y", "offset": Y}],
        "states": [
            {"name": "total", "offset": TOTAL, "initial": INITIAL, "next": NEXT, "bytes": 4}
        ],
        "staging": {"offset": STAGING, "bytes": BULK_BYTES},
        "layers": [layer] if keep_layers else [],
        "init": [[0, 0, 16], [0, 16, BULK_BYTES], [1, 0, 4]],
        "main": [{"kernel": "k_scale", "layer": "scale", "why": "", "flops": 8, "bytes": 48}],
    }


def compile_wasm(work: Path, variant: str) -> Path:
    source, binary = work / "fake.c", work / f"{variant}.wasm"
    source.write_text(C)
    flags = ["-msimd128", *(["-mrelaxed-simd"] if variant == "relaxed" else [])]
    command = [
        "clang-19",
        "--target=wasm32",
        "-nostdlib",
        "-O2",
        *flags,
        "-c",
        str(source),
        "-o",
        str(binary) + ".o",
    ]
    subprocess.run(command, check=True)
    link = [
        "wasm-ld-19",
        "--no-entry",
        "--strip-all",
        "--initial-memory=2097152",
        f"{binary}.o",
        "-o",
        str(binary),
    ]
    subprocess.run(link, check=True)
    return binary


def build(
    work: Path,
    *,
    keep_layers: bool = False,
    labels: Any = ("a", "b", "c", "d"),
    form: Form = FOLDER,
) -> Path:
    """Build the bundle in `work/fake` and return its folder."""
    work.mkdir(parents=True, exist_ok=True)
    inputs: dict[str, Path] = {"shards/": work / "shards", "shards.json": work / "shards.json"}
    for backend, code in (("js", JS), ("wasm", WASM)):
        description = program(backend, keep_layers)
        inputs[f"program.{backend}.json"] = work / f"program.{backend}.json"
        canonical.write(inputs[f"program.{backend}.json"], description)
        folder = inputs[f"code.{backend}/"] = work / f"code.{backend}"
        folder.mkdir(exist_ok=True)
        layout, constants = (
            canonical.dumps({key: description[key] for key in keys}).decode()
            for keys in (
                ("memory", "inputs", "outputs", "layers", "guards"),
                ("placeholders", "loaded", "states", "staging", "init"),
            )
        )
        (folder / f"{backend}.js").write_text(
            f"export const program = {{ ...{constants}, layout: () => ({layout}) }};\n{code}"
        )
    for variant in ("simd", "relaxed"):
        inputs[f"wasm.{variant}"] = compile_wasm(work, variant)
    bulk = np.random.default_rng(0).integers(0, 256, BULK_BYTES, np.uint8).tobytes()
    shards = []
    inputs["shards/"].mkdir(exist_ok=True)
    for data in (WEIGHT.tobytes() + bulk, INITIAL_TOTAL.tobytes()):
        digest = canonical.digest(data)
        name = f"weights-{digest[:8]}.bin"
        (inputs["shards/"] / name).write_bytes(data)
        shards.append({"file": name, "bytes": len(data), "sha256": digest})
    canonical.write(
        inputs["shards.json"],
        {"schema": "webkiln.shards/1", "encoding": "float32", "shards": shards},
    )
    bundle = work / "fake"
    params = {
        "name": "fake",
        "backends": ["wasm", "js"],
        "variants": {"wasm": ["relaxed", "simd"]},
        "encoding": "float32",
        "labels": list(labels) if isinstance(labels, tuple) else labels,
        "keep_layers": keep_layers,
        "form": asdict(form),
        "single": single_file("fake"),
    }
    stage("bundle").run(inputs, {"bundle/": bundle}, params)
    return bundle
