/** The plugin: builds the models that a project imports, and carries their files where a bundler does not do so by itself. */

import { existsSync, readFileSync, readdirSync, statSync, watch } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { createUnplugin } from 'unplugin';
import { checkServed, refuseForeign } from './access.js';
import { Builder } from './builder.js';
import { carryWith } from './esbuild_output.js';
import { withUpdates } from './hot.js';
import { Imports } from './imports.js';
import { preloads } from './preload.js';
import { PLACE, isServed, placeFrom, withURLs } from './references.js';
import { FILTER, divided, isRequest, keyOf, optionPaths, readRequest } from './request.js';
import { Types } from './types.js';

/** Bundlers that leave `new URL(..., import.meta.url)` as it is, but emit files. */
const EMITS = new Set(['rollup', 'rolldown', 'farm']);

/** Before what webpack would take for the scheme of a URL. */
const UNSCHEMED = './webkiln:';

const ISOLATED = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/** @param {string} path */
const posix = path => path.replaceAll('\\', '/');

/**
 * Tells open pages of a new bundle. Vite does not watch bundles itself: while one is written, its entry is not there.
 * @param {import('vite').ViteDevServer} server
 * @param {string} entry
 * @param {boolean} mended the page has seen an error, and has no module that takes updates
 */
async function announce(server, entry, mended) {
  const { client } = server.environments;
  for (const { moduleGraph } of Object.values(server.environments)) {
    for (const [file, modules] of moduleGraph.fileToModulesMap) {
      if (dirname(file) !== dirname(entry)) continue;
      for (const module of modules)
        moduleGraph.invalidateModule(module, new Set(), Date.now(), true);
    }
  }
  if (mended) client.hot.send({ type: 'full-reload' });
  else
    for (const module of client.moduleGraph.getModulesByFile(entry) ?? [])
      await client.reloadModule(module);
}

/** @type {import('unplugin').UnpluginFactory<import('../index.js').Options | undefined, boolean>} */
export const factory = (options = {}, { framework }) => {
  const root = resolve(options.root ?? process.cwd());
  const builder = new Builder(
    root,
    options.command,
    line => console.info(`webkiln ${line}`),
    text => console.warn(`webkiln: ${text}`),
  );
  const types =
    options.types === false ? null : new Types(resolve(root, options.types ?? 'webkiln-env.d.ts'));
  const defaults = {
    backend: options.backend === undefined ? undefined : [options.backend].flat().join(','),
    encoding: options.encoding,
  };
  /** What was asked for, by the entry that it became, with its manifest. @type {Map<string, { id: string, request: import('./request.js').Request, stamp: string }>} */
  const entries = new Map();
  /** What could not be built, and why. @type {Map<string, { request: import('./request.js').Request, error: Error }>} */
  const broken = new Map();
  /** What the bundles are made of. @type {Set<string>} */
  const made = new Set();
  /** @type {Map<string, import('node:fs').FSWatcher>} */
  const watched = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  let waiting;
  let watching = false;
  /** Vite's server of development. @type {import('vite').ViteDevServer | null} */
  let server = null;
  /** Farm's, which all URLs of assets begin with. */
  let publicPath = '';
  /** @type {import('vite').ResolvedConfig} */
  let resolved;
  /** What modules import, where a dev server resolves what a URL names. @type {Imports | null} */
  let imports = null;

  /**
   * @param {string} path in an import; one that begins with a slash may be that of the file, or start from the root
   * @param {string} from the folder of the importing module
   */
  const locate = (path, from) =>
    path.startsWith('/') && !existsSync(path) ? join(root, path) : resolve(from, path);

  /**
   * @param {string} id
   * @param {import('./request.js').Request} request
   * @param {boolean} [changed]
   */
  async function build(id, request, changed) {
    const begun = Date.now();
    if (resolved?.command === 'serve') {
      for (const path of contentsOf(request)) checkServed(id, path, resolved);
    }
    const bundle = await builder.build(request, changed).catch(error => {
      broken.set(id, { request, error });
      if (watching) keep(readBy(request), begun);
      throw error;
    });
    const entry = posix(bundle.entry);
    const stamp = readFileSync(join(bundle.folder, 'manifest.json'), 'utf8');
    const before = entries.get(entry)?.stamp;
    entries.set(entry, { id, request, stamp });
    const mended = broken.delete(id);
    if (server && (mended || (before !== undefined && before !== stamp)))
      await announce(server, entry, mended);
    types?.add(id, bundle.folder);
    if (watching) keep(bundle.files, begun);
    return bundle;
  }

  /**
   * What a build that fails has read, as far as its request tells.
   * @param {import('./request.js').Request} request
   */
  const readBy = ({ source, recipe, options }) => [
    ...(recipe
      ? [join(root, 'models', source, 'recipe.toml'), join(root, source, 'recipe.toml')]
      : [source]),
    ...optionPaths(options),
  ];

  /**
   * Builds again when one of these files changes, or has changed since a build began to read them. Other bundlers than Vite watch the bundle, whose
   * files then change.
   * @param {string[]} files
   * @param {number} begun
   */
  function keep(files, begun) {
    const late = (/** @type {string} */ file) => {
      const { mtimeMs = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
      return mtimeMs > begun && mtimeMs <= Date.now();
    };
    const fresh = files.filter(file => !made.has(file));
    for (const file of fresh) made.add(file);
    for (const folder of new Set(files.map(dirname))) {
      if (watched.has(folder) || !existsSync(folder)) continue;
      const watcher = watch(folder, (_, name) => {
        if (name === null || made.has(join(folder, name))) soon();
      });
      // A folder that goes is no reason to end the server.
      watcher.on('error', () => watched.delete(folder));
      watcher.unref();
      watched.set(folder, watcher);
    }
    if (fresh.some(late)) soon();
  }

  function soon() {
    clearTimeout(waiting);
    waiting = setTimeout(rebuild, 100);
  }

  /** A server that starts again has a plugin of its own. */
  function end() {
    clearTimeout(waiting);
    for (const watcher of watched.values()) watcher.close();
    watched.clear();
    watching = false;
  }

  /**
   * Shows an error in the overlay of open pages.
   * @param {string} id
   * @param {Error} error
   */
  const tell = (id, error) =>
    server?.environments.client.hot.send({
      type: 'error',
      err: { message: error.message, stack: '', id, plugin: 'webkiln' },
    });

  async function rebuild() {
    const asked = new Map([
      ...[...entries.values()].map(({ id, request }) => /** @type {const} */ ([id, request])),
      ...[...broken].map(([id, { request }]) => /** @type {const} */ ([id, request])),
    ]);
    for (const [id, request] of asked) {
      await build(id, request, true).catch(error => {
        console.error(`webkiln: ${id}: ${error.message}`);
        tell(id, error);
      });
    }
  }

  /**
   * The folders whose modules may import models while a dev server runs.
   * @param {string} folder the root of the server
   * @param {string} publicDir
   */
  const projectOf = (folder, publicDir) => ({
    folders: options.root === undefined ? [folder] : [folder, root],
    others: [options.importers ?? []].flat().map(other => resolve(folder, other)),
    publicDir,
  });

  /**
   * The files of a request whose contents become part of the bundle.
   * @param {import('./request.js').Request} request
   */
  function contentsOf({ source, recipe, options }) {
    const files = optionPaths(options.filter(([name]) => name === 'weights' || name === 'labels'));
    if (!recipe) return [source, ...files];
    const path = resolve(root, source);
    return existsSync(path) ? [path, ...files] : files;
  }

  /** @type {import('unplugin').UnpluginOptions} */
  const reader = {
    name: 'webkiln:imports',
    enforce: 'post',
    vite: {
      apply: 'serve',
      transform: {
        async handler(code, id) {
          if (imports === null) return;
          /** @type {Set<string>} */
          const asked = new Set();
          for (const specifier of imports.read(code, id, text => this.parse(text))) {
            // Resolved, it is as aliases and plugins leave it for the hook below.
            await this.resolve(specifier, id, { custom: { webkiln: asked } }).catch(() => null);
          }
          const keys = keysOf(asked, dirname(divided(id)[0]));
          imports.record(this.environment.name, id, keys);
        },
      },
      watchChange(file, { event }) {
        // A new file may have been read before its event comes, and is not read again then.
        if (event !== 'create') imports?.forget(file);
      },
    },
  };

  /**
   * @param {Iterable<string>} ids
   * @param {string} from the folder of the importing module
   * @returns {Map<string, string>} each with its key, which is empty where it cannot be read
   */
  const keysOf = (ids, from) =>
    new Map(
      [...ids].map(id => {
        try {
          return [id, keyOf(readRequest(id, path => locate(path, from), defaults))];
        } catch {
          return [id, ''];
        }
      }),
    );

  /** @type {import('unplugin').UnpluginOptions} */
  const plugin = {
    name: 'webkiln',
    enforce: 'pre',
    resolveId: {
      filter: { id: FILTER },
      async handler(asked, importer, how) {
        const id = asked.startsWith(UNSCHEMED) ? asked.slice(2) : asked;
        if (!isRequest(id)) return null;
        if (imports) {
          const { scan, custom } = /** @type {any} */ (how);
          custom?.webkiln?.add(id);
          if (scan || custom?.webkiln) return { id, external: true };
        }
        const from = importer ? dirname(divided(importer)[0]) : root;
        const request = readRequest(id, path => locate(path, from), defaults);
        if (imports) {
          const key = keyOf(request);
          const { name = null } = /** @type {any} */ (this).environment ?? {};
          if (imports.check(id, key, importer, name)) {
            const built = [...entries].find(([, { request }]) => keyOf(request) === key);
            if (built) return built[0];
          }
        }
        if (!request.recipe) this.addWatchFile(request.source);
        const { entry, files } = await build(id, request);
        for (const file of files) this.addWatchFile(file);
        return posix(entry);
      },
    },
    transform: {
      filter: { id: /\.webkiln[\\/]bundles[\\/][^\\/]+[\\/]index\.js$/ },
      handler(code, id) {
        if (!entries.has(posix(id))) return null;
        const folder = dirname(id);
        const serverSide = /** @type {any} */ (this).environment?.config.consumer === 'server';
        const placed = () => ({
          code: withURLs(
            code,
            file => `${JSON.stringify(`${PLACE}${basename(folder)}/${file}`)}, import.meta.url`,
          ),
          map: null,
        });
        if (framework === 'esbuild') return placed();
        if (server)
          return serverSide || server.config.server.hmr === false
            ? null
            : { code: withUpdates(code), map: null };
        if (!EMITS.has(framework) && !serverSide) return null;
        const stem = `webkiln/${basename(folder)}`;
        const emit = (/** @type {string} */ file) =>
          /** @type {any} */ (this).emitFile({
            type: 'asset',
            fileName: `${stem}/${file}`,
            source: readFileSync(join(folder, file)),
          });
        // The Worker is carried with the modules beside it, unbundled, so that it fetches the chosen backend's alone.
        const names = new Map(
          readdirSync(folder)
            .filter(isServed)
            .map(file => [file, emit(file)]),
        );
        // Vite makes URLs of pages of what is emitted.
        if (serverSide) return placed();
        // Farm gives an emitted file no reference.
        if (framework === 'farm')
          return {
            code: withURLs(
              code,
              file => `${JSON.stringify(`${publicPath}${stem}/${file}`)}, document.baseURI`,
            ),
            map: null,
          };
        return {
          code: withURLs(code, file => `import.meta.ROLLUP_FILE_URL_${names.get(file)}`),
          map: null,
        };
      },
    },
    vite: {
      config: ({ server }, { isSsrBuild }) => ({
        worker: { format: 'es' },
        // Vite takes the files of a server's code to be those of the pages, which are hashed; Node reads its own.
        ...(isSsrBuild ? { build: { ssrEmitAssets: true } } : {}),
        server: {
          ...(server?.watch === null ? {} : { watch: { ignored: ['**/.webkiln/**'] } }),
          ...(options.isolated ? { headers: ISOLATED } : {}),
        },
        ...(options.isolated ? { preview: { headers: ISOLATED } } : {}),
      }),
      configResolved(config) {
        watching = config.command === 'serve' || Boolean(config.build.watch);
        resolved = config;
        config.server.fs.allow.push(join(root, '.webkiln', 'bundles'));
        if (config.command === 'serve') {
          const { alias } = config.resolve;
          const aliased = alias.some(({ replacement }) => replacement.includes('webkiln'));
          imports = new Imports(projectOf(config.root, config.publicDir), aliased);
        }
      },
      transformIndexHtml: {
        order: 'post',
        handler: (_, page) => {
          if (!options.preload) return [];
          const shards = [...entries.values()].map(({ stamp }) =>
            JSON.parse(stamp).shards.map((/** @type {{ file: string }} */ { file }) => file),
          );
          return preloads(page, resolved, shards);
        },
      },
      renderChunk: (code, { fileName }) =>
        code.includes(PLACE)
          ? { code: code.replaceAll(PLACE, placeFrom(fileName, '')), map: null }
          : null,
      configureServer(made) {
        server = made;
        made.middlewares.use(refuseForeign);
        // A page that is loaded again gets the last bundle that was built, and would say nothing of it.
        made.ws.on('connection', () => {
          for (const [id, { error }] of broken) tell(id, error);
        });
      },
      closeBundle() {
        if (
          server &&
          Object.values(server.environments).includes(/** @type {any} */ (this).environment)
        )
          end();
      },
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
      compiler.hooks.watchRun.tap('webkiln', () => {
        watching = true;
      });
      compiler.hooks.normalModuleFactory.tap('webkiln', factory => {
        factory.hooks.beforeResolve.tap('webkiln', data => {
          if (data.request.startsWith('webkiln:')) data.request = `./${data.request}`;
        });
      });
    },
    rspack: compiler => {
      compiler.hooks.watchRun.tap('webkiln', () => {
        watching = true;
      });
    },
    farm: {
      configResolved(config) {
        publicPath = config.compilation?.output?.publicPath ?? '/';
        // Its dev server compiles modules that a URL names (`/__lazy_compile?paths=`).
        if (config.compilation?.mode === 'development') {
          const folder = /** @type {{ root?: string }} */ (config).root ?? process.cwd();
          imports = new Imports(projectOf(folder, ''));
        }
      },
    },
    esbuild: {
      setup: build => carryWith(build, () => entries.keys()),
    },
  };
  return framework === 'vite' ? [plugin, reader] : plugin;
};

export const webkiln = createUnplugin(factory);
export default webkiln;
