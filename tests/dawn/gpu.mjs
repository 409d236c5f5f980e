import { create, globals } from 'webgpu';

/** The labels of the shaders with subgroup matrices whose pipelines were set. */
export const launched = new Set();

/**
 * Define `navigator.gpu` as Dawn. Its adapter tells `described` about itself, and hides features.
 * @param {object} described
 * @param {string[]} without
 */
export function defineGpu(described, without) {
  Object.assign(globalThis, globals);
  const gpu = create(['enable-dawn-features=allow_unsafe_apis']);
  Object.defineProperty(globalThis, 'navigator', { value: { gpu }, configurable: true });
  const { requestAdapter } = gpu;
  gpu.requestAdapter = async options => {
    const adapter = await requestAdapter.call(gpu, options);
    const requestDevice = adapter.requestDevice.bind(adapter);
    adapter.requestDevice = async descriptor => {
      const device = await requestDevice(descriptor);
      const { subgroupMaxSize } = device.adapterInfo;
      const value = { subgroupMaxSize, ...described };
      return Object.defineProperty(device, 'adapterInfo', { value });
    };
    Object.defineProperty(adapter, 'info', { value: described });
    const features = new Set([...adapter.features].filter(name => !without.includes(name)));
    return Object.defineProperty(adapter, 'features', { value: features });
  };
  recordPipelines();
}

function recordPipelines() {
  const labels = new WeakMap();
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
}
