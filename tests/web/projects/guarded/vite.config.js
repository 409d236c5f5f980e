import webkiln from 'unplugin-webkiln/vite';
import options from './options.js';

export default { plugins: [webkiln(options)] };
