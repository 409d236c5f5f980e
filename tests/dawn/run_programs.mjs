import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineGpu, launched } from './gpu.mjs';
import { runProgram } from '../backends/run_program.mjs';
import { decode, encode } from '../../pipeline/webkiln/backends/harness.js';

/**
 * Run the programs in a folder. Beside each answer are the labels of the shaders with subgroup
 * matrices that it launched.
 */
const folder = process.argv[2];
const { count, adapter, without } = JSON.parse(readFileSync(join(folder, 'request.json'), 'utf8'));
defineGpu(adapter, without);
for (let number = 0; number < count; number++) {
  const home = join(folder, String(number));
  const module = await import(join(home, 'code', 'webgpu.js'));
  const bytes = readFileSync(join(home, 'in'));
  const input = decode(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  writeFileSync(join(home, 'out'), encode(...(await runProgram(module, undefined, input))));
  writeFileSync(join(home, 'matrices.json'), JSON.stringify([...launched]));
  launched.clear();
}
process.exit();
