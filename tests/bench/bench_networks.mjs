const bytes = async (path) => new Uint8Array(await (await fetch(path)).arrayBuffer());

const floats = async (path) => new Float32Array((await bytes(path)).buffer);

/** Every engine is `async () => Float32Array`, the whole call with its input and output. */
const ENGINES = {
  async webkiln({ input, backend, variant }) {
    const { load } = await import("/bundle/index.js");
    const model = await load({ backends: [backend], worker: false, ...(variant ? { variant } : {}) });
    const data = await floats("/data/last.bin");
    return async () => Object.values(await model.run({ [input]: data.slice() }))[0];
  },

  async onnxruntime({ input, first }) {
    const ort = await import("/npm/onnxruntime-web/dist/ort.wasm.bundle.min.mjs");
    ort.env.wasm.numThreads = 1;
    ort.env.wasm.wasmPaths = "/npm/onnxruntime-web/dist/";
    const session = await ort.InferenceSession.create(await bytes("/data/model.onnx"), { executionProviders: ["wasm"], graphOptimizationLevel: "all" });
    const data = await floats("/data/first.bin");
    return async () => {
      const outputs = await session.run({ [input]: new ort.Tensor("float32", data, first) });
      return Object.values(outputs)[0].data;
    };
  },

  async litert({ last }) {
    const { loadLiteRt, loadAndCompile, Tensor } = await import("/npm/@litertjs/core/dist/index.js");
    await loadLiteRt("/npm/@litertjs/core/wasm/", { threads: false });
    const model = await loadAndCompile("/data/model.tflite", { accelerator: "wasm", cpuOptions: { numThreads: 1 } });
    const data = await floats("/data/last.bin");
    return async () => {
      const tensor = new Tensor(data, last);
      const outputs = await model.run(tensor);
      const value = outputs[0].toTypedArray().slice();
      for (const item of [tensor, ...outputs]) item.delete();
      return value;
    };
  },
};

/** Runs every engine once a round, in turn; gives milliseconds by engine and round, and the first outputs. */
export async function run(names, options, rounds) {
  const engines = {};
  const outputs = {};
  for (const name of names) {
    engines[name] = await ENGINES[name](options);
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
