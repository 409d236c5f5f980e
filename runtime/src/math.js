/**
 * @param {ArrayLike<number>} values
 * @param {number} k
 * @param {(a: number, b: number) => number} compare
 * @returns {number[]}
 */
function top(values, k, compare) {
  const indices = Array.from({ length: values.length }, (_, index) => index);
  indices.sort((a, b) => compare(/** @type {number} */ (values[a]), /** @type {number} */ (values[b])) || a - b);
  return indices.slice(0, k);
}

/**
 * The indices of the `k` largest elements, largest first; equal elements keep their order.
 * @param {ArrayLike<number>} values
 * @param {number} [k]
 */
export const argmax = (values, k = 1) => top(values, k, (a, b) => b - a);

/**
 * The indices of the `k` smallest elements, smallest first; equal elements keep their order.
 * @param {ArrayLike<number>} values
 * @param {number} [k]
 */
export const argmin = (values, k = 1) => top(values, k, (a, b) => a - b);
