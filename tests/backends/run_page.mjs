import { decode, encode } from '/harness/harness.js';
import { runProgram } from './run_program.mjs';

/** Run by harness_page.js: one program per set. */
export async function runSets({ backend, modules }, get, put) {
  const compiled = new Map();
  for (const [number, name] of modules.entries()) {
    try {
      if (name && !compiled.has(name))
        compiled.set(name, await WebAssembly.compileStreaming(fetch(`/programs/${name}`)));
      const module = await import(`/programs/${number}/code/${backend}.js`);
      await put(
        number,
        encode(...(await runProgram(module, compiled.get(name), decode(await get(number))))),
      );
    } catch (error) {
      throw Object.assign(new Error(`program ${number}: ${error.message}`), { code: error.code });
    }
  }
}
