/** Runs `webkiln build` and reports its output. */

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { argumentsOf } from './request.js';

const WINDOWS = process.platform === 'win32';

/**
 * @typedef {object} Bundle
 * @property {string} folder
 * @property {string} entry its `index.js`
 * @property {string[]} files its input files
 */

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/**
 * A folder and all its parent folders.
 * @param {string} folder
 * @returns {string[]}
 */
const ancestors = folder =>
  dirname(folder) === folder ? [folder] : [folder, ...ancestors(dirname(folder))];

/**
 * The command that runs webkiln: the option `command`, or webkiln in the virtual environment of the
 * shell or the project, in PATH, or by `uvx`.
 * @param {string} root
 * @param {string | string[] | undefined} command
 * @returns {string[]}
 */
export function findCommand(root, command) {
  if (command !== undefined) return [command].flat();
  const bin = WINDOWS ? 'Scripts' : 'bin';
  const environments = [
    process.env.VIRTUAL_ENV,
    ...ancestors(root).flatMap(folder => [join(folder, '.venv'), join(folder, 'venv')]),
  ].filter(folder => folder !== undefined);
  const folders = [
    ...environments.map(folder => join(folder, bin)),
    ...(process.env.PATH ?? '').split(delimiter),
  ];
  const find = (/** @type {string} */ name) =>
    folders.map(folder => join(folder, WINDOWS ? `${name}.exe` : name)).find(isExecutable);
  const own = find('webkiln');
  if (own) return [own];
  const uvx = find('uvx');
  if (uvx) return [uvx, '--from', 'webkiln[keras,onnx]', 'webkiln'];
  throw new Error(
    `webkiln is not installed: it is neither in ${join(root, '.venv')} nor in PATH, nor is uvx; ` +
      "run `python3 -m venv .venv && .venv/bin/pip install 'webkiln[keras,onnx]'`, " +
      'or set the option `command`',
  );
}

/** Builds the bundles of a project. Concurrent builds of the same bundle are shared. */
export class Builder {
  /** @type {Map<string, Promise<Bundle>>} */
  #running = new Map();

  /**
   * @param {string} root
   * @param {string | string[] | undefined} command
   * @param {(line: string) => void} report receives the lines of progress
   * @param {(text: string) => void} warn receives the parts that a bundle was built without
   */
  constructor(root, command, report, warn = report) {
    this.root = root;
    this.command = command;
    this.report = report;
    this.warn = warn;
  }

  /**
   * Build the bundle of a request, or check that it is up to date. A running build is shared,
   * unless a file has `changed` that it may have read before.
   * @param {import('./request.js').Request} request
   * @param {boolean} [changed]
   * @returns {Promise<Bundle>}
   */
  build(request, changed = false) {
    const flags = argumentsOf(request.options);
    const digest = createHash('sha256')
      .update(JSON.stringify([request.source, flags]))
      .digest('hex')
      .slice(0, 8);
    const stem = basename(request.source)
      .replace(/\.[^.]*$/, '')
      .replace(/[^\w-]/g, '_');
    const folder = join(this.#home(), `${stem}-${digest}`);
    const before = this.#running.get(folder);
    if (before) return changed ? before.catch(() => {}).then(() => this.build(request)) : before;
    const running = this.#run([request.source, ...flags], folder).finally(() =>
      this.#running.delete(folder),
    );
    this.#running.set(folder, running);
    return running;
  }

  #home() {
    const home = join(this.root, '.webkiln');
    try {
      mkdirSync(join(home, 'bundles'), { recursive: true });
      if (!existsSync(join(home, '.gitignore'))) writeFileSync(join(home, '.gitignore'), '*\n');
    } catch (error) {
      throw new Error(
        `bundles cannot be written to ${home} (${/** @type {Error} */ (error).message}); ` +
          'make that folder writable, or set the option `root` to a writable folder',
        { cause: error },
      );
    }
    return join(home, 'bundles');
  }

  /**
   * @param {string[]} words
   * @param {string} folder
   * @returns {Promise<Bundle>}
   */
  #run(words, folder) {
    const depfile = `${folder}.d`;
    const [program = '', ...first] = findCommand(this.root, this.command);
    const child = spawn(
      program,
      [...first, 'build', ...words, '--output', folder, '--depfile', depfile],
      { cwd: this.root, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    /** @type {string[]} */
    const lines = [];
    const collect = (/** @type {import('node:stream').Readable} */ stream) => {
      createInterface({ input: stream, crlfDelay: Infinity }).on('line', line => {
        if (line) lines.push(line);
        if (/^\[\d+\/\d+\]/.test(line)) this.report(line);
      });
    };
    collect(child.stdout);
    collect(child.stderr);
    return new Promise((resolve, reject) => {
      child.on('error', error =>
        reject(new Error(`${program} could not be started (${error.message})`)),
      );
      child.on('close', status => {
        const omitted = /^built without .*(?:\n  .*)*/m.exec(lines.join('\n'));
        if (status === 0 && omitted) this.warn(omitted[0]);
        if (status === 0)
          return resolve({
            folder,
            entry: join(folder, 'index.js'),
            files: readFileSync(depfile, 'utf8').split('\n').filter(Boolean),
          });
        const start = lines.findIndex(line => line.startsWith('error: '));
        const message = lines
          .slice(start < 0 ? -20 : start)
          .join('\n')
          .replace(/^error: /, '');
        return reject(new Error(message || `${program} ended with status ${status}`));
      });
    });
  }
}
