/** Run a bundle in all ways. Arguments: its folder, and the numbers of x as JSON. */
const { pathToFileURL } = await import('node:url');
const [folder, numbers] = globalThis.Deno ? Deno.args : process.argv.slice(2);
const { load } = await import(pathToFileURL(`${folder}/index.js`).href);
const rows = JSON.parse(numbers);
const messages = [];
console.warn = console.info = text => messages.push(String(text));
const runs = [];
for (const backend of ['wasm', 'js']) {
  for (const worker of [true, false]) {
    const model = await load({ backends: backend, worker, threads: 2 });
    const { y } = await model.run({ x: rows });
    const again = (await model.run({ x: new Float32Array(rows.flat()) })).y;
    runs.push({
      backend: model.backend,
      worker: model.worker,
      threads: model.threads,
      y: [...y],
      same: again.every((value, index) => value === y[index]),
    });
  }
}
console.log(JSON.stringify({ runs, messages }));
// The process has to end although no model was disposed of.
