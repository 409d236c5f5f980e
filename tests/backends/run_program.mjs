import { arrayOf } from '../../runtime/src/dtypes.js';
import { engineOf } from '../../runtime/src/session.js';

/** Runs a program once on what a frame holds (harness.py); gives the header and the arrays of the answer. */
export async function runProgram({ program, create }, compiled, { values }) {
  const engine = engineOf(await create(compiled), program);
  try {
    program.init.forEach(([shard, start, bytes], entry) => engine.init(entry, values[`shard.${shard}`].subarray(start, start + bytes)));
    engine.copy(program.states.map(({ offset, initial, bytes }) => ({ source: initial, target: offset, bytes })));
    const placeholders = [...values.placeholders];
    const layout = program.layout(...placeholders);
    engine.arrange(layout, placeholders);
    for (const placed of layout.inputs) engine.write(placed, values[`input.${placed.name}`]);
    await engine.run(...placeholders);
    const arrays = await Promise.all(layout.outputs.map(placed => engine.read(placed)));
    layout.outputs.forEach(({ name, dtype }, index) => {
      if (arrays[index].constructor !== arrayOf(dtype)) throw new Error(`${name} is ${dtype}, read as ${arrays[index].constructor.name}`);
    });
    const tensors = layout.outputs.map(({ name, dtype, shape }) => ({ name, dtype, shape }));
    return [{ ms: 0, loadMs: 0, variant: null, tensors }, arrays];
  } finally {
    engine.dispose();
  }
}
