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

/** The names of WebDNN 1.x for the backends. @type {Record<string, string>} */
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

/** Which backends this browser has, in order of preference. */
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

/** A model by the interface of WebDNN 1.x: set `inputs`, `await run()`, read `outputs`. */
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

  /** Runs on what `inputs` hold now and overwrites what `outputs` hold. */
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
   * Sets sizes that were left open when the model was built; the inputs that depend on them get new arrays.
   * @param {Record<string, number>} values
   * @returns {Promise<void>}
   */
  async setPlaceholderValue(values) {
    checkPlaceholders(this.descriptor.placeholders, values);
    Object.assign(this.#placeholders, values);
    for (const view of this.inputs) view.setPlaceholders(this.#placeholders);
  }

  /** Sets the states back to their initial values. */
  reset() {
    return this.#model.reset();
  }

  dispose() {
    this.#model.dispose();
  }
}

/**
 * @typedef {object} InitOption
 * @property {string | string[]} [backendOrder] names of WebDNN 1.x or of webkiln; as default, all that the browser has
 * @property {Record<string, any>} [backendOptions] `{webassembly: {variant}}` chooses a variant
 * @property {'latest' | 'networkFirst' | 'cacheFirst' | 'networkOnly' | 'cacheOnly'} [cacheStrategy] for the weights and wasm files
 * @property {boolean} [saveCache] keep them in Cache Storage
 * @property {boolean} [ignoreCache] pass over the browser's HTTP cache
 * @property {number} [stallTimeout] milliseconds without a byte after which a request counts as failed; 0: none
 * @property {(loaded: number, total: number) => any} [progressCallback] in bytes
 * @property {string} [weightDirectory] where the weight files are
 * @property {(url: string) => string} [transformUrlDelegate] sees each URL after `weightDirectory`
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
      `${entry} could not be imported (${error.message}); open it: the directory must be that of a bundle, and the server must answer`,
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
