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

/** A size is a number, or an expression of placeholders; in the shape of an input it is a number or the name of one. */
export type Size = number | string;

export interface Tensor {
  name: string;
  dtype: Dtype;
  shape: Size[];
  order?: string;
  labels?: string[];
  image?: ImageInput;
  text?: TextInput;
}

/** How texts become the indices that a model takes in their place. */
export interface TextInput {
  /** The name and shape of the texts. */
  input: string;
  shape: Size[];
  standardize: string | null;
  split: string | null;
  ngrams: number[] | null;
  /** The index of the first token of the vocabulary, of the first bucket for other tokens, and how many buckets there are. */
  first: number;
  other: number;
  others: number;
  salt: string[] | null;
  /** A token that stands for none, and its index. */
  mask: string | null;
  masked: number;
  /** How long rows are made, by which index; null where there is one token for each text. */
  length: number | string | null;
  fill: number;
  vocabulary?: FileEntry;
}

/** How an image becomes an input: `(pixel - mean) / scale`, in the order of `color`. */
export interface ImageInput {
  size: [height: Size, width: Size];
  fit: 'stretch' | 'crop';
  color: string;
  layout: 'HWC' | 'CHW';
  mean: number | number[];
  scale: number | number[];
  /** What open sizes must leave when divided. */
  remainders?: Record<string, [modulus: number, remainders: number[]]>;
}

/** What makes arrays of the images or texts among the inputs, and what it sets placeholders to. */
export type ConvertInputs = (
  tensors: Tensor[],
  inputs: Record<string, any>,
  placeholders: Record<string, number>,
  importer?: TextureImporter | null,
) => [inputs: Record<string, any>, placeholders: Record<string, number>, imported?: any[]];

/** Makes buffers of the frames of videos, and takes them back when the runs that read them have been submitted. */
export interface TextureImporter {
  take(source: any, extent: [width: number, height: number], cut: any, options: any): any;
  give(buffers: any[]): void;
  dispose(): void;
}

export interface FileEntry {
  file: string;
  bytes: number;
  /** Of the digests of its pieces of 256 KiB. */
  digest: string;
}

export interface ModuleEntry {
  module: string;
  /** What the module exports as `build`. */
  build: string;
}

export interface BackendEntry extends ModuleEntry {
  /** Of the numbers between layers in memory, and of products, where that is not their own. */
  precision?: 'float16' | 'float16-arithmetic';
  variants?: (FileEntry & { name: string })[];
}

export interface Manifest {
  schema: string;
  name: string;
  encoding: string;
  inputs: Tensor[];
  outputs: Tensor[];
  /** The sizes that a run sets. */
  placeholders: string[];
  /** What some of them must be. */
  sizes?: Record<string, string>;
  states: string[];
  shards: FileEntry[];
  backends: Record<string, BackendEntry>;
  /** The module that times launches, where there is one. */
  profile?: ModuleEntry;
}

/** A tensor in a backend's memory, which holds its elements as `storage`. */
export interface PlacedTensor {
  name: string;
  dtype: Dtype;
  storage: Dtype;
  shape: number[];
  offset: number;
}

/** Where everything lies, and how much memory that takes, for one choice of placeholders. */
export interface Layout {
  memory: number;
  /** The floating-point operations of a run. */
  flops: number;
  inputs: PlacedTensor[];
  outputs: PlacedTensor[];
  layers: (Omit<PlacedTensor, 'name'> & { layer: string; variable: string })[];
  /** Sizes that must not be negative, or equal others, as written and as they are. */
  guards: { layer: string; text: string; size: number; equals?: { text: string; size: number } }[];
  /** The elements of each buffer, on backends that number them; offsets are such numbers there. */
  buffers?: number[];
}

export interface Program {
  placeholders: string[];
  /** What sizes must leave when divided; where that is one number, the size is so many times the placeholder, and `offset` more. */
  divisibility?: {
    name: string;
    modulus: number;
    remainders: number[];
    text: string;
    layer: string;
    placeholder?: string;
    offset?: number;
  }[];
  /** Bytes that the memory has at first. */
  loaded: number;
  states: { name: string; offset: number; initial: number; next: number; bytes: number }[];
  staging: { offset: number; bytes: number };
  /** `narrow`: the 64-bit dtype of the bytes, where the backend takes them as 32-bit elements. */
  /** Entries of shard -1 copy nothing: they follow `bytes` entries from `start` on. */
  init: [shard: number, start: number, bytes: number, narrow?: Dtype][];
  /** Sizes that runs find out follow the placeholders; without them, shapes that depend on them are unknown. */
  layout(...placeholders: number[]): Layout;
}

export type RunSizes = number[] | void;

/** One program in the memory of its backend. What throws with a `code` says more than that the model is lost. */
export interface Engine {
  /** Decodes a piece of weights, the bytes that an entry of the init program reads. */
  init(entry: number, bytes: Uint8Array): void;
  /** Makes room for a layout; weights and states survive. */
  arrange(layout: Layout, placeholders: number[]): void;
  write(placed: PlacedTensor, value: TypedArray): void;
  /** Gives the sizes that the run found out, in the order in which `layout` takes them behind the placeholders. */
  run(...placeholders: number[]): RunSizes | Promise<RunSizes>;
  /** The values of tensors; copies, as if all at once, follow them. Those that `into` names stay on the GPU. */
  read(
    tensors: Omit<PlacedTensor, 'name'>[],
    moves: Move[],
    into?: OutputTargets,
  ): TypedArray[] | Promise<TypedArray[]>;
  /** Copies as if all at once. */
  copy(moves: Move[]): void;
  /** Forgets the part of a run that an error has ended. */
  drop?(): void;
  /** What made it fail with an error, where that is known later: the loss of its device, or the error itself. */
  causeOf?(error: any): Promise<unknown>;
  dispose(): void;
  /** How many runs may be under way at once, where that is more than one. */
  readonly overlap?: number;
  /** The GPUDevice that it computes on. */
  readonly device?: any;
  /** Where other threads can help: what they need, and how they are woken. */
  readonly threads?: ThreadedProgram | undefined;
  enlist?(ports: MessagePort[]): void;
}

/** The outputs that stay on the GPU: 'gpu' for all, in fresh buffers; or by name 'gpu' or a GPUBuffer. */
export type OutputTargets = 'gpu' | Record<string, any>;

export interface Move {
  source: number;
  target: number;
  bytes: number;
}

/** What another thread needs to help with the runs of a program; `stopped` is where it reads that it must stop, in bytes. */
export interface ThreadedProgram {
  module: WebAssembly.Module;
  memory: WebAssembly.Memory;
  stopped: number;
}

/** A program in one linear memory, as its generated code gives it. */
export interface Linear {
  readonly buffer: ArrayBufferLike;
  readonly base: number;
  init(entry: number): void;
  run(...placeholders: number[]): RunSizes;
  /** Has each step of a run told by its number when it is over. */
  watch(tell: (site: number) => void): void;
  /** The same program with at least that many bytes behind its base; this one must not be used any more. */
  grow(bytes: number): Linear;
  /** `short`: the operations of a run that is over before another thread has woken up. */
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
}

/** What bundles fetch for `load({ profile: true })` alone. */
export interface ProfileModule {
  build: string;
  watch(session: any, about: { backend: string; variant: string | null }): Profiling;
}

export interface Profiling {
  report(threads: number): Promise<Omit<Profile, 'backend' | 'variant'>>;
}

/** One step of a program, as means of a run: how often it was done, and all of that together. */
export interface LaunchProfile {
  /** Empty where it is of none. */
  layer: string;
  kernel: string;
  count: number;
  ms: number;
  /** Operations and bytes of each time; null where they are not known. */
  flops: number | null;
  bytes: number | null;
}

/** The times of what a model launched, over the faster half of the runs since the last profile. */
export interface Profile {
  backend: string;
  variant: string | null;
  threads: number;
  /** Where the times of launches come from. */
  clock: string;
  /** The least difference between two of them. */
  resolutionMs: number;
  /** What all threads together compute at most here, in 10^9 operations a second, by a loop of multiplications and additions. */
  peakGflops: number;
  /** How many runs there were. */
  runs: number;
  /** A whole run, with its inputs and outputs. */
  runMs: number;
  /** In the order of the program. */
  launches: LaunchProfile[];
  /** What the fastest run did, by the numbers of launches, in milliseconds since it began. */
  timeline: { launch: number; startMs: number; ms: number }[];
}

export type BackendImports = Record<string, () => Promise<any>>;

export interface Bundle {
  manifest: Manifest;
  urls: Record<string, string>;
  modules: BackendImports;
  worker: () => any;
  /** In bundles with an input that takes images. */
  takeImages?: ConvertInputs;
  /** In those of them that have the webgpu backend. */
  makeTextureImporter?: (device: any) => TextureImporter;
  /** In bundles with an input that takes texts, and where these are hashed. */
  loadTexts?: (
    bundle: Bundle,
    request: LoadRequest,
    signal?: AbortSignal,
  ) => Promise<ConvertInputs>;
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
  /** The GPUDevice that a model in this thread computes on. */
  device?: any;
  profile?: boolean;
  baseURL?: string | URL;
  transformURL?: (url: string, file: string) => string;
  cacheStrategy?: CacheStrategy;
  saveCache?: boolean;
  ignoreCache?: boolean;
  stallTimeout?: number;
  onProgress?: (progress: Progress) => void;
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
  /** Milliseconds without a byte after which a request is given up; 0 and Infinity: never. */
  stallTimeout: number;
  threads: number;
  profile: boolean;
  /** Only where the model is in this thread. */
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
  /** Whether several threads could run it. */
  shareable: boolean;
  /** How many runs may be under way at once. */
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
  /** `onThreads` gets what other threads need, where they could help, before the weights are there. */
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
