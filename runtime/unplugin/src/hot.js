/** Hot updates: models in use receive new weights without a reload of the page. */

import { dirname } from 'node:path';

const DECLARED = 'export const load = ';

/**
 * Invalidate the modules of a bundle in Vite's module graphs and send the update to open pages.
 * Vite does not watch bundles itself: while one is written, its entry does not exist.
 * @param {import('vite').ViteDevServer} server
 * @param {string} entry
 * @param {boolean} repaired whether the last build failed, so that pages must reload
 */
export async function invalidate(server, entry, repaired) {
  const { client } = server.environments;
  for (const { moduleGraph } of Object.values(server.environments)) {
    for (const [file, modules] of moduleGraph.fileToModulesMap) {
      if (dirname(file) !== dirname(entry)) continue;
      for (const module of modules)
        moduleGraph.invalidateModule(module, new Set(), Date.now(), true);
    }
  }
  if (repaired) client.hot.send({ type: 'full-reload' });
  else
    for (const module of client.moduleGraph.getModulesByFile(entry) ?? [])
      await client.reloadModule(module);
}

/**
 * Turn the `index.js` of a bundle into a module that accepts its own updates. Loaded models are
 * loaded again and replace the old ones. If inputs, outputs or sizes have changed, or loading
 * fails, the page is reloaded.
 * @param {string} code
 * @returns {string}
 */
export function withUpdates(code) {
  if (!code.includes(DECLARED))
    throw new Error(
      `index.js of a bundle has no '${DECLARED}'; ` +
        'the versions of webkiln and unplugin-webkiln differ',
    );
  return `${code.replace(DECLARED, 'const loadModel = ')}
const fresh = { live: new Set(), load: loadModel, signature: '', builds: 0 };
const { shared = fresh } = import.meta.hot.data;
const { inputs, outputs, placeholders, states } = manifest;
const signature = JSON.stringify({ inputs, outputs, placeholders, states });
const changed = shared.signature !== '' && shared.signature !== signature;
const build = shared.builds + 1;
Object.assign(shared, { load: loadModel, signature, builds: build });
import.meta.hot.data.shared = shared;
export async function load(options) {
  const entry = { model: null, options, ended: null };
  for (let seen; seen !== shared.builds;) {
    seen = shared.builds;
    entry.model?.dispose();
    entry.model = await shared.load(options);
  }
  shared.live.add(entry);
  return new Proxy(entry, {
    get({ model }, key) {
      if (key === 'dispose') shared.live.delete(entry);
      const value = Reflect.get(model, key, model);
      if (typeof value !== 'function') return value;
      return (...values) => {
        const result = value.apply(model, values);
        entry.ended = Promise.allSettled([entry.ended, result]).then(() => {});
        return result;
      };
    },
  });
}
import.meta.hot.accept();
if (changed) import.meta.hot.invalidate();
else {
  for (const entry of shared.live) {
    // The signal belongs to the first load and may have been aborted since.
    loadModel({ ...entry.options, signal: undefined }).then(model => {
      if (build !== shared.builds || !shared.live.has(entry)) return model.dispose();
      const before = entry.model;
      entry.model = model;
      Promise.resolve(entry.ended).then(() => before.dispose());
    }).catch(() => import.meta.hot.invalidate());
  }
}
`;
}
