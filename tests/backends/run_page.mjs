import { decode, encode } from '/harness/harness.js';
import { describeGpu } from './described_gpu.mjs';
import { importCode } from './printed_code.mjs';
import { runProgram } from './run_program.mjs';

/** Let the browser lack these language features of WGSL. */
function hide(features) {
  const value = new Set(navigator.gpu.wgslLanguageFeatures);
  for (const name of features)
    if (!value.delete(name)) throw new Error(`the browser has no language feature ${name}`);
  Object.defineProperty(navigator.gpu, 'wgslLanguageFeatures', { value });
}

/** Run by harness_page.js: one program per set. */
export async function runSets({ backend, modules, hidden, adapter, float16, emulated }, get, put) {
  if (hidden.length) hide(hidden);
  if (adapter) describeGpu(adapter);
  if (float16) globalThis[Symbol.for('webkiln.webgpu.float16')] = () => true;
  const compiled = new Map();
  for (const [number, name] of modules.entries()) {
    try {
      if (name && !compiled.has(name))
        compiled.set(name, await WebAssembly.compileStreaming(fetch(`/programs/${name}`)));
      const module = await importCode(number, backend, emulated);
      await put(
        number,
        encode(...(await runProgram(module, compiled.get(name), decode(await get(number))))),
      );
    } catch (error) {
      throw Object.assign(new Error(`program ${number}: ${error.message}`), { code: error.code });
    }
  }
}
