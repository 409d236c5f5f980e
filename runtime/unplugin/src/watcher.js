/** Watches the files of bundles. */

import { existsSync, statSync, watch } from 'node:fs';
import { dirname, join } from 'node:path';

const DELAY_MS = 100;

export class FileWatcher {
  /** Whether the bundler watches files. */
  enabled = false;
  /** @type {Set<string>} */
  #files = new Set();
  /** @type {Map<string, import('node:fs').FSWatcher>} */
  #folders = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer;

  /** @param {() => void} rebuild called after a file has changed */
  constructor(rebuild) {
    this.rebuild = rebuild;
  }

  /**
   * Watch files, if `enabled`. A file that has changed since the build started counts as changed.
   * Bundlers other than Vite also watch the files of the bundle, which change after a rebuild.
   * @param {string[]} files
   * @param {number} started the time at which the build started to read them
   */
  add(files, started) {
    if (!this.enabled) return;
    const changed = (/** @type {string} */ file) => {
      const { mtimeMs = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
      return mtimeMs > started && mtimeMs <= Date.now();
    };
    const added = files.filter(file => !this.#files.has(file));
    for (const file of added) this.#files.add(file);
    for (const folder of new Set(files.map(dirname))) {
      if (this.#folders.has(folder) || !existsSync(folder)) continue;
      const watcher = watch(folder, (_, name) => {
        if (name === null || this.#files.has(join(folder, name))) this.#schedule();
      });
      // Deleting a watched folder must not end the server.
      watcher.on('error', () => this.#folders.delete(folder));
      watcher.unref();
      this.#folders.set(folder, watcher);
    }
    if (added.some(changed)) this.#schedule();
  }

  #schedule() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.rebuild, DELAY_MS);
  }

  /** Stop watching. A server that restarts creates another plugin. */
  close() {
    clearTimeout(this.#timer);
    for (const watcher of this.#folders.values()) watcher.close();
    this.#folders.clear();
    this.enabled = false;
  }
}
