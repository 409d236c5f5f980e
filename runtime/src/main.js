export { WebkilnError } from './errors.js';
export { arrayOf, describe, shapeAt, interfaceArray, sizeOf } from './dtypes.js';
export { checkPlaceholders } from './placeholders.js';
export { documentURL } from './platform.js';
export { supportsVariant } from './probe.js';
export { argmax, argmin, top } from './math.js';
export { serve } from './host.js';
export { open } from './open.js';
