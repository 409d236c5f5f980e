import { encode } from '/harness/harness.js';

const text = value => encode({ ms: 0, loadMs: 0, variant: null, tensors: [{ name: 'text', dtype: 'uint8', shape: [value.length] }] }, [value]);

async function failure(promise) {
  try {
    await promise;
    return null;
  } catch ({ code, message }) {
    return { code, message };
  }
}

/** Replaces what `owner[name]` is while `action` runs. */
async function replaced(owner, name, value, action) {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { configurable: true, writable: true, value });
  try {
    return await action();
  } finally {
    if (before) Object.defineProperty(owner, name, before);
    else delete owner[name];
  }
}

/** The adapter with another device, which `change` makes of the real one. */
const changedDevice = change => async function requestAdapter(options) {
  const adapter = await GPU.prototype.requestAdapter.call(this, options);
  const { limits, features } = adapter;
  return { limits, features, requestDevice: async wanted => change(await adapter.requestDevice(wanted)) };
};

const SCENARIOS = {
  async lost({ load, manifest }, input) {
    let device;
    const model = await replaced(navigator.gpu, 'requestAdapter', changedDevice(found => device = found), () => load({ backends: ['webgpu'], worker: false }));
    const first = await model.run(input);
    device.destroy();
    const errors = [await failure(model.run(input)), await failure(model.run(input))];
    model.dispose();
    const again = await load({ backends: ['webgpu'], worker: false });
    const second = await again.run(input);
    again.dispose();
    const { name } = manifest.outputs[0];
    return { errors, same: first[name].every((value, at) => value === second[name][at]) };
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

  async counted({ load }, input) {
    const counts = { created: 0, destroyed: 0, submitted: 0, mapped: 0 };
    const counting = [
      [GPUDevice.prototype, 'createBuffer', 'created'], [GPUBuffer.prototype, 'destroy', 'destroyed'],
      [GPUQueue.prototype, 'submit', 'submitted'], [GPUBuffer.prototype, 'mapAsync', 'mapped'],
    ];
    const originals = counting.map(([owner, name, counter]) => {
      const original = owner[name];
      owner[name] = function (...values) {
        counts[counter] += 1;
        return original.apply(this, values);
      };
      return original;
    });
    const model = await load({ backends: ['webgpu'], worker: false });
    await model.run(input);
    const { submitted, mapped } = counts;
    await model.run(input);
    const run = { submitted: counts.submitted - submitted, mapped: counts.mapped - mapped };
    model.dispose();
    counting.forEach(([owner, name], at) => { owner[name] = originals[at]; });
    return { run, created: counts.created, destroyed: counts.destroyed };
  },
};

/** What harness_page.js runs: every scenario, each with the bundle and an input of zeros. */
export async function runSets({ bundle, scenarios }, get, put) {
  const module = await import(bundle);
  const { name, shape } = module.manifest.inputs[0];
  const input = { [name]: new Float32Array(shape.reduce((product, size) => product * size, 1)) };
  for (const [number, scenario] of scenarios.entries()) {
    delete globalThis[Symbol.for('webkiln.webgpu')];
    await put(number, text(new TextEncoder().encode(JSON.stringify(await SCENARIOS[scenario](module, input)))));
  }
}
