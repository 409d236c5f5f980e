import { pathToFileURL } from 'node:url';
import { join } from 'node:path';
import * as general from './scenarios.js';
import * as threads from './thread_scenarios.js';

const scenarios = { ...general, ...threads };

const [folder, scenario, argument] = process.argv.slice(2);
const bundle = await import(pathToFileURL(join(folder, 'index.js')).href);
console.log(JSON.stringify({ result: await scenarios[scenario](bundle, JSON.parse(argument)) }));
