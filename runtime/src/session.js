/** @import { Engine, LayerValue, Layout, Placed, Program, RunReply, RunRequest, TypedArray } from './types.ts' */
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
    /** @type {number[]} */
    this.placeholders = [];
    /** @type {Layout | null} */
    this.layout = null;
    this.reset();
  }

  /**
   * Lays the memory out for these placeholders; what earlier runs left there is lost, except weights and states.
   * @param {Record<string, number>} values
   * @returns {Layout}
   */
  arrange(values) {
    const placeholders = this.program.placeholders.map(name => values[name] ?? 0);
    if (this.layout && placeholders.every((value, index) => value === this.placeholders[index])) return this.layout;
    const layout = this.program.layout(...placeholders);
    for (const { layer, text, size } of layout.guards) {
      if (size >= 0) continue;
      const given = this.program.placeholders.map((name, index) => `${name} = ${placeholders[index]}`).join(', ');
      throw new WebkilnError('WrongSize', `layer '${layer}' has the size ${text}, which is ${size} for ${given}; give larger inputs`);
    }
    if (layout.memory > this.engine.buffer.byteLength - this.engine.base) {
      try {
        this.engine = this.engine.grow(layout.memory);
      } catch (error) {
        throw new WebkilnError('OutOfMemory', `inputs of this size need ${layout.memory} bytes, which could not be had (${messageOf(error)})`);
      }
    }
    this.layout = layout;
    this.placeholders = placeholders;
    return layout;
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
   * @param {RunRequest} request one value for each input of the program and each placeholder
   * @returns {RunReply}
   */
  run({ inputs, placeholders }) {
    const layout = this.arrange(placeholders);
    for (const input of layout.inputs) {
      const value = /** @type {any} */ (inputs[input.name]);
      this.view(input).set(value);
    }
    guard('the run', () => this.engine.run(...this.placeholders));
    const outputs = Object.fromEntries(layout.outputs.map(output => [output.name, this.view(output).slice()]));
    const changes = this.program.states.map(({ offset, next, bytes }) => ({ offset, value: this.bytes(next, bytes).slice() }));
    for (const { offset, value } of changes) {
      this.bytes(offset, value.length).set(value);
    }
    return { outputs, shapes: Object.fromEntries(layout.outputs.map(({ name, shape }) => [name, shape])) };
  }

  /** @returns {LayerValue[]} the values of the last run, in program order; empty unless the bundle keeps them */
  layers() {
    return (this.layout?.layers ?? []).map(({ layer, variable, dtype, shape, offset }) =>
      ({ layer, variable, dtype, shape, data: this.view({ dtype, shape, offset }).slice() }));
  }
}
