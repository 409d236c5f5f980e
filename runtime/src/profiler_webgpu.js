/** @import { Profiler, Timer } from './profiler.js' */
import { measurePeak, tickMs } from './profiler_cpu.js';

const PASSES = 2048;
const GROUPS = 512;
/** Operations per iteration: a multiply-add of four vectors of four numbers in each invocation. */
const INVOKED = GROUPS * 64 * 4 * 8;

const INVOCATION = `@group(0) @binding(0) var<storage, read_write> y: array<vec4f>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let count = i32(y[0].x); let x = vec4f(0.999); let z = vec4f(0.001);
  var a = vec4f(f32(id.x)); var b = a + z; var c = b + z; var d = c + z;
  for (var i = 0; i < count; i++) {
    a = fma(a, x, z); b = fma(b, x, z); c = fma(c, x, z); d = fma(d, x, z);
  }
  y[1 + id.x] = a + b + c + d;
}`;

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
 * The peak of multiply-adds in invocations.
 * @param {any} device
 */
async function peakOfInvocations(device) {
  const module = device.createShaderModule({ label: 'peak', code: INVOCATION });
  const pipeline = await device.createComputePipelineAsync({
    layout: 'auto',
    compute: { module, entryPoint: 'main' },
  });
  const buffer = device.createBuffer({
    label: 'peak',
    size: 16 + GROUPS * 64 * 16,
    usage: 0x80 | 0x8,
  });
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [{ binding: 0, resource: { buffer } }],
  });
  const best = await measurePeak(async iterations => {
    device.queue.writeBuffer(buffer, 0, new Float32Array([iterations]));
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(GROUPS);
    pass.end();
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
  }, INVOKED);
  buffer.destroy();
  return best;
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
  const stamps = device.features.has('timestamp-query');
  const main = engine.main,
    run = engine.run.bind(engine);
  const steps = new Set();
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
    const count = 2 * dispatches.length;
    const querySet = device.createQuerySet({ type: 'timestamp', count });
    const [resolved, readable] = [0x200 | 0x4, 0x1 | 0x8].map(usage =>
      device.createBuffer({ label: 'times', size: 8 * count, usage }),
    );
    dispatches.forEach((dispatch, index) => {
      const timestampWrites = {
        querySet,
        beginningOfPassWriteIndex: 2 * index,
        endOfPassWriteIndex: 2 * index + 1,
      };
      encode({ beginComputePass: () => encoder.beginComputePass({ timestampWrites }) }, group, [
        dispatch,
      ]);
    });
    encoder.resolveQuerySet(querySet, 0, count, resolved, 0);
    encoder.copyBufferToBuffer(resolved, 0, readable, 0, 8 * count);
    parts.push(async first => {
      await readable.mapAsync(1);
      const times = new BigUint64Array(readable.getMappedRange().slice(0));
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
      for (const resource of [querySet, resolved, readable]) resource.destroy();
      return origin;
    });
  }

  /** @param {any} recording receives a `mark` that stores the step in its dispatches */
  function withTimes(recording) {
    const encode = recording.encode.bind(recording);
    recording.mark = (/** @type {number} */ site) => {
      recording.dispatches.at(-1).site = site;
    };
    if (stamps) {
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
    if (!stamps)
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
    clock: stamps
      ? 'timestamps of WebGPU'
      : 'a wait for each dispatch, since WebGPU has no timestamps here',
    resolutionMs: () => (stamps ? stepOf(steps) : tickMs()),
    peakGflops: () => peakOfInvocations(device),
    run: async (...placeholders) => {
      parts = [];
      if (!stamps && !engine.dynamic) return runSeparately();
      const sizes = await run(...placeholders);
      await submit();
      let first = /** @type {bigint | null} */ (null);
      for (const part of parts) first = await part(first);
      return sizes;
    },
  };
}
