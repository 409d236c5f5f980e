/**
 * Let this page see a GPU with this vendor and architecture. Models then run in the page, since
 * Workers have prototypes of their own.
 */
export function describeGpu(info) {
  Object.defineProperty(GPUDevice.prototype, 'adapterInfo', { get: () => info });
  Object.defineProperty(GPUAdapter.prototype, 'info', { get: () => info });
  delete globalThis.Worker;
}
