/**
 * Which modules of a project import which models, while a dev server runs.
 *
 * Any page that the developer visits can request any URL of that server. Vite resolves a URL as it
 * resolves an import, and Farm compiles the modules that a URL names. What tells a URL from an
 * import is kept here: the requests that stand in the code of modules which are files of the project.
 */

import { readFileSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { FILTER, divided } from './request.js';

const IMPORTS = new Set([
  'ImportDeclaration',
  'ImportExpression',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
]);

/**
 * Whether a path is a folder, or lies below it.
 * @param {string} folder
 * @param {string} path
 */
export function within(folder, path) {
  const way = relative(folder, path);
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

/**
 * The path without symbolic links; as it is where nothing lies there.
 * @param {string} path
 */
export function realPath(path) {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

/**
 * The specifiers of a module's static imports, exports and `import()` of a constant.
 * @param {unknown} program its syntax tree (ESTree)
 * @returns {Set<string>}
 */
function specifiers(program) {
  const found = new Set();
  const rest = [program];
  while (rest.length > 0) {
    const node = /** @type {any} */ (rest.pop());
    if (IMPORTS.has(node.type) && node.source) {
      const { type, value, quasis } = node.source;
      if (type === 'Literal') found.add(value);
      if (type === 'TemplateLiteral' && quasis.length === 1) found.add(quasis[0].value.cooked);
    }
    rest.push(...Object.values(node).filter(value => value && typeof value === 'object'));
  }
  return found;
}

export class Imports {
  /**
   * Requests by environment and module, each with its key.
   * @type {Map<string, Map<string, string>>}
   */
  #found = new Map();

  /**
   * @param {object} project
   * @param {string[]} project.folders whose modules may import models, but for node_modules in them
   * @param {string[]} project.others folders whose modules may do so wherever they lie
   * @param {string} project.publicDir whose files are no modules; empty where there is none
   * @param {boolean} [aliased] whether an alias leads to a model: a specifier need not say so then
   */
  constructor({ folders, others, publicDir }, aliased = false) {
    this.folders = folders.map(realPath);
    this.others = others.map(realPath);
    this.publicDir = publicDir && realPath(publicDir);
    this.aliased = aliased;
  }

  /**
   * The file of a module of the project; null for what is not one: virtual modules, `data:` URLs,
   * files of other folders, of packages and of the public folder.
   * @param {string} id
   * @returns {string | null}
   */
  fileOf(id) {
    const [path] = divided(id);
    if (!isAbsolute(path) || !statSync(path, { throwIfNoEntry: false })?.isFile()) return null;
    const file = realPath(path);
    if (this.others.some(folder => within(folder, file))) return file;
    const isPublic = this.publicDir && within(this.publicDir, file);
    const own = this.folders.some(
      folder => within(folder, file) && !relative(folder, file).split(sep).includes('node_modules'),
    );
    return own && !isPublic ? file : null;
  }

  /**
   * What a module imports that is, or may lead to, a model.
   * @param {string} code as Vite's import analysis gets it
   * @param {string} id
   * @param {(code: string) => unknown} parse
   * @returns {string[]}
   */
  read(code, id, parse) {
    if (!this.aliased && !code.includes('webkiln')) return [];
    const file = this.fileOf(id);
    if (file === null) return [];
    let program;
    try {
      program = parse(code);
    } catch {
      return [];
    }
    const wanted = [...specifiers(program)].filter(text => this.aliased || FILTER.test(text));
    if (divided(id)[1] === '') return wanted;
    // Plugins may make code of a query, which is that of a URL.
    return wanted.filter(specifier => this.mentions(id, specifier));
  }

  /**
   * Whether the file of a module of the project contains a request; of that of a model file the
   * options suffice, since `import.meta.glob` makes the path.
   * @param {string} id
   * @param {string} request
   */
  mentions(id, request) {
    const file = this.fileOf(id);
    const part = request.startsWith('webkiln:') ? request : request.slice(request.indexOf('?'));
    return file !== null && readFileSync(file, 'utf8').includes(part);
  }

  /**
   * Keeps the requests of a module in place of those that it had.
   * @param {string} environment
   * @param {string} id
   * @param {Map<string, string>} requests with their keys
   */
  record(environment, id, requests) {
    if (requests.size > 0) this.#found.set(`${environment}\0${id}`, requests);
    else this.#found.delete(`${environment}\0${id}`);
  }

  /**
   * Forgets the modules of a file, which has changed or gone.
   * @param {string} file
   */
  forget(file) {
    for (const key of this.#found.keys()) {
      if (divided(key.slice(key.indexOf('\0') + 1))[0] === file) this.#found.delete(key);
    }
  }

  /**
   * Refuses a request that no module of the project imports.
   * @param {string} request
   * @param {string} key
   * @param {string | undefined} importer
   * @param {string | null} environment of Vite; null for other dev servers, whose modules are files
   * @returns {boolean} whether a URL makes the request, of which a module makes the same
   * @throws {Error}
   */
  check(request, key, importer, environment) {
    if (
      importer !== undefined &&
      (environment === null
        ? this.mentions(importer, request)
        : this.#found.get(`${environment}\0${importer}`)?.has(request))
    )
      return false;
    // Vite resolves a URL with the page of its root as the importer.
    if (importer === undefined || importer.endsWith('.html')) {
      if ([...this.#found.values()].some(keys => [...keys.values()].includes(key))) return true;
      throw new Error(
        `${request}: no module of the project imports it, and a dev server builds ` +
          'nothing else',
      );
    }
    if (this.fileOf(importer)) throw new Error(`${request}: ${importer} does not import it`);
    throw new Error(
      `${request}: ${importer} is not a module of the project ` +
        `${this.folders.join(', ')}; to let it import models in a dev server, list its folder in ` +
        'the option importers of webkiln',
    );
  }
}
