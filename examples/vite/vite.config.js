import { defineConfig } from 'vite';
import webkiln from 'unplugin-webkiln/vite';

export default defineConfig({ plugins: [webkiln()] });
