import { WORDS } from './narrowing.js';

/** @typedef {import('./webgpu_recording.js').Recording} Recording */

/** The steps of a dynamic program. Launches are recorded until a step reads values back. */
export class LiveSteps {
  /** @param {import('./webgpu.js').WebGpuEngine} engine */
  constructor(engine) {
    this.engine = engine;
    this.gpu = engine.gpu;
    this.recording = this.begin();
  }

  /** Replaced while profiling. @returns {Recording} an empty one */
  begin() {
    return this.engine.begin();
  }

  /** @param {Parameters<Recording['launch']>} values */
  launch(...values) {
    this.recording.launch(...values);
  }

  /** @param {Parameters<Recording['copy']>} values */
  copy(...values) {
    this.recording.copy(...values);
  }

  /** Replaced while profiling: the last launch or call was the step `site`. */
  mark() {}

  /** Encode all launches since the last read-back. */
  record() {
    const { engine } = this;
    const recording = this.recording.finish(engine.reusable.shift());
    recording.encode(engine.open(), recording.bind(engine.arena), recording.dispatches);
    engine.spent.push(recording);
    this.recording = this.begin();
  }

  /**
   * @param {[offset: number, elements: number, storage: string][]} operands
   * @returns {Promise<any[]>} their values, in typed arrays
   */
  async readBack(operands) {
    this.record();
    const buffers = await this.engine.readBack(
      operands.map(([offset, elements]) => /** @type {any} */ ({ offset, shape: [elements] })),
    );
    return operands.map(([, , storage], index) => new WORDS[storage](buffers[index]));
  }

  /**
   * Run a procedure on the CPU: read its inputs back, call it and write its outputs.
   * @param {(...operands: any[]) => number | void} procedure
   * @param {[offset: number, elements: number, storage: string][]} operands inputs first
   * @param {number} inputs the number of inputs
   * @param {number[]} args
   */
  async host(procedure, operands, inputs, args) {
    const values = await this.readBack(operands.slice(0, inputs));
    const results = operands
      .slice(inputs)
      .map(([, elements, storage]) => new WORDS[storage](elements));
    const size = procedure(...values, ...results, ...args);
    const { device } = this.engine.gpu;
    operands.slice(inputs).forEach(([offset], index) => {
      if (results[index].length)
        device.queue.writeBuffer(this.engine.arena, offset, results[index]);
    });
    return size;
  }

  /** @param {number} offset */
  async flag(offset) {
    const [[value]] = /** @type {any} */ (await this.readBack([[offset, 1, 'uint32']]));
    return value !== 0;
  }
}
