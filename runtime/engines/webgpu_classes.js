/**
 * What a browser tells about a GPU. Strings are lower-case words with dashes, or empty.
 * @typedef {object} AdapterInfo
 * @property {string} vendor
 * @property {string} architecture
 * @property {boolean} [isFallbackAdapter]
 */

const EMULATED = 1;
const INTEGRATED = 8;
const LAPTOP = 24;
const DESKTOP = 64;
const DATA_CENTRE = 132;

/**
 * The multiprocessors that schedules assume for a GPU, by its vendor and architecture: the first
 * pattern that matches. Browsers do not tell the number, so each class counts as one size.
 * @type {[described: RegExp, multiprocessors: number][]}
 */
const CLASSES = [
  [/swiftshader|pipe|render|warp/, EMULATED],
  [/hopper|cdna/, DATA_CENTRE],
  [/fermi|kepler|maxwell|rdna|apple|hpg/, LAPTOP],
  [/nvidia/, DESKTOP],
];

/**
 * The number of multiprocessors that schedules assume for a GPU. An unknown one counts as
 * integrated.
 * @param {AdapterInfo} [info] that of a device or adapter
 * @returns {number}
 */
export function multiprocessorsOf(info) {
  const described = `${info?.vendor} ${info?.architecture}`;
  const found = CLASSES.find(([pattern]) => pattern.test(described));
  return info?.isFallbackAdapter ? EMULATED : (found?.[1] ?? INTEGRATED);
}
