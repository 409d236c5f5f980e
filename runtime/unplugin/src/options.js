/* Written by `make docs` from pipeline/webkiln/recipe/options.py. */

/**
 * The options of an import: whether they may be given several times, have no value, or are paths,
 * which are relative to the importing module; `named` paths may follow NAME=.
 * @type {Map<string, { many?: boolean, flag?: boolean, path?: boolean, named?: boolean }>}
 */
export const OPTIONS = new Map(
  Object.entries({
    name: {},
    weights: { path: true },
    'source-format': {},
    signature: {},
    parameter: { many: true },
    backend: {},
    encoding: {},
    'layer-encoding': { many: true },
    calibration: { path: true },
    ranges: {},
    'max-error': {},
    metric: { path: true },
    precision: {},
    float16: {},
    products: {},
    caches: {},
    'batch-size': {},
    'input-shape': { many: true },
    dim: { many: true },
    value: { many: true },
    'from-layer': { many: true },
    'to-layer': { many: true },
    image: { many: true },
    labels: { many: true, path: true, named: true },
    plugin: { many: true, path: true },
    operators: { many: true, path: true },
    reads: { many: true, path: true },
    'trust-source': { flag: true },
    winograd: {},
    'subgroup-matrices': {},
    tuned: { path: true },
  }),
);
