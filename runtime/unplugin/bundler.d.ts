import type { Options } from './index.js';

declare const plugin: (options?: Options) => any;
export default plugin;
