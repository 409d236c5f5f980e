/** @import { ThreadedProgram } from './types.ts' */
import { Remote, startWorker } from './remote.js';
import { isNode, nodeModule } from './platform.js';

/** Workers beyond that gain little and take memory. */
const MOST = 4;
/** As many as modules have stacks for. */
export const MOST_HELPERS = 7;

/** Workers that help any model of this page, however many bundles it loads. */
class Pool {
  /** @type {Promise<Remote>[]} */
  helpers = [];
  models = 0;
  count = 0;

  /**
   * @param {() => any} make
   * @param {number} size
   */
  async take(make, size) {
    this.models++;
    while (this.helpers.length < size) this.helpers.push(this.#start(make));
    return Promise.all(this.helpers.slice(0, size));
  }

  /** @param {() => any} make */
  async #start(make) {
    const helper = new Remote(startWorker(make));
    await helper.ready;
    return helper;
  }

  /** Workers without a model end. */
  give() {
    if (--this.models > 0) return;
    for (const helper of this.helpers.splice(0)) helper.then(({ worker }) => worker.terminate(), () => {});
  }
}

const KEY = Symbol.for('webkiln.pool/2');
/** @returns {Pool} */
const pool = () => /** @type {any} */ (globalThis)[KEY] ??= new Pool();

/** Whether memory can be shared between threads here. */
export const isolated = () => isNode || globalThis.crossOriginIsolated === true;

/** How many threads a model has unless it is told: a core each, of few. */
export function cores() {
  const found = globalThis.navigator?.hardwareConcurrency ?? (isNode ? nodeModule('os').availableParallelism() : 1);
  return Math.min(MOST, found);
}

/**
 * Lets Workers of the page help with the runs of a model.
 * @param {() => any} make
 * @param {ThreadedProgram} program
 * @param {number} size how many
 * @param {(ports: MessagePort[]) => Promise<void>} enlist tells the model how it wakes them
 * @returns {Promise<() => void>} what ends it
 */
export async function recruit(make, { module, memory, stopped }, size, enlist) {
  const number = pool().count++;
  try {
    const helpers = await pool().take(make, size);
    const ports = await Promise.all(helpers.map(async (helper, index) => {
      const { port1, port2 } = new MessageChannel();
      await helper.call('assist', { number, module, memory, index, port: port1 }, [port1]);
      return port2;
    }));
    await enlist(ports);
    return () => {
      Atomics.store(new Int32Array(memory.buffer), stopped / 4, 1);
      for (const helper of helpers) helper.call('dismiss', number).catch(() => {});
      pool().give();
    };
  } catch (error) {
    pool().give();
    throw error;
  }
}

/** @type {Map<number, MessagePort>} */
const ports = new Map();

/**
 * In a Worker of the pool: helps with the runs of a model, whenever it says that one begins.
 * @param {{ number: number, module: WebAssembly.Module, memory: WebAssembly.Memory, index: number, port: MessagePort }} given
 */
export async function assist({ number, module, memory, index, port }) {
  const { exports } = /** @type {any} */ (await WebAssembly.instantiate(module, { env: { memory, mark() {} } }));
  exports.__stack_pointer.value = exports.stack(index);
  ports.set(number, port);
  port.onmessage = () => exports.help();
}

/** @param {number} number of the model that has no more runs */
export function dismiss(number) {
  ports.get(number)?.close();
  ports.delete(number);
}
