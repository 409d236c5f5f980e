/**
 * Frames carry tensors between Python and JavaScript: the length of a JSON header (u32, little-endian), the header, then the bytes of
 * its `tensors` ({name, dtype, shape, bytes}) one after another.
 */
const ARRAYS = {
  float32: Float32Array, float64: Float64Array, bool: Uint8Array, float16: Uint16Array,
  int8: Int8Array, int16: Int16Array, int32: Int32Array, int64: BigInt64Array,
  uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, uint64: BigUint64Array,
};

export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let offset = 4 + length;
  const values = {};
  for (const { name, dtype, bytes } of header.tensors) {
    values[name] = new ARRAYS[dtype](buffer.slice(offset, offset + bytes));
    offset += bytes;
  }
  return values;
}

export function encode(header, arrays) {
  const tensors = header.tensors.map((tensor, index) => ({ ...tensor, bytes: arrays[index].byteLength }));
  const text = new TextEncoder().encode(JSON.stringify({ ...header, tensors }));
  const total = arrays.reduce((sum, array) => sum + array.byteLength, 4 + text.length);
  const frame = new Uint8Array(total);
  new DataView(frame.buffer).setUint32(0, text.length, true);
  frame.set(text, 4);
  let offset = 4 + text.length;
  for (const array of arrays) {
    frame.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength), offset);
    offset += array.byteLength;
  }
  return frame;
}

const REPEATS = 5;
const BUDGET_MS = 500;

/** The median time of a few runs; the first, which has not been compiled yet, does not count. */
async function time(model, inputs) {
  const times = [];
  for (const begin = performance.now(); times.length < REPEATS && (times.length === 0 || performance.now() - begin < BUDGET_MS);) {
    await model.run(inputs);
    times.push(model.stats.lastRunMs);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}

/** Runs a bundle on each input set, from its initial states, and hands one frame per set to `put`. */
export async function runSets({ bundle, backend, variant, layers, worker, count }, get, put) {
  const { load, manifest } = await import(bundle);
  const model = await load({ backends: [backend], worker, ...(variant ? { variant } : {}) });
  for (let set = 0; set < count; set++) {
    await model.reset();
    const inputs = decode(await get(set));
    const outputs = await model.run(inputs);
    const kept = layers ? await model.layers() : [];
    const tensors = [
      ...manifest.outputs.map(({ name, dtype, shape }) => ({ name, dtype, shape })),
      ...kept.map(({ layer, variable, dtype, shape }) => ({ name: variable, layer, dtype, shape })),
    ];
    const arrays = [...manifest.outputs.map(({ name }) => outputs[name]), ...kept.map(({ data }) => data)];
    const { stats, worker: remote } = model;
    const ms = await time(model, inputs);
    await put(set, encode({ ms, loadMs: stats.loadMs, variant: model.variant, worker: remote, tensors }, arrays));
  }
  model.dispose();
}
