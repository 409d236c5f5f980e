import { counted, failure, replaced, runScenarios } from './scenarios.mjs';

/** The adapter with a device that `change` derives from the real one. */
const changedDevice = change =>
  async function requestAdapter(options) {
    const adapter = await GPU.prototype.requestAdapter.call(this, options);
    const { info, limits, features } = adapter;
    return {
      info,
      limits,
      features,
      requestDevice: async descriptor => change(await adapter.requestDevice(descriptor)),
    };
  };

const { mapAsync } = GPUBuffer.prototype;

const SCENARIOS = {
  async lost({ load, manifest }, input) {
    let device;
    const model = await replaced(
      navigator.gpu,
      'requestAdapter',
      changedDevice(found => (device = found)),
      () => load({ backends: ['webgpu'], worker: false }),
    );
    const first = await model.run(input);
    const pending = await replaced(
      GPUBuffer.prototype,
      'mapAsync',
      function (mode) {
        device.destroy();
        return mapAsync.call(this, mode);
      },
      () => failure(model.run(input)),
    );
    const second = await model.run(input);
    const other = model.device !== device;
    model.dispose();
    const { name } = manifest.outputs[0];
    const same = first[name].every((value, at) => value === second[name][at]);
    return { pending, other, same };
  },

  /**
   * The page destroys the shared device while runs are pending, and loads again immediately, in the
   * page and in a Worker.
   */
  async destroyed({ load }, input) {
    const options = { backends: ['webgpu'], worker: false };
    const usable = async options => {
      const model = await load(options);
      await model.run(input);
      model.dispose();
      return 'ok';
    };
    const first = await load(options);
    await first.run(input);
    const pending = [first.run(input), first.run(input), first.run(input, { outputs: 'gpu' })];
    first.device.destroy();
    const later = [first.run(input), first.run(input, { outputs: 'gpu' })];
    const again = usable(options);
    const errors = await Promise.all([...pending, ...later].map(failure));
    await again;
    await first.run(input);
    first.dispose();
    const idle = await load(options);
    idle.device.destroy();
    const inWorker = await usable({ backends: ['webgpu'] });
    await idle.run(input);
    idle.dispose();
    const model = await load(options);
    model.device.destroy();
    errors.push(await failure(model.run(input, { outputs: 'gpu' })));
    const kept = await model.run(input, { outputs: 'gpu' });
    const onNewDevice = Object.values(kept).every(buffer => buffer.size > 0);
    model.dispose();
    const afterwards = await usable(options);
    return { errors, again: await again, inWorker, onNewDevice, afterwards };
  },

  /** The page destroys its own device before, during and after a load with it. */
  async destroyedOwn({ load }, input) {
    const make = async () => (await navigator.gpu.requestAdapter()).requestDevice();
    const optionsWith = device => ({ backends: ['webgpu'], worker: false, device });
    const [before, during, after] = [await make(), await make(), await make()];
    before.destroy();
    const errors = [await failure(load(optionsWith(before)))];
    const loading = failure(load(optionsWith(during)).then(model => model.run(input)));
    during.destroy();
    errors.push(await loading);
    const model = await load(optionsWith(after));
    const pending = failure(model.run(input));
    after.destroy();
    errors.push(
      await pending,
      await failure(model.run(input)),
      await failure(load(optionsWith(after))),
    );
    model.dispose();
    return { errors };
  },

  async broken({ load }, input) {
    let device;
    const model = await replaced(
      navigator.gpu,
      'requestAdapter',
      changedDevice(found => (device = found)),
      () => load({ backends: ['webgpu'], worker: false }),
    );
    const reported = new Promise(resolve => device.addEventListener('uncapturederror', resolve));
    device.createBuffer({ size: 16, usage: 0 }).destroy();
    await Promise.all([reported, device.queue.onSubmittedWorkDone()]);
    const error = await failure(model.run(input));
    model.dispose();
    const reloaded = await load({ backends: ['webgpu'], worker: false });
    const outputs = await reloaded.run(input);
    reloaded.dispose();
    return { error, again: Object.keys(outputs).length };
  },

  async absent({ load }) {
    return replaced(navigator, 'gpu', undefined, async () => {
      const alone = await failure(load({ backends: ['webgpu'], worker: false }));
      const model = await load({ backends: ['webgpu', 'js'], worker: false });
      model.dispose();
      return { alone, backend: model.backend, failures: model.failures };
    });
  },

  async blocked({ load }) {
    return replaced(
      navigator.gpu,
      'requestAdapter',
      async () => null,
      () => failure(load({ backends: ['webgpu'], worker: false })),
    );
  },

  async small({ load }) {
    const limited = device =>
      new Proxy(device, {
        get(target, key) {
          if (key === 'limits') return { maxStorageBufferBindingSize: 1024, maxBufferSize: 4096 };
          const value = target[key];
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
    return replaced(navigator.gpu, 'requestAdapter', changedDevice(limited), () =>
      failure(load({ backends: ['webgpu'], worker: false })),
    );
  },

  counted({ load }, input) {
    const methods = [
      [GPUDevice.prototype, 'createBuffer', 'created'],
      [GPUBuffer.prototype, 'destroy', 'destroyed'],
      [GPUQueue.prototype, 'submit', 'submitted'],
      [GPUBuffer.prototype, 'mapAsync', 'mapped'],
    ];
    return counted(methods, async counts => {
      const model = await load({ backends: ['webgpu'], worker: false });
      await model.run(input);
      const { submitted, mapped } = counts;
      await model.run(input);
      const run = { submitted: counts.submitted - submitted, mapped: counts.mapped - mapped };
      model.dispose();
      return { run, created: counts.created, destroyed: counts.destroyed };
    });
  },
};

export const runSets = runScenarios(SCENARIOS, () => {
  delete globalThis[Symbol.for('webkiln.webgpu.2')];
});
