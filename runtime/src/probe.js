/**
 * Minimal modules that validate only if a feature is supported: one function that splats zeros and
 * applies one instruction (`i8x16.splat`, 0xfd 0x0f; `f32x4.relaxed_madd`, 0xfd 0x85 0x02). See the
 * binary format of the WebAssembly specification.
 * @type {Record<string, string>}
 */
const PROBES = {
  simd: '0061736d01000000010401600000030201000a090107004100fd0f1a0b',
  relaxed: '0061736d01000000010401600000030201000a140112004100fd0f4100fd0f4100fd0ffd85021a0b',
};

/**
 * Whether this engine supports a variant of the wasm backend; false for unknown variants.
 * @param {string} variant
 * @returns {boolean}
 */
export function supportsVariant(variant) {
  const probe = PROBES[variant];
  if (probe === undefined || typeof WebAssembly === 'undefined') return false;
  return WebAssembly.validate(
    Uint8Array.from(probe.match(/../g) ?? [], digits => parseInt(digits, 16)),
  );
}
