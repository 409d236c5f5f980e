import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, globals } from 'webgpu';
import { runProgram } from '../backends/run_program.mjs';
import { decode, encode } from '../../pipeline/webkiln/backends/harness.js';

/**
 * Run the programs in a folder on the GPU of Dawn, which tells what `request` says of its adapter.
 * Beside each answer are the labels of the shaders with subgroup matrices that it launched.
 */
const folder = process.argv[2];
const { count, adapter, without } = JSON.parse(readFileSync(join(folder, 'request.json'), 'utf8'));
Object.assign(globalThis, globals);
const gpu = create(['enable-dawn-features=allow_unsafe_apis']);
Object.defineProperty(globalThis, 'navigator', { value: { gpu }, configurable: true });

const { requestAdapter } = gpu;
gpu.requestAdapter = async options => {
  const found = await requestAdapter.call(gpu, options);
  const features = new Set([...found.features].filter(name => !without.includes(name)));
  const requestDevice = found.requestDevice.bind(found);
  found.requestDevice = async descriptor => {
    const device = await requestDevice(descriptor);
    const { subgroupMaxSize } = device.adapterInfo;
    return Object.defineProperty(device, 'adapterInfo', { value: { subgroupMaxSize, ...adapter } });
  };
  return Object.defineProperty(found, 'features', { value: features });
};
const labels = new WeakMap();
const launched = new Set();
const { createComputePipelineAsync, createShaderModule } = GPUDevice.prototype;
GPUDevice.prototype.createShaderModule = function (descriptor) {
  const module = createShaderModule.call(this, descriptor);
  if (descriptor.code.includes('subgroup_matrix_result')) labels.set(module, descriptor.label);
  return module;
};
GPUDevice.prototype.createComputePipelineAsync = async function (descriptor) {
  const pipeline = await createComputePipelineAsync.call(this, descriptor);
  labels.set(pipeline, labels.get(descriptor.compute.module));
  return pipeline;
};
const { setPipeline } = GPUComputePassEncoder.prototype;
GPUComputePassEncoder.prototype.setPipeline = function (pipeline) {
  if (labels.get(pipeline)) launched.add(labels.get(pipeline));
  return setPipeline.call(this, pipeline);
};

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
