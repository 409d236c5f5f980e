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
      const v1 = x1 + a0 * s1_0;
      const v8 = y0 + a0 * s2_0;
      for (let a1 = 0; a1 < p1; a1++) {
        const v2 = v1 + a1;
        const v3 = I8[v2];
        const v4 = v3;
        const v5 = x0 + a1;
        const v6 = F32[v5];
        const v7 = v4 * v6;
        const v9 = v8 + a1;
        F32[v9] = v7;
      }
    }
  }
  function k_7a3d4e0843b0c0a3(x0, x1, y0, p0, p1, s1_0) {
    let a0 = 0;
    for (; a0 + 3 < p0; a0 += 4) {
      const v3 = x1 + a0;
      let acc0_0_0 = 0;
      let acc0_0_1 = 0;
      let acc0_0_2 = 0;
      let acc0_0_3 = 0;
      for (let r0 = 0; r0 < p1; r0++) {
        const v1 = x0 + r0;
        const v2 = F32[v1];
        const v4 = v3 + r0 * s1_0;
        const v5 = F32[v4];
        const v6 = F32[v4 + 1];
        const v7 = F32[v4 + 2];
        const v8 = F32[v4 + 3];
        acc0_0_0 += v2 * v5;
        acc0_0_1 += v2 * v6;
        acc0_0_2 += v2 * v7;
        acc0_0_3 += v2 * v8;
      }
      {
        const v9 = y0 + a0;
        F32[v9] = acc0_0_0;
        F32[v9 + 1] = acc0_0_1;
        F32[v9 + 2] = acc0_0_2;
        F32[v9 + 3] = acc0_0_3;
      }
    }
    for (; a0 < p0; a0 += 1) {
      const v12 = x1 + a0;
      let acc0_0_0 = 0;
      for (let r0 = 0; r0 < p1; r0++) {
        const v10 = x0 + r0;
        const v11 = F32[v10];
        const v13 = v12 + r0 * s1_0;
        const v14 = F32[v13];
        acc0_0_0 += v11 * v14;
      }
      {
        const v15 = y0 + a0;
        F32[v15] = acc0_0_0;
      }
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
