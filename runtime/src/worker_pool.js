/** @import { ThreadedProgram } from './engine.ts' */
import { Remote, startWorker } from './remote.js';
import { isNode, nodeModule } from './platform.js';

/** The default limit: more Workers gain little and use memory. */
const DEFAULT_THREADS = 4;
/** The number of helper stacks in a module. */
export const MOST_HELPERS = 7;

/** Workers that help all models of a page. Bundles share it: its methods are an interface. */
class Pool {
  /** @type {Remote[]} */
  helpers = [];
  models = 0;
  count = 0;

  /**
   * @param {() => any} make
   * @param {number} size
   */
  take(make, size) {
    this.models++;
    try {
      while (this.helpers.length < size) this.helpers.push(new Remote(startWorker(make)));
    } catch (error) {
      this.give();
      throw error;
    }
    return this.helpers.slice(0, size);
  }

  /** The Workers end with the last model. */
  give() {
    if (--this.models === 0) for (const helper of this.helpers.splice(0)) helper.dispose();
  }
}

const KEY = Symbol.for('webkiln.pool/2');
/** @type {any} */
const globals = globalThis;
/** @returns {Pool} */
const pool = () => (globals[KEY] ??= new Pool());

/** Whether memory can be shared between threads. */
export const isolated = () => isNode || globalThis.crossOriginIsolated === true;

/** The default number of threads: one per core, up to a limit. */
export function cores() {
  const available =
    globalThis.navigator?.hardwareConcurrency ??
    (isNode ? nodeModule('os').availableParallelism() : 1);
  return Math.min(DEFAULT_THREADS, available);
}

/**
 * End the help of other threads for a program, even during a run.
 * @param {ThreadedProgram} program
 */
export const stop = ({ memory, stopped }) =>
  Atomics.store(new Int32Array(memory.buffer), stopped / 4, 1);

/**
 * Start Workers of the page, or reuse its Workers, to help with the runs of a model.
 * @param {() => any} make
 * @param {ThreadedProgram} program
 * @param {number} size the number of Workers
 * @returns {{ ports: Promise<MessagePort[]>, end: () => void }} the ports that wake them, and a
 *   function that ends their help, whether they have started or not
 */
export function recruit(make, program, size) {
  const { module, memory } = program;
  const number = pool().count++;
  const helpers = pool().take(make, size);
  const joining = helpers.map(async (helper, index) => {
    await helper.ready;
    const { port1, port2 } = new MessageChannel();
    await helper.call('assist', { number, module, memory, index, port: port1 }, [port1]);
    return port2;
  });
  const ports = Promise.all(joining);
  // A load that fails meanwhile does not await the ports.
  ports.catch(() => {});
  const end = () => {
    stop(program);
    helpers.forEach((helper, index) =>
      joining[index]?.then(() => helper.call('dismiss', number)).catch(() => {}),
    );
    pool().give();
  };
  return { ports, end };
}

/** @type {Map<number, MessagePort>} */
const ports = new Map();

/**
 * In a Worker of the pool: help with the runs of a model whenever a message announces one.
 * @param {object} request
 * @param {number} request.number the number of the model
 * @param {WebAssembly.Module} request.module
 * @param {WebAssembly.Memory} request.memory
 * @param {number} request.index the number of the helper
 * @param {MessagePort} request.port
 */
export async function assist({ number, module, memory, index, port }) {
  const { exports } = /** @type {any} */ (
    await WebAssembly.instantiate(module, { env: { memory, mark() {} } })
  );
  exports.__stack_pointer.value = exports.stack(index);
  ports.set(number, port);
  port.onmessage = () => exports.help();
}

/** @param {number} number the number of a disposed model */
export function dismiss(number) {
  ports.get(number)?.close();
  ports.delete(number);
}
