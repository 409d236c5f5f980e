/**
 * Lines of a shader that differ in numbers. Generated code calls it.
 * @param {number} count
 * @param {(index: number) => string} text
 */
export const repeat = (count, text) =>
  Array.from({ length: count }, (_, index) => text(index)).join('\n');

/**
 * The text of a shader. It writes a value that is defined as `$`, and one that is used as `$` and
 * the number of definitions since its own.
 * @param {() => string} shader
 */
export function textOf(shader) {
  let defined = 0;
  return shader().replace(/\$(\d*)/g, (_, since) => `v${since ? defined - since : ++defined}`);
}
