/** Converts strings to indices as a bundle does. Each frame is a JSON list of
 * `{ text, tokens, texts }`, each answer a JSON list of indices and sizes, or the error. */

export async function runSets({ runtime, count }, get, put) {
  const { loadTexts } = await import(`${runtime}/text.js`);
  const { bucketOf } = await import(`${runtime}/fingerprint.js`);
  const { rowsOfSteps } = await import(`${runtime}/text_steps.js`);
  for (let set = 0; set < count; set++) {
    const asked = JSON.parse(new TextDecoder().decode(await get(set)));
    const answers = [];
    for (const { text, tensor, tokens, texts, digest } of asked) {
      const bytes = new TextEncoder().encode(JSON.stringify(tokens));
      const url = `data:application/octet-stream,${encodeURIComponent(JSON.stringify(tokens))}`;
      const vocabulary =
        tokens.length > 0 ? { vocabulary: { file: 'v.bin', bytes: bytes.length, digest } } : {};
      const manifest = {
        name: 'm',
        inputs: [{ name: tensor, dtype: 'int32', shape: [], text: { ...text, ...vocabulary } }],
      };
      const request = {
        manifest,
        urls: { 'v.bin': url },
        cacheStrategy: 'networkOnly',
        saveCache: false,
        ignoreCache: false,
      };
      try {
        const take = await loadTexts({ bucketOf, rowsOfSteps }, request);
        const [arrays, sizes] = take(manifest.inputs, { [text.input]: texts }, {});
        answers.push({ indices: Array.from(arrays[tensor]), sizes });
      } catch (error) {
        answers.push({ error: `${error.code}: ${error.message}` });
      }
    }
    await put(set, new TextEncoder().encode(JSON.stringify(answers)));
  }
}

if (
  globalThis.process?.argv[2] !== undefined &&
  import.meta.url.endsWith(process.argv[1]?.split('/').at(-1))
) {
  const { readFileSync, writeFileSync } = await import('node:fs');
  const [, , folder, runtime] = process.argv;
  await runSets(
    { runtime, count: 1 },
    () => readFileSync(`${folder}/asked.json`),
    (_, bytes) => writeFileSync(`${folder}/answers.json`, bytes),
  );
}
