import { decode, encode } from '/harness/harness.js';
import { runProgram } from '../backends/run_program.mjs';

/**
 * Run by harness_page.js: one program per set. The answer of a program that fails is its error as
 * JSON.
 */
export async function runSets({ backend, programs, adapter }, get, put) {
  if (adapter) Object.defineProperty(GPUDevice.prototype, 'adapterInfo', { get: () => adapter });
  const compiled = new Map();
  for (const [position, [number, path]] of programs.entries()) {
    const bytes = await get(position);
    try {
      if (path && !compiled.has(path))
        compiled.set(path, await WebAssembly.compileStreaming(fetch(`/programs/${path}`)));
      const module = await import(`/programs/${number}/code/${backend}.js`);
      await put(position, encode(...(await runProgram(module, compiled.get(path), decode(bytes)))));
    } catch (error) {
      await put(
        position,
        new TextEncoder().encode(JSON.stringify({ error: `${error.name}: ${error.message}` })),
      );
    }
  }
}
