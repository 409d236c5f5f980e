/** @import { Engine, LayerValue, Placed, Program, TypedArray } from './types.ts' */
import { WebkilnError, messageOf } from './errors.js';
import { arrayOf, sizeOf } from './dtypes.js';

/**
 * Calls into generated code; whatever it throws makes the model useless.
 * @param {string} what
 * @param {() => void} action
 */
export function guard(what, action) {
  try {
    action();
  } catch (error) {
    throw new WebkilnError('Trapped', `${what} failed (${messageOf(error)}); the model is lost: dispose of it and load it again`);
  }
}

/** One program in its memory: copies inputs in, runs, copies outputs out, and keeps the states. */
export class Session {
  /**
   * @param {Engine} engine
   * @param {Program} program
   */
  constructor(engine, program) {
    this.engine = engine;
    this.program = program;
    this.reset();
  }

  /**
   * @param {Pick<Placed, 'dtype' | 'shape' | 'offset'>} placed
   * @returns {TypedArray}
   */
  view({ dtype, shape, offset }) {
    return new (arrayOf(dtype))(this.engine.buffer, this.engine.base + offset, sizeOf(shape));
  }

  /**
   * @param {number} offset
   * @param {number} bytes
   */
  bytes(offset, bytes) {
    return new Uint8Array(this.engine.buffer, this.engine.base + offset, bytes);
  }

  reset() {
    for (const { offset, initial, bytes } of this.program.states) this.bytes(offset, bytes).set(this.bytes(initial, bytes));
  }

  /**
   * @param {Record<string, TypedArray>} inputs one for each input of the program
   * @returns {Record<string, TypedArray>}
   */
  run(inputs) {
    for (const input of this.program.inputs) {
      const value = /** @type {any} */ (inputs[input.name]);
      this.view(input).set(value);
    }
    guard('the run', () => this.engine.run());
    const outputs = Object.fromEntries(this.program.outputs.map(output => [output.name, this.view(output).slice()]));
    const changes = this.program.states.map(({ offset, next, bytes }) => ({ offset, value: this.bytes(next, bytes).slice() }));
    for (const { offset, value } of changes) {
      this.bytes(offset, value.length).set(value);
    }
    return outputs;
  }

  /** @returns {LayerValue[]} the values of the last run, in program order; empty unless the bundle keeps them */
  layers() {
    return this.program.layers.map(({ layer, variable, dtype, shape, offset }) =>
      ({ layer, variable, dtype, shape, data: this.view({ dtype, shape, offset }).slice() }));
  }
}
