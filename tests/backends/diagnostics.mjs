/**
 * What the compiler of a device says of a compute shader: messages, and why it has no pipeline.
 * @param {GPUDevice} device
 * @param {string} code
 * @returns {Promise<string[]>}
 */
export async function diagnostics(device, code) {
  const module = device.createShaderModule({ code });
  const { messages } = await module.getCompilationInfo();
  const failures = await device
    .createComputePipelineAsync({ layout: 'auto', compute: { module, entryPoint: 'main' } })
    .then(
      () => [],
      ({ message }) => [message],
    );
  return [...messages.map(({ lineNum, message }) => `${lineNum}: ${message}`), ...failures];
}
