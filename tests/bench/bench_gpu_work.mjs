import { ENGINES } from '/bench.mjs';

const counts = {};
const count = (what, amount = 1) => (counts[what] = (counts[what] ?? 0) + amount);

/** Call `before` with the arguments of every call of a method. */
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
watch(GPUDevice, 'createBindGroup', () => count('bind groups made'));
watch(GPUDevice, 'createBuffer', ([{ size }]) => {
  count('buffers made');
  count('bytes held', size);
});
watch(GPUBuffer, 'destroy', (_, { size }) => count('bytes held', -size));
watch(GPUBuffer, 'mapAsync', () => count('read-backs'));

/** The WebGPU calls of a run after several others, and the bytes of the existing buffers. */
export async function run(name, warm) {
  const engine = await ENGINES[name]({ backend: 'webgpu', threads: 1 });
  for (let before = 0; before < warm; before++) await engine();
  const held = counts['bytes held'];
  for (const what of Object.keys(counts)) counts[what] = 0;
  await engine();
  return { ...counts, 'bytes held': held };
}
