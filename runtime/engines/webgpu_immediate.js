import { WORDS } from './narrowing.js';
import { Recording } from './webgpu_recording.js';

/** The steps of a program that looks at what it computed: launches wait until the next look. */
export class Live {
  /** @param {import('./webgpu.js').WebGpuEngine} engine */
  constructor(engine) {
    this.engine = engine;
    this.recording = this.begin();
  }

  begin() {
    return new Recording(this.engine.gpu, this.engine.pipelines, this.engine.stride);
  }

  /**
   * @param {string} kernel
   * @param {number} invocations
   * @param {number[]} words
   */
  launch(kernel, invocations, words) {
    this.recording.launch(kernel, invocations, words);
  }

  /**
   * @param {number} target
   * @param {number} source
   * @param {number} bytes
   */
  copy(target, source, bytes) {
    this.recording.copy(target, source, bytes);
  }

  /** A profile puts another in its place: what was launched or called last is the step `site`. */
  mark() {}

  /** Records all launches since the last look. */
  record() {
    const { engine } = this;
    const recording = this.recording.finish(engine.reusable.shift());
    recording.encode(engine.open(), recording.bind(engine.arena), recording.dispatches);
    engine.spent.push(recording);
    this.recording = this.begin();
  }

  /**
   * Brings some words to the CPU.
   * @param {[place: number, elements: number, storage: string][]} operands
   * @returns {Promise<any[]>} typed arrays
   */
  async look(operands) {
    this.record();
    const found = await this.engine.bring(
      operands.map(([offset, elements]) => /** @type {any} */ ({ offset, shape: [elements] })),
    );
    return operands.map(([, , storage], index) => new WORDS[storage](found[index]));
  }

  /**
   * @param {(...operands: any[]) => number | void} procedure
   * @param {[place: number, elements: number, storage: string][]} operands the inputs first
   * @param {number} inputs how many there are
   * @param {number[]} args
   */
  async host(procedure, operands, inputs, args) {
    const given = await this.look(operands.slice(0, inputs));
    const results = operands
      .slice(inputs)
      .map(([, elements, storage]) => new WORDS[storage](elements));
    const found = procedure(...given, ...results, ...args);
    const { device } = this.engine.gpu;
    operands.slice(inputs).forEach(([offset], index) => {
      if (results[index].length)
        device.queue.writeBuffer(this.engine.arena, offset, results[index]);
    });
    return found;
  }

  /** @param {number} place */
  async flag(place) {
    const [[value]] = /** @type {any} */ (await this.look([[place, 1, 'uint32']]));
    return value !== 0;
  }
}
