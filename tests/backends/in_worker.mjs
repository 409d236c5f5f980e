/** What harness_page.js runs: in a page, itself once more in a Worker, which may wait for other threads; there, the script that is named. */
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
