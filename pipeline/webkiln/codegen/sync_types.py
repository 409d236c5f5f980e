"""sync.d.ts: the TypeScript declarations of the API without promises."""

from collections.abc import Mapping
from typing import Any

from webkiln.codegen.declarations import (
    GLOBAL,
    NESTED,
    field,
    input_types,
    inputs_type,
    manifest_type,
    output_types,
    union,
)  # fmt: skip


def sync_types(manifest: Mapping[str, Any]) -> str:
    """The text of sync.d.ts for a bundle's manifest. Inputs are arrays: neither images nor strings
    are converted.
    """
    plain = [
        {key: value for key, value in tensor.items() if key not in ("image", "text")}
        for tensor in manifest["inputs"]
    ]
    inputs = "".join(field(tensor, input_types(tensor, gpu=False)) for tensor in plain)
    outputs = "".join(field(tensor, output_types(tensor)) for tensor in manifest["outputs"])
    placeholders = "; ".join(f"{name}?: number" for name in manifest["placeholders"])
    variants = [v["name"] for v in manifest["backends"].get("wasm", {"variants": ()})["variants"]]
    return f"""/* eslint-disable */
{GLOBAL}{NESTED if "Nested<" in inputs else ""}export interface Inputs {{
{inputs}}}
export interface Outputs {{
{outputs}}}
/** What `loadSync` needs. It can be sent to a Worker or to an AudioWorkletProcessor. */
export interface Parts {{
  /** The build of the code, which `loadSync` checks. */
  build?: string;
  /** The compiled WebAssembly, or its bytes. Absent if the model runs on js. */
  module?: object;
  /** The bytes of the weight files, in the order of `manifest.shards`. */
  weights: ArrayBuffer | ArrayBufferView | readonly (ArrayBuffer | ArrayBufferView)[];
}}
export interface SyncModel {{
  readonly manifest: typeof manifest;
  readonly backend: "wasm" | "js";
  /** The shapes of the outputs of the last run. */
  readonly shapes: {{ readonly [output in keyof Outputs]?: readonly number[] }};
  /** Run the model in the calling thread. Outputs are new arrays. */
  run(inputs: {inputs_type(plain)}, options?: {{ placeholders?: {{ {placeholders} }} }}): Outputs;
  /** Reset the states to their initial values. */
  reset(): void;
}}
export declare class WebkilnError extends Error {{
  readonly code: string;
}}
export declare const manifest: {manifest_type(manifest)};
/** Download the parts of the model, and verify their digests. Needs `fetch`, or Node. */
export declare function fetchParts(options?: {{
  /** One variant of WebAssembly, instead of the best that the engine runs. */
  variant?: {union(variants)};
  /** The folder of the wasm and weight files. Default: that of this module. */
  baseURL?: string | URL;
  signal?: AbortSignal;
}}): Promise<Parts>;
/** Make the model, without promises, `fetch` and timers, as in an AudioWorkletProcessor. */
export declare function loadSync(parts: Parts): SyncModel;
"""
