/** Runs webkiln and appends a line to builds.txt. */

import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const words = process.argv.slice(2);
appendFileSync('builds.txt', `${JSON.stringify(words)}\n`);
process.exitCode = spawnSync('webkiln', words, { stdio: 'inherit' }).status ?? 1;
