/** @import { Profiler, Timer } from './profiler.js' */

const TICKS = 20;
const CHUNK_MS = 2;
const PEAK_MS = 120;
const PER_VECTOR = 8;
const ACCUMULATORS = 12;

/** The resolution of `performance.now()`. */
export function tickMs() {
  let least = Infinity;
  for (let tick = 0; tick < TICKS; tick++) {
    const before = performance.now();
    let now = before;
    while (now === before) now = performance.now();
    least = Math.min(least, now - before);
  }
  return least;
}

/**
 * Measure the peak of a computation, in 10^9 operations per second.
 * @param {(iterations: number) => void | Promise<void>} compute
 * @param {number} flops operations per iteration
 */
export async function measurePeak(compute, flops) {
  let iterations = 1024,
    best = 0;
  for (const begin = performance.now(); performance.now() - begin < PEAK_MS;) {
    const before = performance.now();
    await compute(iterations);
    const ms = performance.now() - before;
    if (ms < CHUNK_MS) iterations *= 2;
    else best = Math.max(best, (iterations * flops) / ms / 1e6);
  }
  return best;
}

/** @param {number[]} bytes prefixed by their number, as LEB128 in two bytes */
const prefixed = (...bytes) => [(bytes.length & 127) | 128, bytes.length >> 7, ...bytes];

/**
 * A WebAssembly module whose function `peak` runs independent chains of multiply-adds on vectors of
 * four numbers, enough to fill the pipelines of a core.
 * @param {boolean} fused
 */
function peakModule(fused) {
  const get = 0x20,
    set = 0x21,
    x = ACCUMULATORS + 1,
    y = x + 1;
  const splat = (/** @type {number} */ local, /** @type {number[]} */ ...float) => [
    0x43,
    ...float,
    0xfd,
    0x13,
    set,
    local,
  ];
  const chains = Array.from({ length: ACCUMULATORS }, (_, chain) => chain + 1);
  const step = (/** @type {number} */ local) =>
    fused
      ? [get, local, get, x, get, y, 0xfd, 0x85, 0x02, set, local]
      : [get, local, get, x, 0xfd, 0xe6, 0x01, get, y, 0xfd, 0xe4, 0x01, set, local];
  const body = [
    1,
    y,
    0x7b,
    ...splat(x, 0x77, 0xbe, 0x7f, 0x3f),
    ...splat(y, 0x6f, 0x12, 0x83, 0x3a),
    0x03,
    0x40,
    ...chains.flatMap(step),
    get,
    0,
    0x41,
    1,
    0x6b,
    0x22,
    0,
    0x0d,
    0,
    0x0b,
    get,
    1,
    ...chains.slice(1).flatMap(local => [get, local, 0xfd, 0xe4, 0x01]),
    0xfd,
    0x1f,
    0,
    0x0b,
  ];
  return new Uint8Array([
    0,
    0x61,
    0x73,
    0x6d,
    1,
    0,
    0,
    0,
    1,
    ...prefixed(1, 0x60, 1, 0x7f, 1, 0x7d),
    3,
    ...prefixed(1, 0),
    7,
    ...prefixed(1, 4, 0x70, 0x65, 0x61, 0x6b, 0, 0),
    10,
    ...prefixed(1, ...prefixed(...body)),
  ]);
}

/** The peak of multiply-adds in a JavaScript loop. */
function peakOfScript() {
  let result = 0;
  return measurePeak(iterations => {
    let a = 0,
      b = 1,
      c = 2,
      d = 3,
      e = 4,
      f = 5;
    for (let iteration = 0; iteration < iterations; iteration++) {
      a = a * 0.999 + 0.001;
      b = b * 0.999 + 0.001;
      c = c * 0.999 + 0.001;
      d = d * 0.999 + 0.001;
      e = e * 0.999 + 0.001;
      f = f * 0.999 + 0.001;
    }
    result += a + b + c + d + e + f;
  }, 12);
}

/** @param {boolean} fused */
async function peakOfModule(fused) {
  const { instance } = await WebAssembly.instantiate(peakModule(fused));
  const { peak } = /** @type {any} */ (instance.exports);
  return measurePeak(iterations => peak(iterations), ACCUMULATORS * PER_VECTOR);
}

/**
 * Time the steps of a program in a linear memory.
 * @param {any} engine a `Memory`
 * @param {Profiler} profiler
 * @param {string | null} variant the variant of the wasm backend, null for js
 * @returns {Timer}
 */
export function timeSteps(engine, profiler, variant) {
  const run = engine.run.bind(engine);
  let begin = 0,
    last = 0;
  const record = (/** @type {number} */ site) => {
    const now = performance.now();
    profiler.add(site, last - begin, now - last);
    last = performance.now();
  };
  return {
    clock: 'performance.now()',
    resolutionMs: tickMs,
    peakGflops: () => (variant === null ? peakOfScript() : peakOfModule(variant === 'relaxed')),
    run: (...placeholders) => {
      // Growing the memory may have replaced the program.
      engine.linear.watch(record);
      begin = last = performance.now();
      return run(...placeholders);
    },
  };
}
