/**
 * Counts and times what any code of a page sends to WebGPU. Import it before that code: it replaces
 * methods, so that devices have timestamps, and passes write them while a measurement is open.
 */

const PASSES = 2048;
const QUERY = 'timestamp-query';

let open = null;
const devices = new WeakMap();

function replace(type, method, change) {
  const original = type.prototype[method];
  type.prototype[method] = function (...values) {
    return change.call(this, (...others) => original.apply(this, others), values);
  };
}

replace(GPUAdapter, 'requestDevice', function (call, [wanted = {}]) {
  const features = [...(wanted.requiredFeatures ?? [])];
  if (this.features.has(QUERY) && !features.includes(QUERY)) features.push(QUERY);
  return call({ ...wanted, requiredFeatures: features });
});

replace(GPUDevice, 'createCommandEncoder', function (call, values) {
  const encoder = call(...values);
  devices.set(encoder, this);
  return encoder;
});

replace(GPUCommandEncoder, 'beginComputePass', function (call, [wanted = {}]) {
  const device = devices.get(this);
  if (!open) return call(wanted);
  open.passes += 1;
  if (wanted.timestampWrites || !device.features.has(QUERY)) {
    open.untimed += 1;
    return call(wanted);
  }
  const sets = open.sets.get(device) ?? [];
  open.sets.set(device, sets);
  if (sets.length === 0 || sets.at(-1).used === PASSES) {
    const querySet = device.createQuerySet({ type: 'timestamp', count: 2 * PASSES });
    sets.push({ querySet, used: 0 });
  }
  const set = sets.at(-1);
  const first = 2 * set.used++;
  return call({
    ...wanted,
    timestampWrites: {
      querySet: set.querySet,
      beginningOfPassWriteIndex: first,
      endOfPassWriteIndex: first + 1,
    },
  });
});

for (const method of ['dispatchWorkgroups', 'dispatchWorkgroupsIndirect']) {
  replace(GPUComputePassEncoder, method, (call, values) => {
    if (open) open.launches += 1;
    call(...values);
  });
}

replace(GPUQueue, 'submit', (call, values) => {
  if (open) open.submissions += 1;
  call(...values);
});

/** The sum of the passes of a query set, in milliseconds. */
async function sumOfPasses(device, { querySet, used }) {
  const size = 16 * used;
  const [resolved, readable] = [
    GPUBufferUsage.QUERY_RESOLVE | GPUBufferUsage.COPY_SRC,
    GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  ].map(usage => device.createBuffer({ size, usage }));
  const encoder = device.createCommandEncoder();
  encoder.resolveQuerySet(querySet, 0, 2 * used, resolved, 0);
  encoder.copyBufferToBuffer(resolved, 0, readable, 0, size);
  device.queue.submit([encoder.finish()]);
  await readable.mapAsync(GPUMapMode.READ);
  const times = new BigUint64Array(readable.getMappedRange());
  let sum = 0;
  for (let pass = 0; pass < used; pass++)
    sum += Math.max(Number(times[2 * pass + 1] - times[2 * pass]), 0);
  for (const resource of [querySet, resolved, readable]) resource.destroy();
  return sum / 1e6;
}

/**
 * Run an asynchronous function that waits for its results. Returns the launches, passes and
 * submissions, and the GPU time of all passes in milliseconds: null without timestamps.
 */
export async function measure(compute) {
  const state = (open = { launches: 0, passes: 0, submissions: 0, untimed: 0, sets: new Map() });
  try {
    await compute();
  } finally {
    open = null;
  }
  let gpuMs = 0;
  for (const [device, sets] of state.sets)
    for (const set of sets) gpuMs += await sumOfPasses(device, set);
  const { launches, passes, submissions, untimed } = state;
  return { launches, passes, submissions, gpuMs: untimed || !passes ? null : gpuMs };
}
