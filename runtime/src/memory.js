/**
 * @import { Engine, Layout, Linear, Move, PlacedTensor, Program } from './engine.ts'
 * @import { TypedArray } from './types.ts'
 */
import { WebkilnError, messageOf } from './errors.js';
import { arrayOf, sizeOf } from './dtypes.js';
import { HelperHeuristic } from './helper_heuristic.js';

/** Chunks per thread. More than one limits the delay caused by a thread that is busy elsewhere. */
const CHUNKS = 2;
/** Chunks of the first run: engines switch to optimised code between two calls, not within one. */
const FIRST_CHUNKS = 4;

/**
 * A program whose tensors are in one linear memory, in the dtypes of the model.
 * @implements {Engine}
 */
export class Memory {
  /**
   * @param {Linear} linear
   * @param {Program} program
   */
  constructor(linear, program) {
    this.linear = linear;
    this.staging = program.staging.offset;
    /** @type {MessagePort[]} */
    this.helpers = [];
    this.heuristic = new HelperHeuristic();
    this.flops = 0;
    this.first = true;
  }

  /** What other threads need to help; undefined if the program has one thread. */
  get threads() {
    if (!this.linear.threads) return undefined;
    const { module, memory, exports } = this.linear.threads;
    return { module, memory, stopped: exports.stopped() };
  }

  /** @param {MessagePort[]} ports wake the helper threads */
  enlist(ports) {
    this.helpers = ports;
  }

  /**
   * @param {number} offset
   * @param {number} bytes
   */
  bytes(offset, bytes) {
    return new Uint8Array(this.linear.buffer, this.linear.base + offset, bytes);
  }

  /**
   * @param {Omit<PlacedTensor, 'name'>} placed
   * @returns {any}
   */
  view({ dtype, shape, offset }) {
    return new (arrayOf(dtype))(this.linear.buffer, this.linear.base + offset, sizeOf(shape));
  }

  /**
   * @param {number} entry
   * @param {Uint8Array} bytes
   */
  init(entry, bytes) {
    this.bytes(this.staging, bytes.length).set(bytes);
    this.linear.init(entry);
  }

  /** @param {Layout} layout */
  arrange({ memory, flops }) {
    this.flops = flops;
    if (memory <= this.linear.buffer.byteLength - this.linear.base) return;
    try {
      this.linear = this.linear.grow(memory);
    } catch (error) {
      throw new WebkilnError(
        'OutOfMemory',
        `inputs of this size need ${memory} bytes (${messageOf(error)})`,
      );
    }
  }

  /**
   * @param {PlacedTensor} placed
   * @param {TypedArray} value
   */
  write(placed, value) {
    this.view(placed).set(value);
  }

  /**
   * Run, with helper threads where they make the run faster. The work is distributed in chunks, so
   * that helpers can join at any time.
   * @param {number[]} placeholders
   */
  run(...placeholders) {
    const { threads, run } = this.linear;
    const { first, helpers } = this;
    this.first = false;
    if (!threads || this.flops < threads.short || (helpers.length === 0 && !first))
      return run(...placeholders);
    // The first run, before engines have optimised the code, does not count for the heuristic.
    const helped = helpers.length > 0 && (first || this.heuristic.begin());
    const { begin, end, share } = threads.exports;
    if (helped) share(CHUNKS * (helpers.length + 1));
    else if (first) share(FIRST_CHUNKS);
    begin();
    if (helped) for (const port of helpers) port.postMessage(0);
    try {
      return run(...placeholders);
    } finally {
      end();
      share(1);
      if (!first) this.heuristic.end(this.flops);
    }
  }

  /**
   * @param {Omit<PlacedTensor, 'name'>[]} tensors
   * @param {Move[]} moves
   * @returns {TypedArray[]}
   */
  read(tensors, moves) {
    const values = tensors.map(placed => this.view(placed).slice());
    this.copy(moves);
    return values;
  }

  /** @param {Move[]} moves */
  copy(moves) {
    const values = moves.map(({ source, bytes }) => this.bytes(source, bytes).slice());
    moves.forEach(({ target, bytes }, index) =>
      this.bytes(target, bytes).set(/** @type {Uint8Array} */ (values[index])),
    );
  }

  dispose() {}
}
