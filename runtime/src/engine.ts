/** The interface between a backend's program, its engine and the runtime. */

import type { Dtype, TypedArray } from './types.ts';

/** A tensor in the memory of a backend, with elements of the dtype `storage`. */
export interface PlacedTensor {
  name: string;
  dtype: Dtype;
  storage: Dtype;
  shape: number[];
  offset: number;
}

/** The offsets of all tensors, and the size of the memory, for given placeholders. */
export interface Layout {
  memory: number;
  /** The number of floating-point operations of a run. */
  flops: number;
  inputs: PlacedTensor[];
  outputs: PlacedTensor[];
  layers: (Omit<PlacedTensor, 'name'> & { layer: string; variable: string })[];
  /** Sizes that must not be negative, or must equal another size: as expressions and as values. */
  guards: { layer: string; text: string; size: number; equals?: { text: string; size: number } }[];
  /** The number of elements of each buffer, if offsets are indices of buffers. */
  buffers?: number[];
}

export interface Program {
  placeholders: string[];
  /**
   * Divisibility constraints of sizes. With one remainder, the size is `modulus` times the
   * placeholder plus `offset`.
   */
  divisibility?: {
    name: string;
    modulus: number;
    remainders: number[];
    text: string;
    layer: string;
    placeholder?: string;
    offset?: number;
  }[];
  /** The initial size of the memory, in bytes. */
  loaded: number;
  states: { name: string; offset: number; initial: number; next: number; bytes: number }[];
  staging: { offset: number; bytes: number };
  /**
   * Buffers of constants on WebGPU. Devices have one if their multiprocessors are at least `from`,
   * and fewer than `below`.
   */
  segments?: { bytes: number; from?: number; below?: number }[];
  /**
   * `narrow` is the 64-bit dtype of bytes that the backend stores as 32-bit elements. Entries of
   * shard -1 copy nothing: they depend on the `bytes` entries from `start` on.
   */
  init: [shard: number, start: number, bytes: number, narrow?: Dtype][];
  /**
   * Data-dependent sizes follow the placeholders; without them, shapes that use them are unknown.
   */
  layout(...placeholders: number[]): Layout;
}

/** The data-dependent sizes of a run. */
export type RunSizes = number[] | void;

/** A program in the memory of its backend. Errors without a `code` end the model. */
export interface Engine {
  /** Decode a weight from the bytes of an entry of the init program. */
  init(entry: number, bytes: Uint8Array): void;
  /** Allocate memory for a layout. Weights and states are preserved. */
  arrange(layout: Layout, placeholders: number[]): void;
  write(placed: PlacedTensor, value: TypedArray): void;
  /** Returns the data-dependent sizes, in the order of the parameters of `layout`. */
  run(...placeholders: number[]): RunSizes | Promise<RunSizes>;
  /** Read tensors, then copy as if simultaneously. Tensors named by `into` stay on the GPU. */
  read(
    tensors: Omit<PlacedTensor, 'name'>[],
    moves: Move[],
    into?: OutputTargets,
  ): TypedArray[] | Promise<TypedArray[]>;
  /** Copy as if simultaneously. */
  copy(moves: Move[]): void;
  /** Discard the commands of a failed run. */
  drop?(): void;
  /** The cause of an error: the loss of the device, which may be reported later, or the error. */
  causeOf?(error: any): Promise<unknown>;
  dispose(): void;
  /** The number of runs that may be in flight at once, if more than one. */
  readonly overlap?: number;
  /** The GPUDevice of the engine. */
  readonly device?: any;
  /** Resolves to a message when the device is lost. */
  readonly lost?: Promise<string>;
  /** What helper threads need, and how to wake them, for programs with several threads. */
  readonly threads?: ThreadedProgram | undefined;
  enlist?(ports: MessagePort[]): void;
}

/** Outputs that stay on the GPU: 'gpu' for all, in new buffers; or name -> 'gpu' or a GPUBuffer. */
export type OutputTargets = 'gpu' | Record<string, any>;

export interface Move {
  source: number;
  target: number;
  bytes: number;
}

/** What a helper thread needs. `stopped` is the byte offset of the flag that stops it. */
export interface ThreadedProgram {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  stopped: number;
}

/** A program in one linear memory, the interface of generated code. */
export interface Linear {
  readonly buffer: ArrayBufferLike;
  readonly base: number;
  init(entry: number): void;
  run(...placeholders: number[]): RunSizes;
  /** Call `report` after each step of a run, with the index of the step. */
  watch(report: (site: number) => void): void;
  /** The program with at least this number of bytes after its base; it replaces this one. */
  grow(bytes: number): Linear;
  /** `short`: the number of operations of a run that ends before another thread wakes up. */
  readonly threads?: {
    module: WebAssembly.Module;
    memory: WebAssembly.Memory;
    exports: any;
    short: number;
  };
}

export interface BackendModule {
  build: string;
  program: Program;
  create(module?: WebAssembly.Module, device?: any): Linear | Engine | Promise<Linear | Engine>;
  /** Of wasm, whose `create` is asynchronous. */
  createSync?(module: WebAssembly.Module): Linear;
}
