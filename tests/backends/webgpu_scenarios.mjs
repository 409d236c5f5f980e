import { counted, failure, replaced, runScenarios } from './scenarios.mjs';

/** The adapter with another device, which `change` makes of the real one. */
const changedDevice = change => async function requestAdapter(options) {
  const adapter = await GPU.prototype.requestAdapter.call(this, options);
  const { limits, features } = adapter;
  return { limits, features, requestDevice: async wanted => change(await adapter.requestDevice(wanted)) };
};

const { mapAsync } = GPUBuffer.prototype;

const SCENARIOS = {
  async lost({ load, manifest }, input) {
    let device;
    const model = await replaced(navigator.gpu, 'requestAdapter', changedDevice(found => device = found), () => load({ backends: ['webgpu'], worker: false }));
    const first = await model.run(input);
    const pending = await replaced(GPUBuffer.prototype, 'mapAsync', function (mode) {
      device.destroy();
      return mapAsync.call(this, mode);
    }, () => failure(model.run(input)));
    const errors = [pending, await failure(model.run(input)), await failure(model.run(input))];
    model.dispose();
    const again = await load({ backends: ['webgpu'], worker: false });
    const second = await again.run(input);
    again.dispose();
    const { name } = manifest.outputs[0];
    return { errors, same: first[name].every((value, at) => value === second[name][at]) };
  },

  async broken({ load }, input) {
    let device;
    const model = await replaced(navigator.gpu, 'requestAdapter', changedDevice(found => device = found), () => load({ backends: ['webgpu'], worker: false }));
    device.createBuffer({ size: 16, usage: 0 }).destroy();
    const error = await failure(model.run(input));
    model.dispose();
    const again = await load({ backends: ['webgpu'], worker: false });
    const outputs = await again.run(input);
    again.dispose();
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
    return replaced(navigator.gpu, 'requestAdapter', async () => null, () => failure(load({ backends: ['webgpu'], worker: false })));
  },

  async small({ load }) {
    const limited = device => new Proxy(device, {
      get(target, key) {
        if (key === 'limits') return { maxStorageBufferBindingSize: 1024, maxBufferSize: 4096 };
        const value = target[key];
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    return replaced(navigator.gpu, 'requestAdapter', changedDevice(limited), () => failure(load({ backends: ['webgpu'], worker: false })));
  },

  counted({ load }, input) {
    const methods = [
      [GPUDevice.prototype, 'createBuffer', 'created'], [GPUBuffer.prototype, 'destroy', 'destroyed'],
      [GPUQueue.prototype, 'submit', 'submitted'], [GPUBuffer.prototype, 'mapAsync', 'mapped'],
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

export const runSets = runScenarios(SCENARIOS, () => { delete globalThis[Symbol.for('webkiln.webgpu')]; });
