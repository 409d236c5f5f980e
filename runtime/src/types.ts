import type { WebkilnError } from './errors.js';
import type { OutputTargets, ThreadedProgram } from './engine.ts';

export type Dtype =
  | 'float32'
  | 'float16'
  | 'float64'
  | 'bool'
  | 'int8'
  | 'int16'
  | 'int32'
  | 'int64'
  | 'uint8'
  | 'uint16'
  | 'uint32'
  | 'uint64';

export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | BigUint64Array;

export interface TypedArrayConstructor {
  readonly name: string;
  readonly BYTES_PER_ELEMENT: number;
  new (length: number): TypedArray;
  new (buffer: ArrayBufferLike, offset: number, length: number): TypedArray;
}

/**
 * A number or an expression of placeholders. In the shape of an input, a number or the name of a
 * placeholder.
 */
export type Size = number | string;

export interface Tensor {
  name: string;
  dtype: Dtype;
  shape: Size[];
  order?: string;
  /** The elements, if they are sizes, in row-major order. */
  sizes?: Size[];
  labels?: string[];
  image?: ImageInput;
  text?: TextInput;
}

/** How strings are converted to the indices that the model uses. */
export interface TextInput {
  /** The name and shape of the input of strings. */
  input: string;
  shape: Size[];
  standardize: string | null;
  split: string | null;
  ngrams: number[] | null;
  /** In place of the three above: the steps of an ONNX model. */
  steps?: TextStep[];
  /** The strings are one list of words, from which steps remove some. */
  list?: boolean;
  /**
   * The index of the first token of the vocabulary, the index of the first bucket for other tokens,
   * and the number of buckets.
   */
  first: number;
  other: number;
  others: number;
  salt: string[] | null;
  /** The token for padding, and its index. */
  mask: string | null;
  masked: number;
  /** The length of padded rows and the index of the padding; null for one token per string. */
  length: number | string | null;
  fill: number;
  /**
   * The index of the padding beyond the longest row, and if there are no tokens at all; null if the
   * model needs a token.
   */
  empty: number | null;
  vocabulary?: FileEntry;
}

/** A StringNormalizer, or a Tokenizer: without patterns, each character is a token. */
export type TextStep =
  | { change: 'lower' | 'upper' | null; stopwords: string[]; ignore_case: boolean }
  | { separated: boolean; patterns: string[]; least: number; marked: boolean };

/** How an image becomes an input: `(pixel - mean) / scale`, in the order of `color`. */
export interface ImageInput {
  size: [height: Size, width: Size];
  fit: 'stretch' | 'crop';
  color: string;
  layout: 'HWC' | 'CHW';
  mean: number | number[];
  scale: number | number[];
  /** Divisibility constraints of symbolic sizes. */
  remainders?: Record<string, [modulus: number, remainders: number[]]>;
}

/** Derives the placeholders from the inputs and the shapes of nested ones. */
export type PlaceholdersOf = (
  manifest: Manifest,
  inputs: Record<string, any>,
  options: Record<string, number>,
  shapes?: Record<string, number[]>,
) => Record<string, number>;

/** Converts images and strings among the inputs to arrays, and sets placeholders by their sizes. */
export type ConvertInputs = (
  tensors: Tensor[],
  inputs: Record<string, any>,
  placeholders: Record<string, number>,
  importer?: TextureImporter | null,
) => [inputs: Record<string, any>, placeholders: Record<string, number>, imported?: any[]];

/** Converts video frames to GPU buffers, and reuses the buffers after their runs are submitted. */
export interface TextureImporter {
  convert(source: any, extent: [width: number, height: number], crop: any, options: any): any;
  release(buffers: any[]): void;
  dispose(): void;
}

export interface FileEntry {
  file: string;
  bytes: number;
  /** The SHA-256 of the digests of its pieces of 256 KiB. */
  digest: string;
}

export interface ModuleEntry {
  module: string;
  /** The `build` export of the module. */
  build: string;
}

export interface BackendEntry extends ModuleEntry {
  /** The precision of tensors in memory, and of products, if it is not their dtype. */
  precision?: 'float16' | 'float16-arithmetic';
  /** Present if products quantize their factors in blocks. */
  products?: 'dot';
  /** How caches of keys and values are held between runs, if not in float32. */
  caches?: 'float16' | 'int8';
  variants?: (FileEntry & { name: string })[];
  /** The module that replaces `module` on GPUs that a CPU emulates. Its `build` is the same. */
  emulated?: string;
}

export interface Manifest {
  schema: string;
  name: string;
  encoding: string;
  inputs: Tensor[];
  outputs: Tensor[];
  /** The symbolic sizes, which a run sets. */
  placeholders: string[];
  /** The placeholders that may be 0. */
  zeros?: string[];
  /** The constraints of some placeholders. */
  sizes?: Record<string, string>;
  states: string[];
  shards: FileEntry[];
  backends: Record<string, BackendEntry>;
  /** The module that times launches, if the bundle has one. */
  profile?: ModuleEntry;
}

/** Only fetched for `load({ profile: true })`. */
export interface ProfileModule {
  build: string;
  watch(session: any, about: { backend: string; variant: string | null }): Profiling;
}

export interface Profiling {
  report(threads: number): Promise<Omit<Profile, 'backend' | 'variant'>>;
}

/** One step of a program: the mean count and the mean total time per run. */
export interface LaunchProfile {
  /** Empty if the step belongs to no layer. */
  layer: string;
  kernel: string;
  count: number;
  ms: number;
  /** Operations and bytes per execution; null if unknown. */
  flops: number | null;
  bytes: number | null;
}

/**
 * The times of the launches of a model, over the faster half of the runs since the last profile.
 */
export interface Profile {
  backend: string;
  variant: string | null;
  threads: number;
  /** The source of the times. */
  clock: string;
  /** The resolution of the clock. */
  resolutionMs: number;
  /** The number that schedules assume for the GPU; null on other backends than webgpu. */
  multiprocessors: number | null;
  /**
   * The measured peak of all threads, in 10^9 operations per second, of multiply-add loops. Null on
   * a GPU without timestamps.
   */
  peakGflops: number | null;
  /** The measured peak of reads of a GPU from memory, in 10^9 bytes per second, or null. */
  peakGigabytes: number | null;
  /**
   * GPU time of a run on webgpu, by timestamps; null without, and if a program reads results back.
   * `passMs`: all launches in one pass. `emptyMs`: a pass with a launch that does nothing.
   * `kernelMs`: what the launches take beyond that. `gapMs`: the rest of the pass.
   */
  gpu: {
    launches: number;
    passMs: number;
    kernelMs: number;
    gapMs: number;
    emptyMs: number;
  } | null;
  /** The number of runs. */
  runs: number;
  /** The mean time of a run, including inputs and outputs. */
  runMs: number;
  /** In program order. */
  launches: LaunchProfile[];
  /** The launches of the fastest run: indices in `launches`, and milliseconds since its start. */
  timeline: { launch: number; startMs: number; ms: number }[];
}

/** Functions that import modules. That of webgpu may choose one by the GPU. */
export type BackendImports = Record<string, (device?: any) => Promise<any>>;

export interface Bundle {
  manifest: Manifest;
  urls: () => Record<string, string>;
  modules: BackendImports;
  worker: () => any;
  /** In bundles with image inputs. */
  takeImages?: ConvertInputs;
  /** In bundles with image inputs and the webgpu backend. */
  makeTextureImporter?: (device: any) => TextureImporter;
  /** In bundles with string inputs; `bucketOf` if they are hashed. */
  loadTexts?: (
    bundle: Bundle,
    request: LoadRequest,
    signal?: AbortSignal,
  ) => Promise<ConvertInputs>;
  /** In bundles with open sizes. */
  placeholdersOf?: PlaceholdersOf;
  rowsOfSteps?: (texts: string[], text: TextInput, steps: TextStep[]) => string[][];
  bucketOf?: (text: string, count: number, salt: string[] | null) => number;
}

export interface Progress {
  loaded: number;
  total: number;
}

export type CacheStrategy = 'latest' | 'networkFirst' | 'cacheFirst' | 'networkOnly' | 'cacheOnly';

export interface LoadOptions {
  backends?: string | string[];
  threads?: 'auto' | number;
  variant?: string;
  worker?: boolean;
  /** The GPUDevice for a model in this thread. */
  device?: any;
  profile?: boolean;
  baseURL?: string | URL;
  transformURL?: (url: string, file: string) => string;
  cacheStrategy?: CacheStrategy;
  saveCache?: boolean;
  ignoreCache?: boolean;
  stallTimeout?: number;
  onProgress?: (progress: Progress) => void;
  /** Called once when the GPU device of the model is lost. The next run loads the model again. */
  onlost?: (error: WebkilnError) => void;
  signal?: AbortSignal;
}

export interface LoadRequest {
  manifest: Manifest;
  urls: Record<string, string>;
  backends: string[];
  variant: string | undefined;
  cacheStrategy: CacheStrategy;
  saveCache: boolean;
  ignoreCache: boolean;
  /** Milliseconds without a byte after which a request fails; 0 and Infinity: never. */
  stallTimeout: number;
  threads: number;
  profile: boolean;
  /** Only for a model in this thread. */
  device?: any;
}

export interface Failure {
  backend: string;
  code: string;
  message: string;
}

export interface LoadReply {
  backend: string;
  variant: string | null;
  failures: Failure[];
  /** Whether several threads can run the model. */
  shareable: boolean;
  /** The number of runs that may be in flight at once. */
  overlap: number;
}

export interface LayerValue {
  layer: string;
  variable: string;
  dtype: Dtype;
  shape: number[];
  data: TypedArray;
}

export interface RunRequest {
  inputs: Record<string, TypedArray>;
  placeholders: Record<string, number>;
  into?: OutputTargets | undefined;
}

export interface RunReply {
  outputs: Record<string, TypedArray>;
  shapes: Record<string, number[]>;
}

export interface Host {
  readonly remote: boolean;
  /** The GPUDevice of a model in this thread. */
  readonly device?: any;
  /** Receives the message of the loss of the GPU device. */
  onLost: (message: string) => void;
  /** `onThreads` receives what helper threads need, before the weights have arrived. */
  load(
    request: LoadRequest,
    onProgress: (progress: Progress) => void,
    signal?: AbortSignal,
    onThreads?: (program: ThreadedProgram) => void,
  ): Promise<LoadReply>;
  run(request: RunRequest): Promise<RunReply>;
  reset(): Promise<void>;
  layers(): Promise<LayerValue[]>;
  profile(threads: number): Promise<Omit<Profile, 'backend' | 'variant'>>;
  enlist(ports: MessagePort[]): Promise<void>;
  dispose(): void;
}
