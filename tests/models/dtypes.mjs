import { encode } from '/harness/harness.js';

const PLAIN = {
  bool: [true, false, true, false],
  int64: [-5n, 0n, 7n, 2147483647n],
  uint64: [0n, 1n, 7n, 2147483647n],
};
const NUMBERS = {
  float32: [-1.5, 0, 0.25, 60000],
  float16: [-1.5, 0, 0.25, 60000],
  float64: [-1.5, 0, 0.25, 60000],
  int8: [-128, 0, 3, 127],
  uint8: [0, 1, 200, 255],
  int16: [-32768, 0, 3, 32767],
  uint16: [0, 1, 3, 65535],
  int32: [-2147483648, 0, 3, 2147483647],
  uint32: [0, 1, 3, 4294967295],
};
const HALVES = Uint16Array.of(0xbe00, 0, 0x3400, 0x7b53);
const OTHERS = {
  bool: Uint8Array.of(2, 0, 255, 0),
  uint8: Uint8ClampedArray.of(0, 1, 200, 255),
  float16: HALVES,
};

const codeOf = promise =>
  promise.then(
    () => 'no error',
    ({ code }) => code,
  );

/**
 * Pass every dtype to a model that returns it twice, in each form that `run` accepts; report the
 * values and the array types of the results.
 */
export async function runSets({ bundle, backend, worker }, get, put) {
  const { load, manifest } = await import(bundle);
  const model = await load({ backends: [backend], worker });
  const results = {};
  const plain = { ...NUMBERS, ...PLAIN };
  const arrays = { ...plain, float16: Float16Array.from(NUMBERS.float16) };
  const typed = name => model.run({ ...plain, [name]: arrays[name] });
  for (const { name, dtype } of manifest.inputs) {
    const forms = [plain[name], ...(OTHERS[name] ? [OTHERS[name], arrays[name]] : [])];
    for (const form of forms) {
      const { [`${name}_out`]: got } = await model.run({ ...plain, [name]: form });
      (results[dtype] ??= []).push([got.constructor.name, Array.from(got, Number)]);
    }
    const own = (await typed(name))[`${name}_out`];
    const repeated = (await model.run({ ...plain, [name]: own.slice(0, 4) }))[`${name}_out`];
    results[dtype].push([repeated.constructor.name, Array.from(repeated, Number)]);
    const wrong = dtype === 'float64' ? new Float32Array(4) : new Float64Array(4);
    results[dtype].push(await codeOf(model.run({ ...plain, [name]: wrong })));
  }
  model.dispose();
  const bytes = new TextEncoder().encode(JSON.stringify(results));
  await put(
    0,
    encode(
      {
        ms: 0,
        loadMs: 0,
        variant: null,
        tensors: [{ name: 'found', dtype: 'uint8', shape: [bytes.length] }],
      },
      [bytes],
    ),
  );
}
