"""sync.d.ts: the TypeScript declarations of the API without promises."""

from collections.abc import Mapping
from typing import Any

from webkiln.codegen.declarations import (
    NESTED,
    field,
    input_types,
    literal,
    output_types,
    text_of,
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
    only = f" | Inputs[{text_of(plain[0]['name'])}]" if len(plain) == 1 else ""
    placeholders = "; ".join(f"{name}?: number" for name in manifest["placeholders"])
    variants = [v["name"] for v in manifest["backends"].get("wasm", {"variants": ()})["variants"]]
    variant = " | ".join(map(text_of, variants)) or "never"
    public = {
        key: manifest[key]
        for key in ("name", "encoding", "inputs", "outputs", "placeholders", "states")
    }
    return f"""/* eslint-disable */
/** A class that not every environment declares. */
type Global<Name extends string> = typeof globalThis extends {{
  [key in Name]: {{ prototype: infer Type }};
}}
  ? Type
  : never;
{NESTED if "Nested<" in inputs else ""}export interface Inputs {{
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
  run(inputs: Inputs{only}, options?: {{ placeholders?: {{ {placeholders} }} }}): Outputs;
  /** Reset the states to their initial values. */
  reset(): void;
}}
export declare class WebkilnError extends Error {{
  readonly code: string;
}}
export declare const manifest: {literal(public)};
/** Download the parts of the model, and verify their digests. Needs `fetch`, or Node. */
export declare function fetchParts(options?: {{
  /** One variant of WebAssembly, instead of the best that the engine runs. */
  variant?: {variant};
  /** The folder of the wasm and weight files. Default: that of this module. */
  baseURL?: string | URL;
  signal?: AbortSignal;
}}): Promise<Parts>;
/** Make the model, without promises, `fetch` and timers, as in an AudioWorkletProcessor. */
export declare function loadSync(parts: Parts): SyncModel;
"""
