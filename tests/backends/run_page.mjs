import { decode, encode } from '/harness/harness.js';
import { runProgram } from './run_program.mjs';

/** What harness_page.js runs: one program a set. */
export async function runSets({ backend, count }, get, put) {
  for (let number = 0; number < count; number++) {
    try {
      const module = await import(`/programs/${number}/code/${backend}.js`);
      const compiled = backend === 'wasm' ? await WebAssembly.compileStreaming(fetch(`/programs/${number}/model.wasm`)) : undefined;
      await put(number, encode(...await runProgram(module, compiled, decode(await get(number)))));
    } catch (error) {
      throw Object.assign(new Error(`program ${number}: ${error.message}`), { code: error.code });
    }
  }
}
