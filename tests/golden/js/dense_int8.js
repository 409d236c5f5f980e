export const program = {};

export function create(module, bytes = program.loaded) {
  const end = Math.ceil(bytes / 64) * 64;
  const buffer = new ArrayBuffer(end + 0);
  const F32 = new Float32Array(buffer);
  const I32 = new Int32Array(buffer);
  const U32 = new Uint32Array(buffer);
  const I16 = new Int16Array(buffer);
  const U16 = new Uint16Array(buffer);
  const I8 = new Int8Array(buffer);
  const U8 = new Uint8Array(buffer);
  const F64 = new Float64Array(buffer);
  const I64 = new BigInt64Array(buffer);
  const U64 = new BigUint64Array(buffer);
  function k_a735eafa5f159348(x0, x1, y0, p0, p1, s1_0, s2_0) {
    for (let a0 = 0; a0 < p0; a0++) {
      const v1 = a0 * s1_0;
      const v7 = a0 * s2_0;
      for (let a1 = 0; a1 < p1; a1++) {
        const v2 = v1 + a1;
        const v3 = I8[x1 + v2];
        const v4 = v3;
        const v5 = F32[x0 + a1];
        const v6 = v4 * v5;
        const v8 = v7 + a1;
        F32[y0 + v8] = v6;
      }
    }
  }
  function k_7a3d4e0843b0c0a3(x0, x1, y0, p0, p1, s1_0) {
    let a0 = 0;
    for (; a0 + 3 < p0; a0 += 4) {
      let acc0_0_0 = 0;
      let acc0_0_1 = 0;
      let acc0_0_2 = 0;
      let acc0_0_3 = 0;
      for (let r0 = 0; r0 < p1; r0++) {
        const v1 = F32[x0 + r0];
        const v2 = a0 + r0 * s1_0;
        const v3 = F32[x1 + v2];
        const v4 = F32[x1 + v2 + 1];
        const v5 = F32[x1 + v2 + 2];
        const v6 = F32[x1 + v2 + 3];
        acc0_0_0 += v1 * v3;
        acc0_0_1 += v1 * v4;
        acc0_0_2 += v1 * v5;
        acc0_0_3 += v1 * v6;
      }
      F32[y0 + a0] = acc0_0_0;
      F32[y0 + a0 + 1] = acc0_0_1;
      F32[y0 + a0 + 2] = acc0_0_2;
      F32[y0 + a0 + 3] = acc0_0_3;
    }
    for (; a0 < p0; a0 += 1) {
      let acc0_0_0 = 0;
      for (let r0 = 0; r0 < p1; r0++) {
        const v7 = F32[x0 + r0];
        const v8 = a0 + r0 * s1_0;
        const v9 = F32[x1 + v8];
        acc0_0_0 += v7 * v9;
      }
      F32[y0 + a0] = acc0_0_0;
    }
  }
  const entries = [
  ];
  let mark = () => {};
  return {
    buffer,
    base: 0,
    init: (entry) => entries[entry](),
    run: () => {
    },
    watch: (given) => {
      mark = given;
    },
    grow: (size) => {
      const next = create(module, size);
      new Uint8Array(next.buffer).set(U8);
      return next;
    },
  };
}
