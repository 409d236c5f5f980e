import { readFileSync, writeFileSync } from 'node:fs';
import { create, globals } from 'webgpu';
import { diagnostics } from '../backends/diagnostics.mjs';

/**
 * Compile compute shaders with Tint on a device that runs nothing. Writes the diagnostics of each
 * file to the first one, as JSON: Dawn prints them too.
 */
Object.assign(globalThis, globals);
const gpu = create(['backend=null', 'enable-dawn-features=allow_unsafe_apis']);
const adapter = await gpu.requestAdapter();
const requiredFeatures = ['chromium-experimental-subgroup-matrix', 'shader-f16', 'subgroups'];
const device = await adapter.requestDevice({ requiredFeatures });
const [answer, ...files] = process.argv.slice(2);
const found = {};
for (const file of files) found[file] = await diagnostics(device, readFileSync(file, 'utf8'));
writeFileSync(answer, JSON.stringify(found));
process.exit();
