import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const folder = process.argv[2];
const { count, backend } = JSON.parse(readFileSync(join(folder, "jobs.json"), "utf8"));
const sizes = { float32: 4, int32: 4, uint32: 4, float16: 2, int16: 2, uint16: 2, int8: 1, uint8: 1, bool: 1, float64: 8, int64: 8, uint64: 8 };

for (let number = 0; number < count; number++) {
  const home = join(folder, String(number));
  const { program, create } = await import(pathToFileURL(join(home, "code", `${backend}.js`)).href);
  const module = backend === "wasm" ? new WebAssembly.Module(readFileSync(join(home, "model.wasm"))) : undefined;
  let engine = await create(module);
  let memory = new Uint8Array(engine.buffer, engine.base);
  const shards = new Map();
  program.init.forEach(([shard, start, bytes], entry) => {
    if (!shards.has(shard)) shards.set(shard, readFileSync(join(home, `${shard}.shard`)));
    memory.set(shards.get(shard).subarray(start, start + bytes), program.staging.offset);
    engine.init(entry);
  });
  for (const { offset, initial, bytes } of program.states) memory.copyWithin(offset, initial, initial + bytes);
  const values = JSON.parse(readFileSync(join(home, "placeholders.json"), "utf8"));
  const layout = program.layout(...values);
  if (layout.memory > memory.length) {
    engine = engine.grow(layout.memory);
    memory = new Uint8Array(engine.buffer, engine.base);
  }
  for (const { name, offset } of layout.inputs) memory.set(readFileSync(join(home, `${name}.in`)), offset);
  engine.run(...values);
  for (const { name, dtype, shape, offset } of layout.outputs) {
    const bytes = shape.reduce((size, extent) => size * extent, sizes[dtype]);
    writeFileSync(join(home, `${name}.out`), memory.subarray(offset, offset + bytes));
  }
}
