import { encode } from '/harness/harness.js';

/** An answer that consists of bytes. */
export const text = value =>
  encode(
    {
      ms: 0,
      loadMs: 0,
      variant: null,
      tensors: [{ name: 'text', dtype: 'uint8', shape: [value.length] }],
    },
    [value],
  );

/** The code and message of a promise's rejection, or null. */
export async function failure(promise) {
  try {
    await promise;
    return null;
  } catch ({ code, message }) {
    return { code, message };
  }
}

/** Replace `owner[name]` while `action` runs. */
export async function replaced(owner, name, value, action) {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { configurable: true, writable: true, value });
  try {
    return await action();
  } finally {
    if (before) Object.defineProperty(owner, name, before);
    else delete owner[name];
  }
}

/** Count the calls of `[owner, method, counter]` while `action` runs. */
export async function counted(methods, action) {
  const counts = Object.fromEntries(methods.map(([, , counter]) => [counter, 0]));
  const originals = methods.map(([owner, name]) => owner[name]);
  methods.forEach(([owner, name, counter], at) => {
    owner[name] = function (...values) {
      counts[counter] += 1;
      return originals[at].apply(this, values);
    };
  });
  try {
    return await action(counts);
  } finally {
    methods.forEach(([owner, name], at) => {
      owner[name] = originals[at];
    });
  }
}

/** Run by harness_page.js: every scenario, each with the bundle and an input of zeros. */
export const runScenarios =
  (known, prepare) =>
  async ({ bundle, scenarios }, get, put) => {
    const module = await import(bundle);
    const { name, shape } = module.manifest.inputs[0];
    const input = { [name]: new Float32Array(shape.reduce((product, size) => product * size, 1)) };
    for (const [number, scenario] of scenarios.entries()) {
      prepare();
      await put(
        number,
        text(new TextEncoder().encode(JSON.stringify(await known[scenario](module, input)))),
      );
    }
  };
