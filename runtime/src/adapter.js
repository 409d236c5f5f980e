/** Vendor or architecture of a GPU that a CPU emulates. `webgpu_classes.js` has the same. */
const EMULATED_GPU = /swiftshader|pipe|render|warp/;

/**
 * Whether the GPU of a device, or the one that a page gets, is emulated by a CPU.
 * @param {any} [device] a GPUDevice of the caller
 * @returns {Promise<boolean>}
 */
export async function isEmulated(device) {
  const { gpu } = /** @type {any} */ (globalThis.navigator ?? {});
  const info = (device ? device.adapterInfo : (await gpu?.requestAdapter())?.info) ?? {};
  return info.isFallbackAdapter || EMULATED_GPU.test(`${info.vendor} ${info.architecture}`);
}
