/** @import { Profiler, Timer } from './profiler.js' */
import { tickMs } from './profiler_cpu.js';
import {
  Stamps,
  allocate,
  peakOfMultiplyAdds,
  peakOfReads,
  timeOfEmptyPass,
  timePasses,
} from './profiler_webgpu_peaks.js';

const PASSES = 2048;
/** Passes with all launches of a run, of which the faster half is averaged. */
const WHOLE_PASSES = 5;

/**
 * The greatest common divisor of integers in nanoseconds, in milliseconds.
 * @param {Set<number>} numbers
 */
export function stepOf(numbers) {
  let step = 0;
  for (let number of numbers) while (number) [step, number] = [number, step % number];
  return step / 1e6;
}

/**
 * The GPU time of all launches of a run in one pass, as in runs without a profile: the mean of the
 * faster half, in milliseconds. The arena is saved and restored in the same submission. Null for
 * programs that read results back, and if there is no memory for the copy.
 * @param {any} engine a `WebGpuEngine`
 * @param {any} encode of its recording, without timestamps
 */
async function timeWholePass({ gpu: { device }, arena, size, bound, recording }, encode) {
  const saved = await allocate(device, size, 0x4 | 0x8);
  if (!saved) return null;
  const times = await timePasses(device, WHOLE_PASSES, (begin, encoder) => {
    encoder.copyBufferToBuffer(arena, 0, saved, 0, size);
    for (let pass = 0; pass < WHOLE_PASSES; pass++)
      encode({ beginComputePass: begin }, bound, recording.dispatches);
    encoder.copyBufferToBuffer(saved, 0, arena, 0, size);
  });
  saved.destroy();
  const faster = times.sort((a, b) => a - b).slice(0, Math.ceil(WHOLE_PASSES / 2));
  return faster.reduce((sum, ms) => sum + ms, 0) / faster.length;
}

/**
 * Time the dispatches of a program: with timestamp queries if the GPU supports them, else by
 * waiting for each dispatch.
 * @param {any} engine a `WebGpuEngine`
 * @param {Profiler} profiler
 * @returns {Timer}
 */
export function timeDispatches(engine, profiler) {
  const { device } = engine.gpu;
  const hasStamps = device.features.has('timestamp-query');
  const main = engine.main,
    run = engine.run.bind(engine);
  const steps = new Set();
  /** How recordings encode dispatches without timestamps. */
  const encoders = new WeakMap();
  /**
   * Functions that add the times of each part of a run. They receive and return the first
   * timestamp.
   * @type {((first: bigint | null) => Promise<bigint | null>)[]}
   */
  let parts = [];

  /**
   * Encode each dispatch in a separate pass with timestamps.
   * @param {any} encode encodes dispatches without timestamps
   * @param {any} encoder
   * @param {any} group
   * @param {any[]} dispatches
   */
  function stamped(encode, encoder, group, dispatches) {
    const stamps = new Stamps(device, dispatches.length);
    dispatches.forEach((dispatch, index) => {
      const timestampWrites = stamps.writes(index);
      encode({ beginComputePass: () => encoder.beginComputePass({ timestampWrites }) }, group, [
        dispatch,
      ]);
    });
    stamps.resolve(encoder);
    parts.push(async first => {
      const times = await stamps.read();
      const origin = first ?? times[0] ?? 0n;
      dispatches.forEach(({ site }, index) => {
        const [begin = 0, end = 0] = Array.from(times.subarray(2 * index, 2 * index + 2), time =>
          Number(time - origin),
        );
        // The clocks of some drivers step back between passes.
        const duration = Math.max(end - begin, 0);
        steps.add(duration);
        profiler.add(site, begin / 1e6, duration / 1e6);
      });
      return origin;
    });
  }

  /** @param {any} recording receives a `mark` that stores the step in its dispatches */
  function withTimes(recording) {
    const encode = recording.encode.bind(recording);
    encoders.set(recording, encode);
    recording.mark = (/** @type {number} */ site) => {
      recording.dispatches.at(-1).site = site;
    };
    if (hasStamps) {
      recording.encode = (
        /** @type {any} */ encoder,
        /** @type {any} */ group,
        /** @type {any[]} */ dispatches,
      ) => {
        for (let at = 0; at < dispatches.length; at += PASSES)
          stamped(encode, encoder, group, dispatches.slice(at, at + PASSES));
      };
    }
    return recording;
  }

  /** @param {any} live the steps of a dynamic program, whose calls on the CPU are timed as well */
  function withHostTimes(live) {
    const begin = live.begin.bind(live),
      host = live.host.bind(live);
    let called = 0;
    live.begin = () => withTimes(begin());
    withTimes(live.recording);
    live.host = async (/** @type {any[]} */ ...operands) => {
      await live.readBack([]);
      const before = performance.now();
      const size = await host(...operands);
      called = performance.now() - before;
      return size;
    };
    live.mark = (/** @type {number} */ site) => {
      if (live.recording.dispatches.length) live.recording.mark(site);
      else {
        const ms = called;
        parts.push(async first => {
          const { starts, times } = profiler.current;
          profiler.add(site, (starts.at(-1) ?? 0) + (times.at(-1) ?? 0), ms);
          return first;
        });
      }
    };
    return live;
  }

  engine.main = (/** @type {any} */ step, /** @type {number[]} */ ...placeholders) => {
    if (!engine.dynamic) return main(withTimes(step), ...placeholders);
    if (!hasStamps)
      throw Object.assign(
        new Error(
          'this model reads results back during a run, and this GPU has no timestamp queries; ' +
            'profile another backend',
        ),
        { code: 'NoBackend' },
      );
    return main(withHostTimes(step), ...placeholders);
  };

  /** Submit the recorded commands. */
  async function submit() {
    const rejection = await engine.submit();
    if (rejection) throw new Error(rejection.message);
  }

  /** Run the dispatches one by one, and wait for each. */
  async function runSeparately() {
    const { recording, bound } = engine;
    await engine.hasGrown();
    await submit();
    await device.queue.onSubmittedWorkDone();
    const begin = performance.now();
    for (const dispatch of recording.dispatches) {
      const before = performance.now();
      const encoder = device.createCommandEncoder();
      recording.encode(encoder, bound, [dispatch]);
      device.queue.submit([encoder.finish()]);
      await device.queue.onSubmittedWorkDone();
      profiler.add(dispatch.site, before - begin, performance.now() - before);
    }
  }

  return {
    clock: hasStamps
      ? 'timestamps of WebGPU'
      : 'a wait for each dispatch, since WebGPU has no timestamps here',
    resolutionMs: () => (hasStamps ? stepOf(steps) : tickMs()),
    multiprocessors: engine.gpu.multiprocessors,
    peakGflops: async () => (hasStamps ? peakOfMultiplyAdds(device) : null),
    peakGigabytes: async () => (hasStamps ? peakOfReads(device) : null),
    measurePass: async () => {
      const encode = encoders.get(engine.recording);
      if (!hasStamps || !encode) return null;
      const passMs = await timeWholePass(engine, encode);
      return passMs === null ? null : { passMs, emptyMs: await timeOfEmptyPass(device) };
    },
    run: async (...placeholders) => {
      parts = [];
      if (!hasStamps && !engine.dynamic) return runSeparately();
      const sizes = await run(...placeholders);
      await submit();
      let first = /** @type {bigint | null} */ (null);
      for (const part of parts) first = await part(first);
      return sizes;
    },
  };
}
