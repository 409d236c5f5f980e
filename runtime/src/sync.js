/**
 * @import { FileEntry, Manifest, PlaceholdersOf, TypedArray } from './types.ts'
 * @import { BackendModule } from './engine.ts'
 */
import { FATAL, WebkilnError, messageOf } from './errors.js';
import { Reader } from './cache.js';
import { NONE, decodeShard, decodeShared } from './decoding.js';
import { describe, inputsByName, listOf, readInputs, toInterface } from './dtypes.js';
import { flattenInputs } from './nested.js';
import { checkNames } from './options.js';
import { checkPlaceholders } from './placeholders.js';
import { documentURL } from './platform.js';
import { supportsVariant } from './probe.js';
import { Session, engineOf, modelError } from './session.js';

export { WebkilnError };

/**
 * What `loadSync` needs. `build` is that of the code; without it, only lengths are checked.
 * @typedef {object} Parts
 * @property {string} [build]
 * @property {any} [module] a WebAssembly.Module, or its bytes
 * @property {any} weights the bytes of each shard, in the order of the manifest
 */

/**
 * Download and verify the parts of a model.
 * @param {{ manifest: Manifest, backend: string, urls: () => Record<string, string> }} bundle
 * @param {{ variant?: string, baseURL?: string | URL, signal?: AbortSignal }} [options]
 * @returns {Promise<Parts>}
 */
export async function partsOf({ manifest, backend, urls }, options = {}) {
  checkNames('fetchParts', ['variant', 'baseURL', 'signal'], options);
  const { variant, baseURL, signal } = options;
  const { build, variants = [] } = /** @type {any} */ (manifest.backends[backend]);
  const chosen = variants.find((/** @type {{ name: string }} */ { name }) =>
    variant === undefined ? supportsVariant(name) : name === variant,
  );
  if (variants.length > 0 && !chosen) {
    const names = variants.map((/** @type {{ name: string }} */ { name }) => name);
    throw new WebkilnError(
      variant === undefined ? 'CompileFailed' : 'UnknownVariant',
      variant === undefined
        ? `this engine supports none of the variants ${listOf(names)}`
        : `there is no variant ${describe(variant)}; the variants are ${listOf(names)}`,
    );
  }
  const root = baseURL && new URL(String(baseURL).replace(/\/*$/, '/'), documentURL());
  const policy = { ignoreCache: false, stallTimeout: 30_000, signal };
  const reader = new Reader(manifest.name, { ...policy, strategy: 'networkOnly', save: false });
  const read = (/** @type {FileEntry} */ entry) =>
    reader.read(
      entry,
      root ? new URL(entry.file, root).href : (urls()[entry.file] ?? ''),
      () => () => {},
    );
  const [bytes, ...weights] = await Promise.all(
    [chosen, ...manifest.shards].map(entry => entry && read(entry)),
  );
  return { build, weights, ...(bytes && { module: await WebAssembly.compile(bytes) }) };
}

/**
 * @param {any} value
 * @returns {Uint8Array<ArrayBuffer> | null} null if it has no bytes
 */
const bytesOf = value =>
  ArrayBuffer.isView(value)
    ? new Uint8Array(/** @type {ArrayBuffer} */ (value.buffer), value.byteOffset, value.byteLength)
    : Object.prototype.toString.call(value) === '[object ArrayBuffer]'
      ? new Uint8Array(value)
      : null;

/**
 * @param {any} module
 * @param {string[]} files
 * @returns {WebAssembly.Module}
 */
function compiled(module, files) {
  const bytes = bytesOf(module);
  if (bytes) {
    try {
      return new WebAssembly.Module(bytes);
    } catch (error) {
      throw new WebkilnError(
        'CompileFailed',
        `loadSync: module does not compile (${messageOf(error)}); pass a WebAssembly.Module`,
      );
    }
  }
  if (Object.prototype.toString.call(module) === '[object WebAssembly.Module]') return module;
  throw new WebkilnError(
    'WrongOption',
    `loadSync: module: expected the WebAssembly.Module of ${files.join(' or ')}, ` +
      `got ${describe(module)}; pass the parts of fetchParts()`,
  );
}

/**
 * @param {Manifest} manifest
 * @param {any} weights
 * @returns {Uint8Array[]}
 */
function shardsOf({ shards }, weights) {
  const given = Array.isArray(weights) ? weights : [weights];
  return shards.map(({ file, bytes: length }, index) => {
    const bytes = bytesOf(given[index]);
    if (bytes?.length === length && given.length === shards.length) return bytes;
    throw new WebkilnError(
      bytes && given.length === shards.length ? 'Altered' : 'WrongOption',
      `loadSync: weights: expected the bytes of ${shards.map(shard => shard.file).join(', ')}; ` +
        `of ${file} ${length} bytes, got ${bytes ? bytes.length : describe(given[index])}; ` +
        'pass the parts of fetchParts()',
    );
  });
}

/** A model that runs without promises, in the calling thread. */
export class SyncModel {
  /** @type {Session} */
  #session;
  /** @type {PlaceholdersOf} */
  #placeholdersOf;
  /** @type {WebkilnError | null} */
  #lost = null;

  /**
   * @param {object} bundle
   * @param {Manifest} bundle.manifest
   * @param {string} bundle.backend
   * @param {any} bundle.code the module of the backend
   * @param {PlaceholdersOf} [bundle.placeholdersOf] if the model has open sizes
   * @param {Parts} parts
   */
  constructor({ manifest, backend, code, placeholdersOf = () => ({}) }, parts) {
    checkNames('loadSync', ['build', 'module', 'weights'], parts);
    const { build, variants = [] } = /** @type {any} */ (manifest.backends[backend]);
    if (![parts.build ?? build, code.build].every(text => text === build)) {
      throw new WebkilnError(
        'Altered',
        'loadSync: the parts belong to another build; deploy all files of one build together',
      );
    }
    const shards = shardsOf(manifest, parts.weights);
    const { program, create, createSync = create } = /** @type {BackendModule} */ (code);
    /** @type {any} */
    let linear;
    try {
      linear = variants.length
        ? createSync(
            compiled(
              parts.module,
              variants.map((/** @type {FileEntry} */ { file }) => file),
            ),
          )
        : create();
    } catch (error) {
      if (error instanceof WebkilnError) throw error;
      throw new WebkilnError(
        'CompileFailed',
        `loadSync: the module cannot be instantiated (${messageOf(error)}); it must be of this build`,
      );
    }
    const engine = engineOf(linear, program);
    const decodeOthers = decodeShared(engine, program);
    decodeOthers(NONE);
    shards.forEach((bytes, index) => {
      decodeShard(engine, program, index)(bytes, bytes.length);
      decodeOthers(index);
    });
    this.#session = new Session(engine, program);
    this.#placeholdersOf = placeholdersOf;
    this.manifest = manifest;
    this.backend = backend;
    /** @type {Record<string, number[]>} the shapes of the outputs of the last run */
    this.shapes = {};
  }

  /**
   * Run the model. Inputs are passed by name; a model's only input can be passed without it.
   * @param {any} inputs
   * @param {{ placeholders?: Record<string, number> }} [options]
   * @returns {Record<string, TypedArray>} new typed arrays
   */
  run(inputs, options = {}) {
    if (this.#lost) throw this.#lost;
    checkNames('run', ['placeholders'], options);
    const { placeholders = {} } = options;
    const { inputs: tensors, outputs } = this.manifest;
    checkPlaceholders(this.manifest, placeholders);
    const [arrays, shapes] = flattenInputs(tensors, inputsByName(tensors, inputs));
    const values = this.#placeholdersOf(this.manifest, arrays, placeholders, shapes);
    const stored = readInputs(tensors, arrays, values, true);
    try {
      const sizes = /** @type {number[] | void} */ (
        this.#session.start({ inputs: stored, placeholders: values })
      );
      const reply = this.#session.reply(this.#session.read(sizes));
      this.shapes = reply.shapes;
      for (const { name, dtype } of outputs)
        reply.outputs[name] = toInterface(dtype, /** @type {TypedArray} */ (reply.outputs[name]));
      return reply.outputs;
    } catch (error) {
      const known = modelError('the run', error);
      if (FATAL.has(known.code)) this.#lost = known;
      throw known;
    }
  }

  /** Reset the states to their initial values. */
  reset() {
    if (this.#lost) throw this.#lost;
    this.#session.reset();
  }
}
