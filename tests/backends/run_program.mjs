import { arrayOf } from '../../runtime/src/dtypes.js';
import { Session, engineOf } from '../../runtime/src/session.js';

const CHUNKS = 5;

/** Every launch done at once gives the same bits as in chunks, which is how several threads do it. */
async function checkWhole({ linear }, session, { states }, given, outputs) {
  if (!linear?.threads || states.length > 0) return;
  linear.threads.exports.share(1);
  const again = await session.run(given);
  for (const [name, value] of Object.entries(outputs)) {
    const [one, other] = [value, again.outputs[name]].map(({ buffer, byteOffset, byteLength }) => new Uint8Array(buffer, byteOffset, byteLength));
    const at = one.findIndex((byte, index) => byte !== other[index]);
    if (at >= 0 || one.length !== other.length) throw new Error(`${name}: in ${CHUNKS} chunks its byte ${at} is another`);
  }
}

/** Runs a program once on what a frame holds (harness.py); gives the header and the arrays of the answer. */
export async function runProgram({ program, create }, compiled, { values }) {
  const engine = engineOf(await create(compiled), program);
  try {
    program.init.forEach(([shard, start, bytes], entry) => engine.init(entry, (values[`shard.${shard}`] ?? new Uint8Array()).subarray(start, start + bytes)));
    const session = new Session(engine, program);
    engine.linear?.threads?.exports.share(CHUNKS);
    const sizes = program.placeholders.map((placeholder, index) => {
      const { name = placeholder, period = 1, offset = 0 } = program.residues?.find(item => item.placeholder === placeholder) ?? {};
      return [name, values.placeholders[index] * period + offset];
    });
    const placeholders = Object.fromEntries(sizes);
    const inputs = Object.fromEntries(Object.entries(values).map(([name, value]) => [name.replace('input.', ''), value]));
    const { outputs, shapes } = await session.run({ inputs, placeholders });
    await checkWhole(engine, session, program, { inputs, placeholders }, outputs);
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
