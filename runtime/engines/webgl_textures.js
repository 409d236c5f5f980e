import { checkError, webglError } from './webgl_shaders.js';

/**
 * A tensor in a 2D array texture. `span` is the number of texels in each layer.
 * @typedef {object} Buffer
 * @property {string} format
 * @property {number} elements
 * @property {number} width
 * @property {number} height
 * @property {number} layers
 * @property {number} span
 * @property {WebGLTexture} texture
 * @property {number} id
 */

/**
 * A texture format. `readFormat` is the format that readPixels supports everywhere. With
 * `quarters`, the texture has four layers, which one draw writes together.
 * @typedef {object} Format
 * @property {number} internal
 * @property {number} format
 * @property {number} type
 * @property {number} readFormat
 * @property {any} array
 * @property {number} lanes
 * @property {boolean} [quarters]
 */

// Binary logarithms of texture widths. Textures are narrow: GPUs divide a draw among processors by
// rows, and a draw of one row leaves half of each 2x2 block of fragments unused. WIDE is for models
// with symbolic sizes.
const NARROW = 6,
  WIDE = 9,
  WIDEST = 12;

/**
 * @param {WebGL2RenderingContext} gl
 * @returns {Record<string, Format>}
 */
function textureFormats(gl) {
  const { FLOAT, RGBA, RED, RED_INTEGER, RGBA_INTEGER } = gl;
  const floats = (
    /** @type {number} */ internal,
    /** @type {number} */ format = RGBA,
    lanes = 4,
  ) => ({
    internal,
    format,
    type: FLOAT,
    readFormat: RGBA,
    array: Float32Array,
    lanes,
  });
  const integers = (
    /** @type {number} */ internal,
    /** @type {number} */ type,
    /** @type {any} */ array,
  ) => ({ internal, format: RED_INTEGER, type, readFormat: RGBA_INTEGER, array, lanes: 1 });
  return {
    float32x4q: { ...floats(gl.RGBA32F), quarters: true },
    float32x4: floats(gl.RGBA32F),
    float32: floats(gl.R32F, RED, 1),
    float16x4q: { ...floats(gl.RGBA16F), quarters: true },
    float16x4: floats(gl.RGBA16F),
    float16: floats(gl.R16F, RED, 1),
    int8: integers(gl.R8I, gl.BYTE, Int8Array),
    int32: integers(gl.R32I, gl.INT, Int32Array),
    uint32: integers(gl.R32UI, gl.UNSIGNED_INT, Uint32Array),
  };
}

/**
 * Allocates, writes, reads and copies textures of one or four elements per texel, in row-major
 * order, layer by layer. All textures have the same width, a power of two.
 */
export class TextureStore {
  /**
   * @param {WebGL2RenderingContext} gl
   * @param {[format: string, elements: number][]} buffers
   */
  constructor(gl, buffers) {
    this.gl = gl;
    this.rows = Math.floor(Math.log2(gl.getParameter(gl.MAX_TEXTURE_SIZE)));
    this.layers = gl.getParameter(gl.MAX_ARRAY_TEXTURE_LAYERS);
    this.formats = textureFormats(gl);
    /** @type {Map<string, WebGLFramebuffer>} */
    this.targets = new Map();
    this.reader = gl.createFramebuffer();
    this.allocated = 0;
    const widest = Math.min(WIDEST, this.rows);
    this.shift = Math.min(buffers.every(([, elements]) => elements > 0) ? NARROW : WIDE, widest);
    while (
      this.shift < widest &&
      buffers.some(([format, elements]) => this.texels(format, elements) > this.capacity(format))
    )
      this.shift++;
  }

  /** @param {string} name */
  format(name) {
    return /** @type {Format} */ (this.formats[name]);
  }

  /**
   * @param {string} format
   * @param {number} elements
   */
  texels(format, elements) {
    return Math.max(Math.ceil(elements / this.format(format).lanes), 1);
  }

  /**
   * The number of texels that a texture can hold.
   * @param {string} format
   */
  capacity(format) {
    return (this.format(format).quarters ? 4 : this.layers) * 2 ** (this.shift + this.rows);
  }

  /**
   * The width, height and number of layers of a texture, and the number of texels in each layer.
   * Throws OutOfMemory if the tensor does not fit into a texture.
   * @param {string} format
   * @param {number} elements
   */
  extent(format, elements) {
    const { lanes, quarters } = this.format(format);
    const texels = this.texels(format, elements),
      largest = 2 ** (this.shift + this.rows),
      capacity = this.capacity(format);
    if (texels > capacity)
      throw webglError(
        'OutOfMemory',
        `a tensor has ${elements} elements; a texture holds at most ${capacity * lanes}`,
      );
    const span = quarters ? Math.ceil(texels / 4) : largest,
      used = Math.min(texels, span);
    const width = Math.min(used, 2 ** this.shift),
      height = Math.ceil(used / 2 ** this.shift);
    return { width, height, layers: quarters ? 4 : Math.ceil(texels / largest), span };
  }

  /**
   * @param {string} format
   * @param {number} elements
   * @returns {Buffer}
   */
  allocate(format, elements) {
    const { gl } = this;
    const { width, height, layers, span } = this.extent(format, elements);
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, texture);
    gl.texStorage3D(gl.TEXTURE_2D_ARRAY, 1, this.format(format).internal, width, height, layers);
    gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
    gl.texParameteri(gl.TEXTURE_2D_ARRAY, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
    return { format, elements, width, height, layers, span, texture, id: this.allocated++ };
  }

  /** @param {Buffer} buffer */
  free({ texture }) {
    this.gl.deleteTexture(texture);
    for (const framebuffer of this.targets.values()) this.gl.deleteFramebuffer(framebuffer);
    this.targets.clear();
  }

  /**
   * Bind the framebuffer that draws to one layer of these textures, or to all quarters of one.
   * @param {Buffer[]} buffers
   * @param {number} layer
   */
  bindTarget(buffers, layer) {
    const { gl } = this;
    const key = [layer, ...buffers.map(buffer => buffer.id)].join();
    const cached = this.targets.get(key);
    if (cached) {
      gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, cached);
      return;
    }
    const framebuffer = gl.createFramebuffer();
    gl.bindFramebuffer(gl.DRAW_FRAMEBUFFER, framebuffer);
    const layers = buffers.flatMap(({ texture, format }) =>
      (this.format(format).quarters ? [0, 1, 2, 3] : [layer]).map(z => ({ texture, z })),
    );
    layers.forEach(({ texture, z }, index) =>
      gl.framebufferTextureLayer(gl.DRAW_FRAMEBUFFER, gl.COLOR_ATTACHMENT0 + index, texture, 0, z),
    );
    gl.drawBuffers(layers.map((_, index) => gl.COLOR_ATTACHMENT0 + index));
    this.targets.set(key, framebuffer);
  }

  /**
   * Bind a layer as the source of `readPixels` and `copyTexSubImage3D`.
   * @param {Buffer} buffer
   * @param {number} layer
   */
  bindSource({ texture }, layer) {
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
      const put = (
        /** @type {number} */ row,
        /** @type {number} */ columns,
        /** @type {number} */ height,
        /** @type {number} */ texel,
      ) =>
        gl.texSubImage3D(
          gl.TEXTURE_2D_ARRAY,
          0,
          0,
          row,
          layer,
          columns,
          height,
          1,
          format,
          type,
          data,
          texel * lanes,
        );
      if (rows > 0) put(0, width, rows, begin);
      if (rest > 0) put(rows, rest, 1, end - rest);
    }
  }

  /**
   * @param {Buffer} buffer
   * @returns {any} all elements, in a typed array
   */
  download(buffer) {
    const { gl } = this;
    const { format, type, readFormat, array, lanes } = this.format(buffer.format);
    this.bindSource(buffer, 0);
    const direct =
      gl.getParameter(gl.IMPLEMENTATION_COLOR_READ_FORMAT) === format &&
      gl.getParameter(gl.IMPLEMENTATION_COLOR_READ_TYPE) === type;
    const step = direct ? 1 : 4 / lanes;
    const data = new array(buffer.width * buffer.height * lanes * step),
      values = new array(buffer.elements);
    for (let layer = 0; layer < buffer.layers; layer++) {
      this.bindSource(buffer, layer);
      gl.readPixels(0, 0, buffer.width, buffer.height, direct ? format : readFormat, type, data);
      const begin = layer * buffer.span * lanes,
        count = Math.min(buffer.span * lanes, values.length - begin);
      for (let index = 0; index < count; index++) values[begin + index] = data[index * step];
    }
    checkError(gl);
    return values;
  }

  /**
   * @param {Buffer} from
   * @param {Buffer} to
   */
  copy(from, to) {
    const { gl } = this;
    gl.bindTexture(gl.TEXTURE_2D_ARRAY, to.texture);
    for (let layer = 0; layer < from.layers; layer++) {
      this.bindSource(from, layer);
      gl.copyTexSubImage3D(gl.TEXTURE_2D_ARRAY, 0, 0, 0, layer, 0, 0, from.width, from.height);
    }
  }

  dispose() {
    const { gl } = this;
    gl.deleteFramebuffer(this.reader);
    for (const framebuffer of this.targets.values()) gl.deleteFramebuffer(framebuffer);
  }
}
