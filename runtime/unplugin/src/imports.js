/**
 * The models that the modules of a project import, for dev servers.
 *
 * Any page that the developer visits can request any URL of a dev server. Vite resolves URLs like
 * imports, and Farm compiles the modules that a URL names. To distinguish URLs from imports, this
 * module records the requests in the code of modules that are files of the project.
 */

import { readFileSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, relative, sep } from 'node:path';
import { FILTER, splitQuery } from './request.js';

const IMPORTS = new Set([
  'ImportDeclaration',
  'ImportExpression',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
]);

/**
 * Whether a path is a folder or is below it.
 * @param {string} folder
 * @param {string} path
 */
export function isInside(folder, path) {
  const steps = relative(folder, path);
  return steps !== '..' && !steps.startsWith(`..${sep}`) && !isAbsolute(steps);
}

/**
 * The path without symbolic links; unchanged if it does not exist.
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
 * The specifiers of the static imports, re-exports and constant `import()` of a module.
 * @param {unknown} program its syntax tree (ESTree)
 * @returns {Set<string>}
 */
function specifiers(program) {
  const result = new Set();
  const rest = [program];
  while (rest.length > 0) {
    const node = /** @type {any} */ (rest.pop());
    if (IMPORTS.has(node.type) && node.source) {
      const { type, value, quasis } = node.source;
      if (type === 'Literal') result.add(value);
      if (type === 'TemplateLiteral' && quasis.length === 1) result.add(quasis[0].value.cooked);
    }
    rest.push(...Object.values(node).filter(value => value && typeof value === 'object'));
  }
  return result;
}

export class Imports {
  /**
   * Environment and module -> request -> key.
   * @type {Map<string, Map<string, string>>}
   */
  #requests = new Map();

  /**
   * @param {object} project
   * @param {string[]} project.folders folders of modules that may import models, except
   *   node_modules
   * @param {string[]} project.others further folders, which may be in node_modules
   * @param {string} project.publicDir the public folder, whose files are not modules; may be empty
   * @param {boolean} [aliased] whether an alias resolves to a model, so that any specifier may
   */
  constructor({ folders, others, publicDir }, aliased = false) {
    this.folders = folders.map(realPath);
    this.others = others.map(realPath);
    this.publicDir = publicDir && realPath(publicDir);
    this.aliased = aliased;
  }

  /**
   * The file of a module of the project. Null for virtual modules, `data:` URLs, and files of other
   * folders, of packages and of the public folder.
   * @param {string} id
   * @returns {string | null}
   */
  fileOf(id) {
    const [path] = splitQuery(id);
    if (!isAbsolute(path) || !statSync(path, { throwIfNoEntry: false })?.isFile()) return null;
    const file = realPath(path);
    if (this.others.some(folder => isInside(folder, file))) return file;
    const isPublic = this.publicDir && isInside(this.publicDir, file);
    const own = this.folders.some(
      folder =>
        isInside(folder, file) && !relative(folder, file).split(sep).includes('node_modules'),
    );
    return own && !isPublic ? file : null;
  }

  /**
   * The specifiers of a module that are, or may resolve to, models.
   * @param {string} code the code before Vite's import analysis
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
    const candidates = [...specifiers(program)].filter(text => this.aliased || FILTER.test(text));
    if (splitQuery(id)[1] === '') return candidates;
    // Plugins may generate code from the query of a URL.
    return candidates.filter(specifier => this.mentions(id, specifier));
  }

  /**
   * Whether the file of a module of the project contains a request. For model files only the
   * options are compared, since `import.meta.glob` generates the path.
   * @param {string} id
   * @param {string} request
   */
  mentions(id, request) {
    const file = this.fileOf(id);
    const part = request.startsWith('webkiln:') ? request : request.slice(request.indexOf('?'));
    return file !== null && readFileSync(file, 'utf8').includes(part);
  }

  /**
   * Replace the recorded requests of a module.
   * @param {string} environment
   * @param {string} id
   * @param {Map<string, string>} requests request -> key
   */
  record(environment, id, requests) {
    if (requests.size > 0) this.#requests.set(`${environment}\0${id}`, requests);
    else this.#requests.delete(`${environment}\0${id}`);
  }

  /**
   * Delete the records of a file that was changed or deleted.
   * @param {string} file
   */
  forget(file) {
    for (const key of this.#requests.keys()) {
      if (splitQuery(key.slice(key.indexOf('\0') + 1))[0] === file) this.#requests.delete(key);
    }
  }

  /**
   * Throw if no module of the project imports a request.
   * @param {string} request
   * @param {string} key
   * @param {string | undefined} importer
   * @param {string | null} environment the Vite environment; null for other dev servers, whose
   *   modules are files
   * @returns {boolean} whether the request comes from a URL, and a module makes the same request
   * @throws {Error}
   */
  check(request, key, importer, environment) {
    if (
      importer !== undefined &&
      (environment === null
        ? this.mentions(importer, request)
        : this.#requests.get(`${environment}\0${importer}`)?.has(request))
    )
      return false;
    // Vite resolves URLs with the HTML page of its root as the importer.
    if (importer === undefined || importer.endsWith('.html')) {
      if ([...this.#requests.values()].some(keys => [...keys.values()].includes(key))) return true;
      throw new Error(
        `${request}: no module of the project imports it; ` +
          'a dev server builds only imported models',
      );
    }
    if (this.fileOf(importer)) throw new Error(`${request}: ${importer} does not import it`);
    throw new Error(
      `${request}: ${importer} is not a module of the project ` +
        `${this.folders.join(', ')}; to allow it to import models in a dev server, add its ` +
        'folder to the option importers of webkiln',
    );
  }
}
