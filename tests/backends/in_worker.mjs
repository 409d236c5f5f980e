/**
 * Run by harness_page.js. In the page, start this module again in a Worker, which may wait for
 * other threads; there, run the script that the request names as `inWorker`.
 */
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
