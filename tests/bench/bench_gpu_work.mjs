import { ENGINES } from '/bench.mjs';

const counts = {};
const count = (name, amount = 1) => (counts[name] = (counts[name] ?? 0) + amount);

/** Call `before` with the arguments of each call of a method. */
function watch(type, method, before) {
  const { [method]: original } = type.prototype;
  type.prototype[method] = function (...values) {
    before(values, this);
    return original.apply(this, values);
  };
}

watch(GPUQueue, 'submit', () => count('submissions'));
watch(GPUQueue, 'writeBuffer', ([, , data, first = 0, size]) => {
  count('writes');
  count(
    'bytes written',
    (size ?? (data.length ?? data.byteLength) - first) * (data.BYTES_PER_ELEMENT ?? 1),
  );
});
watch(GPUCommandEncoder, 'beginComputePass', () => count('passes'));
watch(GPUCommandEncoder, 'copyBufferToBuffer', () => count('copies'));
watch(GPUComputePassEncoder, 'dispatchWorkgroups', () => count('dispatches'));
watch(GPUComputePassEncoder, 'dispatchWorkgroupsIndirect', () => count('dispatches'));
watch(GPUDevice, 'createBindGroup', () => count('bind groups created'));
watch(GPUDevice, 'createBuffer', ([{ size }]) => {
  count('buffers created');
  count('bytes allocated', size);
});
watch(GPUBuffer, 'destroy', (_, { size }) => count('bytes allocated', -size));
watch(GPUBuffer, 'mapAsync', () => count('read-backs'));

/** The WebGPU calls of one run after `warm` others, and the bytes of all buffers before it. */
export async function run(name, warm) {
  const engine = await ENGINES[name]({ backend: 'webgpu', threads: 1 });
  for (let before = 0; before < warm; before++) await engine();
  const allocated = counts['bytes allocated'];
  for (const name of Object.keys(counts)) counts[name] = 0;
  await engine();
  return { ...counts, 'bytes allocated': allocated };
}
