import { layout } from './pixels.js';

/** @typedef {import('./pixels.js').PackOptions} PackOptions */
/**
 * A source rectangle and the size that it is scaled to.
 * @typedef {object} Crop
 * @property {number} srcX
 * @property {number} srcY
 * @property {number} srcW
 * @property {number} srcH
 * @property {number} dstW
 * @property {number} dstH
 */

const SIDE = 8;
/** The maximum number of samples per pixel and axis, for frames that are scaled down. */
const MAX_SAMPLES = 16;
const UNIFORM = 0x40 | 0x8,
  FILLED = 0x80 | 0x4;

/**
 * A shader that averages the samples of each pixel, rounds to integers up to 255 and normalises
 * like `pack`.
 */
const shaderOf = (/** @type {string} */ texture) => `struct Frame {
part: vec4f, bias: vec4f, scale: vec4f, channels: vec4u,
size: vec2u, samples: vec2u, depth: u32, planar: u32, grey: u32 }
@group(0) @binding(0) var frame: ${texture};
@group(0) @binding(1) var linear: sampler;
@group(0) @binding(2) var<uniform> params: Frame;
@group(0) @binding(3) var<storage, read_write> elements: array<f32>;
@compute @workgroup_size(${SIDE}, ${SIDE})
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (any(id.xy >= params.size)) { return; }
  var sum = vec4f();
  for (var y = 0u; y < params.samples.y; y++) {
    for (var x = 0u; x < params.samples.x; x++) {
      let offset = (vec2f(vec2u(x, y)) + 0.5) / vec2f(params.samples);
      let at = (vec2f(id.xy) + offset) / vec2f(params.size);
      sum += textureSampleBaseClampToEdge(frame, linear, params.part.xy + params.part.zw * at);
    }
  }
  let mean = sum / f32(params.samples.x * params.samples.y);
  let pixel = round(mean * 255.0);
  let pixels = params.size.x * params.size.y;
  let number = id.y * params.size.x + id.x;
  var luma = 0.0;
  for (var channel = 0u; channel < params.depth; channel++) {
    let value = (pixel[params.channels[channel]] - params.bias[channel]) / params.scale[channel];
    luma += value * vec4f(0.2126, 0.7152, 0.0722, 0.0)[channel];
    let packed = number * params.depth + channel;
    let at = select(packed, channel * pixels + number, params.planar == 1u);
    if (params.grey == 0u) { elements[at] = value; }
  }
  if (params.grey == 1u) { elements[number] = luma; }
}`;

/** Sources that are imported as external textures, and sources that are copied to a texture. */
const MOVING = /^\[object (HTMLVideoElement|VideoFrame)\]$/,
  STILL = /^\[object (HTMLCanvasElement|OffscreenCanvas|ImageBitmap)\]$/;
const COPIED = 0x2 | 0x4 | 0x10;

/** Converts video frames, canvases and bitmaps to inputs on the GPU of the model. */
export class TextureImporter {
  /** @param {any} device */
  constructor(device) {
    this.device = device;
    /** Pipelines by texture type. @type {Record<string, any>} */
    this.pipelines = {};
    /** Unused buffers by size in bytes. @type {Map<number, any[]>} */
    this.free = new Map();
  }

  /**
   * @param {any} source
   * @param {[width: number, height: number]} extent
   * @returns {{ type: string, resource: any, texture?: any } | null}
   */
  textureOf(source, extent) {
    const { device } = this,
      kind = Object.prototype.toString.call(source);
    if (STILL.test(kind)) {
      const texture = device.createTexture({
        label: 'frame',
        size: extent,
        format: 'rgba8unorm',
        usage: COPIED,
      });
      device.queue.copyExternalImageToTexture({ source }, { texture }, extent);
      return { type: 'texture_2d<f32>', resource: texture.createView(), texture };
    }
    if (!MOVING.test(kind) || !device.importExternalTexture) return null;
    try {
      return { type: 'texture_external', resource: device.importExternalTexture({ source }) };
    } catch (error) {
      // A software GPU rejects all frames.
      if (/** @type {any} */ (error).name === 'OperationError') return null;
      throw error;
    }
  }

  /**
   * Convert a rectangle of a frame to a buffer, which the caller must pass to `release`. Returns
   * null if the frame can only be read by the CPU.
   * @param {any} source
   * @param {[width: number, height: number]} extent of the frame
   * @param {Crop} crop
   * @param {PackOptions} options
   * @returns {any}
   */
  convert(source, extent, { srcX, srcY, srcW, srcH, dstW, dstH }, options) {
    const input = this.textureOf(source, extent);
    if (!input) return null;
    const { device } = this,
      { type, resource, texture } = input,
      [width, height] = extent;
    const pipeline = (this.pipelines[type] ??= device.createComputePipeline({
      label: 'importer',
      layout: 'auto',
      compute: { module: device.createShaderModule({ code: shaderOf(type) }) },
    }));
    const { grey, channels, planar, bias, scale } = layout(options);
    const padded = (/** @type {number[]} */ values, /** @type {number} */ rest) =>
      [...values, rest, rest, rest, rest].slice(0, 4);
    const samples = [srcW / dstW, srcH / dstH].map(ratio =>
      Math.min(MAX_SAMPLES, Math.max(1, Math.ceil(ratio))),
    );
    const words = new ArrayBuffer(96);
    new Float32Array(words).set([
      srcX / width,
      srcY / height,
      srcW / width,
      srcH / height,
      ...padded(bias, 0),
      ...padded(scale, 1),
    ]);
    new Uint32Array(words).set(
      [
        ...padded(channels, 0),
        dstW,
        dstH,
        ...samples,
        channels.length,
        Number(planar),
        Number(grey),
      ],
      12,
    );
    const params = device.createBuffer({ label: 'frame', size: words.byteLength, usage: UNIFORM });
    device.queue.writeBuffer(params, 0, words);
    const bytes = 4 * dstW * dstH * (grey ? 1 : channels.length);
    const buffer =
      this.free.get(bytes)?.pop() ??
      device.createBuffer({ label: 'importer', size: bytes, usage: FILLED });
    const resources = [
      resource,
      device.createSampler({ magFilter: 'linear', minFilter: 'linear' }),
      { buffer: params },
      { buffer },
    ];
    const entries = resources.map((item, binding) => ({ binding, resource: item }));
    const encoder = device.createCommandEncoder(),
      pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(
      0,
      device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }),
    );
    pass.dispatchWorkgroups(Math.ceil(dstW / SIDE), Math.ceil(dstH / SIDE));
    pass.end();
    device.queue.submit([encoder.finish()]);
    params.destroy();
    texture?.destroy();
    return buffer;
  }

  /** @param {any[]} buffers buffers of submitted runs */
  release(buffers) {
    for (const buffer of buffers) {
      const others = this.free.get(buffer.size);
      if (others) others.push(buffer);
      else this.free.set(buffer.size, [buffer]);
    }
  }

  dispose() {
    for (const buffers of this.free.values()) for (const buffer of buffers) buffer.destroy();
    this.free.clear();
  }
}

/** @param {any} device */
export const makeTextureImporter = device => new TextureImporter(device);
