import {
  WebkilnError,
  argmax,
  argmin,
  checkPlaceholders,
  documentURL,
  supportsVariant,
} from './main.js';
import { Color, Order } from './pixels.js';
import {
  getImageArray,
  getImageArrayFromCanvas,
  getImageArrayFromDrawable,
  getImageArrayFromImageData,
  loadImageByDialog,
  loadImageByUrl,
  loadImageFromFileInput,
  setImageArrayToCanvas,
} from './image.js';
import { SymbolicFloat32Array, SymbolicTypedArray, viewsOf } from './views.js';

/** WebDNN 1.x backend names -> names of webkiln. @type {Record<string, string>} */
const BACKEND_OF = { webgpu: 'webgpu', webgl: 'webgl', webassembly: 'wasm', fallback: 'js' };

/** @type {Record<string, any>} */
const configurations = {};

/**
 * @param {string} key
 * @param {any} [otherwise]
 */
export const getConfiguration = (key, otherwise) =>
  key in configurations ? configurations[key] : otherwise;

/**
 * @param {string} key
 * @param {any} value
 */
export const setConfiguration = (key, value) => {
  configurations[key] = value;
};

/** The backends that this browser supports, in order of preference. */
export function getBackendAvailability() {
  const scope = /** @type {any} */ (globalThis);
  /** @type {Record<string, boolean>} */
  const status = {
    webgpu: Boolean(scope.navigator?.gpu),
    webgl: typeof scope.WebGL2RenderingContext === 'function',
    webassembly: supportsVariant('simd'),
    fallback: true,
  };
  return { status, defaultOrder: Object.keys(status).filter(backend => status[backend]) };
}

/** A model with the interface of WebDNN 1.x: set `inputs`, `await run()`, read `outputs`. */
export class DescriptorRunner {
  #model;
  /** @type {Record<string, number>} */
  #placeholders = {};

  /** @param {any} model */
  constructor(model) {
    this.#model = model;
    this.backendName =
      Object.keys(BACKEND_OF).find(name => BACKEND_OF[name] === model.backend) ?? model.backend;
    this.descriptor = model.manifest;
    this.inputs = viewsOf(model.manifest.inputs);
    this.outputs = viewsOf(model.manifest.outputs);
    this.running = false;
  }

  getInputViews() {
    return this.inputs;
  }

  getOutputViews() {
    return this.outputs;
  }

  /** Run on the current `inputs` and overwrite `outputs`. */
  async run() {
    this.running = true;
    try {
      const inputs = Object.fromEntries(this.inputs.map(view => [view.name, view.toActual()]));
      const values = await this.#model.run(inputs, { placeholders: this.#placeholders });
      for (const view of this.outputs) {
        view.resize(this.#model.shapes[view.name]);
        view.set(values[view.name]);
      }
    } finally {
      this.running = false;
    }
  }

  /**
   * Set placeholders. Inputs that depend on them get new arrays.
   * @param {Record<string, number>} values
   * @returns {Promise<void>}
   */
  async setPlaceholderValue(values) {
    checkPlaceholders(this.descriptor, values);
    Object.assign(this.#placeholders, values);
    for (const view of this.inputs) view.setPlaceholders(this.#placeholders);
  }

  /** Reset the states to their initial values. */
  reset() {
    return this.#model.reset();
  }

  dispose() {
    this.#model.dispose();
  }
}

/**
 * @typedef {object} InitOption
 * @property {string | string[]} [backendOrder] backend names of WebDNN 1.x or webkiln; by default,
 *   all that the browser supports
 * @property {Record<string, any>} [backendOptions] `{webassembly: {variant}}` chooses a variant
 * @property {import('./types.ts').CacheStrategy} [cacheStrategy] for the weights and wasm files
 * @property {boolean} [saveCache] store them in Cache Storage
 * @property {boolean} [ignoreCache] bypass the browser's HTTP cache
 * @property {number} [stallTimeout] milliseconds without a byte after which a request fails; 0:
 *   no limit
 * @property {(loaded: number, total: number) => any} [progressCallback] in bytes
 * @property {string} [weightDirectory] the folder of the weight files
 * @property {(url: string) => string} [transformUrlDelegate] maps each URL, after
 *   `weightDirectory` was applied
 */

/**
 * @param {string} directory the folder of a bundle, relative to the page
 * @param {InitOption} [options]
 * @returns {Promise<DescriptorRunner>}
 */
export async function load(directory, options = {}) {
  const {
    backendOrder = getBackendAvailability().defaultOrder,
    backendOptions = {},
    weightDirectory,
  } = options;
  const { progressCallback = () => {}, transformUrlDelegate = url => url } = options;
  const { cacheStrategy = 'latest', saveCache = true, ignoreCache = false, stallTimeout } = options;
  const folder = (/** @type {string} */ path) => new URL(path.replace(/\/*$/, '/'), documentURL());
  const backends = [backendOrder].flat().map(name => BACKEND_OF[name] ?? name);
  const entry = transformUrlDelegate(new URL('index.js', folder(directory)).href);
  const bundle = await import(/* @vite-ignore */ /* webpackIgnore: true */ entry).catch(error => {
    throw new WebkilnError(
      'MissingFile',
      `${entry} could not be imported (${error.message}); open it: ` +
        'the directory must contain a bundle, and the server must respond',
    );
  });
  const model = await bundle.load({
    backends,
    cacheStrategy,
    saveCache,
    ignoreCache,
    stallTimeout,
    variant: backendOptions.webassembly?.variant,
    onProgress: (/** @type {{ loaded: number, total: number }} */ { loaded, total }) =>
      progressCallback(loaded, total),
    transformURL: (/** @type {string} */ url, /** @type {string} */ file) =>
      transformUrlDelegate(
        weightDirectory && file.endsWith('.bin')
          ? new URL(file, folder(weightDirectory)).href
          : url,
      ),
  });
  return new DescriptorRunner(model);
}

const image = {
  Color,
  Order,
  getImageArray,
  getImageArrayFromCanvas,
  getImageArrayFromDrawable,
  getImageArrayFromImageData,
  loadImageByDialog,
  loadImageByUrl,
  loadImageFromFileInput,
  setImageArrayToCanvas,
};
const math = { argmax, argmin };
const WebDNN = {
  load,
  getBackendAvailability,
  getConfiguration,
  setConfiguration,
  DescriptorRunner,
  SymbolicFloat32Array,
  SymbolicTypedArray,
  WebkilnError,
  Image: image,
  Math: math,
};
/** @type {any} */ (globalThis).WebDNN = WebDNN;

export { SymbolicFloat32Array, SymbolicTypedArray, WebkilnError, image as Image, math as Math };
export default WebDNN;
