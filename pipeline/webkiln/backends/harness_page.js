async function call(path, options) {
  const response = await fetch(path, options).catch(error => {
    throw new Error(`${path}: ${error.message}`);
  });
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return response;
}

let failure = {};
try {
  const request = await (await call('/request')).json();
  const { runSets } = await import(request.script);
  await runSets(
    request,
    async set => (await call(`/in/${set}`)).arrayBuffer(),
    (set, frame) => call(`/out/${set}`, { method: 'POST', body: frame }),
  );
} catch (error) {
  failure = { code: error.code ?? null, message: String(error.message ?? error) };
}
// The page may be closed as soon as this arrives. Firefox then reports an error of the request.
await call('/done', { method: 'POST', body: JSON.stringify(failure) });
