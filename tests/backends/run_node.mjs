import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { runProgram } from './run_program.mjs';

const [folder, backend] = process.argv.slice(2);
const { decode, encode } = await import(pathToFileURL(join(folder, 'harness.js')).href);
const compiled = new Map();

for (const [number, name] of JSON.parse(
  readFileSync(join(folder, 'modules.json'), 'utf8'),
).entries()) {
  const home = join(folder, String(number));
  if (name && !compiled.has(name))
    compiled.set(name, new WebAssembly.Module(readFileSync(join(folder, name))));
  const module = await import(pathToFileURL(join(home, 'code', `${backend}.js`)).href);
  const bytes = readFileSync(join(home, 'in'));
  const input = decode(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  writeFileSync(
    join(home, 'out'),
    encode(...(await runProgram(module, compiled.get(name), input))),
  );
}
