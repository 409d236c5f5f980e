/** Run another script of the harness in a page whose GPU tells what a request says. */
export async function runSets({ adapter, inner, ...request }, get, put) {
  Object.defineProperty(GPUDevice.prototype, 'adapterInfo', { get: () => adapter });
  // Workers have a prototype of their own: let the model run in the page.
  delete globalThis.Worker;
  const { runSets: run } = await import(new URL(inner, `${location.origin}/harness/`).href);
  await run(request, get, put);
}
