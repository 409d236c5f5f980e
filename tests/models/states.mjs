/** The results of a model with states in two runs, and in one more after a reset. */
export async function values(load, backend) {
  const model = await load({ backends: [backend] });
  const run = async () =>
    Array.from(Object.values(await model.run({ x: Float32Array.of(1, 1) }))[0]);
  const results = [await run(), await run()];
  await model.reset();
  results.push(await run());
  await model.dispose();
  return results.flat();
}

/** Run by harness_page.js. */
export async function runSets({ bundle, backend }, get, put) {
  const [{ load }, { encode }] = await Promise.all([import(bundle), import('/harness/harness.js')]);
  const results = Float64Array.from(await values(load, backend));
  const tensors = [{ name: 'values', dtype: 'float64', shape: [results.length] }];
  await put(0, encode({ ms: 0, loadMs: 0, variant: null, tensors }, [results]));
}
