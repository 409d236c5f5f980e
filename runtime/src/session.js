/**
 * @import {
 *   Engine, Layout, Linear, OutputTargets, Program, RunSizes,
 * } from './engine.ts'
 * @import { LayerValue, Profiling, RunReply, RunRequest } from './types.ts'
 */
import { WebkilnError, knownError, messageOf } from './errors.js';
import { Memory } from './memory.js';

/**
 * The error to report for an exception of generated code. Without a known code it is Trapped,
 * which ends the model.
 * @param {string} what
 * @param {unknown} error
 * @returns {WebkilnError}
 */
export const modelError = (what, error) =>
  knownError(error) ??
  new WebkilnError(
    'Trapped',
    `${what} failed (${messageOf(error)}); the model is lost: dispose of it and load it again`,
  );

/**
 * The cause of an engine's failure, which may be reported after the error.
 * @param {Engine | undefined} engine
 * @param {unknown} error
 */
export const causeOf = async (engine, error) => (await engine?.causeOf?.(error)) ?? error;

/**
 * @param {Linear | Engine} created
 * @param {Program} program
 * @returns {Engine}
 */
export const engineOf = (created, program) =>
  'buffer' in created ? new Memory(created, program) : created;

/** A loaded program. Writes inputs, runs, reads outputs and keeps the states. */
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
    /** @type {Layout | null} the layout with the data-dependent sizes of the last run */
    this.lastLayout = null;
    /** @type {Profiling | null} */
    this.profiler = null;
    this.reset();
  }

  /**
   * Lay out the memory for these placeholders. Only weights and states are preserved.
   * @param {Record<string, number>} values
   * @returns {Layout}
   */
  arrange(values) {
    const placeholders = this.#placeholders(values);
    if (this.layout && placeholders.every((value, index) => value === this.placeholders[index]))
      return this.layout;
    const layout = this.program.layout(...placeholders);
    for (const { layer, text, size, equals } of layout.guards) {
      if (equals ? size === equals.size : size >= 0) continue;
      const sizes = Object.entries(values)
        .map(([name, value]) => `${name} = ${value}`)
        .join(', ');
      throw new WebkilnError(
        'WrongSize',
        equals
          ? `layer '${layer}' needs the sizes ${text} and ${equals.text} to be equal; ` +
              `they are ${size} and ${equals.size} for ${sizes}; ` +
              'change the inputs or { placeholders }'
          : `layer '${layer}' has the size ${text}, which is ${size} for ${sizes}; ` +
              'use larger inputs',
      );
    }
    this.layout = null;
    this.engine.arrange(layout, placeholders);
    this.layout = layout;
    this.lastLayout = null;
    this.placeholders = placeholders;
    return layout;
  }

  /**
   * @param {Record<string, number>} values the placeholders of the manifest
   * @returns {number[]} the placeholders of the program; some divide those of the manifest
   */
  #placeholders(values) {
    const { placeholders, divisibility = [] } = this.program;
    const units = new Map(
      divisibility.map(({ name, modulus, remainders, text, layer, placeholder, offset = 0 }) => {
        const value = values[name] ?? 0;
        if (remainders.includes(value % modulus) && value > offset)
          return [placeholder, (value - offset) / modulus];
        throw new WebkilnError(
          'WrongSize',
          `${name} is ${value}; layer '${layer}' needs it to be ${text}`,
        );
      }),
    );
    return placeholders.map(name => units.get(name) ?? values[name] ?? 0);
  }

  reset() {
    this.engine.copy(
      this.program.states.map(({ offset, initial, bytes }) => ({
        source: initial,
        target: offset,
        bytes,
      })),
    );
  }

  /** @param {RunRequest} request one value for each input and each placeholder of the program */
  start({ inputs, placeholders }) {
    for (const input of this.arrange(placeholders).inputs)
      this.engine.write(input, /** @type {any} */ (inputs[input.name]));
    return this.engine.run(...this.placeholders);
  }

  /**
   * @param {RunSizes} sizes
   * @param {OutputTargets} [into]
   */
  read(sizes, into) {
    const layout = /** @type {Layout} */ (this.layout);
    this.lastLayout = sizes ? this.program.layout(...this.placeholders, ...sizes) : layout;
    return this.engine.read(
      this.lastLayout.outputs,
      this.program.states.map(({ offset, next, bytes }) => ({
        source: next,
        target: offset,
        bytes,
      })),
      into,
    );
  }

  /**
   * @param {any} values the outputs of the last run
   * @returns {RunReply}
   */
  reply(values, { outputs } = /** @type {Layout} */ (this.lastLayout)) {
    return {
      outputs: Object.fromEntries(outputs.map(({ name }, index) => [name, values[index]])),
      shapes: Object.fromEntries(outputs.map(({ name, shape }) => [name, shape])),
    };
  }

  /**
   * @param {RunRequest} request
   * @returns {Promise<RunReply>}
   */
  async run(request) {
    try {
      // Await only a promise: an overlapping run must not start between the run and the read.
      const running = this.start(request);
      const reading = this.read(running instanceof Promise ? await running : running, request.into);
      const layout = /** @type {Layout} */ (this.lastLayout);
      return this.reply(await reading, layout);
    } catch (error) {
      this.engine.drop?.();
      throw modelError('the run', await causeOf(this.engine, error));
    }
  }

  /**
   * @returns {Promise<LayerValue[]>} the layer values of the last run, in program order; empty
   *   unless the bundle keeps them
   */
  async layers() {
    const values = [];
    for (const placed of this.lastLayout?.layers ?? []) {
      const { layer, variable, dtype, shape } = placed;
      const [data] = await this.engine.read([placed], []);
      values.push({ layer, variable, dtype, shape, data: /** @type {any} */ (data) });
    }
    return values;
  }

  dispose() {
    this.engine.dispose();
  }
}
