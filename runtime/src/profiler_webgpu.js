/** @import { Profiler, Timer } from './profiler.js' */
import { fastest, tickMs } from './profiler_cpu.js';

const PASSES = 2048;
const GROUPS = 512;
/** Operations of a turn of the loop: four vectors of four numbers, multiplied and added, in each invocation. */
const INVOKED = GROUPS * 64 * 4 * 8;

const INVOCATION = `@group(0) @binding(0) var<storage, read_write> y: array<vec4f>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let turns = i32(y[0].x); let x = vec4f(0.999); let z = vec4f(0.001);
  var a = vec4f(f32(id.x)); var b = a + z; var c = b + z; var d = c + z;
  for (var i = 0; i < turns; i++) { a = fma(a, x, z); b = fma(b, x, z); c = fma(c, x, z); d = fma(d, x, z); }
  y[1 + id.x] = a + b + c + d;
}`;

/**
 * What all of these whole numbers of nanoseconds are multiples of, in milliseconds.
 * @param {Set<number>} numbers
 */
export function stepOf(numbers) {
  let step = 0;
  for (let number of numbers) while (number) [step, number] = [number, step % number];
  return step / 1e6;
}

/**
 * What invocations multiply and add at most.
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
  const best = await fastest(async turns => {
    device.queue.writeBuffer(buffer, 0, new Float32Array([turns]));
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
 * Times the dispatches of a program: by timestamps, or, where the GPU has none, by waiting for each.
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
  /** @type {((first: bigint | null) => Promise<bigint | null>)[]} what hands on the times of each part of a run */
  let parts = [];

  /**
   * Encodes each dispatch in a pass of its own, with the times at which it begins and ends.
   * @param {any} encode what encodes a single one
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
        // Some drivers' clocks step back between passes.
        const taken = Math.max(end - begin, 0);
        steps.add(taken);
        profiler.add(site, begin / 1e6, taken / 1e6);
      });
      for (const made of [querySet, resolved, readable]) made.destroy();
      return origin;
    });
  }

  /** @param {any} recording gets a `mark` that tells its dispatches their steps */
  function timed(recording) {
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

  /** @param {any} live a program that looks at what it computed: what it calls on the CPU is timed there */
  function followed(live) {
    const begin = live.begin.bind(live),
      host = live.host.bind(live);
    let called = 0;
    live.begin = () => timed(begin());
    timed(live.recording);
    live.host = async (/** @type {any[]} */ ...given) => {
      await live.readBack([]);
      const before = performance.now();
      const found = await host(...given);
      called = performance.now() - before;
      return found;
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
    if (!engine.dynamic) return main(timed(step), ...placeholders);
    if (!stamps)
      throw Object.assign(
        new Error(
          'this model looks at what it computes, and the GPU has no timestamps; profile another backend',
        ),
        { code: 'NoBackend' },
      );
    return main(followed(step), ...placeholders);
  };

  /** Hands over what is recorded. */
  async function handed() {
    const refused = await engine.submit();
    if (refused) throw new Error(refused.message);
  }

  /** Waits for each dispatch by itself. */
  async function waited() {
    const { recording, bound } = engine;
    await engine.hasGrown();
    await handed();
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
      if (!stamps && !engine.dynamic) return waited();
      const found = await run(...placeholders);
      await handed();
      let first = /** @type {bigint | null} */ (null);
      for (const part of parts) first = await part(first);
      return found;
    },
  };
}
