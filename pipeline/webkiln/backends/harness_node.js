import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const folder = process.argv[2];
const request = JSON.parse(await readFile(join(folder, 'request.json'), 'utf8'));
const { runSets } = await import(request.script);

async function get(set) {
  const bytes = await readFile(join(folder, `in.${set}`));
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
}

try {
  await runSets(request, get, (set, frame) => writeFile(join(folder, `out.${set}`), frame));
  await writeFile(join(folder, 'done.json'), '{}');
} catch (error) {
  await writeFile(
    join(folder, 'done.json'),
    JSON.stringify({ code: error.code ?? null, message: String(error.message ?? error) }),
  );
}
process.exit(0);
