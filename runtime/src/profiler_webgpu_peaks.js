// All functions of this file need a device with timestamp-query.

const GROUPS = 2048;
const INVOCATIONS = GROUPS * 256;
const CHAINS = 8;
const UNROLLED = 4;
/** Operations per round: fused multiply-adds of vectors of four numbers. */
const FLOPS = INVOCATIONS * CHAINS * UNROLLED * 4 * 2;

/** The memory that is read, and the least that exceeds the caches of most GPUs. */
const [MOST_BYTES, LEAST_BYTES] = [256 << 20, 64 << 20];
/** A pass of this GPU time is long enough for timestamps in steps of 0.1 ms. */
const LONG_MS = 10;
const LONG_PASSES = 4;
/** If a pass of less than LONG_MS by timestamps takes longer than this, they are wrong. */
const PATIENCE_MS = 500;
const MOST_ROUNDS = 1e6;
const EMPTY_PASSES = 64;

const chains = (/** @type {(chain: number) => string} */ text) =>
  Array.from({ length: CHAINS }, (_, chain) => text(chain)).join(' ');

const ARGUMENTS = `@group(0) @binding(0) var<storage, read_write> memory: array<vec4f>;
@group(0) @binding(1) var<uniform> rounds: vec4u;`;

/**
 * Independent chains of multiply-adds, which converge to 1. The store keeps compilers from removing
 * them.
 */
const MULTIPLY_ADDS = `${ARGUMENTS}
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let x = vec4f(0.999); let z = vec4f(0.001);
  ${chains(chain => `var v${chain} = vec4f(f32(id.x + ${chain}u));`)}
  for (var round = 0u; round < rounds.x; round++) {
    ${chains(chain => `v${chain} = fma(v${chain}, x, z);`)
      .concat('\n')
      .repeat(UNROLLED)}
  }
  let sum = ${Array.from({ length: CHAINS }, (_, chain) => `v${chain}`).join(' + ')};
  if (sum.x == -1.0) { memory[0] = sum; }
}`;

/** Each round reads all memory, in another order, so that its loads are not those of the last. */
const READS = `${ARGUMENTS}
@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let count = arrayLength(&memory);
  var a = vec4f(); var b = a; var c = a; var d = a;
  for (var round = 0u; round < rounds.x; round++) {
    let turn = round & 63u;
    for (var at = id.x; at < count; at += ${4 * INVOCATIONS}u) {
      a += memory[at ^ turn];
      b += memory[(at + ${INVOCATIONS}u) ^ turn];
      c += memory[(at + ${2 * INVOCATIONS}u) ^ turn];
      d += memory[(at + ${3 * INVOCATIONS}u) ^ turn];
    }
  }
  let sum = a + b + c + d;
  if (sum.x == -1.0) { memory[0] = sum; }
}`;

const EMPTY = '@compute @workgroup_size(1) fn main() {}';

/** The timestamps of the passes of one command encoder, in nanoseconds. */
export class Stamps {
  /**
   * @param {any} device
   * @param {number} passes
   */
  constructor(device, passes) {
    this.count = 2 * passes;
    this.querySet = device.createQuerySet({ type: 'timestamp', count: this.count });
    const size = 8 * this.count;
    this.resolved = device.createBuffer({ label: 'times', size, usage: 0x200 | 0x4 });
    this.readable = device.createBuffer({ label: 'times', size, usage: 0x1 | 0x8 });
  }

  /** @param {number} pass */
  writes(pass) {
    return {
      querySet: this.querySet,
      beginningOfPassWriteIndex: 2 * pass,
      endOfPassWriteIndex: 2 * pass + 1,
    };
  }

  /** @param {any} encoder the passes are encoded */
  resolve(encoder) {
    encoder.resolveQuerySet(this.querySet, 0, this.count, this.resolved, 0);
    encoder.copyBufferToBuffer(this.resolved, 0, this.readable, 0, 8 * this.count);
  }

  /** The start and the end of each pass. The commands must be submitted; called once. */
  async read() {
    await this.readable.mapAsync(1);
    const times = new BigUint64Array(this.readable.getMappedRange().slice(0));
    for (const resource of [this.querySet, this.resolved, this.readable]) resource.destroy();
    return times;
  }

  /** The duration of each pass in milliseconds. The clocks of some drivers step back. */
  async durations() {
    const times = await this.read();
    return Array.from({ length: this.count / 2 }, (_, pass) =>
      Math.max(Number((times[2 * pass + 1] ?? 0n) - (times[2 * pass] ?? 0n)) / 1e6, 0),
    );
  }
}

/**
 * The durations of passes that are encoded in one command buffer, in milliseconds.
 * @param {any} device
 * @param {number} passes
 * @param {(begin: () => any, encoder: any) => void} encode calls `begin` for each pass
 */
export async function timePasses(device, passes, encode) {
  const stamps = new Stamps(device, passes);
  const encoder = device.createCommandEncoder();
  let begun = 0;
  encode(() => encoder.beginComputePass({ timestampWrites: stamps.writes(begun++) }), encoder);
  stamps.resolve(encoder);
  device.queue.submit([encoder.finish()]);
  return stamps.durations();
}

/**
 * @param {any} device
 * @param {string} code
 */
const compile = (device, code) =>
  device.createComputePipelineAsync({
    layout: 'auto',
    compute: { module: device.createShaderModule({ label: 'peak', code }), entryPoint: 'main' },
  });

/**
 * Allocate memory, or return null.
 * @param {any} device
 * @param {number} size
 * @param {number} usage
 */
export async function allocate(device, size, usage) {
  device.pushErrorScope('out-of-memory');
  const buffer = device.createBuffer({ label: 'profile', size, usage });
  if (!(await device.popErrorScope())) return buffer;
  buffer.destroy();
  return null;
}

/**
 * The best rate of a kernel with a loop of rounds, in 10^9 a second, or null if its timestamps are
 * wrong. The number of rounds is doubled until the GPU takes LONG_MS.
 * @param {any} device
 * @param {string} code
 * @param {any} memory
 * @param {number} work of a round
 */
async function rate(device, code, memory, work) {
  const pipeline = await compile(device, code);
  const uniform = device.createBuffer({ label: 'rounds', size: 16, usage: 0x40 | 0x8 });
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [memory, uniform].map((buffer, binding) => ({ binding, resource: { buffer } })),
  });
  let best = null;
  for (let rounds = 1, done = 0; done < LONG_PASSES;) {
    device.queue.writeBuffer(uniform, 0, new Uint32Array([rounds, 0, 0, 0]));
    const before = performance.now();
    const [ms = 0] = await timePasses(device, 1, begin => {
      const pass = begin();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(GROUPS);
      pass.end();
    });
    if (ms >= LONG_MS) {
      best = Math.max(best ?? 0, (rounds * work) / ms / 1e6);
      done += 1;
    } else if (performance.now() - before > PATIENCE_MS || rounds > MOST_ROUNDS) break;
    else rounds *= 2;
  }
  uniform.destroy();
  return best;
}

/**
 * The peak of multiply-adds, in 10^9 operations per second.
 * @param {any} device
 */
export async function peakOfMultiplyAdds(device) {
  const memory = device.createBuffer({ label: 'peak', size: 16, usage: 0x80 });
  const peak = await rate(device, MULTIPLY_ADDS, memory, FLOPS);
  memory.destroy();
  return peak;
}

/**
 * The peak of reads from memory larger than caches, in 10^9 bytes per second; null if less than
 * LEAST_BYTES can be allocated.
 * @param {any} device
 */
export async function peakOfReads(device) {
  const { maxStorageBufferBindingSize, maxBufferSize } = device.limits;
  for (let size = MOST_BYTES; size >= LEAST_BYTES; size /= 2) {
    if (size > Math.min(maxStorageBufferBindingSize, maxBufferSize)) continue;
    const memory = await allocate(device, size, 0x80);
    if (!memory) continue;
    const peak = await rate(device, READS, memory, size);
    memory.destroy();
    return peak;
  }
  return null;
}

/**
 * The median time of a pass with a launch that does nothing, in milliseconds.
 * @param {any} device
 */
export async function timeOfEmptyPass(device) {
  const pipeline = await compile(device, EMPTY);
  const times = await timePasses(device, EMPTY_PASSES, begin => {
    for (let index = 0; index < EMPTY_PASSES; index++) {
      const pass = begin();
      pass.setPipeline(pipeline);
      pass.dispatchWorkgroups(1);
      pass.end();
    }
  });
  return times.sort((a, b) => a - b)[EMPTY_PASSES / 2] ?? 0;
}
