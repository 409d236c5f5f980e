/** Runs webkiln, and notes that it was run: a line each in builds.txt. */

import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const words = process.argv.slice(2);
appendFileSync('builds.txt', `${JSON.stringify(words)}\n`);
process.exitCode = spawnSync('webkiln', words, { stdio: 'inherit' }).status ?? 1;
