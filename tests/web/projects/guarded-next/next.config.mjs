import webkiln from 'unplugin-webkiln/webpack';
import options from './options.js';

export default {
  webpack(config) {
    config.plugins.push(webkiln(options));
    return config;
  },
};
