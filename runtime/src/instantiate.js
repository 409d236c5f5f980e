/** @import { BackendImports, BackendModule, Engine, Failure, FileEntry, LoadReply, LoadRequest, ModuleEntry, ProfileModule, Progress } from './types.ts' */
/** @import { Feed } from './download.js' */
import { WebkilnError, abortedError, messageOf, toldBy } from './errors.js';
import { Reader } from './cache.js';
import { supportsVariant } from './probe.js';
import { Session, engineOf, failed } from './session.js';

const PARALLEL_SHARDS = 4;

/** Counts the bytes of one attempt over all its files. */
class Meter {
  /**
   * @param {FileEntry[]} files
   * @param {(progress: Progress) => void} report
   */
  constructor(files, report) {
    this.total = files.reduce((sum, file) => sum + file.bytes, 0);
    this.report = report;
    /** @type {Map<string, number>} */
    this.arrived = new Map();
  }

  /**
   * @param {string} file
   * @param {number} arrived
   */
  advance(file, arrived) {
    this.arrived.set(file, arrived);
    this.report({ loaded: [...this.arrived.values()].reduce((sum, bytes) => sum + bytes, 0), total: this.total });
  }
}

/**
 * @param {LoadRequest} request
 * @param {string} backend
 * @returns {(FileEntry & { name: string }) | null}
 */
function chooseVariant(request, backend) {
  const variants = request.manifest.backends[backend]?.variants;
  if (!variants) return null;
  const chosen = variants.find(({ name }) => request.variant === undefined ? supportsVariant(name) : name === request.variant);
  if (chosen) return chosen;
  const names = variants.map(variant => variant.name).join(', ');
  throw new WebkilnError('CompileFailed', `this engine runs none of the variants ${names} of the ${backend} backend`);
}

/**
 * @param {string} file
 * @param {Uint8Array} bytes
 * @returns {Promise<WebAssembly.Module>}
 */
async function compile(file, bytes) {
  try {
    return await WebAssembly.compile(/** @type {Uint8Array<ArrayBuffer>} */ (bytes));
  } catch (error) {
    throw refused(file, error);
  }
}

/**
 * @param {string} file
 * @param {unknown} error
 */
const refused = (file, error) => new WebkilnError('CompileFailed',
  `${file} does not compile here (${messageOf(error)}); a Content-Security-Policy must allow 'wasm-unsafe-eval'`);

/**
 * Imports a module of the bundle. Bundlers rewrite modules, so that it is known by what it exports, not by its bytes.
 * @template {{ build: string }} T
 * @param {ModuleEntry} entry
 * @param {() => Promise<T>} load
 * @returns {Promise<T>}
 */
async function importModule({ module, build }, load) {
  const imported = await load().catch(error => {
    throw new WebkilnError('MissingFile',
      `${module} could not be imported (${messageOf(error)}); deploy the bundle's folder whole`);
  });
  if (imported.build === build) return imported;
  throw new WebkilnError('Altered', `${module} is of another build; deploy all files of one build together`);
}

/**
 * Runs the init entries of one shard as their ranges arrive.
 * @param {Engine} engine
 * @param {BackendModule['program']} program
 * @param {number} shard
 * @returns {Feed}
 */
function decoder(engine, program, shard) {
  const pending = program.init.flatMap(([owner, start, bytes], index) => owner === shard ? [{ index, start, bytes }] : []);
  let done = 0;
  return (bytes, arrived) => {
    for (let next = pending[done]; next && next.start + next.bytes <= arrived; next = pending[++done]) {
      const { index, start, bytes: length } = next;
      try {
        engine.init(index, bytes.subarray(start, start + length));
      } catch (error) {
        throw failed(`decoding weight ${index}`, error);
      }
    }
  };
}

/** A load of one bundle, which tries its backends in order. */
class Attempt {
  /**
   * @param {LoadRequest} request
   * @param {BackendImports} modules
   * @param {(progress: Progress) => void} report
   * @param {AbortSignal | undefined} signal
   */
  constructor(request, modules, report, signal) {
    const { cacheStrategy: strategy, saveCache: save, ignoreCache } = request;
    this.request = request;
    this.modules = modules;
    this.report = report;
    this.stop = new AbortController();
    if (signal?.aborted) this.stop.abort();
    signal?.addEventListener('abort', () => this.stop.abort(), { once: true });
    this.reader = new Reader(request.manifest.name, { strategy, save, ignoreCache, signal: this.stop.signal });
  }

  /**
   * @param {FileEntry} entry
   * @param {Meter} meter
   * @param {() => Feed} [begin]
   */
  read(entry, meter, begin) {
    const url = this.request.urls[entry.file] ?? '';
    return this.reader.read(entry, url, () => {
      const feed = begin?.();
      return (bytes, arrived) => {
        meter.advance(entry.file, arrived);
        feed?.(bytes, arrived);
      };
    });
  }

  /** @param {string} backend */
  async start(backend) {
    const { manifest } = this.request;
    const entry = manifest.backends[backend];
    const load = this.modules[backend];
    if (!entry || !load) throw new WebkilnError('UnknownBackend', `the bundle '${manifest.name}' was built without it`);
    const variant = chooseVariant(this.request, backend);
    const meter = new Meter([...(variant ? [variant] : []), ...manifest.shards], this.report);
    const [compiled, { program, create }] = await Promise.all([
      variant ? this.read(variant, meter).then(bytes => compile(variant.file, bytes)) : undefined,
      importModule(entry, load),
    ]);
    try {
      return { engine: engineOf(await create(compiled), program), program, variant, meter };
    } catch (error) {
      // WebKit compiles what a Content-Security-Policy forbids, and refuses it here.
      throw variant && error instanceof WebAssembly.CompileError ? refused(variant.file, error) : error;
    }
  }

  /**
   * @param {Engine} engine
   * @param {BackendModule['program']} program
   * @param {Meter} meter
   */
  async fill(engine, program, meter) {
    const { shards } = this.request.manifest;
    let next = 0;
    const worker = async () => {
      for (let index = next++; index < shards.length; index = next++) {
        const shard = /** @type {FileEntry} */ (shards[index]);
        const number = index;
        await this.read(shard, meter, () => decoder(engine, program, number));
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(PARALLEL_SHARDS, shards.length) }, worker));
      // Entries of no shard want all weights.
      decoder(engine, program, -1)(new Uint8Array(), 0);
    } catch (error) {
      this.stop.abort();
      throw error;
    }
  }

  /** @returns {Promise<LoadReply & { session: Session }>} */
  async load() {
    /** @type {Failure[]} */
    const failures = [];
    /** @type {WebkilnError | null} */
    let last = null;
    const { profile: wanted, manifest } = this.request, load = /** @type {() => Promise<ProfileModule>} */ (this.modules.profile);
    const profile = wanted ? await importModule(/** @type {ModuleEntry} */ (manifest.profile), load) : null;
    for (const backend of this.request.backends) {
      /** @type {Engine | null} */
      let engine = null;
      try {
        const { program, variant, meter, ...started } = await this.start(backend);
        engine = started.engine;
        await this.fill(engine, program, meter);
        if (this.stop.signal.aborted) throw abortedError('the load');
        await this.reader.prune(Object.values(this.request.urls));
        const session = new Session(engine, program);
        session.profiler = profile?.watch(session, { backend, variant: variant?.name ?? null }) ?? null;
        const { threads } = engine;
        return {
          session, backend, variant: variant?.name ?? null, failures, shareable: Boolean(threads),
          ...(threads && this.request.threads > 1 ? { threads } : {}),
        };
      } catch (error) {
        engine?.dispose();
        if (this.stop.signal.aborted) throw error;
        last = toldBy(error);
        failures.push({ backend, code: last?.code ?? 'NoBackend', message: messageOf(error) });
      }
    }
    if (failures.length === 1 && last && last.code !== 'UnknownBackend') throw last;
    const reasons = failures.map(({ backend, message }) => `${backend}: ${message}`).join('; ');
    throw new WebkilnError('NoBackend', `no backend could be loaded: ${reasons}`);
  }
}

/**
 * Loads the first backend of the request that works. A damaged weight shard ends the load, since every backend reads the same ones.
 * @param {LoadRequest} request
 * @param {BackendImports} modules
 * @param {(progress: Progress) => void} report
 * @param {AbortSignal} [signal]
 */
export const instantiate = (request, modules, report, signal) => new Attempt(request, modules, report, signal).load();
