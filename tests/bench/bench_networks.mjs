const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());

const floats = async (path) => new Float32Array((await bytes(path)).buffer);

/** What webkiln has with one thread, where the others have several. */
const ALONE = "webkiln alone";

/** Every engine is `async () => Float32Array`, the whole call with its input and output. */
const ENGINES = {
  async webkiln({ input, backend, variant, threads }) {
    const { load } = await import("/bundle/index.js");
    const model = await load({ backends: [backend], worker: threads > 1, threads, ...(variant ? { variant } : {}) });
    if (model.threads !== threads) throw new Error(`${model.threads} of ${threads} threads run webkiln`);
    const data = await floats("/data/last.bin");
    return async () => Object.values(await model.run({ [input]: data.slice() }))[0];
  },

  async onnxruntime({ input, first, threads }) {
    const ort = await import("/npm/onnxruntime-web/dist/ort.wasm.bundle.min.mjs");
    ort.env.wasm.numThreads = threads;
    ort.env.wasm.wasmPaths = "/npm/onnxruntime-web/dist/";
    const session = await ort.InferenceSession.create(await bytes("/data/model.onnx"), { executionProviders: ["wasm"], graphOptimizationLevel: "all" });
    const data = await floats("/data/first.bin");
    return async () => {
      const outputs = await session.run({ [input]: new ort.Tensor("float32", data, first) });
      return Object.values(outputs)[0].data;
    };
  },

  async litert({ last, threads }) {
    const { loadLiteRt, loadAndCompile, Tensor } = await import("/npm/@litertjs/core/dist/index.js");
    await loadLiteRt("/npm/@litertjs/core/wasm/", { threads: threads > 1 });
    const model = await loadAndCompile("/data/model.tflite", { accelerator: "wasm", cpuOptions: { numThreads: threads } });
    const data = await floats("/data/last.bin");
    return async () => {
      const tensor = new Tensor(data, last);
      const outputs = await model.run(tensor);
      const value = outputs[0].toTypedArray().slice();
      for (const item of [tensor, ...outputs]) item.delete();
      return value;
    };
  },

  async tfjs({ input, last, threads }) {
    await script("/npm/@tensorflow/tfjs-core/dist/tf-core.min.js");
    await script("/npm/@tensorflow/tfjs-backend-wasm/dist/tf-backend-wasm.min.js");
    const { tf } = globalThis;
    tf.wasm.setWasmPaths("/npm/@tensorflow/tfjs-backend-wasm/dist/");
    tf.wasm.setThreadsCount(threads);
    tf.env().set("WASM_HAS_MULTITHREAD_SUPPORT", threads > 1);
    await tf.setBackend("wasm");
    const { constants, calls, output } = await (await fetch("/data/calls.json")).json();
    const values = await floats("/data/calls.bin");
    const held = {};
    for (const [name, { offset, shape }] of Object.entries(constants)) {
      held[name] = tf.tensor(values.subarray(offset, offset + shape.reduce((a, b) => a * b, 1)), shape);
    }
    const data = await floats("/data/last.bin");
    const call = ({ op, inputs, ...attrs }, tensors) => CALLS[op](tf, inputs.map((name) => tensors[name]), attrs);
    return async () => {
      const result = tf.tidy(() => {
        const tensors = { ...held, [input]: tf.tensor(data, last) };
        for (const each of calls) tensors[each.name] = call(each, tensors);
        return tensors[output];
      });
      const value = await result.data();
      result.dispose();
      return value;
    };
  },
};

/** Loads a script that sets globals. */
const script = (src) => new Promise((resolve, reject) => document.head.append(Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject })));

const pads = ({ pad_low, pad_high }) => [[0, 0], [pad_low[0], pad_high[0]], [pad_low[1], pad_high[1]], [0, 0]];

const conv = (kind) => (tf, [x, filter, bias], { strides, dilation, activation, ...sides }) =>
  tf.fused[kind]({ x, filter, bias, strides, dilations: dilation, pad: pads(sides), activation: activation ?? "linear" });

/** The operators of calls.json, as functions of TensorFlow.js. */
const CALLS = {
  Conv: conv("conv2d"),
  DepthwiseConv: conv("depthwiseConv2d"),
  Add: (tf, [a, b]) => tf.add(a, b),
  Mul: (tf, [a, b]) => tf.mul(a, b),
  MatMul: (tf, [a, b]) => tf.matMul(a, b),
  Relu: (tf, [x]) => tf.relu(x),
  Tanh: (tf, [x]) => tf.tanh(x),
  LeakyRelu: (tf, [x], { alpha }) => tf.leakyRelu(x, alpha),
  Clip: (tf, [x], { min, max }) => tf.clipByValue(x, min, max),
  Softmax: (tf, [x], { axis }) => tf.softmax(x, axis),
  Concat: (tf, tensors, { axis }) => tf.concat(tensors, axis),
  ReduceMean: (tf, [x], { axes, keepdims }) => tf.mean(x, axes, keepdims),
  MaxPool: (tf, [x], { window, strides, ...sides }) => tf.maxPool(x, window, strides, pads(sides)),
  AvgPool: (tf, [x], { window, strides, ...sides }) => tf.avgPool(x, window, strides, pads(sides)),
  Pad: (tf, [x], { low, high, value }) => tf.pad(x, low.map((size, axis) => [size, high[axis]]), value),
};

/** Runs every engine once a round, in turn; gives milliseconds by engine and round, and the first outputs. */
export async function run(names, options, rounds) {
  const engines = {};
  const outputs = {};
  for (const name of names) {
    engines[name] = await (name === ALONE ? ENGINES.webkiln({ ...options, threads: 1 }) : ENGINES[name](options));
    outputs[name] = Array.from(await engines[name]());
  }
  for (let warm = 0; warm < 3; warm++) for (const name of names) await engines[name]();
  const times = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      const start = performance.now();
      await engines[name]();
      times[name].push(performance.now() - start);
    }
  }
  return { times, outputs };
}
