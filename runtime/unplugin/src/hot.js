/** What a served `index.js` does besides: models in use get new weights without a reload of the page. */

const DECLARED = 'export const load = ';

/**
 * Makes a module that accepts its own updates of a bundle's `index.js`. Models that were loaded are loaded again and take the place of the old ones;
 * where inputs, outputs or sizes have changed, or that fails, the page is loaded again.
 * @param {string} code
 * @returns {string}
 */
export function withUpdates(code) {
  if (!code.includes(DECLARED))
    throw new Error(
      `index.js of a bundle has no '${DECLARED}'; webkiln and unplugin-webkiln are of different versions`,
    );
  return `${code.replace(DECLARED, 'const loadNow = ')}
const { shared = { live: new Set(), load: loadNow, face: '', builds: 0 } } = import.meta.hot.data;
const { inputs, outputs, placeholders, states } = manifest;
const face = JSON.stringify({ inputs, outputs, placeholders, states });
const changed = shared.face !== '' && shared.face !== face;
const build = shared.builds + 1;
Object.assign(shared, { load: loadNow, face, builds: build });
import.meta.hot.data.shared = shared;
export async function load(options) {
  const held = { model: null, options, ended: null };
  for (let seen; seen !== shared.builds;) {
    seen = shared.builds;
    held.model?.dispose();
    held.model = await shared.load(options);
  }
  shared.live.add(held);
  return new Proxy(held, {
    get({ model }, key) {
      if (key === 'dispose') shared.live.delete(held);
      const value = Reflect.get(model, key, model);
      if (typeof value !== 'function') return value;
      return (...given) => {
        const result = value.apply(model, given);
        held.ended = Promise.allSettled([held.ended, result]).then(() => {});
        return result;
      };
    },
  });
}
import.meta.hot.accept();
if (changed) import.meta.hot.invalidate();
else {
  for (const held of shared.live) {
    // The signal was that of the first load, and may have told of its end since.
    loadNow({ ...held.options, signal: undefined }).then(model => {
      if (build !== shared.builds || !shared.live.has(held)) return model.dispose();
      const before = held.model;
      held.model = model;
      Promise.resolve(held.ended).then(() => before.dispose());
    }).catch(() => import.meta.hot.invalidate());
  }
}
`;
}
