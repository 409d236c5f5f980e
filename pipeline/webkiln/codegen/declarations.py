"""index.d.ts: the TypeScript declarations of a bundle, with the names, shapes, dtypes and labels of
its model as literal types.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ARRAYS = {
    "float32": "Float32Array",
    "float16": "Uint16Array",
    "float64": "Float64Array",
    "bool": "Uint8Array",
    "int8": "Int8Array",
    "int16": "Int16Array",
    "int32": "Int32Array",
    "int64": "BigInt64Array",
    "uint8": "Uint8Array",
    "uint16": "Uint16Array",
    "uint32": "Uint32Array",
    "uint64": "BigUint64Array",
}
BUFFER, DEVICE = 'Global<"GPUBuffer">', 'Global<"GPUDevice">'
GPU_OPTIONS = f"""\
  /** The device of the webgpu backend, with `worker: false`. Default: a new one. */
  device?: {DEVICE};
  /** Called once for each loss of the device. The next run loads the model again. */
  onlost?: (error: WebkilnError) => void;
"""
FLOAT16 = 'Global<"Float16Array">'
ALTERNATIVES = {"float16": f"{FLOAT16} | Float32Array", "uint8": "Uint8ClampedArray"}
"""What an input accepts in addition to its array and an array of numbers."""
GLOBAL = """/** A class that not every environment declares. */
type Global<Name extends string> = typeof globalThis extends {
  [key in Name]: { prototype: infer Type };
}
  ? Type
  : never;
"""
NESTED = """/** Rows in arrays, as deep as the shape. */
export type Nested<Row> = readonly (Row | Nested<Row>)[];
"""
PROFILE = """export interface Layer {
  layer: string;
  variable: string;
  dtype: string;
  shape: number[];
  data: ARRAYS_OF_LAYERS;
}
export interface Profile {
  backend: Backend;
  variant: Variant | null;
  threads: number;
  /** The clock that times launches, and its resolution. */
  clock: string;
  resolutionMs: number;
  /** The multiprocessors that schedules assume for the GPU; null on other backends than webgpu. */
  multiprocessors: number | null;
  /** In 10^9 operations and bytes per second, or null if not measured. */
  peakGflops: number | null;
  peakGigabytes: number | null;
  /** GPU time of a run on webgpu, or null if not measured. */
  gpu: {
    launches: number;
    passMs: number;
    kernelMs: number;
    gapMs: number;
    emptyMs: number;
  } | null;
  runs: number;
  runMs: number;
  launches: {
    layer: string;
    kernel: string;
    count: number;
    ms: number;
    flops: number | null;
    bytes: number | null;
  }[];
  /** The fastest run. `launch` is an index of `launches`. */
  timeline: { launch: number; startMs: number; ms: number }[];
}
"""
DRAWABLES = (
    "HTMLImageElement",
    "HTMLVideoElement",
    "HTMLCanvasElement",
    "OffscreenCanvas",
    "ImageBitmap",
    "ImageData",
    "VideoFrame",
)


def index_types(manifest: dict[str, Any]) -> str:
    """The text of index.d.ts for a bundle's manifest."""
    callers = inputs_of(manifest)
    gpu = "webgpu" in manifest["backends"]
    inputs = "".join(field(tensor, input_types(tensor, gpu)) for tensor in callers)
    outputs = "".join(field(tensor, output_types(tensor)) for tensor in manifest["outputs"])
    drawables = " | ".join(f"Global<{text_of(name)}>" for name in DRAWABLES)
    drawable = f"export type Drawable = {drawables};\n" if "Drawable" in inputs else ""
    nested = NESTED if "Nested<" in inputs else ""
    variants = sorted(
        {v["name"] for b in manifest["backends"].values() for v in b.get("variants", ())}
    )
    placeholders = _placeholders_type(manifest)
    arrays = " | ".join([*sorted(set(ARRAYS.values())), FLOAT16])
    gpu_run = _gpu_run(callers)
    gpu_options, gpu_run = (GPU_OPTIONS, gpu_run) if gpu else ("", "")
    return f"""/* eslint-disable */
{GLOBAL}{drawable}{nested}export interface Inputs {{
{inputs}}}
export interface Outputs {{
{outputs}}}
export type Backend = {union(manifest["backends"])};
export type Variant = {union(variants)};
{_load_options(gpu_options)}export interface RunOptions {{
  signal?: AbortSignal;
  placeholders?: {{ {placeholders} }};
}}
{PROFILE.replace("ARRAYS_OF_LAYERS", arrays)}export interface Model {{
  readonly manifest: typeof manifest;
  readonly backend: Backend;
  readonly variant: Variant | null;
  readonly worker: boolean;
  readonly threads: number;
  readonly failures: readonly {{ backend: string; code: string; message: string }}[];
  readonly stats: {{ loadMs: number; lastRunMs: number | null }};
  /** The shapes of the outputs of the last run. */
  readonly shapes: {{ readonly [output in keyof Outputs]?: readonly number[] }};
  run(inputs: {inputs_type(callers)}, options?: RunOptions): Promise<Outputs>;
{gpu_run}  reset(): Promise<void>;
  layers(): Promise<Layer[]>;
  /** The times of launches since load() or the last profile(). Needs load({{ profile: true }}). */
  profile(): Promise<Profile>;
  dispose(): void;
}}
export declare class WebkilnError extends Error {{
  readonly code: string;
}}
export declare const manifest: {manifest_type(manifest)};
export declare function load(options?: LoadOptions): Promise<Model>;
/** The `k` highest scores of one row, highest first, with their labels. */
export declare function top(
  scores: ArrayLike<number>,
  k?: number,
): {{ index: number; label: string; score: number }}[];
"""


def _placeholders_type(manifest: dict[str, Any]) -> str:
    """The members of the type of placeholders."""
    descriptions = {
        name: f"/** {text[0].upper()}{text[1:]}. */ "
        for name, text in manifest.get("sizes", {}).items()
    }
    return "; ".join(
        f"{descriptions.get(name, '')}{name}?: number" for name in manifest["placeholders"]
    )


def _load_options(gpu_options: str) -> str:
    return f"""export interface LoadOptions {{
  /** Backends in order of preference; the first that works is used. */
  backends?: Backend | readonly ("webgpu" | "wasm" | "webgl" | "js")[];
  /** The number of threads of the wasm backend; "auto": up to one per core. Needs shared memory. */
  threads?: "auto" | number;
  /** One variant of the wasm backend, instead of the best that the engine runs. */
  variant?: Variant;
  /** false: the model runs in the calling thread. */
  worker?: boolean;
{gpu_options}  /** The folder of the wasm and weight files. Default: that of this module. */
  baseURL?: string | URL;
  transformURL?: (url: string, file: string) => string;
  cacheStrategy?: "latest" | "networkFirst" | "cacheFirst" | "networkOnly" | "cacheOnly";
  saveCache?: boolean;
  ignoreCache?: boolean;
  /**
   * A request that receives less than 1 KB in this number of milliseconds is repeated.
   * Default: 30 000; 0 or Infinity: never.
   */
  stallTimeout?: number;
  onProgress?: (progress: {{ loaded: number; total: number }}) => void;
  signal?: AbortSignal;
  profile?: boolean;
}}
"""


def _gpu_run(callers: list[dict[str, Any]]) -> str:
    """The members of a model for outputs that stay on the GPU."""
    return f"""  /** The device of GPUBuffers; null if the model accepts none. */
  readonly device: {DEVICE} | null;
  /** Outputs that stay on the GPU: "gpu" for all, or by name: in new buffers or the given ones. */
  run<Kept extends "gpu" | {{ [output in keyof Outputs]?: "gpu" | {BUFFER} }}>(
    inputs: {inputs_type(callers)},
    options: RunOptions & {{ outputs: Kept }},
  ): Promise<{{
    [output in keyof Outputs]: Kept extends "gpu"
      ? {BUFFER}
      : output extends keyof Kept
        ? {BUFFER}
        : Outputs[output];
  }}>;
"""


def inputs_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The inputs that a caller passes: strings instead of the indices computed from them, each
    once.
    """
    inputs: dict[str, dict[str, Any]] = {}
    for tensor in manifest["inputs"]:
        text = tensor.get("text")
        accepted = (
            tensor
            if text is None
            else {"name": text["input"], "dtype": "string", "shape": text["shape"]}
        )
        inputs.setdefault(accepted["name"], accepted)
    return list(inputs.values())


def inputs_type(callers: Sequence[Mapping[str, Any]]) -> str:
    """The type of the inputs of a run. A single one need not be named."""
    return "Inputs" + (f" | Inputs[{text_of(callers[0]['name'])}]" if len(callers) == 1 else "")


def manifest_type(manifest: Mapping[str, Any]) -> str:
    """The type of the part of the manifest that a caller sees."""
    keys = ("name", "encoding", "inputs", "outputs", "placeholders", "states")
    return literal({key: manifest[key] for key in keys})


def union(values: Iterable[str]) -> str:
    """The type of one of several strings."""
    return " | ".join(map(text_of, values)) or "never"


def text_of(value: Any) -> str:
    """A value as a JavaScript and TypeScript literal."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def field(tensor: dict[str, Any], array: str) -> str:
    """A property of an interface, for an input or output."""
    order = f", {tensor['order']}" if tensor.get("order") else ""
    distribution = tensor.get("distribution", {})
    parameters = ", ".join(
        f"{name} {value}" for name, value in distribution.items() if name != "name"
    )
    noise = f"; random numbers, {distribution['name']} with {parameters}" if distribution else ""
    return (
        f"  /** {tensor['dtype']} [{', '.join(map(str, tensor['shape']))}]{order}{noise} */\n"
        f"  {text_of(tensor['name'])}: {array};\n"
    )


def literal(value: Any) -> str:
    """A TypeScript type whose only value is `value`."""
    if isinstance(value, dict):
        return (
            "{ "
            + "; ".join(f"readonly {text_of(key)}: {literal(item)}" for key, item in value.items())
            + " }"
        )
    if isinstance(value, list):
        return "readonly [" + ", ".join(map(literal, value)) + "]"
    return text_of(value)


def input_types(tensor: dict[str, Any], gpu: bool) -> str:
    """The types that an input accepts. `gpu`: the bundle's GPU backend accepts buffers."""
    dtype = tensor["dtype"]
    if dtype == "string":
        return "readonly string[] | readonly (readonly string[])[]"
    numbers = {
        "bool": "(boolean | 0 | 1)",
        "int64": "(bigint | number)",
        "uint64": "(bigint | number)",
    }.get(dtype, "number")
    row = " | ".join(
        [
            ARRAYS[dtype],
            *([ALTERNATIVES[dtype]] if dtype in ALTERNATIVES else []),
            f"readonly {numbers}[]",
        ]
    )
    types = [
        row,
        *([f"Nested<{row}>"] if len(tensor["shape"]) > 1 else []),
        *(["Drawable"] if "image" in tensor else []),
        *([BUFFER] if gpu else []),
    ]
    return " | ".join(types)


def output_types(tensor: dict[str, Any]) -> str:
    """The types of an output. float16 is a Float16Array where the engine has it, else bits."""
    return " | ".join(
        [
            ARRAYS[tensor["dtype"]],
            *([FLOAT16] if tensor["dtype"] == "float16" else []),
        ]
    )
