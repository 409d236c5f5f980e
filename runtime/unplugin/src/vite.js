import { webkiln } from './index.js';

export default webkiln.vite;
