/**
 * The plugin. It builds the models that a project imports, and emits their files for bundlers that
 * do not follow URLs.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { createUnplugin } from 'unplugin';
import { checkServed, rejectForeign } from './access.js';
import { Builder } from './builder.js';
import { copyBundles } from './esbuild_output.js';
import { invalidate, withUpdates } from './hot.js';
import { Imports } from './imports.js';
import { preloads } from './preload.js';
import { PLACEHOLDER, bundlesPath, isServed, withURLs } from './references.js';
import { FILTER, splitQuery, isRequest, keyOf, optionPaths, readRequest } from './request.js';
import { Types } from './types.js';
import { FileWatcher } from './watcher.js';

/** Bundlers that keep `new URL(..., import.meta.url)` unchanged, but can emit files. */
const EMITS = new Set(['rollup', 'rolldown', 'farm']);

/** The prefix of requests that webpack would otherwise parse as URLs with a scheme. */
const UNSCHEMED = './webkiln:';

const ISOLATED = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Embedder-Policy': 'require-corp',
};

/** @param {string} path */
const posix = path => path.replaceAll('\\', '/');

/**
 * @type {import('unplugin').UnpluginFactory<import('../index.js').Options | undefined, boolean>}
 */
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
  /**
   * Requests by the entry of their bundle; `stamp` is the manifest.
   * @type {Map<string, { id: string, request: import('./request.js').Request, stamp: string }>}
   */
  const entries = new Map();
  /**
   * Requests whose last build failed.
   * @type {Map<string, { request: import('./request.js').Request, error: Error }>}
   */
  const broken = new Map();
  const watcher = new FileWatcher(rebuild);
  /** Vite's dev server. @type {import('vite').ViteDevServer | null} */
  let server = null;
  /** Farm's base URL of assets. */
  let publicPath = '';
  /** @type {import('vite').ResolvedConfig} */
  let resolved;
  /** The imports of modules, for dev servers that resolve URLs. @type {Imports | null} */
  let imports = null;

  /**
   * @param {string} path the path of an import; with a leading slash it is absolute or relative to
   *   the root
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
    const started = Date.now();
    if (resolved?.command === 'serve') {
      for (const path of contentsOf(request)) checkServed(id, path, resolved);
    }
    const bundle = await builder.build(request, changed).catch(error => {
      broken.set(id, { request, error });
      watcher.add(inputsOf(request), started);
      throw error;
    });
    const entry = posix(bundle.entry);
    const stamp = readFileSync(join(bundle.folder, 'manifest.json'), 'utf8');
    const before = entries.get(entry)?.stamp;
    entries.set(entry, { id, request, stamp });
    const repaired = broken.delete(id);
    if (server && (repaired || (before !== undefined && before !== stamp)))
      await invalidate(server, entry, repaired);
    types?.add(id, bundle.folder);
    watcher.add(bundle.files, started);
    return bundle;
  }

  /**
   * The files of a failed build that are known from its request.
   * @param {import('./request.js').Request} request
   */
  const inputsOf = ({ source, recipe, options }) => [
    ...(recipe
      ? [join(root, 'models', source, 'recipe.toml'), join(root, source, 'recipe.toml')]
      : [source]),
    ...optionPaths(options),
  ];

  /**
   * Show an error in the overlay of open pages.
   * @param {string} id
   * @param {Error} error
   */
  const sendError = (id, error) =>
    server?.environments.client.hot.send({
      type: 'error',
      err: { message: error.message, stack: '', id, plugin: 'webkiln' },
    });

  async function rebuild() {
    const requests = new Map([
      ...[...entries.values()].map(({ id, request }) => /** @type {const} */ ([id, request])),
      ...[...broken].map(([id, { request }]) => /** @type {const} */ ([id, request])),
    ]);
    for (const [id, request] of requests) {
      await build(id, request, true).catch(error => {
        console.error(`webkiln: ${id}: ${error.message}`);
        sendError(id, error);
      });
    }
  }

  /**
   * The folders whose modules may import models in a dev server.
   * @param {string} folder the root of the server
   * @param {string} publicDir
   */
  const projectOf = (folder, publicDir) => ({
    folders: options.root === undefined ? [folder] : [folder, root],
    others: [options.importers ?? []].flat().map(other => resolve(folder, other)),
    publicDir,
  });

  /**
   * The files of a request whose contents are copied to the bundle.
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
          const requested = new Set();
          for (const specifier of imports.read(code, id, text => this.parse(text))) {
            // Resolving applies aliases and plugins; the hook below records the result.
            await this.resolve(specifier, id, { custom: { webkiln: requested } }).catch(() => null);
          }
          const keys = keysOf(requested, dirname(splitQuery(id)[0]));
          imports.record(this.environment.name, id, keys);
        },
      },
      watchChange(file, { event }) {
        // A new file may have been read before its event arrives; it is not read again.
        if (event !== 'create') imports?.forget(file);
      },
    },
  };

  /**
   * @param {Iterable<string>} ids
   * @param {string} from the folder of the importing module
   * @returns {Map<string, string>} request -> key, empty if the request is invalid
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
      async handler(specifier, importer, context) {
        const id = specifier.startsWith(UNSCHEMED) ? specifier.slice(2) : specifier;
        if (!isRequest(id)) return null;
        if (imports) {
          const { scan, custom } = /** @type {any} */ (context);
          custom?.webkiln?.add(id);
          if (scan || custom?.webkiln) return { id, external: true };
        }
        const from = importer ? dirname(splitQuery(importer)[0]) : root;
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
            file =>
              `${JSON.stringify(`${PLACEHOLDER}${basename(folder)}/${file}`)}, import.meta.url`,
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
        // The Worker is emitted unbundled, with its modules, so that it fetches only the chosen
        // backend.
        const names = new Map(
          readdirSync(folder)
            .filter(isServed)
            .map(file => [file, emit(file)]),
        );
        // Vite replaces references to emitted files by URLs of pages.
        if (serverSide) return placed();
        // Farm has no references to emitted files.
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
        // Vite assumes that server code uses the hashed files of pages; Node reads its own files.
        ...(isSsrBuild ? { build: { ssrEmitAssets: true } } : {}),
        server: {
          ...(server?.watch === null ? {} : { watch: { ignored: ['**/.webkiln/**'] } }),
          ...(options.isolated ? { headers: ISOLATED } : {}),
        },
        ...(options.isolated ? { preview: { headers: ISOLATED } } : {}),
      }),
      configResolved(config) {
        watcher.enabled = config.command === 'serve' || Boolean(config.build.watch);
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
        code.includes(PLACEHOLDER)
          ? { code: code.replaceAll(PLACEHOLDER, bundlesPath(fileName, '')), map: null }
          : null,
      configureServer(created) {
        server = created;
        created.middlewares.use(rejectForeign);
        // A reloaded page uses the last successful bundle, so the error must be sent again.
        created.ws.on('connection', () => {
          for (const [id, { error }] of broken) sendError(id, error);
        });
      },
      closeBundle() {
        if (
          server &&
          Object.values(server.environments).includes(/** @type {any} */ (this).environment)
        )
          watcher.close();
      },
    },
    rollup: {
      buildStart() {
        watcher.enabled = this.meta.watchMode;
      },
    },
    rolldown: {
      buildStart() {
        watcher.enabled = this.meta.watchMode;
      },
    },
    webpack: compiler => {
      compiler.hooks.watchRun.tap('webkiln', () => {
        watcher.enabled = true;
      });
      compiler.hooks.normalModuleFactory.tap('webkiln', factory => {
        factory.hooks.beforeResolve.tap('webkiln', data => {
          if (data.request.startsWith('webkiln:')) data.request = `./${data.request}`;
        });
      });
    },
    rspack: compiler => {
      compiler.hooks.watchRun.tap('webkiln', () => {
        watcher.enabled = true;
      });
    },
    farm: {
      configResolved(config) {
        publicPath = config.compilation?.output?.publicPath ?? '/';
        // Its dev server compiles the modules that a URL names (`/__lazy_compile?paths=`).
        if (config.compilation?.mode === 'development') {
          const folder = /** @type {{ root?: string }} */ (config).root ?? process.cwd();
          imports = new Imports(projectOf(folder, ''));
        }
      },
    },
    esbuild: {
      setup: build => copyBundles(build, () => entries.keys()),
    },
  };
  return framework === 'vite' ? [plugin, reader] : plugin;
};

export const webkiln = createUnplugin(factory);
export default webkiln;
