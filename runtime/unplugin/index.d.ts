import type { UnpluginInstance } from 'unplugin';

export interface Options {
  /**
   * The command that runs webkiln. Default: webkiln in the virtual environment of the project or in
   * PATH, or `uvx webkiln`.
   */
  command?: string | string[];
  /**
   * The project folder, which contains recipes, and to which `.webkiln` and the types are written.
   * Default: the working directory.
   */
  root?: string;
  /** The backends of imports without the option `backend`. */
  backend?: string | string[];
  encoding?: 'float32' | 'float16' | 'bfloat16' | 'int8' | 'eightbit';
  /** Vite's servers send the headers for memory that is shared between threads (COOP and COEP). */
  isolated?: boolean;
  /**
   * Pages that Vite builds preload the first weights of their models. For models that are loaded
   * with `worker: false`.
   */
  preload?: boolean;
  /**
   * Folders whose modules may import models in the dev server of Vite or Farm, in addition to its
   * root (and `root`, if set): linked workspace packages, or packages in node_modules. Relative to
   * the root of the server.
   */
  importers?: string | string[];
  /** The file for the types of the imports; false: none. Default: `webkiln-env.d.ts`. */
  types?: string | false;
}

declare const webkiln: UnpluginInstance<Options | undefined, boolean>;
export default webkiln;
export { webkiln };
