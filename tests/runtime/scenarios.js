const X = [1, 2, 3, 4];

export const codeOf = async promise => {
  try {
    await promise;
    return 'no error';
  } catch (error) {
    return error.name === 'WebkilnError' ? error.code : `${error.name}: ${error.message}`;
  }
};

const plain = outputs =>
  Object.fromEntries(Object.entries(outputs).map(([name, value]) => [name, Array.from(value)]));

export async function run({ load }, options) {
  const model = await load(options);
  const outputs = await model.run({ x: X });
  const { backend, variant, worker, failures, stats } = model;
  model.dispose();
  return { y: Array.from(outputs.y), backend, variant, worker, failures, stats };
}

/** Load with all files as data URLs, as bundlers inline small files. */
export async function inlined({ load, manifest }, options) {
  const url = name => new URL(`/bundle/${name}`, location.href);
  const files = [
    ...Object.values(manifest.backends).flatMap(({ variants }) => variants ?? []),
    ...manifest.shards,
  ].map(({ file }) => file);
  const bytes = await Promise.all(
    files.map(async file => new Uint8Array(await (await fetch(url(file))).arrayBuffer())),
  );
  const write = data =>
    `data:application/octet-stream;base64,${btoa(Array.from(data, byte => String.fromCharCode(byte)).join(''))}`;
  const urls = Object.fromEntries(files.map((file, index) => [file, write(bytes[index])]));
  return run({ load }, { ...options, transformURL: (_, file) => urls[file] });
}

export async function loadError({ load }, options) {
  try {
    (await load(options)).dispose();
  } catch ({ name, code, message }) {
    return { name, code, message };
  }
  return { code: 'no error' };
}

/** Load after the browser has stored files in its HTTP cache. */
export async function fromHttpCache({ load }, { files, ...options }) {
  for (const file of files)
    await (await fetch(new URL(`/bundle/${file}`, location.href))).arrayBuffer();
  return run({ load }, options);
}

/** Load several times in sequence with the options of `each`. Returns outputs or error codes. */
export async function sequence({ load }, { each, ...options }) {
  await globalThis.caches?.delete('webkiln:fake');
  const results = [];
  for (const loadOptions of each) {
    const model = await load({ ...options, ...loadOptions }).catch(error => error.code);
    results.push(typeof model === 'string' ? model : plain(await model.run({ x: X })).y);
    if (typeof model === 'string') continue;
    model.dispose();
    for (
      let wait = 0;
      loadOptions.saveCache &&
      wait < 300 &&
      (await (await caches.open('webkiln:fake')).keys()).length < 3;
      wait++
    )
      await new Promise(resolve => setTimeout(resolve, 50));
  }
  return results;
}

export async function profile({ load }, options) {
  const model = await load(options);
  for (let run = 0; run < 3; run++) await model.run({ x: X });
  const profiles = [await model.profile(), await model.profile(), model.threads];
  model.dispose();
  return profiles;
}

export async function profileError({ load }, options) {
  const model = await load(options);
  try {
    await model.profile();
  } catch ({ code, message }) {
    return { code, message };
  } finally {
    model.dispose();
  }
  return { code: 'no error' };
}

/** Concurrent loads, one of which fails and one of which is aborted. */
export async function concurrent({ load }, options) {
  const controller = new AbortController();
  const loading = [1, 2, 3].map(() => load(options));
  const failing = [
    load({ ...options, baseURL: '/nowhere/' }),
    load({ ...options, signal: controller.signal, onProgress: () => controller.abort() }),
  ].map(codeOf);
  const models = await Promise.all(loading);
  const results = await Promise.all(models.map(async model => plain(await model.run({ x: X })).y));
  models.forEach(model => model.dispose());
  return { results, codes: await Promise.all(failing) };
}

export async function inputs({ load }, options) {
  const model = await load(options);
  const cases = {
    nothing: undefined,
    empty: {},
    unknown: { x: X, z: X },
    short: { x: [1, 2] },
    long: { x: new Float32Array(5) },
    double: { x: new Float64Array(4) },
    integers: { x: new Int32Array(4) },
    text: { x: '1234' },
    scalar: { x: 1 },
    strings: { x: [1, 2, 3, '4'] },
    absent: { x: undefined },
    nothingness: { x: null },
    rows: { x: [X, X] },
  };
  const codes = {};
  for (const [name, value] of Object.entries(cases)) codes[name] = await codeOf(model.run(value));
  codes.option = await codeOf(model.run({ x: X }, { signals: null }));
  codes.bare = plain(await model.run(new Float32Array(X))).y;
  await model.reset();
  codes.afterwards = plain(await model.run({ x: new Float32Array(X) })).y;
  model.dispose();
  return codes;
}

export async function dispose({ load }, options) {
  const model = await load(options);
  const pending = [model.run({ x: X }), model.run({ x: X })].map(codeOf);
  model.dispose();
  model.dispose();
  const after = {
    run: model.run({ x: X }),
    wrong: model.run({}),
    reset: model.reset(),
    layers: model.layers(),
  };
  const codes = { pending: await Promise.all(pending) };
  for (const [name, promise] of Object.entries(after)) codes[name] = await codeOf(promise);
  return codes;
}

export async function abortLoad({ load }, options) {
  const at = async (when, extra = {}) => {
    const controller = new AbortController();
    const promise = codeOf(
      load({
        ...options,
        ...extra,
        signal: controller.signal,
        onProgress: () => when === 'progress' && controller.abort(),
      }),
    );
    if (when === 'later') await new Promise(resolve => setTimeout(resolve, 1));
    if (when !== 'progress') controller.abort();
    return promise;
  };
  const before = await codeOf(load({ ...options, signal: AbortSignal.abort() }));
  return { before, now: await at('now'), later: await at('later'), progress: await at('progress') };
}

export async function abortStalled({ load }, options) {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), 300);
  return codeOf(load({ ...options, signal: controller.signal }));
}

export async function abortRun({ load }, options) {
  const model = await load(options);
  const controller = new AbortController();
  const first = model.run({ x: X });
  const second = codeOf(model.run({ x: X }, { signal: controller.signal }));
  const third = model.run({ x: X });
  controller.abort();
  const codes = {
    second: await second,
    first: plain(await first).y,
    third: plain(await third).y,
    early: await codeOf(model.run({ x: X }, { signal: AbortSignal.abort() })),
  };
  model.dispose();
  return codes;
}

export async function trap({ load }, options) {
  const model = await load(options);
  const runs = [model.run({ x: X }), model.run({ x: [1e10, 0, 0, 0] }), model.run({ x: X })].map(
    codeOf,
  );
  const codes = { runs: await Promise.all(runs), after: await codeOf(model.run({ x: X })) };
  model.dispose();
  codes.disposed = await codeOf(model.run({ x: X }));
  return codes;
}

export async function order({ load }, options) {
  const model = await load(options);
  const input = new Float32Array(4);
  const runs = Array.from({ length: 10 }, (_, index) => {
    input.fill(index);
    return model.run({ x: input });
  });
  const outputs = await Promise.all(runs);
  const sums = outputs.map(({ y }) => y[3]);
  const fresh = new Set(outputs.map(({ y }) => y.buffer)).size;
  await model.reset();
  const again = (await model.run({ x: new Float32Array(4) })).y[3];
  const { lastRunMs, loadMs } = model.stats;
  model.dispose();
  return { sums, fresh, again, kept: input.length, timed: lastRunMs >= 0 && loadMs > 0 };
}

export async function progress({ load, manifest }, options) {
  const reported = [];
  const model = await load({
    ...options,
    onProgress: ({ loaded, total }) => reported.push([loaded, total]),
  });
  const entry = manifest.backends[model.backend];
  const chosen = (entry.variants ?? []).filter(({ name }) => name === model.variant);
  const expected = [...chosen, ...manifest.shards].reduce((sum, { bytes }) => sum + bytes, 0);
  model.dispose();
  return {
    monotone: reported.every(([loaded], index) => index === 0 || loaded >= reported[index - 1][0]),
    totals: [...new Set(reported.map(([, total]) => total))],
    last: reported.at(-1)?.[0],
    expected,
  };
}

export async function layers({ load }, options) {
  const model = await load(options);
  await model.run({ x: X });
  const values = await model.layers();
  model.dispose();
  return values.map(({ data, ...layer }) => ({
    ...layer,
    data: Array.from(data),
    type: data.constructor.name,
  }));
}

export async function unhashed(bundle, options) {
  Object.defineProperty(globalThis, 'crypto', { value: undefined, configurable: true });
  return loadError(bundle, { ...options, worker: false });
}

export async function warnings(bundle, options) {
  const messages = [];
  const warn = console.warn;
  console.warn = (...parts) => messages.push(parts.join(' '));
  try {
    return { ...(await run(bundle, options)), messages };
  } finally {
    console.warn = warn;
  }
}

export async function webdnn(_, { directory, options, ...extra }) {
  const { default: WebDNN } = await import(
    new URL('webdnn.js', new URL(directory, globalThis.location?.href)).href
  );
  const reported = [];
  const urls = [];
  const runner = await WebDNN.load(directory, {
    ...options,
    progressCallback: (loaded, total) => reported.push(loaded / total),
    transformUrlDelegate: url => {
      urls.push(new URL(url).pathname);
      return url;
    },
  });
  const [input] = runner.getInputViews();
  const [output] = runner.getOutputViews();
  const actual = output.toActual();
  runner.inputs[0].set([
    [1, 2],
    [3, 4],
  ]);
  await runner.run();
  const first = Array.from(actual);
  runner.inputs.x.set([9], 1);
  await runner.run();
  return {
    first,
    second: Array.from(runner.outputs.y.toActual()),
    same: runner.outputs[0].toActual() === actual,
    backend: runner.backendName,
    type: input.constructor.name,
    name: input.name,
    length: input.length,
    shape: input.shape,
    order: input.order,
    count: runner.inputs.length,
    progress: reported.at(-1),
    urls: [...new Set(urls)],
    global: globalThis.WebDNN === WebDNN,
    placeholder: await codeOf(runner.setPlaceholderValue({ N: 2 })),
    none: await codeOf(runner.setPlaceholderValue({})),
    ...extra,
  };
}

export async function webdnnError(_, { directory, options }) {
  const { load } = await import(new URL('/bundle/webdnn.js', globalThis.location.href).href);
  return codeOf(load(directory, options));
}
