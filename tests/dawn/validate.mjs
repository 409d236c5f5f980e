import { readFileSync, writeFileSync } from 'node:fs';
import { create, globals } from 'webgpu';

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
for (const file of files) {
  const module = device.createShaderModule({ code: readFileSync(file, 'utf8') });
  const { messages } = await module.getCompilationInfo();
  const failures = await device
    .createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'main' } })
    .then(
      () => [],
      ({ message }) => [message],
    );
  found[file] = [...messages.map(({ lineNum, message }) => `${lineNum}: ${message}`), ...failures];
}
writeFileSync(answer, JSON.stringify(found));
process.exit();
