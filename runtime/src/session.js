/** @import { Engine, LayerValue, Layout, Linear, Profiling, Program, RunReply, RunRequest } from './types.ts' */
import { WebkilnError, toldBy, messageOf } from './errors.js';
import { Memory } from './memory.js';

/**
 * What generated code throws makes the model useless, unless it says otherwise by its code.
 * @param {string} what
 * @param {unknown} error
 * @returns {WebkilnError}
 */
export const failed = (what, error) =>
  toldBy(error) ??
  new WebkilnError(
    'Trapped',
    `${what} failed (${messageOf(error)}); the model is lost: dispose of it and load it again`,
  );

/**
 * What made an engine fail, which it may find out after the error.
 * @param {Engine | undefined} engine
 * @param {unknown} error
 */
export const causeOf = async (engine, error) => (await engine?.causeOf?.(error)) ?? error;

/**
 * @param {Linear | Engine} made
 * @param {Program} program
 * @returns {Engine}
 */
export const engineOf = (made, program) => ('buffer' in made ? new Memory(made, program) : made);

/** A loaded program: hands inputs in, runs, hands outputs out, and keeps the states. */
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
    /** @type {Layout | null} the layout with the sizes that the last run found */
    this.ran = null;
    /** @type {Profiling | null} */
    this.profiler = null;
    this.reset();
  }

  /**
   * Lays the memory out for these placeholders; what earlier runs left there is lost, except weights and states.
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
      const given = Object.entries(values)
        .map(([name, value]) => `${name} = ${value}`)
        .join(', ');
      throw new WebkilnError(
        'WrongSize',
        equals
          ? `layer '${layer}' needs the sizes ${text} and ${equals.text} to be equal; they are ${size} and ${equals.size} for ${given}; other sizes are set by the inputs, or by { placeholders }`
          : `layer '${layer}' has the size ${text}, which is ${size} for ${given}; give larger inputs`,
      );
    }
    this.layout = null;
    this.engine.arrange(layout, placeholders);
    this.layout = layout;
    this.ran = null;
    this.placeholders = placeholders;
    return layout;
  }

  /**
   * @param {Record<string, number>} values what the user has set
   * @returns {number[]} the placeholders of the program, of which some sizes are multiples
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

  /**
   * @param {RunRequest} request one value for each input of the program and each placeholder
   * @returns {Promise<RunReply>}
   */
  async run({ inputs, placeholders, into }) {
    try {
      const layout = this.arrange(placeholders);
      for (const input of layout.inputs)
        this.engine.write(input, /** @type {any} */ (inputs[input.name]));
      // Until the outputs are asked for, runs that overlap must not come between: nothing waits that need not.
      const running = this.engine.run(...this.placeholders);
      const found = running instanceof Promise ? await running : running;
      this.ran = found ? this.program.layout(...this.placeholders, ...found) : layout;
      const { outputs } = this.ran;
      const values = await this.engine.read(
        outputs,
        this.program.states.map(({ offset, next, bytes }) => ({
          source: next,
          target: offset,
          bytes,
        })),
        into,
      );
      return {
        outputs: Object.fromEntries(
          outputs.map(({ name }, index) => [name, /** @type {any} */ (values[index])]),
        ),
        shapes: Object.fromEntries(outputs.map(({ name, shape }) => [name, shape])),
      };
    } catch (error) {
      this.engine.drop?.();
      throw failed('the run', await causeOf(this.engine, error));
    }
  }

  /** @returns {Promise<LayerValue[]>} the values of the last run, in program order; empty unless the bundle keeps them */
  async layers() {
    const values = [];
    for (const placed of this.ran?.layers ?? []) {
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
