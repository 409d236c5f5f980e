/** @import { BackendImports, BackendModule, Engine, Failure, FileEntry, LoadReply, LoadRequest, ModuleEntry, ProfileModule, Progress, ThreadedProgram } from './types.ts' */
/** @import { Feed } from './download.js' */
import { WebkilnError, abortedError, messageOf, toldBy } from './errors.js';
import { Reader } from './cache.js';
import { supportsVariant } from './probe.js';
import { Session, engineOf, failed } from './session.js';

const PARALLEL_SHARDS = 4;

/** @typedef {{ engine: Engine, program: BackendModule['program'], backend: string, variant: string | null, failures: Failure[] }} Started */

/** Counts the bytes of the shards and of the code of one backend. */
class Meter {
  total = 0;
  /** @type {Map<string, number>} */
  arrived = new Map();

  /** @param {(progress: Progress) => void} report */
  constructor(report) {
    this.report = report;
  }

  /** @param {FileEntry[]} files those that are read from now on; others do not count */
  expect(files) {
    this.total = files.reduce((sum, file) => sum + file.bytes, 0);
    this.arrived = new Map(files.map(({ file }) => [file, this.arrived.get(file) ?? 0]));
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
 * @param {Engine} engine
 * @param {number} entry of the init program
 * @param {Uint8Array} bytes
 */
function initialise(engine, entry, bytes) {
  try {
    engine.init(entry, bytes);
  } catch (error) {
    throw failed(`decoding weight ${entry}`, error);
  }
}

/**
 * Runs the init entries of one shard as their ranges arrive.
 * @param {Engine} engine
 * @param {BackendModule['program']} program
 * @param {number} shard
 * @param {(entry: number) => void} follow is told of each entry that is done
 * @returns {Feed}
 */
function decoder(engine, { init }, shard, follow) {
  let next = init.findIndex(([owner]) => owner === shard);
  return (bytes, arrived) => {
    for (let item; (item = init[next]) && item[0] === shard && item[1] + item[2] <= arrived; follow(next++)) {
      initialise(engine, next, bytes.subarray(item[1], item[1] + item[2]));
    }
  };
}

/**
 * What runs the entries of no shard, in their order, each when those that it follows are done: what it reads may lie where a later one writes.
 * @param {Engine} engine
 * @param {BackendModule['program']} program
 * @returns {(entry: number) => void}
 */
function follower(engine, { init }) {
  /** @type {number[]} */
  const done = [];
  let next = init.findIndex(([owner]) => owner < 0);
  return entry => {
    done[entry] = 1;
    for (let item; (item = init[next]) && done.slice(item[1], item[1] + item[2]).filter(Boolean).length === item[2]; next++) {
      initialise(engine, next, new Uint8Array());
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
   * @param {(program: ThreadedProgram) => void} onThreads
   */
  constructor(request, modules, report, signal, onThreads) {
    const { cacheStrategy: strategy, saveCache: save, ignoreCache } = request;
    this.request = request;
    this.modules = modules;
    this.meter = new Meter(report);
    this.onThreads = onThreads;
    this.stop = new AbortController();
    if (signal?.aborted) this.stop.abort();
    signal?.addEventListener('abort', () => this.stop.abort(), { once: true });
    this.reader = new Reader(request.manifest.name, { strategy, save, ignoreCache, signal: this.stop.signal });
  }

  /**
   * @param {FileEntry} entry
   * @param {Feed} [feed] sees bytes as they arrive, unless others may take their place
   * @param {Uint8Array} [buffer]
   */
  read(entry, feed, buffer) {
    const url = this.request.urls[entry.file] ?? '';
    /** @param {boolean} last */
    const begin = last => (/** @type {Uint8Array} */ bytes, /** @type {number} */ arrived) => {
      this.meter.advance(entry.file, arrived);
      if (last) feed?.(bytes, arrived);
    };
    return this.reader.read(entry, url, begin, buffer);
  }

  /** @param {string} backend */
  async start(backend) {
    const { manifest } = this.request;
    const entry = manifest.backends[backend];
    const load = this.modules[backend];
    if (!entry || !load) throw new WebkilnError('UnknownBackend', `the bundle '${manifest.name}' was built without it`);
    const variant = chooseVariant(this.request, backend);
    this.meter.expect([...(variant ? [variant] : []), ...manifest.shards]);
    const [compiled, { program, create }] = await Promise.all([
      variant ? this.read(variant).then(bytes => compile(variant.file, bytes)) : undefined,
      importModule(entry, load),
    ]);
    try {
      return { engine: engineOf(await create(compiled, this.request.device), program), program, backend, variant: variant?.name ?? null };
    } catch (error) {
      // WebKit compiles what a Content-Security-Policy forbids, and refuses it here.
      throw variant && error instanceof WebAssembly.CompileError ? refused(variant.file, error) : error;
    }
  }

  /**
   * The first backend that starts.
   * @returns {Promise<Started>}
   */
  async first() {
    /** @type {Failure[]} */
    const failures = [];
    /** @type {WebkilnError | null} */
    let last = null;
    for (const backend of this.request.backends) {
      try {
        return { ...await this.start(backend), failures };
      } catch (error) {
        if (this.stop.signal.aborted) throw error;
        last = toldBy(error);
        failures.push({ backend, code: last?.code ?? 'NoBackend', message: messageOf(error) });
      }
    }
    if (failures.length === 1 && last && last.code !== 'UnknownBackend') throw last;
    const reasons = failures.map(({ backend, message }) => `${backend}: ${message}`).join('; ');
    throw new WebkilnError('NoBackend', `no backend could be loaded: ${reasons}`);
  }

  /**
   * Reads all shards, and decodes what has arrived as soon as there is an engine.
   * @param {Promise<Started>} starting
   */
  async fill(starting) {
    const { shards } = this.request.manifest;
    /** @type {Started | undefined} */
    let started;
    /** @type {(entry: number) => void} */
    let follow = () => {};
    starting.then(found => {
      started = found;
      follow = follower(found.engine, found.program);
    }, () => {});
    let next = 0;
    const worker = async () => {
      // Fresh memory costs more than what is written to it.
      let buffer = /** @type {Uint8Array} */ (new Uint8Array());
      for (let index = next++; index < shards.length; index = next++) {
        const shard = /** @type {FileEntry} */ (shards[index]);
        /** @type {Feed | undefined} */
        let decode;
        const bytes = await this.read(shard, (all, arrived) => {
          if (started) (decode ??= decoder(started.engine, started.program, index, follow))(all, arrived);
        }, buffer);
        buffer = new Uint8Array(bytes.buffer);
        const { engine, program } = await starting;
        (decode ?? decoder(engine, program, index, follow))(bytes, bytes.length);
      }
    };
    await Promise.all(Array.from({ length: PARALLEL_SHARDS }, worker));
    await starting;
  }

  /** @returns {Promise<ProfileModule | null>} */
  async profiler() {
    if (!this.request.profile) return null;
    const load = /** @type {() => Promise<ProfileModule>} */ (this.modules.profile);
    return importModule(/** @type {ModuleEntry} */ (this.request.manifest.profile), load);
  }

  /** @returns {Promise<LoadReply & { session: Session, stored: Promise<void> }>} */
  async load() {
    const starting = this.first();
    starting.then(({ engine: { threads } }) => {
      if (threads && this.request.threads > 1 && !this.stop.signal.aborted) this.onThreads(threads);
    }, () => {});
    try {
      const [{ engine, program, ...found }, profile] = await Promise.all([starting, this.profiler(), this.fill(starting)]);
      if (this.stop.signal.aborted) throw abortedError('the load');
      const session = new Session(engine, program);
      session.profiler = profile?.watch(session, found) ?? null;
      return { ...found, session, shareable: Boolean(engine.threads), overlap: profile ? 1 : engine.overlap ?? 1, stored: this.reader.settle(Object.values(this.request.urls)) };
    } catch (error) {
      this.stop.abort();
      starting.then(({ engine }) => engine.dispose(), () => {});
      throw error;
    }
  }
}

/**
 * Loads the first backend of the request that works, and the weights at the same time. A damaged weight shard ends the load, since every backend reads
 * the same ones.
 * @param {LoadRequest} request
 * @param {BackendImports} modules
 * @param {(progress: Progress) => void} report
 * @param {AbortSignal} [signal]
 * @param {(program: ThreadedProgram) => void} [onThreads]
 */
export const instantiate = (request, modules, report, signal, onThreads = () => {}) => new Attempt(request, modules, report, signal, onThreads).load();
