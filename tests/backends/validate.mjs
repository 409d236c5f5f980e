import { decode, encode } from '/harness/harness.js';
import { diagnostics } from './diagnostics.mjs';

/**
 * Run by harness_page.js: each set is the source of a compute shader; the answer is the diagnostics
 * of the browser.
 */
export async function runSets({ count }, get, put) {
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice({
    requiredFeatures: ['subgroups', 'shader-f16'].filter(name => adapter.features.has(name)),
  });
  for (let number = 0; number < count; number++) {
    const { values } = decode(await get(number));
    const found = await diagnostics(device, new TextDecoder().decode(values.text));
    const text = new TextEncoder().encode(found.join('\n'));
    await put(
      number,
      encode(
        {
          ms: 0,
          loadMs: 0,
          variant: null,
          tensors: [{ name: 'text', dtype: 'uint8', shape: [text.length] }],
        },
        [text],
      ),
    );
  }
}
