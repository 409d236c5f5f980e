import webkiln from 'unplugin-webkiln/vite';

export default { build: { outDir: 'public' }, plugins: [webkiln()] };
