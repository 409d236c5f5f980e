/** Runs webkiln, and records each run as a line of builds.txt. */

import { spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';

const parameters = process.argv.slice(2);
appendFileSync('builds.txt', `${JSON.stringify(parameters)}\n`);
process.exitCode = spawnSync('webkiln', parameters, { stdio: 'inherit' }).status ?? 1;
