/** Run by harness_page.js: starts itself in a Worker, which may wait for other threads, and there
 * runs the named script. */
export async function runSets(request, get, put) {
  if (globalThis.document) {
    return new Promise((_, reject) => {
      new Worker('/harness/harness_page.js', { type: 'module' }).onerror = event =>
        reject(new Error(event.message || 'the Worker did not start'));
    });
  }
  const { runSets: run } = await import(request.inWorker);
  return run(request, get, put);
}
