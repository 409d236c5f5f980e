import { counted, failure, replaced, runScenarios } from './scenarios.mjs';

const STORAGE = GPUBufferUsage.STORAGE,
  FROM = GPUBufferUsage.COPY_SRC,
  TO = GPUBufferUsage.COPY_DST,
  MAP = GPUBufferUsage.MAP_READ;
const LOCAL = { backends: 'webgpu', worker: false };

const drawn = (count, seed = 1) =>
  Float32Array.from({ length: count }, (_, index) => Math.sin(seed + 1.7 * index));

function bufferOf(device, values, usage = FROM | TO) {
  const buffer = device.createBuffer({ size: values.byteLength, usage });
  if (usage & TO) device.queue.writeBuffer(buffer, 0, values);
  return buffer;
}

async function read(device, buffer, type = Float32Array, size = buffer.size) {
  const into = device.createBuffer({ size, usage: MAP | TO });
  const encoder = device.createCommandEncoder();
  encoder.copyBufferToBuffer(buffer, 0, into, 0, size);
  device.queue.submit([encoder.finish()]);
  await into.mapAsync(1);
  const values = new type(into.getMappedRange().slice(0));
  into.destroy();
  return values;
}

const equal = (one, other) =>
  one.length === other.length && one.every((value, index) => Object.is(value, other[index]));
const other = async () => (await navigator.gpu.requestAdapter()).requestDevice();
const named = name => import(`/${name}/index.js`);

const METHODS = [
  [GPUDevice.prototype, 'createBuffer', 'buffers'],
  [GPUDevice.prototype, 'createBindGroup', 'groups'],
  [GPUQueue.prototype, 'submit', 'submitted'],
];

/** The numbers of calls of METHODS while `action` runs. */
const costOf = action =>
  counted(METHODS, async counts => {
    await action();
    return { ...counts };
  });

const SCENARIOS = {
  async chained({ load }) {
    const [first, second] = [await load(LOCAL), await load(LOCAL)];
    const x = drawn(48);
    const { y } = await first.run({ x });
    const expected = await second.run({ x: y });
    return counted([[GPUBuffer.prototype, 'mapAsync', 'mapped']], async counts => {
      const onGpu = await first.run({ x }, { outputs: 'gpu' });
      const fresh = await second.run({ x: onGpu.y }, { outputs: { y: 'gpu', z: 'gpu' } });
      const between = bufferOf(first.device, x),
        end = bufferOf(first.device, new Float32Array(60), STORAGE | FROM | TO);
      const filled = await first.run({ x: between }, { outputs: { y: between, z: end } });
      const { y: returned } = await second.run(
        { x: filled.y },
        { outputs: { y: end, z: between } },
      );
      const { mapped } = counts;
      const mixed = await second.run({ x: onGpu.y }, { outputs: { z: 'gpu' } });
      const results = {
        fresh:
          equal(await read(first.device, fresh.y), expected.y) &&
          equal(await read(first.device, fresh.z), expected.z),
        given:
          returned === end && equal(await read(first.device, end, Float32Array, 192), expected.y),
        mixed: equal(mixed.y, expected.y) && equal(await read(first.device, mixed.z), expected.z),
        same: first.device === second.device,
        kinds: [onGpu.y, mixed.y].map(value => value.constructor.name),
        mapped,
      };
      for (const model of [first, second]) model.dispose();
      return results;
    });
  },

  async overlapping({ load }) {
    const model = await load(LOCAL);
    const inputs = Array.from({ length: 8 }, (_, index) => drawn(48, index));
    const expected = [];
    for (const x of inputs) expected.push(await model.run({ x }));
    const begun = [],
      order = [];
    let slots = new Set();
    const { submit } = GPUQueue.prototype,
      { mapAsync } = GPUBuffer.prototype;
    const got = await replaced(
      GPUQueue.prototype,
      'submit',
      function (...args) {
        begun.push('submit');
        return submit.apply(this, args);
      },
      () =>
        replaced(
          GPUBuffer.prototype,
          'mapAsync',
          function (...args) {
            begun.push('map');
            slots.add(this);
            return mapAsync.apply(this, args);
          },
          async () => {
            const x = new Float32Array(48);
            const runs = inputs.map((values, index) => {
              x.set(values);
              return model.run({ x }).then(outputs => {
                order.push(index);
                return outputs;
              });
            });
            const first = [...begun];
            const outputs = await Promise.all(runs);
            begun.splice(0, begun.length, ...first);
            return outputs;
          },
        ),
    );
    model.dispose();
    const remote = await load({ backends: 'webgpu' });
    const remoteResults = await Promise.all(inputs.map(x => remote.run({ x })));
    remote.dispose();
    return {
      worker: remote.worker && remoteResults.every(({ y }, index) => equal(y, expected[index].y)),
      begun,
      order,
      slots: slots.size,
      right: got.every(({ y }, index) => equal(y, expected[index].y)),
    };
  },

  async refused({ load }) {
    const model = await load(LOCAL);
    const { device } = model;
    const x = drawn(48);
    const expected = await model.run({ x });
    const [foreign, destroyed, mapped] = [
      bufferOf(await other(), x),
      bufferOf(device, x),
      device.createBuffer({ size: 192, usage: FROM | GPUBufferUsage.MAP_WRITE }),
    ];
    destroyed.destroy();
    await mapped.mapAsync(GPUMapMode.WRITE);
    const sound = bufferOf(device, x);
    const results = {};
    const runs = {
      small: [{ x: bufferOf(device, x.slice(0, 24)) }],
      usage: [{ x: bufferOf(device, x, TO | STORAGE) }],
      device: [{ x: foreign }],
      destroyed: [{ x: destroyed }],
      mapped: [{ x: mapped }],
      outputSmall: [{ x: sound }, { outputs: { y: bufferOf(device, x.slice(0, 24)) } }],
      outputUsage: [{ x }, { outputs: { z: 'gpu', y: bufferOf(device, x, FROM) } }],
      outputDevice: [{ x }, { outputs: { z: 'gpu', y: foreign } }],
      outputName: [{ x }, { outputs: { w: 'gpu' } }],
      outputValue: [{ x }, { outputs: { y: 'cpu' } }],
      outputKind: [{ x }, { outputs: 'GPU' }],
    };
    for (const [name, args] of Object.entries(runs))
      results[name] = await failure(model.run(...args));
    const [, next] = await Promise.all([
      failure(model.run({ x: foreign })),
      model.run({ x: sound }),
    ]);
    results.afterwards = equal(next.y, expected.y) && equal((await model.run({ x })).z, expected.z);
    model.dispose();
    return results;
  },

  async elsewhere({ load }) {
    const [device, js, worker] = [
      await other(),
      await load({ backends: 'js', worker: false }),
      await load({ backends: 'webgpu' }),
    ];
    const x = bufferOf(device, drawn(48));
    const results = {
      js: await failure(js.run({ x })),
      worker: await failure(worker.run({ x })),
      outputs: await failure(js.run({ x: drawn(48) }, { outputs: 'gpu' })),
      device: await failure(load({ backends: 'js', worker: false, device })),
      deviceInWorker: await failure(load({ backends: 'webgpu', device })),
      noDevice: await failure(load({ ...LOCAL, device: {} })),
      devices: [js.device, worker.device],
    };
    for (const model of [js, worker]) model.dispose();
    return results;
  },

  async given({ load }) {
    const x = drawn(48);
    const usual = await load(LOCAL);
    const expected = await usual.run({ x });
    usual.dispose();
    const device = await other();
    const model = await load({ ...LOCAL, device });
    const { y } = await model.run({ x: bufferOf(device, x) }, { outputs: 'gpu' });
    const right = equal(await read(device, y), expected.y);
    device.createBuffer({ size: 16, usage: 0 });
    await device.queue.onSubmittedWorkDone();
    const own = (await failure(model.run({ x }))) ?? { code: 'no error' };
    model.dispose();
    const usable = equal(await read(device, y), expected.y);
    const limits = { maxStorageBufferBindingSize: 64, maxBufferSize: 64 };
    const small = await replaced(device, 'limits', limits, () =>
      failure(load({ ...LOCAL, device })),
    );
    device.destroy();
    return { same: model.device === device, right, usable, own, small };
  },

  async disposed({ load }) {
    const model = await load(LOCAL);
    const x = drawn(48);
    await model.run({ x });
    const { device } = model;
    const buffers = [];
    const { createBuffer } = GPUDevice.prototype,
      { destroy } = GPUBuffer.prototype;
    const codes = await replaced(
      GPUDevice.prototype,
      'createBuffer',
      function (descriptor) {
        const buffer = createBuffer.call(this, descriptor);
        buffers.push(buffer);
        return buffer;
      },
      () =>
        replaced(
          GPUBuffer.prototype,
          'destroy',
          function () {
            if (buffers.includes(this)) buffers.splice(buffers.indexOf(this), 1);
            return destroy.call(this);
          },
          async () => {
            const runs = [
              model.run({ x }),
              model.run({ x }, { outputs: 'gpu' }),
              model.run({ x }),
            ].map(failure);
            model.dispose();
            const rejections = (await Promise.all(runs)).map(({ code }) => code);
            await new Promise(resolve => setTimeout(resolve, 500));
            return rejections;
          },
        ),
    );
    const reloaded = await load(LOCAL);
    const lost = reloaded.device !== device;
    reloaded.dispose();
    return { codes, left: buffers.length, lost };
  },

  async allocations({ load }) {
    const model = await load(LOCAL);
    const x = drawn(48),
      input = bufferOf(model.device, x),
      y = bufferOf(model.device, x),
      z = bufferOf(model.device, x);
    await model.run({ x });
    const arrays = await costOf(() => model.run({ x }));
    const lent = await costOf(() => model.run({ x: input }, { outputs: { y, z } }));
    const fresh = await costOf(() => model.run({ x }, { outputs: 'gpu' }));
    model.dispose();
    const others = {};
    for (const name of ['stateful', 'data_dependent']) {
      const {
        load: open,
        manifest: {
          inputs: [{ shape }],
        },
      } = await named(name);
      const loaded = await open(LOCAL);
      const values = drawn(shape.reduce((product, size) => product * size, 1));
      for (let run = 0; run < 2; run++) await loaded.run(values);
      others[name] = await costOf(() => loaded.run(values));
      loaded.dispose();
    }
    return { arrays, lent, fresh, ...others };
  },

  async states() {
    const {
      load,
      manifest: {
        inputs: [{ name: input }],
        outputs: [{ name }],
      },
    } = await named('stateful');
    const model = await load(LOCAL);
    const runs = Array.from({ length: 5 }, (_, index) => ({ [input]: drawn(8, index) }));
    const expected = [];
    for (const inputs of runs) expected.push((await model.run(inputs))[name]);
    await model.reset();
    const got = await Promise.all(runs.map(inputs => model.run(inputs)));
    await model.reset();
    const onGpu = await Promise.all(runs.map(inputs => model.run(inputs, { outputs: 'gpu' })));
    const words = await Promise.all(onGpu.map(outputs => read(model.device, outputs[name])));
    const [, , between] = await Promise.all([
      model.run(runs[0]),
      model.reset(),
      model.run(runs[0]),
    ]);
    model.dispose();
    return {
      overlapping: got.every((outputs, index) => equal(outputs[name], expected[index])),
      kept: words.every((values, index) => equal(values, expected[index])),
      changes: !equal(expected[0], expected[1]),
      reset: equal(between[name], expected[0]),
    };
  },

  async typed() {
    const { load } = await named('typed');
    const model = await load(LOCAL);
    const { device } = model;
    const inputs = {
      n: bufferOf(device, new Int32Array([1, -2, 3])),
      flags: [true, false, true],
      bytes: bufferOf(device, new Int32Array([0, 255, 3, 4, 5, 6, 7, 8])),
    };
    const outputs = await model.run(inputs, { outputs: 'gpu' });
    const words = {};
    for (const [name, buffer] of Object.entries(outputs))
      words[name] = [...(await read(device, buffer, Int32Array))];
    const packed = await failure(
      model.run({ ...inputs, bytes: bufferOf(device, new Uint8Array(8)) }),
    );
    model.dispose();
    return { words, packed };
  },

  async data_dependent() {
    const { load } = await named('data_dependent');
    const model = await load(LOCAL);
    const { device } = model;
    const own = device.createBuffer({ size: 24, usage: FROM | TO });
    const shapes = [],
      sizes = [],
      words = [];
    for (const [values, output] of [
      [[0, 1, 0, 0, 2, 0], 'gpu'],
      [[3, 0, 1, 0, 0, 1], own],
    ]) {
      const { y } = await model.run(
        { x: bufferOf(device, new Float32Array(values)) },
        { outputs: { y: output } },
      );
      const { y: shape } = model.shapes;
      shapes.push(shape);
      sizes.push(y.size);
      words.push([...(await read(device, y, Int32Array, 4 * shape[1]))]);
    }
    model.dispose();
    return { shapes, sizes, words };
  },

  async open() {
    const { load } = await named('open');
    const model = await load(LOCAL);
    const lengths = [2, 5, 2];
    const expected = [],
      shapes = [];
    for (const rows of lengths) expected.push((await model.run({ x: drawn(16 * rows, rows) })).y);
    const runs = lengths.map(rows =>
      model
        .run(
          { x: bufferOf(model.device, drawn(16 * rows, rows)) },
          rows === 5 ? {} : { outputs: { y: 'gpu' } },
        )
        .then(outputs => {
          shapes.push(model.shapes.y);
          return outputs;
        }),
    );
    const got = await Promise.all(runs);
    const words = await Promise.all(
      got.map(({ y }) => (ArrayBuffer.isView(y) ? y : read(model.device, y))),
    );
    model.dispose();
    return { shapes, right: words.every((values, index) => equal(values, expected[index])) };
  },
};

export const runSets = runScenarios(SCENARIOS, () => {
  delete globalThis[Symbol.for('webkiln.webgpu.2')];
});
