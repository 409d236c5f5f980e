import { measure } from '/gpu_clock.mjs';
import { ENGINES as OTHERS, mapEntries } from '/bench.mjs';

const OPTIONS = { backend: 'webgpu', threads: 1 };
const ORT = '/npm/onnxruntime-web/dist/';
/** The wait for an adapter. */
const ADAPTER_MS = 20000;
const COUNTED = 3;
const CALM_MS = 50;
/** A GPU raises its clock while it works. */
const WARM_MS = 100;
/** The shares of the time after which no engine is loaded, and none begins a round. */
const LOADED = 0.5;
const MEASURED = 0.75;
const LATE = 'the time was up before it could load';
const SOFTWARE = /swiftshader|llvmpipe|lavapipe|basic render|software/i;

const bytes = async path => new Uint8Array(await (await fetch(path)).arrayBuffer());

/** The tensors of a folder as [name, shape, values], with channels last or first. */
async function tensors(folder, order) {
  const values = new Float32Array((await bytes(`${folder}${order}.bin`)).buffer);
  let at = 0;
  return Object.entries(await (await fetch(`${folder}inputs.json`)).json()).map(
    ([name, { size, [order]: shape }]) => [name, shape, values.slice(at, (at += size))],
  );
}

async function openSession(options) {
  const ort = await import(`${ORT}ort.webgpu.bundle.min.mjs`);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmPaths = ORT;
  const session = await ort.InferenceSession.create(await bytes('/data/model.onnx'), {
    executionProviders: ['webgpu'],
    graphOptimizationLevel: 'all',
    ...options,
  });
  return { ort, session };
}

/** The webgpu package of onnxruntime-web, with inputs and outputs in the page's memory. */
async function plain() {
  const { ort, session } = await openSession();
  const inputs = await tensors('/data/', 'first');
  return async () => {
    const outputs = await session.run(
      mapEntries(inputs, (shape, data) => new ort.Tensor('float32', data, shape)),
    );
    return mapEntries(Object.entries(outputs), ({ data }) => data);
  };
}

/** The same with inputs and outputs in GPU buffers; written and read in the measured time. */
async function bound(options) {
  const { ort, session } = await openSession({
    preferredOutputLocation: 'gpu-buffer',
    ...options,
  });
  const device = await ort.env.webgpu.device;
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC;
  const place = ([name, dims, values]) => {
    const size = Math.ceil(values.byteLength / 16) * 16;
    const buffer = device.createBuffer({ size, usage });
    const tensor = ort.Tensor.fromGpuBuffer(buffer, { dataType: 'float32', dims });
    return { name, buffer, tensor, values };
  };
  const inputs = (await tensors('/data/', 'first')).map(place);
  const wanted = await tensors('/data/outputs/', 'first');
  const names = session.outputNames;
  const outputs = wanted.map(([name, ...rest]) =>
    place([wanted.length > 1 ? name : names[0], ...rest]),
  );
  const size = outputs.reduce((sum, { values }) => sum + values.byteLength, 0);
  const staging = device.createBuffer({
    size,
    usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST,
  });
  const byName = list => Object.fromEntries(list.map(({ name, tensor }) => [name, tensor]));
  const [feeds, fetches] = [byName(inputs), byName(outputs)];
  return async () => {
    for (const { buffer, values } of inputs) device.queue.writeBuffer(buffer, 0, values);
    await session.run(feeds, fetches);
    const encoder = device.createCommandEncoder();
    let at = 0;
    for (const { buffer, values } of outputs) {
      encoder.copyBufferToBuffer(buffer, 0, staging, at, values.byteLength);
      at += values.byteLength;
    }
    device.queue.submit([encoder.finish()]);
    await staging.mapAsync(GPUMapMode.READ);
    const read = new Float32Array(staging.getMappedRange().slice(0));
    staging.unmap();
    at = 0;
    return Object.fromEntries(
      outputs.map(({ name, values: { length } }) => [name, read.slice(at, (at += length))]),
    );
  };
}

const ENGINES = {
  webkiln: () => OTHERS.webkiln({ ...OPTIONS, worker: false }),
  onnxruntime: plain,
  'onnxruntime-bound': () => bound({}),
  'onnxruntime-graph': () => bound({ enableGraphCapture: true }),
  'onnxruntime-jsep': () => OTHERS.onnxruntime(OPTIONS),
  tfjs: () => OTHERS.tfjs(OPTIONS),
  litert: () => OTHERS.litert({ ...OPTIONS, jspi: 'Suspending' in WebAssembly }),
};

/** The largest difference from the framework's outputs, divided by their largest value. */
function errorOf(outputs, expected) {
  let worst = 0;
  for (const [name, , values] of expected) {
    const got = expected.length > 1 ? outputs[name] : Object.values(outputs)[0];
    if (got?.length !== values.length) throw new Error(`${name}: ${got?.length} values`);
    let [difference, scale] = [0, 1e-6];
    values.forEach((value, at) => {
      const distance = Math.abs(got[at] - value);
      difference = Number.isNaN(distance) ? Infinity : Math.max(difference, distance);
      scale = Math.max(scale, Math.abs(value));
    });
    worst = Math.max(worst, difference / scale);
  }
  return worst;
}

/** Facts of the adapter. Refuses one that computes on the CPU, unless `software` is set. */
async function describeAdapter(software) {
  const adapter = await Promise.race([
    navigator.gpu?.requestAdapter({ powerPreference: 'high-performance' }),
    new Promise(resolve => setTimeout(resolve, ADAPTER_MS)),
  ]);
  if (!adapter) throw new Error('this browser has no WebGPU adapter');
  const { vendor, architecture, device, description, isFallbackAdapter } = adapter.info;
  const name = [vendor, architecture, device, description].filter(Boolean).join(' ');
  if (!software && (isFallbackAdapter || SOFTWARE.test(name)))
    throw new Error(
      `the adapter computes on the CPU (${name}); --software measures it all the same`,
    );
  return { name, timestamps: adapter.features.has('timestamp-query') };
}

const shuffled = names => {
  const remaining = [...names];
  return names.map(() => remaining.splice(Math.floor(Math.random() * remaining.length), 1)[0]);
};

const post = (path, value) => fetch(path, { method: 'POST', body: JSON.stringify(value) });

/**
 * Load each engine into `found`; its first result counts the library, the model and one run.
 * Returns functions that run the engines.
 */
async function open(names, found, end) {
  const { results, refused } = found;
  const engines = {};
  for (const name of names) {
    await post('/partial', found);
    await post('/progress', `loads ${name}`);
    try {
      if (performance.now() > end) throw new Error(LATE);
      const start = performance.now();
      const compute = await ENGINES[name]();
      const outputs = await compute();
      const firstMs = performance.now() - start;
      const order = name.startsWith('onnxruntime') ? 'first' : 'last';
      const error = errorOf(outputs, await tensors('/data/outputs/', order));
      engines[name] = compute;
      results[name] = { firstMs, error, wallMs: [], gpuMs: [] };
    } catch (error) {
      refused[name] = String(error?.message ?? error).slice(0, 300);
    }
  }
  return engines;
}

/** One round of an engine: runs that are timed by the page, then one with timestamps. */
async function round(compute, result) {
  await new Promise(resolve => setTimeout(resolve, CALM_MS));
  const begin = performance.now();
  do await compute();
  while (performance.now() - begin < WARM_MS);
  for (let run = 0; run < COUNTED; run++) {
    const start = performance.now();
    await compute();
    result.wallMs.push(performance.now() - start);
  }
  const { gpuMs, ...counts } = await measure(compute);
  if (gpuMs !== null) result.gpuMs.push(gpuMs);
  Object.assign(result, counts);
}

async function compareEngines({ engines: names, rounds, software, seconds }) {
  await post('/progress', 'asks for an adapter');
  const adapter = await describeAdapter(software);
  const end = share => 1000 * seconds * share;
  const found = { adapter, browser: navigator.userAgent, results: {}, refused: {} };
  const { results, refused } = found;
  const engines = await open(names, found, end(LOADED));
  const drop = (name, error) => {
    refused[name] = String(error?.message ?? error).slice(0, 300);
    delete engines[name];
    delete results[name];
  };
  for (let number = 0; number < rounds; number++) {
    for (const name of shuffled(Object.keys(engines))) {
      if (performance.now() >= end(MEASURED)) break;
      await post('/partial', found);
      await post('/progress', `measures ${name} in round ${number + 1}`);
      await round(engines[name], results[name]).catch(error => drop(name, error));
    }
  }
  return found;
}

export async function main() {
  try {
    const settings = await (await fetch('/settings.json')).json();
    await post('/result', await compareEngines(settings));
  } catch (error) {
    await post('/result', { error: String(error?.message ?? error) });
  }
}
