/** What a served `index.js` does besides: models in use get new weights without a reload of the page. */

const DECLARED = 'export const load = ';

/**
 * Makes a module that accepts its own updates of a bundle's `index.js`. Models that were loaded are loaded again and take the place of the old ones;
 * where inputs, outputs or sizes have changed, or that fails, the page is loaded again.
 * @param {string} code
 * @returns {string}
 */
export function withUpdates(code) {
  if (!code.includes(DECLARED)) throw new Error(`index.js of a bundle has no '${DECLARED}'; webkiln and unplugin-webkiln are of different versions`);
  return `${code.replace(DECLARED, 'const loadNow = ')}
const { shared = { live: new Set(), load: loadNow, face: '' } } = import.meta.hot.data;
const { inputs, outputs, placeholders, states } = manifest;
const face = JSON.stringify({ inputs, outputs, placeholders, states });
const changed = shared.face !== '' && shared.face !== face;
Object.assign(shared, { load: loadNow, face });
import.meta.hot.data.shared = shared;
export async function load(options) {
  const held = { model: await shared.load(options), options };
  shared.live.add(held);
  return new Proxy(held, {
    get({ model }, key) {
      if (key === 'dispose') shared.live.delete(held);
      const value = Reflect.get(model, key, model);
      return typeof value === 'function' ? value.bind(model) : value;
    },
  });
}
import.meta.hot.accept();
if (changed) import.meta.hot.invalidate();
else {
  for (const held of shared.live) {
    loadNow(held.options).then(model => {
      held.model.dispose();
      held.model = model;
    }).catch(() => import.meta.hot.invalidate());
  }
}
`;
}
