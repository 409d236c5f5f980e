/** The language feature of products of words of four bytes. */
const FEATURE = 'packed_4x8_integer_dot_product';

/** The sum of the products of four int8, of which each word has one in each byte. */
const FUNCTION = 'fn wk_dot_int8(a: u32, b: u32) -> i32 ';
const NATIVE = '{ return dot4I8Packed(a, b); }';
const PORTABLE = `{
  let left = bitcast<vec4i>(vec4u(a) << vec4u(24, 16, 8, 0)) >> vec4u(24);
  let right = bitcast<vec4i>(vec4u(b) << vec4u(24, 16, 8, 0)) >> vec4u(24);
  return dot(left, right);
}`;

/**
 * Add the function `wk_dot_int8` to a shader that calls it, as the browser can compute it. It comes
 * last, since directives must come first.
 * @param {string} code
 * @returns {string}
 */
export function withDotProduct(code) {
  if (!code.includes('wk_dot_int8(')) return code;
  const { wgslLanguageFeatures } = /** @type {any} */ (globalThis.navigator).gpu;
  return `${code}\n${FUNCTION}${wgslLanguageFeatures?.has(FEATURE) ? NATIVE : PORTABLE}\n`;
}
