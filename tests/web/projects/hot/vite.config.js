import webkiln from 'unplugin-webkiln/vite';

export default { plugins: [webkiln({ backend: ['wasm', 'js'], isolated: true })] };
