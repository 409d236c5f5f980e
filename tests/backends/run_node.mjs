import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runProgram } from './run_program.mjs';

const [folder, backend, count] = process.argv.slice(2);
const { decode, encode } = await import(pathToFileURL(join(folder, 'harness.js')).href);

for (let number = 0; number < Number(count); number++) {
  const home = join(folder, String(number));
  const module = await import(pathToFileURL(join(home, 'code', `${backend}.js`)).href);
  const compiled = backend === 'wasm' ? new WebAssembly.Module(readFileSync(join(home, 'model.wasm'))) : undefined;
  const bytes = readFileSync(join(home, 'in'));
  const given = decode(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  writeFileSync(join(home, 'out'), encode(...await runProgram(module, compiled, given)));
}
