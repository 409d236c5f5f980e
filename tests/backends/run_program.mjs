import { arrayOf } from '../../runtime/src/dtypes.js';
import { Session, engineOf } from '../../runtime/src/session.js';

/** Runs a program once on what a frame holds (harness.py); gives the header and the arrays of the answer. */
export async function runProgram({ program, create }, compiled, { values }) {
  const engine = engineOf(await create(compiled), program);
  try {
    program.init.forEach(([shard, start, bytes], entry) => engine.init(entry, (values[`shard.${shard}`] ?? new Uint8Array()).subarray(start, start + bytes)));
    const session = new Session(engine, program);
    const sizes = program.placeholders.map((placeholder, index) => {
      const { name = placeholder, period = 1, offset = 0 } = program.residues?.find(item => item.placeholder === placeholder) ?? {};
      return [name, values.placeholders[index] * period + offset];
    });
    const placeholders = Object.fromEntries(sizes);
    const inputs = Object.fromEntries(Object.entries(values).map(([name, value]) => [name.replace('input.', ''), value]));
    const { outputs, shapes } = await session.run({ inputs, placeholders });
    const described = program.layout(...values.placeholders).outputs;
    for (const { name, dtype } of described) {
      if (outputs[name].constructor !== arrayOf(dtype)) throw new Error(`${name} is ${dtype}, read as ${outputs[name].constructor.name}`);
    }
    const tensors = described.map(({ name, dtype }) => ({ name, dtype, shape: shapes[name] }));
    return [{ ms: 0, loadMs: 0, variant: null, tensors }, described.map(({ name }) => outputs[name])];
  } finally {
    engine.dispose();
  }
}
