/** @import { Manifest } from './types.ts' */
import { WebkilnError } from './errors.js';

/**
 * @param {ArrayLike<number>} values
 * @param {number} k
 * @param {(a: number, b: number) => number} compare
 * @returns {number[]}
 */
function ranked(values, k, compare) {
  const indices = Array.from({ length: values.length }, (_, index) => index);
  indices.sort(
    (a, b) =>
      compare(/** @type {number} */ (values[a]), /** @type {number} */ (values[b])) || a - b,
  );
  return indices.slice(0, k);
}

/**
 * The indices of the `k` largest elements, largest first; equal elements keep their order.
 * @param {ArrayLike<number>} values
 * @param {number} [k]
 */
export const argmax = (values, k = 1) => ranked(values, k, (a, b) => b - a);

/**
 * The indices of the `k` smallest elements, smallest first; equal elements keep their order.
 * @param {ArrayLike<number>} values
 * @param {number} [k]
 */
export const argmin = (values, k = 1) => ranked(values, k, (a, b) => a - b);

/**
 * The `k` highest scores of one output, highest first, with the labels of the output that has the
 * same number of elements. Throws WrongLength if there is no such output.
 * @param {Pick<Manifest, 'outputs'>} manifest
 * @param {ArrayLike<number>} scores
 * @param {number} [k]
 * @returns {{ index: number, label: string, score: number }[]}
 */
export function top({ outputs }, scores, k = 1) {
  const all = outputs.flatMap(({ labels }) => (labels ? [labels] : []));
  const [labels, other] = all.filter(names => names.length === scores.length);
  if (all.length > 0 && (!labels || (other && String(other) !== String(labels)))) {
    throw new WebkilnError(
      'WrongLength',
      `top: expected one row of one output, of ${all.map(names => names.length)} labels; ` +
        `got ${scores.length} scores`,
    );
  }
  return argmax(scores, k).map(index => ({
    index,
    label: labels?.[index] ?? String(index),
    score: Number(scores[index]),
  }));
}
