const bytes = async path => new Uint8Array(await (await fetch(path)).arrayBuffer());

const floats = async path => new Float32Array((await bytes(path)).buffer);

/** The inputs of the network as [name, shape, values], with channels last or first. */
async function inputs(order) {
  const values = await floats(`/data/${order}.bin`);
  let at = 0;
  return Object.entries(await (await fetch('/data/inputs.json')).json()).map(
    ([name, { size, [order]: shape }]) => [name, shape, values.slice(at, (at += size))],
  );
}

export const mapEntries = (entries, change) =>
  Object.fromEntries(entries.map(([name, ...rest]) => [name, change(...rest)]));

/** Each engine loads the network and returns an async function that returns the outputs by name. */
export const ENGINES = {
  async webkiln({ backend, threads, bundle = '/bundle/', order = 'last', ...others }) {
    const { load } = await import(`${bundle}index.js`);
    const options = { backends: [backend], threads, ...others };
    let model = await load({ worker: threads > 1, ...options });
    if (threads > 1 && model.threads === 1) {
      // A model that is too small for threads needs no Worker either.
      model.dispose();
      model = await load({ ...options, worker: false });
    }
    if (!crossOriginIsolated)
      throw new Error('the page is not isolated: no engine can use threads');
    const inputValues = await inputs(order);
    return () => model.run(mapEntries(inputValues, (_, data) => data));
  },

  async onnxruntime({ backend, threads, file = 'model.onnx' }) {
    const ort = await import(
      `/npm/onnxruntime-web/dist/ort.${backend === 'wasm' ? 'wasm' : 'all'}.bundle.min.mjs`
    );
    ort.env.wasm.numThreads = threads;
    ort.env.wasm.wasmPaths = '/npm/onnxruntime-web/dist/';
    const session = await ort.InferenceSession.create(await bytes(`/data/${file}`), {
      executionProviders: [backend],
      graphOptimizationLevel: 'all',
    });
    const inputValues = await inputs('first');
    return async () => {
      const outputs = await session.run(
        mapEntries(inputValues, (shape, data) => new ort.Tensor('float32', data, shape)),
      );
      return mapEntries(Object.entries(outputs), ({ data }) => data);
    };
  },

  async litert({ backend, threads, jspi = false, file = 'model.tflite' }) {
    const { loadLiteRt, loadAndCompile, Tensor } =
      await import('/npm/@litertjs/core/dist/index.js');
    await loadLiteRt('/npm/@litertjs/core/wasm/', { threads: threads > 1, jspi });
    const model = await loadAndCompile(`/data/${file}`, {
      accelerator: backend,
      cpuOptions: { numThreads: threads },
    });
    const inputValues = await inputs('last');
    return async () => {
      const tensors = mapEntries(inputValues, (shape, data) => new Tensor(data, shape));
      const outputs = await model.run(tensors);
      const values = {};
      for (const [name, tensor] of Object.entries(outputs))
        values[name] = (await tensor.data()).slice();
      for (const item of [...Object.values(tensors), ...Object.values(outputs)]) item.delete();
      return values;
    };
  },

  async tfjs({ backend, threads }) {
    const kind = backend === 'js' ? 'cpu' : backend;
    for (const part of ['core', ...(kind === 'webgpu' ? ['backend-cpu'] : []), `backend-${kind}`]) {
      await script(`/npm/@tensorflow/tfjs-${part}/dist/tf-${part}.min.js`);
    }
    const { tf } = globalThis;
    if (kind === 'wasm') {
      tf.wasm.setWasmPaths('/npm/@tensorflow/tfjs-backend-wasm/dist/');
      tf.wasm.setThreadsCount(threads);
      tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', threads > 1);
    }
    if (!(await tf.setBackend(kind)))
      throw new Error(`TensorFlow.js has no usable backend ${kind}`);
    const { constants, calls, outputs } = await (await fetch('/data/calls.json')).json();
    const values = await floats('/data/calls.bin');
    const constantTensors = {};
    for (const [name, { offset, shape }] of Object.entries(constants)) {
      constantTensors[name] = tf.tensor(
        values.subarray(offset, offset + shape.reduce((a, b) => a * b, 1)),
        shape,
      );
    }
    const inputValues = await inputs('last');
    const compute = (calls, tensors) => {
      for (const { op, names, inputs, ...attrs } of calls) {
        const results = CALLS[op](
          tf,
          inputs.map(name => tensors[name]),
          attrs,
          (inner, others) => compute(inner, { ...tensors, ...others }),
        );
        [results].flat().forEach((tensor, index) => (tensors[names[index]] = tensor));
      }
      return tensors;
    };
    return async () => {
      const results = tf.tidy(() => {
        const tensors = compute(calls, {
          ...constantTensors,
          ...mapEntries(inputValues, (shape, data) => tf.tensor(data, shape)),
        });
        return mapEntries(Object.entries(outputs), name => tensors[name]);
      });
      const read = {};
      for (const [name, tensor] of Object.entries(results)) {
        read[name] = await tensor.data();
        tensor.dispose();
      }
      return read;
    };
  },
};

/** Loads a script that sets globals. */
const script = src =>
  new Promise((resolve, reject) =>
    document.head.append(
      Object.assign(document.createElement('script'), { src, onload: resolve, onerror: reject }),
    ),
  );

const pads = ({ pad_low, pad_high }) => [
  [0, 0],
  [pad_low[0], pad_high[0]],
  [pad_low[1], pad_high[1]],
  [0, 0],
];

const conv =
  kind =>
  (tf, [x, filter, bias], { strides, dilation, activation, ...sides }) =>
    tf.fused[kind]({
      x,
      filter,
      bias,
      strides,
      dilations: dilation,
      pad: pads(sides),
      activation: activation ?? 'linear',
    });

/** A transposed convolution with padding 'same': output size = input size times stride. */
function convTranspose(tf, [x, filter, bias], { strides, pad_low: low, pad_high: high }) {
  const sizes = strides.map(
    (stride, axis) =>
      (x.shape[axis + 1] - 1) * stride + 2 + low[axis] + high[axis] - filter.shape[axis],
  );
  if (sizes.some((size, axis) => size !== x.shape[axis + 1] * strides[axis]))
    throw new Error(`a transposed convolution with the output sizes ${sizes}`);
  const y = tf.conv2dTranspose(x, filter, [x.shape[0], ...sizes, filter.shape[2]], strides, 'same');
  return bias ? tf.add(y, bias) : y;
}

/** An einsum of two tensors by transpositions and a matrix product (not in TensorFlow.js). */
function einsum(tf, [a, b], { equation }) {
  const [left, right, result] = equation.split(/,|->/).map(word => [...word]);
  const both = left.filter(axis => right.includes(axis) && result.includes(axis));
  const inner = left.filter(axis => right.includes(axis) && !result.includes(axis));
  const sizes = Object.fromEntries([
    ...left.map((axis, at) => [axis, a.shape[at]]),
    ...right.map((axis, at) => [axis, b.shape[at]]),
  ]);
  const size = axes => axes.reduce((product, axis) => product * sizes[axis], 1);
  const [rows, columns] = [left, right].map(axes =>
    axes.filter(axis => !both.includes(axis) && !inner.includes(axis)),
  );
  const arranged = (x, axes, order, shape) =>
    tf.reshape(
      tf.transpose(
        x,
        order.map(axis => axes.indexOf(axis)),
      ),
      shape,
    );
  const product = tf.matMul(
    arranged(a, left, [...both, ...rows, ...inner], [size(both), size(rows), size(inner)]),
    arranged(b, right, [...both, ...inner, ...columns], [size(both), size(inner), size(columns)]),
  );
  const axes = [...both, ...rows, ...columns];
  return tf.transpose(
    tf.reshape(
      product,
      axes.map(axis => sizes[axis]),
    ),
    result.map(axis => axes.indexOf(axis)),
  );
}

/** The final states of a recurrence. */
function scan(tf, tensors, { body, axes }, compute) {
  let states = tensors.slice(0, body.outputs.length);
  const captured = tensors.slice(states.length + axes.length);
  const steps = axes.map((axis, at) => tf.unstack(tensors[states.length + at], axis));
  for (let step = 0; step < steps[0].length; step++) {
    const operands = [...states, ...steps.map(slices => slices[step]), ...captured];
    const results = compute(
      body.calls,
      Object.fromEntries(body.inputs.map((name, at) => [name, operands[at]])),
    );
    states = body.outputs.map(name => results[name]);
  }
  return states;
}

/** The operators of calls.json, as functions of TensorFlow.js. */
const CALLS = {
  Conv: conv('conv2d'),
  DepthwiseConv: conv('depthwiseConv2d'),
  Add: (tf, [a, b]) => tf.add(a, b),
  Mul: (tf, [a, b]) => tf.mul(a, b),
  MatMul: (tf, [a, b]) => tf.matMul(a, b),
  ConvTranspose: convTranspose,
  Einsum: einsum,
  Scan: scan,
  Slice: (tf, [x], { starts, sizes, steps }) =>
    tf.stridedSlice(
      x,
      starts,
      starts.map((start, axis) => start + sizes[axis] * steps[axis]),
      steps,
    ),
  Div: (tf, [a, b]) => tf.div(a, b),
  Sub: (tf, [a, b]) => tf.sub(a, b),
  Square: (tf, [x]) => tf.square(x),
  Rsqrt: (tf, [x]) => tf.rsqrt(x),
  Sigmoid: (tf, [x]) => tf.sigmoid(x),
  Silu: (tf, [x]) => tf.mul(x, tf.sigmoid(x)),
  Gelu: (tf, [x]) => tf.mul(tf.mul(x, 0.5), tf.add(tf.erf(tf.mul(x, Math.SQRT1_2)), 1)),
  Reshape: (tf, [x], { shape }) => tf.reshape(x, shape),
  Transpose: (tf, [x], { perm }) => tf.transpose(x, perm),
  Relu: (tf, [x]) => tf.relu(x),
  Tanh: (tf, [x]) => tf.tanh(x),
  LeakyRelu: (tf, [x], { alpha }) => tf.leakyRelu(x, alpha),
  Clip: (tf, [x], { min, max }) => tf.clipByValue(x, min, max),
  Softmax: (tf, [x], { axis }) => tf.softmax(x, axis),
  Concat: (tf, tensors, { axis }) => tf.concat(tensors, axis),
  ReduceMean: (tf, [x], { axes, keepdims }) => tf.mean(x, axes, keepdims),
  MaxPool: (tf, [x], { window, strides, ...sides }) => tf.maxPool(x, window, strides, pads(sides)),
  AvgPool: (tf, [x], { window, strides, ...sides }) => tf.avgPool(x, window, strides, pads(sides)),
  Pad: (tf, [x], { low, high, value }) =>
    tf.pad(
      x,
      low.map((size, axis) => [size, high[axis]]),
      value,
    ),
};

const COUNTED = 3;

/** Threads of other engines spin for some milliseconds after a run before they sleep. */
const CALM_MS = 50;

/** The time until a system schedules two threads on separate processors. */
const WARM_MS = 100;

const calm = () => new Promise(resolve => setTimeout(resolve, CALM_MS));

const PEAK_STEPS = 500000;

/** GFLOP/s of ten independent relaxed multiplications and additions. */
async function peak() {
  const { instance } = await WebAssembly.instantiate(await bytes('/data/peak.wasm'), {
    env: { memory: new WebAssembly.Memory({ initial: 16, maximum: 65536, shared: true }) },
  });
  return () => {
    const start = performance.now();
    instance.exports.peak(PEAK_STEPS);
    return (PEAK_STEPS * 80) / (performance.now() - start) / 1e6;
  };
}

/** A random order, so that side effects of an engine (such as on caches) affect all others. */
function shuffled(names) {
  const remaining = [...names];
  return names.map(() => remaining.splice(Math.floor(Math.random() * remaining.length), 1)[0]);
}

/**
 * Each round runs every entry of `requested`, { name, engine, ...options }, in random order: after
 * a pause it warms up, then COUNTED runs are timed. Returns milliseconds by name and run, the first
 * outputs, the peak by round, and the errors of other engines that cannot run the network.
 */
export async function run(requested, options, rounds) {
  const engines = {};
  const outputs = {};
  const refused = {};
  for (const { name, engine, ...others } of requested) {
    try {
      const compute = await ENGINES[engine]({ ...options, ...others });
      outputs[name] = mapEntries(Object.entries(await compute()), values => Array.from(values));
      engines[name] = compute;
    } catch (error) {
      if (engine === 'webkiln') throw error;
      refused[name] = String(error);
    }
  }
  const names = Object.keys(engines);
  for (let warm = 0; warm < 3; warm++) for (const name of names) await engines[name]();
  const times = Object.fromEntries(names.map(name => [name, []]));
  const peaks = [];
  const measurePeak = await peak();
  for (let round = 0; round < rounds; round++) {
    peaks.push(measurePeak());
    for (const name of shuffled(names)) {
      await calm();
      const begin = performance.now();
      do await engines[name]();
      while (performance.now() - begin < WARM_MS);
      for (let run = 0; run < COUNTED; run++) {
        const start = performance.now();
        await engines[name]();
        times[name].push(performance.now() - start);
      }
    }
  }
  return { times, outputs, peaks, refused };
}
