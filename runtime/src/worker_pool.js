/** @import { ThreadedProgram } from './types.ts' */
import { Remote, startWorker } from './remote.js';
import { isNode, nodeModule } from './platform.js';

/** Workers beyond that gain little and take memory. */
const MOST = 4;
/** As many as modules have stacks for. */
export const MOST_HELPERS = 7;

/** Workers that help any model of this page, however many bundles it loads. */
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

  /** Workers without a model end. */
  give() {
    if (--this.models === 0) for (const helper of this.helpers.splice(0)) helper.dispose();
  }
}

const KEY = Symbol.for('webkiln.pool/2');
/** @type {any} */
const globals = globalThis;
/** @returns {Pool} */
const pool = () => (globals[KEY] ??= new Pool());

/** Whether memory can be shared between threads here. */
export const isolated = () => isNode || globalThis.crossOriginIsolated === true;

/** How many threads a model has unless it is told: a core each, of few. */
export function cores() {
  const found =
    globalThis.navigator?.hardwareConcurrency ??
    (isNode ? nodeModule('os').availableParallelism() : 1);
  return Math.min(MOST, found);
}

/**
 * Ends the help that a program has, in the middle of a run and for good.
 * @param {ThreadedProgram} program
 */
export const stop = ({ memory, stopped }) =>
  Atomics.store(new Int32Array(memory.buffer), stopped / 4, 1);

/**
 * Starts Workers of the page, unless there are some, to help with the runs of a model.
 * @param {() => any} make
 * @param {ThreadedProgram} program
 * @param {number} size how many
 * @returns {{ ports: Promise<MessagePort[]>, end: () => void }} what wakes them, and what ends their help, whether they have come or not
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
  // A load that fails meanwhile does not ask for them.
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
 * In a Worker of the pool: helps with the runs of a model, whenever it says that one begins.
 * @param {{ number: number, module: WebAssembly.Module, memory: WebAssembly.Memory, index: number, port: MessagePort }} given
 */
export async function assist({ number, module, memory, index, port }) {
  const { exports } = /** @type {any} */ (
    await WebAssembly.instantiate(module, { env: { memory, mark() {} } })
  );
  exports.__stack_pointer.value = exports.stack(index);
  ports.set(number, port);
  port.onmessage = () => exports.help();
}

/** @param {number} number of the model that has no more runs */
export function dismiss(number) {
  ports.get(number)?.close();
  ports.delete(number);
}
