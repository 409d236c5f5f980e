import { WebGpuEngine } from './webgpu.js';
import { Recording } from './webgpu_recording.js';

/** @typedef {import('./webgpu_device.js').Gpu} Gpu */

/**
 * The layout of the bind group of `count` segments.
 * @param {any} device
 * @param {number} count
 */
function segmentLayout(device, count) {
  const entries = Array.from({ length: count }, (_, binding) => ({
    binding,
    visibility: 4,
    buffer: { type: 'storage' },
  }));
  return device.createBindGroupLayout({ entries });
}

/** Launches name the segments that they bind, by number. */
class SegmentedRecording extends Recording {
  /** @param {SegmentedEngine} engine */
  constructor(engine) {
    super(engine.gpu, engine.pipelines, engine.stride);
    this.engine = engine;
  }

  /**
   * @param {any} encoder
   * @param {any} group
   * @param {import('./webgpu_recording.js').Dispatch[]} dispatches
   */
  encode(encoder, group, dispatches) {
    for (const dispatch of dispatches)
      if (Array.isArray(dispatch.segments))
        dispatch.segments = this.engine.bindSegments(dispatch.segments);
    super.encode(encoder, group, dispatches);
  }
}

/**
 * An engine of a program with constants in buffers of their own: those beyond what every device
 * binds at once, and those that only GPUs with few multiprocessors read.
 */
export class SegmentedEngine extends WebGpuEngine {
  /** @type {any[]} the buffers by number; null if this device does not read them */
  segments = [];
  /** @type {Map<string, any>} bind groups by the numbers of their segments */
  groups = new Map();

  /** @type {import('./webgpu_open.js').Layouts} */
  static layouts = ({ device }, shader) => {
    const count = shader.split('@group(1)').length - 1;
    return count ? [segmentLayout(device, count)] : [];
  };

  begin() {
    return new SegmentedRecording(this);
  }

  /**
   * Allocate the segments before the arena.
   * @param {number} memory in bytes
   */
  grow(memory) {
    const { segments = [] } = this.program;
    const { multiprocessors } = this.gpu;
    for (const { bytes, from = 0, below = Infinity } of segments.slice(this.segments.length)) {
      const isRead = from <= multiprocessors && multiprocessors < below;
      this.segments.push(isRead ? this.allocate('segment', bytes) : null);
    }
    super.grow(memory);
  }

  /**
   * @param {number[]} numbers
   * @returns {any} their bind group
   */
  bindSegments(numbers) {
    const key = numbers.join();
    if (!this.groups.has(key)) {
      const { device } = this.gpu;
      const entries = numbers.map((number, binding) => ({
        binding,
        resource: { buffer: this.segments[number] },
      }));
      const layout = segmentLayout(device, numbers.length);
      this.groups.set(key, device.createBindGroup({ layout, entries }));
    }
    return this.groups.get(key);
  }

  /**
   * @param {number} entry
   * @param {Uint8Array} bytes
   */
  init(entry, bytes) {
    const { segments } = /** @type {any} */ (this.inits.dispatches[entry]);
    if (!Array.isArray(segments) || segments.every(number => this.segments[number]))
      super.init(entry, bytes);
  }

  dispose() {
    super.dispose();
    for (const buffer of this.segments) buffer?.destroy();
  }
}
