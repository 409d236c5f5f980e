/**
 * What a browser tells about a GPU. Strings are lower-case words with dashes, or empty.
 * @typedef {object} AdapterInfo
 * @property {string} vendor
 * @property {string} architecture
 * @property {boolean} [isFallbackAdapter]
 */

/** The multiprocessors that schedules assume for a class of GPUs. */
const SOFTWARE = 1;
const INTEGRATED = 8;
const LAPTOP = 24;
const DESKTOP = 64;
const DATA_CENTRE = 132;

/** Programs that compute shaders on the CPU. */
const EMULATORS = /swiftshader|llvmpipe|lavapipe|basic.render|warp/;

/**
 * The class of each vendor's GPUs, by architecture; the last pattern matches all others.
 * Browsers do not tell the number of multiprocessors, so each class counts as one size.
 * @type {Record<string, [architecture: RegExp, multiprocessors: number][]>}
 */
const CLASSES = {
  nvidia: [
    [/hopper/, DATA_CENTRE],
    [/fermi|kepler|maxwell/, LAPTOP],
    [/./, DESKTOP],
  ],
  amd: [
    [/cdna/, DATA_CENTRE],
    [/rdna/, LAPTOP],
    [/./, INTEGRATED],
  ],
  apple: [[/metal/, LAPTOP]],
  intel: [[/hpg/, LAPTOP]],
};

/**
 * The number of multiprocessors that schedules assume for a GPU. An unknown one counts as
 * integrated.
 * @param {AdapterInfo} [info] that of a device or adapter
 * @returns {number}
 */
export function multiprocessorsOf(info) {
  const vendor = info?.vendor ?? '';
  const architecture = info?.architecture ?? '';
  if (info?.isFallbackAdapter || EMULATORS.test(`${vendor} ${architecture}`)) return SOFTWARE;
  const found = CLASSES[vendor]?.find(([pattern]) => pattern.test(architecture || 'unknown'));
  return found?.[1] ?? INTEGRATED;
}
