import { WORDS, narrowed, stagedWords, widened } from './narrowing.js';

/**
 * A fragment shader: it reads the first operands of a launch, `inputs` of them, as `x0`, `x1`, ... and writes the others, which have one size.
 * @typedef {{ text: string, inputs: number }} Kernel
 */

/**
 * A part of the bytes of an init entry, which becomes a texture while they are decoded; `narrow` is their dtype where it has 64 bits.
 * @typedef {{ storage: Dtype, start: number, bytes: number, narrow?: Dtype }} Part
 */

/**
 * The generated part of a program. `buffers` holds [format, elements] of every texture, with 0 elements where a layout tells; `entries`
 * decode weights; `main` is the network.
 * @typedef {object} Generated
 * @property {[format: string, elements: number][]} buffers
 * @property {Record<string, Kernel>} kernels
 * @property {[kernel: string, operands: (number | Part)[], args: number[]][]} entries
 * @property {(engine: Textures, ...placeholders: number[]) => void} main
 */

/** @typedef {{ format: string, elements: number, width: number, height: number, layers: number, span: number, texture: WebGLTexture, id: number }} Buffer */

/** @typedef {{ program: WebGLProgram, args: WebGLUniformLocation | null, first: WebGLUniformLocation | null }} Linked */

const VERTEX = `#version 300 es
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); }
`;

const POLL_MS = 4;
// Textures are narrow: what draws to them is divided by rows among processors, and a drawing of one row would leave half of each block of 2x2
// fragments unused. WIDE is for models whose sizes are told later.
const NARROW = 6,
  WIDE = 9,
  WIDEST = 12;

/**
 * @param {string} code
 * @param {string} message
 */
const failure = (code, message) => Object.assign(new Error(message), { code });

/**
 * One program in textures of one or four elements a texel, row after row, layer after layer, of sizes that are powers of two.
 * @implements {Engine}
 */
class Textures {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {Generated} generated
   */
  constructor(gl, generated) {
    this.gl = gl;
    this.generated = generated;
    this.rows = Math.floor(Math.log2(gl.getParameter(gl.MAX_TEXTURE_SIZE)));
    this.layers = gl.getParameter(gl.MAX_ARRAY_TEXTURE_LAYERS);
    /** @type {Record<string, { internal: number, format: number, type: number, all: number, array: any, lanes: number, quarters?: boolean }>} */
    this.formats = {
      float32x4q: {
        internal: gl.RGBA32F,
        format: gl.RGBA,
        type: gl.FLOAT,
        all: gl.RGBA,
        array: Float32Array,
        lanes: 4,
        quarters: true,
      },
      float32x4: {
        internal: gl.RGBA32F,
        format: gl.RGBA,
        type: gl.FLOAT,
        all: gl.RGBA,
        array: Float32Array,
        lanes: 4,
      },
      float32: {
        internal: gl.R32F,
        format: gl.RED,
        type: gl.FLOAT,
        all: gl.RGBA,
        array: Float32Array,
        lanes: 1,
      },
      float16x4q: {
        internal: gl.RGBA16F,
        format: gl.RGBA,
        type: gl.FLOAT,
        all: gl.RGBA,
        array: Float32Array,
        lanes: 4,
        quarters: true,
      },
      float16x4: {
        internal: gl.RGBA16F,
        format: gl.RGBA,
        type: gl.FLOAT,
        all: gl.RGBA,
        array: Float32Array,
        lanes: 4,
      },
      float16: {
        internal: gl.R16F,
        format: gl.RED,
        type: gl.FLOAT,
        all: gl.RGBA,
        array: Float32Array,
        lanes: 1,
      },
      int32: {
        internal: gl.R32I,
        format: gl.RED_INTEGER,
        type: gl.INT,
        all: gl.RGBA_INTEGER,
        array: Int32Array,
        lanes: 1,
      },
      uint32: {
        internal: gl.R32UI,
        format: gl.RED_INTEGER,
        type: gl.UNSIGNED_INT,
        all: gl.RGBA_INTEGER,
        array: Uint32Array,
        lanes: 1,
      },
    };
    /** @type {(Buffer | undefined)[]} */
    this.buffers = [];
    /** @type {Map<string, Linked>} */
    this.linked = new Map();
    /** @type {Map<string, WebGLFramebuffer>} */
    this.targets = new Map();
    this.reader = gl.createFramebuffer();
    this.made = 0;
    const widest = Math.min(WIDEST, this.rows);
    this.shift = Math.min(
      generated.buffers.every(([, elements]) => elements > 0) ? NARROW : WIDE,
      widest,
    );
    while (
      this.shift < widest &&
      generated.buffers.some(
        ([format, elements]) => this.texels(format, elements) > this.most(format),
      )
    )
      this.shift++;
  }

  /**
   * @param {string} format
   * @param {number} elements
   */
  texels(format, elements) {
    return Math.max(Math.ceil(elements / this.format(format).lanes), 1);
  }

  /**
   * How many texels a texture holds.
   * @param {string} format
   */
  most(format) {
    return (this.format(format).quarters ? 4 : this.layers) * 2 ** (this.shift + this.rows);
  }

  /** Compiles every kernel at once, and waits for all. What is too large for a texture is told before. */
  async link() {
    const { gl } = this;
    for (const [format, elements] of this.generated.buffers) this.sides(format, elements);
    const texts = [...new Set(Object.values(this.generated.kernels).map(kernel => kernel.text))];
    const vertex = this.shader(gl.VERTEX_SHADER, VERTEX);
    const made = texts.map(text => {
      const fragment = this.shader(
        gl.FRAGMENT_SHADER,
        text.replace('\n', `\n#define WK_SHIFT ${this.shift}\n#define WK_ROWS ${this.rows}\n`),
      );
      const program = gl.createProgram();
      gl.attachShader(program, vertex);
      gl.attachShader(program, fragment);
      gl.linkProgram(program);
      return { text, fragment, program };
    });
    const parallel = gl.getExtension('KHR_parallel_shader_compile');
    for (const { text, fragment, program } of made) {
      while (
        parallel &&
        !gl.isContextLost() &&
        !gl.getProgramParameter(program, parallel.COMPLETION_STATUS_KHR)
      ) {
        await new Promise(resolve => {
          setTimeout(resolve, POLL_MS);
        });
      }
      this.check();
      if (!gl.getProgramParameter(program, gl.LINK_STATUS)) {
        throw failure(
          'CompileFailed',
          `a shader does not compile here (${gl.getShaderInfoLog(fragment) || gl.getProgramInfoLog(program)})`,
        );
      }
      gl.deleteShader(fragment);
      gl.useProgram(program);
      const samplers = gl.getParameter(gl.MAX_TEXTURE_IMAGE_UNITS);
      for (let unit = 0; unit < samplers; unit++)
        gl.uniform1i(gl.getUniformLocation(program, `x${unit}`), unit);
      this.linked.set(text, {
        program,
        args: gl.getUniformLocation(program, 'P'),
        first: gl.getUniformLocation(program, 'first'),
      });
    }
    gl.deleteShader(vertex);
  }

  /**
   * @param {number} type
   * @param {string} text
   */
  shader(type, text) {
    const shader = /** @type {WebGLShader} */ (this.gl.createShader(type));
    this.gl.shaderSource(shader, text);
    this.gl.compileShader(shader);
    return shader;
  }

  check() {
    if (this.gl.isContextLost())
      throw failure(
        'ContextLost',
        'the WebGL context was lost, and the model with it; load it again',
      );
  }

  /** Reports what went wrong since the last call; the context waits for all that was asked of it. */
  settle() {
    const error = this.gl.getError();
    this.check();
    if (error === this.gl.OUT_OF_MEMORY)
      throw failure('OutOfMemory', 'the textures of this model could not be had');
    if (error) throw new Error(`WebGL error ${error}`);
  }

  /**
   * Width, height and layers of a texture, and how many texels of a tensor lie in each layer.
   * @param {string} format
   * @param {number} elements
   */
  sides(format, elements) {
    const { lanes, quarters } = this.format(format);
    const texels = this.texels(format, elements),
      largest = 2 ** (this.shift + this.rows),
      most = this.most(format);
    if (texels > most)
      throw failure(
        'OutOfMemory',
        `a tensor has ${elements} elements, textures hold ${most * lanes} here`,
      );
    const span = quarters ? Math.ceil(texels / 4) : largest,
      held = Math.min(texels, span);
    const width = Math.min(held, 2 ** this.shift),
      height = Math.ceil(held / 2 ** this.shift);
    return { width, height, layers: quarters ? 4 : Math.ceil(texels / largest), span };
  }

  /**
   * @param {string} format
   * @param {number} elements
   * @returns {Buffer}
   */
  allocate(format, elements) {
    const { gl } = this;
    const { width, height, layers, span } = this.sides(format, elements);
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
    gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, this.format(format).internal, width, height, layers);
    gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    return { format, elements, width, height, layers, span, texture, id: this.made++ };
  }

  /** @param {string} name */
  format(name) {
    return /** @type {NonNullable<Textures['formats'][string]>} */ (this.formats[name]);
  }

  /** @param {number} number */
  numbered(number) {
    return (this.buffers[number] ??= this.allocate(
      .../** @type {[string, number]} */ (this.generated.buffers[number]),
    ));
  }

  /**
   * Binds the framebuffer that draws to one layer of these textures, or to all quarters of one.
   * @param {Buffer[]} buffers
   * @param {number} layer
   */
  target(buffers, layer) {
    const { gl } = this;
    const key = [layer, ...buffers.map(buffer => buffer.id)].join();
    const known = this.targets.get(key);
    if (known) {
      gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, known);
      return;
    }
    const made = gl.createFramebuffer();
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, made);
    const layers = buffers.flatMap(({ texture, format }) =>
      (this.format(format).quarters ? [0, 1, 2, 3] : [layer]).map(z => ({ texture, z })),
    );
    layers.forEach(({ texture, z }, index) =>
      gl.framebufferTextureLayer(gl.DRAW_FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + index, texture, 0, z),
    );
    gl.drawBuffers(layers.map((_, index) => gl.COLOR_ATTACHMENT0 + index));
    this.targets.set(key, made);
  }

  /**
   * What `readPixels` and `copyTexSubImage3D` read next.
   * @param {Buffer} buffer
   * @param {number} layer
   */
  source({ texture }, layer) {
    const { gl } = this;
    gl.bindFramebuffer(gl.READ_FRAMEBUFFER, this.reader);
    gl.framebufferTextureLayer(gl.READ_FRAMEBUFFER, gl.COLOR_ATTACHMENT0, texture, 0, layer);
  }

  /**
   * @param {Buffer} buffer
   * @param {Float32Array | Int32Array | Uint32Array} data
   */
  upload({ format: name, texture, layers, span }, data) {
    const { gl } = this;
    const { format, type, lanes } = this.format(name);
    const width = 2 ** this.shift,
      texels = data.length / lanes;
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
    for (let layer = 0; layer < layers; layer++) {
      const begin = layer * span,
        end = Math.min(begin + span, texels);
      const rows = Math.floor((end - begin) / width),
        rest = (end - begin) % width;
      if (rows > 0)
        gl.texSubImage3D(
          gl.TEXTURE_2D_ARRAY,
          0,
          0,
          0,
          layer,
          width,
          rows,
          1,
          format,
          type,
          data,
          begin * lanes,
        );
      if (rest > 0)
        gl.texSubImage3D(
          gl.TEXTURE_2D_ARRAY,
          0,
          0,
          rows,
          layer,
          rest,
          1,
          1,
          format,
          type,
          data,
          (end - rest) * lanes,
        );
    }
  }

  /**
   * Computes one kernel on textures. A launch that writes nothing is left out.
   * @param {string} kernel
   * @param {Buffer[]} operands
   * @param {number[]} args
   */
  draw(kernel, operands, args) {
    const { gl } = this;
    const { text, inputs } = /** @type {Kernel} */ (this.generated.kernels[kernel]);
    const outputs = operands.slice(inputs);
    const [first] = outputs;
    if (!first || first.elements === 0) return;
    const { program, args: place, first: from } = /** @type {Linked} */ (this.linked.get(text));
    gl.useProgram(program);
    if (place) gl.uniform4iv(place, [...args, 0, 0, 0].slice(0, (args.length + 3) & ~3));
    operands.slice(0, inputs).forEach(({ texture }, unit) => {
      gl.activeTexture(gl.TEXTURE0 + unit);
      gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
    });
    gl.activeTexture(gl.TEXTURE0);
    gl.viewport(0, 0, first.width, first.height);
    for (let layer = 0; layer < (this.format(first.format).quarters ? 1 : first.layers); layer++) {
      this.target(outputs, layer);
      gl.uniform1i(from, layer << (this.shift + this.rows));
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
      operands.map(number => this.numbered(number)),
      args,
    );
  }

  /** A profile puts another in its place: what was asked for last is the step `site`. */
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
        (operand, index) => staged[index] ?? this.numbered(/** @type {number} */ (operand)),
      ),
      args,
    );
    for (const buffer of staged) if (buffer) this.gl.deleteTexture(buffer.texture);
    this.settle();
  }

  /**
   * A texture of a part of the bytes; what is shorter than a word lies packed.
   * @param {Part} part
   * @param {Uint8Array} bytes
   */
  stage({ storage, start, bytes: length, narrow }, bytes) {
    const words = stagedWords(bytes.subarray(start, start + length), narrow);
    const made = this.allocate(storage, words.length >> 2);
    this.upload(made, new (this.format(storage).array)(words.buffer));
    return made;
  }

  /**
   * Allocates the textures whose sizes are others than before. Where one of them cannot be had, none is kept.
   * @param {Layout} layout
   */
  arrange({ buffers = [] }) {
    const { gl } = this;
    this.settle();
    /** @type {number[]} */
    const made = [];
    try {
      buffers.forEach((elements, number) => {
        const [format] = /** @type {[string, number]} */ (this.generated.buffers[number]);
        if (this.buffers[number]?.elements === elements) return;
        this.release(number);
        made.push(number);
        this.buffers[number] = this.allocate(format, elements);
      });
      const error = gl.getError();
      this.check();
      // Sizes beyond what GPUs count to are another error than those beyond their memory.
      if (error) throw failure('OutOfMemory', 'textures for inputs of this size could not be had');
    } catch (error) {
      for (const number of made) this.release(number);
      while (!gl.isContextLost() && gl.getError());
      throw error;
    }
  }

  /** @param {number} number */
  release(number) {
    const { gl } = this;
    const buffer = this.buffers[number];
    if (!buffer) return;
    gl.deleteTexture(buffer.texture);
    this.buffers[number] = undefined;
    for (const framebuffer of this.targets.values()) gl.deleteFramebuffer(framebuffer);
    this.targets.clear();
  }

  /**
   * @param {Placed} placed
   * @param {TypedArray} value
   */
  write(placed, value) {
    this.upload(this.numbered(placed.offset), narrowed(placed, value));
  }

  /** @param {number[]} placeholders */
  run(...placeholders) {
    const found = this.generated.main(this, ...placeholders);
    this.check();
    return found;
  }

  /**
   * Runs a procedure on the CPU: its inputs are read, its outputs stored.
   * @param {(...operands: any[]) => number | void} procedure
   * @param {[place: number, elements: number, storage: Dtype][]} operands the inputs first
   * @param {number} inputs how many there are
   * @param {number[]} args
   */
  host(procedure, operands, inputs, args) {
    const given = operands
      .slice(0, inputs)
      .map(([place, elements]) => this.words(place).subarray(0, elements));
    const results = operands
      .slice(inputs)
      .map(([place, , storage]) => new WORDS[storage](this.numbered(place).elements));
    const found = procedure(...given, ...results, ...args);
    operands
      .slice(inputs)
      .forEach(([place], index) => this.upload(this.numbered(place), results[index]));
    return found;
  }

  /** @param {number} place */
  flag(place) {
    return this.words(place)[0] !== 0;
  }

  /**
   * @param {Omit<Placed, 'name'>[]} tensors
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

  /**
   * @param {number} place
   * @returns {any} all elements of a buffer
   */
  words(place) {
    const { gl } = this;
    const buffer = this.numbered(place);
    const { format, type, all, array, lanes } = this.format(buffer.format);
    this.source(buffer, 0);
    const single =
      gl.getParameter(gl.IMPLEMENTATION_COLOR_READ_FORMAT) === format &&
      gl.getParameter(gl.IMPLEMENTATION_COLOR_READ_TYPE) === type;
    const step = single ? 1 : 4 / lanes;
    const data = new array(buffer.width * buffer.height * lanes * step),
      values = new array(buffer.elements);
    for (let layer = 0; layer < buffer.layers; layer++) {
      this.source(buffer, layer);
      gl.readPixels(0, 0, buffer.width, buffer.height, single ? format : all, type, data);
      const begin = layer * buffer.span * lanes,
        count = Math.min(buffer.span * lanes, values.length - begin);
      for (let index = 0; index < count; index++) values[begin + index] = data[index * step];
    }
    this.settle();
    return values;
  }

  /**
   * @param {Buffer} from
   * @param {Buffer} to
   */
  transfer(from, to) {
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, to.texture);
    for (let layer = 0; layer < from.layers; layer++) {
      this.source(from, layer);
      gl.copyTexSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, layer, 0, 0, from.width, from.height);
    }
  }

  /**
   * One copy among the steps of the network.
   * @param {number} source
   * @param {number} target
   */
  move(source, target) {
    this.transfer(this.numbered(source), this.numbered(target));
  }

  /** @param {Move[]} moves */
  copy(moves) {
    const values = moves.map(({ source, target }) => {
      const from = this.numbered(source),
        value = this.allocate(from.format, from.elements);
      this.transfer(from, value);
      return { value, target };
    });
    for (const { value, target } of values) {
      this.transfer(value, this.numbered(target));
      this.gl.deleteTexture(value.texture);
    }
    this.check();
  }

  dispose() {
    const { gl } = this;
    gl.deleteFramebuffer(this.reader);
    for (const buffer of this.buffers) if (buffer) gl.deleteTexture(buffer.texture);
    for (const framebuffer of this.targets.values()) gl.deleteFramebuffer(framebuffer);
    for (const { program } of this.linked.values()) gl.deleteProgram(program);
    gl.getExtension('WEBGL_lose_context')?.loseContext();
  }
}

/**
 * @param {Generated} generated
 * @returns {Promise<Textures>}
 */
export async function textures(generated) {
  if (typeof WebGL2RenderingContext === 'undefined')
    throw failure('NoBackend', 'there is no WebGL 2 here');
  const canvas =
    typeof document === 'undefined' ? new OffscreenCanvas(1, 1) : document.createElement('canvas');
  const gl = /** @type {WebGL2RenderingContext | null} */ (
    canvas.getContext('webgl2', { alpha: false, antialias: false, depth: false })
  );
  if (!gl) throw failure('NoBackend', 'there is no WebGL 2 here');
  if (!gl.getExtension('EXT_color_buffer_float'))
    throw failure('NoBackend', 'WebGL 2 cannot draw to float textures here');
  const made = new Textures(gl, generated);
  try {
    await made.link();
  } catch (error) {
    made.dispose();
    throw error;
  }
  return made;
}
