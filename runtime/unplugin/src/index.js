/** The plugin: builds the models that a project imports, and carries their files where a bundler does not do so by itself. */

import { existsSync, readFileSync, readdirSync, watch } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { createUnplugin } from 'unplugin';
import { Builder } from './builder.js';
import { PLACE, carryWith } from './esbuild_output.js';
import { withUpdates } from './hot.js';
import { isServed, withURLs } from './references.js';
import { isRequest, readRequest } from './request.js';
import { Types } from './types.js';

/** Bundlers that leave `new URL(..., import.meta.url)` as it is, but emit files. */
const EMITS = new Set(['rollup', 'rolldown', 'farm']);

const ISOLATED = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };

const BUNDLED = /\.webkiln[\\/]bundles[\\/]/;

/** @param {string} path */
const posix = path => path.replaceAll('\\', '/');

/** @type {import('unplugin').UnpluginFactory<import('../index.js').Options | undefined, false>} */
export const factory = (options = {}, { framework }) => {
  const root = resolve(options.root ?? process.cwd());
  const builder = new Builder(root, options.command, line => console.info(`webkiln ${line}`));
  const types = options.types === false ? null : new Types(resolve(root, options.types ?? 'webkiln-env.d.ts'));
  const defaults = { backend: options.backend === undefined ? undefined : [options.backend].flat().join(','), encoding: options.encoding };
  /** What was asked for, by the entry that it became. @type {Map<string, { id: string, request: import('./request.js').Request }>} */
  const entries = new Map();
  /** What the bundles are made of. @type {Set<string>} */
  const made = new Set();
  /** @type {Map<string, import('node:fs').FSWatcher>} */
  const watched = new Map();
  let watching = false;
  /** Vite's server of development. @type {any} */
  let server = null;

  /**
   * @param {string} path in an import; one that begins with a slash may be that of the file, or start from the root
   * @param {string} from the folder of the importing module
   */
  const locate = (path, from) => path.startsWith('/') && !existsSync(path) ? join(root, path) : resolve(from, path);

  /**
   * @param {string} id
   * @param {import('./request.js').Request} request
   */
  async function build(id, request) {
    const bundle = await builder.build(request);
    entries.set(posix(bundle.entry), { id, request });
    types?.add(id, bundle.folder);
    if (watching) keep(bundle.files);
    return bundle;
  }

  /**
   * Builds again when one of these files changes. Bundlers watch the bundle, whose files then change.
   * @param {string[]} files
   */
  function keep(files) {
    for (const file of files) made.add(file);
    for (const folder of new Set(files.map(dirname))) {
      if (watched.has(folder) || !existsSync(folder)) continue;
      /** @type {NodeJS.Timeout | undefined} */
      let waiting;
      const watcher = watch(folder, (_, name) => {
        if (name !== null && !made.has(join(folder, name))) return;
        clearTimeout(waiting);
        waiting = setTimeout(rebuild, 100);
      });
      watcher.unref();
      watched.set(folder, watcher);
    }
  }

  async function rebuild() {
    for (const { id, request } of entries.values()) {
      await build(id, request).catch(error => {
        console.error(`webkiln: ${id}: ${error.message}`);
        server?.ws.send({ type: 'error', err: { message: error.message, stack: '', id, plugin: 'webkiln' } });
      });
    }
  }

  return {
    name: 'webkiln',
    enforce: 'pre',
    resolveId: {
      filter: { id: /^webkiln:|[?&]webkiln(?:[&=]|$)/ },
      async handler(id, importer) {
        if (!isRequest(id)) return null;
        const from = importer ? dirname(importer.split('?')[0] ?? '') : root;
        const { entry, files } = await build(id, readRequest(id, path => locate(path, from), defaults));
        for (const file of files) this.addWatchFile(file);
        return posix(entry);
      },
    },
    transform: {
      filter: { id: /\.webkiln[\\/]bundles[\\/][^\\/]+[\\/]index\.js$/ },
      handler(code, id) {
        if (!entries.has(posix(id))) return null;
        const folder = dirname(id);
        if (framework === 'esbuild') {
          return { code: withURLs(code, file => `${JSON.stringify(`${PLACE}${basename(folder)}/${file}`)}, import.meta.url`), map: null };
        }
        if (server) return { code: withUpdates(code), map: null };
        if (!EMITS.has(framework)) return null;
        const stem = `webkiln/${basename(folder)}`;
        const emit = (/** @type {string} */ file) => /** @type {any} */ (this).emitFile({ type: 'asset', fileName: `${stem}/${file}`, source: readFileSync(join(folder, file)) });
        // The Worker is carried with the modules beside it, unbundled, so that it fetches the chosen backend's alone.
        const names = new Map(readdirSync(folder).filter(isServed).map(file => [file, emit(file)]));
        return { code: withURLs(code, file => `import.meta.ROLLUP_FILE_URL_${names.get(file)}`), map: null };
      },
    },
    vite: {
      config: () => ({ worker: { format: 'es' }, ...(options.isolated ? { server: { headers: ISOLATED }, preview: { headers: ISOLATED } } : {}) }),
      configResolved(config) {
        watching = config.command === 'serve' || Boolean(config.build.watch);
      },
      configureServer(made) {
        server = made;
      },
      // The entry is written last, and takes its updates itself.
      handleHotUpdate: ({ file, modules }) => BUNDLED.test(file) && !file.endsWith('/index.js') ? [] : modules,
    },
    rollup: {
      buildStart() {
        watching = this.meta.watchMode;
      },
    },
    rolldown: {
      buildStart() {
        watching = this.meta.watchMode;
      },
    },
    webpack: compiler => {
      compiler.hooks.watchRun.tap('webkiln', () => { watching = true; });
    },
    rspack: compiler => {
      compiler.hooks.watchRun.tap('webkiln', () => { watching = true; });
    },
    esbuild: {
      setup: build => carryWith(build, () => entries.keys()),
    },
  };
};

export const webkiln = createUnplugin(factory);
export default webkiln;
