import { WORDS, narrowed, stagedWords, widened } from './narrowing.js';
import { checkContext, checkError, linkPrograms, webglError } from './webgl_shaders.js';
import { TextureStore } from './webgl_textures.js';

/** @typedef {import('./webgl_shaders.js').Linked} Linked */
/** @typedef {import('./webgl_textures.js').Buffer} Buffer */

/**
 * A fragment shader. It reads the first `inputs` operands of a launch as `x0`, `x1`, ... and writes
 * the others, which all have the same size.
 * @typedef {{ text: string, inputs: number }} Kernel
 */

/**
 * A range of the bytes of an init entry, which is copied to a temporary texture for decoding.
 * `narrow` is the dtype of the bytes if it has 64 bits.
 * @typedef {{ storage: Dtype, start: number, bytes: number, narrow?: Dtype }} StagedRange
 */

/**
 * The generated part of a program. `buffers` contains [format, elements] of every texture, with 0
 * elements if the layout sets them; `entries` decode weights; `main` is the network.
 * @typedef {object} Generated
 * @property {[format: string, elements: number][]} buffers
 * @property {Record<string, Kernel>} kernels
 * @property {[kernel: string, operands: (number | StagedRange)[], args: number[]][]} entries
 * @property {(engine: WebGlEngine, ...placeholders: number[]) => void} main
 */

/**
 * A program whose tensors are textures.
 * @implements {Engine}
 */
class WebGlEngine {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {Generated} generated
   */
  constructor(gl, generated) {
    this.gl = gl;
    this.generated = generated;
    this.store = new TextureStore(gl, generated.buffers);
    /** @type {(Buffer | undefined)[]} */
    this.buffers = [];
    /** @type {Map<string, Linked>} */
    this.linked = new Map();
  }

  /** Compile all kernels. Throws before that if a tensor is too large for a texture. */
  async link() {
    const { store, generated } = this;
    for (const [format, elements] of generated.buffers) store.extent(format, elements);
    await linkPrograms(
      this.gl,
      [...new Set(Object.values(generated.kernels).map(kernel => kernel.text))],
      `#define WK_SHIFT ${store.shift}\n#define WK_ROWS ${store.rows}\n`,
      this.linked,
    );
  }

  /** @param {number} index */
  bufferAt(index) {
    return (this.buffers[index] ??= this.store.allocate(
      .../** @type {[string, number]} */ (this.generated.buffers[index]),
    ));
  }

  /**
   * Run one kernel. A launch without output elements is skipped.
   * @param {string} kernel
   * @param {Buffer[]} operands
   * @param {number[]} args
   */
  draw(kernel, operands, args) {
    const { gl, store } = this;
    const { text, inputs } = /** @type {Kernel} */ (this.generated.kernels[kernel]);
    const outputs = operands.slice(inputs);
    const [output] = outputs;
    if (!output || output.elements === 0) return;
    const { program, args: location, first } = /** @type {Linked} */ (this.linked.get(text));
    gl.useProgram(program);
    if (location) gl.uniform4iv(location, [...args, 0, 0, 0].slice(0, (args.length + 3) & ~3));
    operands.slice(0, inputs).forEach(({ texture }, unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
    });
    gl.activeTexture(gl.TEXTURE0);
    gl.viewport(0, 0, output.width, output.height);
    const draws = store.format(output.format).quarters ? 1 : output.layers;
    for (let layer = 0; layer < draws; layer++) {
      store.bindTarget(outputs, layer);
      gl.uniform1i(first, layer << (store.shift + store.rows));
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
  }

  /**
   * @param {string} kernel
   * @param {number[]} operands
   * @param {number[]} args
   */
  launch(kernel, operands, args) {
    this.draw(
      kernel,
      operands.map(index => this.bufferAt(index)),
      args,
    );
  }

  /** Replaced while profiling: the last launch or call was the step `site`. */
  mark() {}

  /**
   * @param {number} entry
   * @param {Uint8Array} bytes
   */
  init(entry, bytes) {
    const [kernel, operands, args] = /** @type {Generated['entries'][number]} */ (
      this.generated.entries[entry]
    );
    const staged = operands.map(operand =>
      typeof operand === 'number' ? null : this.stage(operand, bytes),
    );
    this.draw(
      kernel,
      operands.map(
        (operand, index) => staged[index] ?? this.bufferAt(/** @type {number} */ (operand)),
      ),
      args,
    );
    for (const buffer of staged) if (buffer) this.gl.deleteTexture(buffer.texture);
    checkError(this.gl);
  }

  /**
   * Copy a range of the bytes to a texture. Elements shorter than a word stay packed.
   * @param {StagedRange} range
   * @param {Uint8Array} bytes
   */
  stage({ storage, start, bytes: length, narrow }, bytes) {
    const words = stagedWords(bytes.subarray(start, start + length), narrow);
    const buffer = this.store.allocate(storage, words.length >> 2);
    this.store.upload(buffer, new (this.store.format(storage).array)(words.buffer));
    return buffer;
  }

  /**
   * Reallocate the textures whose sizes change. If one allocation fails, all of them are freed.
   * @param {Layout} layout
   */
  arrange({ buffers = [] }) {
    const { gl } = this;
    checkError(gl);
    /** @type {number[]} */
    const replaced = [];
    try {
      buffers.forEach((elements, index) => {
        const [format] = /** @type {[string, number]} */ (this.generated.buffers[index]);
        if (this.buffers[index]?.elements === elements) return;
        this.release(index);
        replaced.push(index);
        this.buffers[index] = this.store.allocate(format, elements);
      });
      const error = gl.getError();
      checkContext(gl);
      // Sizes above the limits of the GPU raise INVALID_VALUE, not OUT_OF_MEMORY.
      if (error)
        throw webglError('OutOfMemory', 'textures for inputs of this size could not be allocated');
    } catch (error) {
      for (const index of replaced) this.release(index);
      while (!gl.isContextLost() && gl.getError());
      throw error;
    }
  }

  /** @param {number} index */
  release(index) {
    const buffer = this.buffers[index];
    if (!buffer) return;
    this.store.free(buffer);
    this.buffers[index] = undefined;
  }

  /**
   * @param {PlacedTensor} placed
   * @param {TypedArray} value
   */
  write(placed, value) {
    this.store.upload(this.bufferAt(placed.offset), narrowed(placed, value));
  }

  /** @param {number[]} placeholders */
  run(...placeholders) {
    const sizes = this.generated.main(this, ...placeholders);
    checkContext(this.gl);
    return sizes;
  }

  /**
   * Run a procedure on the CPU: read its inputs back, call it and upload its outputs.
   * @param {(...operands: any[]) => number | void} procedure
   * @param {[index: number, elements: number, storage: Dtype][]} operands inputs first
   * @param {number} inputs the number of inputs
   * @param {number[]} args
   */
  host(procedure, operands, inputs, args) {
    const values = operands
      .slice(0, inputs)
      .map(([index, elements]) => this.words(index).subarray(0, elements));
    const outputs = operands.slice(inputs);
    const results = outputs.map(
      ([index, , storage]) => new WORDS[storage](this.bufferAt(index).elements),
    );
    const size = procedure(...values, ...results, ...args);
    outputs.forEach(([index], number) => this.store.upload(this.bufferAt(index), results[number]));
    return size;
  }

  /** @param {number} index */
  flag(index) {
    return this.words(index)[0] !== 0;
  }

  /**
   * @param {Omit<PlacedTensor, 'name'>[]} tensors
   * @param {Move[]} moves
   * @returns {TypedArray[]}
   */
  read(tensors, moves) {
    const values = tensors.map(placed => {
      const elements = placed.shape.reduce((product, length) => product * length, 1);
      return widened(placed, this.words(placed.offset).slice(0, elements).buffer);
    });
    this.copy(moves);
    return values;
  }

  /** @param {number} index */
  words(index) {
    return this.store.download(this.bufferAt(index));
  }

  /**
   * A copy that is a step of the network.
   * @param {number} source
   * @param {number} target
   */
  move(source, target) {
    this.store.copy(this.bufferAt(source), this.bufferAt(target));
  }

  /** @param {Move[]} moves */
  copy(moves) {
    const copies = moves.map(({ source, target }) => {
      const from = this.bufferAt(source),
        copy = this.store.allocate(from.format, from.elements);
      this.store.copy(from, copy);
      return { copy, target };
    });
    for (const { copy, target } of copies) {
      this.store.copy(copy, this.bufferAt(target));
      this.gl.deleteTexture(copy.texture);
    }
    checkContext(this.gl);
  }

  dispose() {
    const { gl } = this;
    for (const buffer of this.buffers) if (buffer) gl.deleteTexture(buffer.texture);
    this.store.dispose();
    for (const { program } of this.linked.values()) gl.deleteProgram(program);
    gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}

/**
 * @param {Generated} generated
 * @returns {Promise<WebGlEngine>}
 */
export async function textures(generated) {
  if (typeof WebGL2RenderingContext === 'undefined')
    throw webglError('NoBackend', 'WebGL 2 is not available');
  const canvas =
    typeof document === 'undefined' ? new OffscreenCanvas(1, 1) : document.createElement('canvas');
  const gl = /** @type {WebGL2RenderingContext | null} */ (
    canvas.getContext('webgl2', { alpha: false, antialias: false, depth: false })
  );
  if (!gl) throw webglError('NoBackend', 'WebGL 2 is not available');
  if (!gl.getExtension('EXT_color_buffer_float'))
    throw webglError('NoBackend', 'WebGL 2 cannot render to float textures');
  const engine = new WebGlEngine(gl, generated);
  try {
    await engine.link();
  } catch (error) {
    engine.dispose();
    throw error;
  }
  return engine;
}
