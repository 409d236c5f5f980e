import type { UnpluginInstance } from 'unplugin';

export interface Options {
  /** The command that runs webkiln; otherwise that of the project's virtual environment, of PATH, or `uvx webkiln`. */
  command?: string | string[];
  /** The project: where recipes are looked for, and where `.webkiln` and the types are written. Default: the working directory. */
  root?: string;
  /** What imports that do not say so are built for. */
  backend?: string | string[];
  encoding?: 'float32' | 'float16' | 'int8' | 'eightbit';
  /** Vite's servers send the headers that shared memory between threads takes (COOP and COEP). */
  isolated?: boolean;
  /** Pages that Vite builds ask for the first weights of their models at once; for models that are loaded with `worker: false`. */
  preload?: boolean;
  /**
   * Folders whose modules may import models while the dev server of Vite or Farm runs, besides those
   * below its root (and below `root`, where that is given): linked workspace packages, or packages
   * in node_modules. Relative to the root of the server.
   */
  importers?: string | string[];
  /** The file that gets the types of the imports; false: none. Default: `webkiln-env.d.ts`. */
  types?: string | false;
}

declare const webkiln: UnpluginInstance<Options | undefined, boolean>;
export default webkiln;
export { webkiln };
