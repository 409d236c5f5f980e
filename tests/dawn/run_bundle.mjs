import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineGpu, launched } from './gpu.mjs';

/**
 * Run the bundle in the folder `bundle` of a folder on the elements of x; write those of y, and the
 * labels of the shaders with subgroup matrices that it launched.
 */
const folder = process.argv[2];
defineGpu(JSON.parse(readFileSync(join(folder, 'request.json'), 'utf8')).adapter, []);
const { load } = await import(join(folder, 'bundle', 'index.js'));
const model = await load({ backends: 'webgpu', worker: false });
const { buffer, byteOffset, length } = readFileSync(join(folder, 'x'));
const { y } = await model.run({ x: new Float32Array(buffer, byteOffset, length / 4) });
writeFileSync(join(folder, 'y'), new Uint8Array(y.buffer, y.byteOffset, y.byteLength));
writeFileSync(join(folder, 'matrices.json'), JSON.stringify([...launched]));
process.exit();
