/** @import { Engine, Layout, Linear, Move, Placed, Program, TypedArray } from './types.ts' */
import { WebkilnError, messageOf } from './errors.js';
import { arrayOf, sizeOf } from './dtypes.js';

/** A program whose tensors lie in one linear memory, in the dtypes of the model. @implements {Engine} */
export class Memory {
  /**
   * @param {Linear} linear
   * @param {Program} program
   */
  constructor(linear, program) {
    this.linear = linear;
    this.staging = program.staging.offset;
  }

  /**
   * @param {number} offset
   * @param {number} bytes
   */
  bytes(offset, bytes) {
    return new Uint8Array(this.linear.buffer, this.linear.base + offset, bytes);
  }

  /**
   * @param {Omit<Placed, 'name'>} placed
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
  arrange({ memory }) {
    if (memory <= this.linear.buffer.byteLength - this.linear.base) return;
    try {
      this.linear = this.linear.grow(memory);
    } catch (error) {
      throw new WebkilnError('OutOfMemory', `inputs of this size need ${memory} bytes (${messageOf(error)})`);
    }
  }

  /**
   * @param {Placed} placed
   * @param {TypedArray} value
   */
  write(placed, value) {
    this.view(placed).set(value);
  }

  /** @param {number[]} placeholders */
  run(...placeholders) {
    return this.linear.run(...placeholders);
  }

  /**
   * @param {Omit<Placed, 'name'>} placed
   * @returns {TypedArray}
   */
  read(placed) {
    return this.view(placed).slice();
  }

  /** @param {Move[]} moves */
  copy(moves) {
    const values = moves.map(({ source, bytes }) => this.bytes(source, bytes).slice());
    moves.forEach(({ target, bytes }, index) => this.bytes(target, bytes).set(/** @type {Uint8Array} */ (values[index])));
  }

  dispose() {}
}
