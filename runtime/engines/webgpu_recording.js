/** @typedef {import('./webgpu_device.js').Gpu} Gpu */

/**
 * A dispatch of one kernel; `block` is the index of its argument block, `segments` a bind group.
 * @typedef {{ pipeline: any, block: number, x: number, y: number, segments: any }} Dispatch
 */

/** The words that a workgroup copies. */
const COPIED = 64;
const GROUPS = 65535;

/** Copies words within the arena; copyBufferToBuffer requires two different buffers. */
export const COPY = `struct Arguments {
  infinity: u32, nan: u32, source: i32, destination: i32, count: i32
}
@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<uniform> arguments: Arguments;
@compute @workgroup_size(${COPIED})
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let at = i32((group.y * groups.x + group.x) * ${COPIED} + local);
  if (at < arguments.count) { arena[arguments.destination + at] = arena[arguments.source + at]; }
}`;

/**
 * @param {number[]} shape
 * @returns {number} the size in bytes, at four bytes per element
 */
export const bytesOf = shape => shape.reduce((product, length) => product * length, 4);

/** A list of launches. Their argument blocks are in one uniform buffer. */
export class Recording {
  /**
   * @param {Gpu} gpu
   * @param {Map<string, any>} pipelines
   * @param {number} stride bytes between argument blocks
   */
  constructor(gpu, pipelines, stride) {
    this.gpu = gpu;
    this.pipelines = pipelines;
    this.stride = stride;
    /** @type {number[][]} */
    this.blocks = [];
    /** @type {Dispatch[]} */
    this.dispatches = [];
    /** @type {any} */
    this.buffer = null;
    /** @type {any} */
    this.arena = null;
    /** @type {any} */
    this.group = null;
  }

  /**
   * @param {string} kernel
   * @param {number} groups the number of workgroups
   * @param {number[]} words
   * @param {any} [segments] a bind group of the buffers that the kernel uses beside the arena
   */
  launch(kernel, groups, words, segments) {
    const x = Math.min(groups, GROUPS);
    this.dispatches.push({
      pipeline: this.pipelines.get(kernel),
      block: this.blocks.length,
      x,
      y: Math.ceil(groups / GROUPS),
      segments,
    });
    this.blocks.push(words);
  }

  /**
   * @param {number} target
   * @param {number} source
   * @param {number} bytes
   */
  copy(target, source, bytes) {
    this.launch('copy', Math.ceil(bytes / 4 / COPIED), [source / 4, target / 4, bytes / 4]);
  }

  /** Replaced while profiling: the last launch was the step `site`. */
  mark() {}

  /**
   * Write the argument blocks to a buffer. Each begins with the bits of infinity and NaN.
   * @param {Recording} [spent] a finished recording, whose buffer is reused if it is large enough
   */
  finish(spent) {
    const { device } = this.gpu;
    const words = new Int32Array((Math.max(this.blocks.length, 1) * this.stride) / 4);
    this.blocks.forEach((block, index) =>
      words.set([0x7f800000, 0x7fc00000, ...block], (index * this.stride) / 4),
    );
    if (spent?.buffer.size >= words.byteLength) {
      ({
        buffer: this.buffer,
        arena: this.arena,
        group: this.group,
      } = /** @type {Recording} */ (spent));
    } else {
      spent?.dispose();
      this.buffer = device.createBuffer({
        label: 'arguments',
        size: words.byteLength,
        usage: 0x40 | 0x8,
      });
    }
    device.queue.writeBuffer(this.buffer, 0, words);
    return this;
  }

  /**
   * @param {any} arena
   * @returns {any}
   */
  bind(arena) {
    if (this.arena === arena) return this.group;
    const entries = [
      { binding: 0, resource: { buffer: arena } },
      { binding: 1, resource: { buffer: this.buffer, size: this.stride } },
    ];
    this.arena = arena;
    return (this.group = this.gpu.device.createBindGroup({ layout: this.gpu.layout, entries }));
  }

  /**
   * @param {any} encoder
   * @param {any} group
   * @param {Dispatch[]} dispatches
   */
  encode(encoder, group, dispatches) {
    const pass = encoder.beginComputePass();
    let current = null;
    for (const { pipeline, block, x, y, segments } of dispatches) {
      if (x === 0) continue;
      if (pipeline !== current) pass.setPipeline((current = pipeline));
      pass.setBindGroup(0, group, [block * this.stride]);
      if (segments) pass.setBindGroup(1, segments);
      pass.dispatchWorkgroups(x, y);
    }
    pass.end();
  }

  dispose() {
    this.buffer?.destroy();
  }
}
