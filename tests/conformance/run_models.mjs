import { decode, encode } from '/harness/harness.js';
import { describeGpu } from '../backends/described_gpu.mjs';
import { importCode } from '../backends/printed_code.mjs';
import { runProgram } from '../backends/run_program.mjs';

/**
 * Run by harness_page.js: one program per set. The answer of a program that fails is its error as
 * JSON.
 */
export async function runSets({ backend, programs, adapter, emulated }, get, put) {
  if (adapter) describeGpu(adapter);
  const compiled = new Map();
  for (const [position, [number, path]] of programs.entries()) {
    const bytes = await get(position);
    try {
      if (path && !compiled.has(path))
        compiled.set(path, await WebAssembly.compileStreaming(fetch(`/programs/${path}`)));
      const module = await importCode(number, backend, emulated);
      await put(position, encode(...(await runProgram(module, compiled.get(path), decode(bytes)))));
    } catch (error) {
      await put(
        position,
        new TextEncoder().encode(JSON.stringify({ error: `${error.name}: ${error.message}` })),
      );
    }
  }
}
