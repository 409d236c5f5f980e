export { WebkilnError } from './errors.js';
export { arrayOf, sizeOf } from './dtypes.js';
export { documentURL } from './platform.js';
export { supportsVariant } from './probe.js';
export { serve } from './host.js';
export { open } from './open.js';
