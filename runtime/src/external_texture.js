import { layout } from './pixels.js';

/** @typedef {import('./pixels.js').PackOptions} PackOptions */
/** @typedef {{ srcX: number, srcY: number, srcW: number, srcH: number, dstW: number, dstH: number }} Cut */

const SIDE = 8;
/** The most samples along a side of a pixel of an input that shows more than one of the video. */
const MOST_SAMPLES = 16;
const UNIFORM = 0x40 | 0x8,
  FILLED = 0x80 | 0x4;

/** Pixels are what the samples of their part of the frame are on average, as whole numbers to 255, and become elements as `pack` has it. */
const shaderOf = (
  /** @type {string} */ texture,
) => `struct Frame { part: vec4f, bias: vec4f, scale: vec4f, channels: vec4u, size: vec2u, samples: vec2u, depth: u32, planar: u32, grey: u32 }
@group(0) @binding(0) var frame: ${texture};
@group(0) @binding(1) var between: sampler;
@group(0) @binding(2) var<uniform> told: Frame;
@group(0) @binding(3) var<storage, read_write> elements: array<f32>;
@compute @workgroup_size(${SIDE}, ${SIDE})
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (any(id.xy >= told.size)) { return; }
  var sum = vec4f();
  for (var y = 0u; y < told.samples.y; y++) {
    for (var x = 0u; x < told.samples.x; x++) {
      let at = (vec2f(id.xy) + (vec2f(vec2u(x, y)) + 0.5) / vec2f(told.samples)) / vec2f(told.size);
      sum += textureSampleBaseClampToEdge(frame, between, told.part.xy + told.part.zw * at);
    }
  }
  let mean = sum / f32(told.samples.x * told.samples.y);
  let pixel = round(mean * 255.0);
  let pixels = told.size.x * told.size.y;
  let number = id.y * told.size.x + id.x;
  var luma = 0.0;
  for (var channel = 0u; channel < told.depth; channel++) {
    let value = (pixel[told.channels[channel]] - told.bias[channel]) / told.scale[channel];
    luma += value * vec4f(0.2126, 0.7152, 0.0722, 0.0)[channel];
    if (told.grey == 0u) { elements[select(number * told.depth + channel, channel * pixels + number, told.planar == 1u)] = value; }
  }
  if (told.grey == 1u) { elements[number] = luma; }
}`;

/** What is imported as it is, and what is copied. */
const MOVING = /^\[object (HTMLVideoElement|VideoFrame)\]$/,
  STILL = /^\[object (HTMLCanvasElement|OffscreenCanvas|ImageBitmap)\]$/;
const COPIED = 0x2 | 0x4 | 0x10;

/** Makes inputs of frames of videos, of canvases and of bitmaps on the GPU on which the model runs. */
export class TextureImporter {
  /** @param {any} device */
  constructor(device) {
    this.device = device;
    /** By the type of texture. @type {Record<string, any>} */
    this.pipelines = {};
    /** Buffers that no run reads, by their bytes. @type {Map<number, any[]>} */
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
      // What a software GPU says to any frame.
      if (/** @type {any} */ (error).name === 'OperationError') return null;
      throw error;
    }
  }

  /**
   * The pixels of a part of a frame in a buffer, which `give` takes back; null where the frame comes by the CPU only.
   * @param {any} source
   * @param {[width: number, height: number]} extent of the frame
   * @param {Cut} cut
   * @param {PackOptions} options
   * @returns {any}
   */
  take(source, extent, { srcX, srcY, srcW, srcH, dstW, dstH }, options) {
    const found = this.textureOf(source, extent);
    if (!found) return null;
    const { device } = this,
      { type, resource, texture } = found,
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
      Math.min(MOST_SAMPLES, Math.max(1, Math.ceil(ratio))),
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
    const told = device.createBuffer({ label: 'frame', size: words.byteLength, usage: UNIFORM });
    device.queue.writeBuffer(told, 0, words);
    const bytes = 4 * dstW * dstH * (grey ? 1 : channels.length);
    const buffer =
      this.free.get(bytes)?.pop() ??
      device.createBuffer({ label: 'importer', size: bytes, usage: FILLED });
    const resources = [
      resource,
      device.createSampler({ magFilter: 'linear', minFilter: 'linear' }),
      { buffer: told },
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
    told.destroy();
    texture?.destroy();
    return buffer;
  }

  /** @param {any[]} buffers of runs that have been submitted */
  give(buffers) {
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
