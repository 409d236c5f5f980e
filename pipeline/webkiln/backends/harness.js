/*
 * Frames transfer tensors between Python and JavaScript. A frame consists of the length of a JSON
 * header (u32, little-endian), the header, and the bytes of its `tensors` ({name, dtype, shape,
 * bytes}) in order. String tensors are encoded as a JSON list.
 */

const ARRAYS = {
  float32: Float32Array,
  float64: Float64Array,
  bool: Uint8Array,
  float16: Uint16Array,
  int8: Int8Array,
  int16: Int16Array,
  int32: Int32Array,
  int64: BigInt64Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
  uint64: BigUint64Array,
};

export function decode(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  let offset = 4 + length;
  const values = Object.create(null),
    shapes = Object.create(null);
  for (const { name, dtype, shape, bytes } of header.tensors) {
    shapes[name] = shape;
    const data = buffer.slice(offset, offset + bytes);
    values[name] =
      dtype === 'string' ? JSON.parse(new TextDecoder().decode(data)) : new ARRAYS[dtype](data);
    offset += bytes;
  }
  return { values, shapes };
}

/** The placeholders of a bundle for inputs of these shapes. */
export function placeholdersOf(manifest, shapes) {
  const inputs = manifest.inputs.map(({ name, shape, text }) =>
    text ? { name: text.input, shape: text.shape } : { name, shape },
  );
  const pairs = inputs.flatMap(({ name, shape }) =>
    shape.map((size, axis) => [size, shapes[name][axis]]),
  );
  return Object.fromEntries(pairs.filter(([size]) => manifest.placeholders.includes(size)));
}

export function encode(header, arrays) {
  const tensors = header.tensors.map((tensor, index) => ({
    ...tensor,
    bytes: arrays[index].byteLength,
  }));
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

/** The median time of a few runs, after a first run that warms up the engine. */
async function medianTime(model, inputs, options) {
  const times = [];
  for (
    const begin = performance.now();
    times.length < REPEATS && (times.length === 0 || performance.now() - begin < BUDGET_MS);
  ) {
    await model.run(inputs, options);
    times.push(model.stats.lastRunMs);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}

/**
 * Load a bundle. If its products may be computed in float16, they are wherever the device can, also
 * where that is slower. Then it is loaded in this thread, and `products` is the dtype; else null.
 */
async function loadWithFloat16({ load, manifest }, options) {
  const { precision } = manifest.backends[options.backends[0]];
  if (precision !== 'float16-arithmetic') return { model: await load(options), products: null };
  let products = 'float32';
  globalThis[Symbol.for('webkiln.webgpu.float16')] = () => {
    products = 'float16';
    return true;
  };
  return { model: await load({ ...options, worker: false }), products };
}

/** Run a bundle on each input set, from its initial states, and pass one frame per set to `put`. */
export async function runSets({ bundle, backend, variant, layers, worker, count }, get, put) {
  const module = await import(bundle);
  const { manifest } = module;
  const options = { backends: [backend], worker, ...(variant ? { variant } : {}) };
  const { model, products } = await loadWithFloat16(module, options);
  for (let set = 0; set < count; set++) {
    await model.reset();
    const { values: inputs, shapes } = decode(await get(set));
    const placeholders = placeholdersOf(manifest, shapes);
    const outputs = await model.run(inputs, { placeholders });
    const layerValues = layers ? await model.layers() : [];
    const tensors = [
      ...manifest.outputs.map(({ name, dtype }) => ({ name, dtype, shape: model.shapes[name] })),
      ...layerValues.map(({ layer, variable, dtype, shape }) => ({
        name: variable,
        layer,
        dtype,
        shape,
      })),
    ];
    const arrays = [
      ...manifest.outputs.map(({ name }) => outputs[name]),
      ...layerValues.map(({ data }) => data),
    ];
    const { stats, worker: remote } = model;
    const ms = await medianTime(model, inputs, { placeholders });
    await put(
      set,
      encode(
        { ms, loadMs: stats.loadMs, variant: model.variant, products, worker: remote, tensors },
        arrays,
      ),
    );
  }
  model.dispose();
}
