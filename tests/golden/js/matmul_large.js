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
  function k_03933cff687f9dec(x0, x1, y0, p0, p1, p2, s0_0, s1_0, s2_0) {
    let a1 = 0;
    for (; a1 + 3 < p1; a1 += 4) {
      const v4 = x1 + a1;
      const v16 = y0 + a1;
      let a0 = 0;
      for (; a0 + 2 < p0; a0 += 3) {
        const v1 = x0 + a0 * s0_0;
        const v10 = x0 + (a0 + 1) * s0_0;
        const v13 = x0 + (a0 + 2) * s0_0;
        let acc0_0_0 = 0;
        let acc0_0_1 = 0;
        let acc0_0_2 = 0;
        let acc0_0_3 = 0;
        let acc0_1_0 = 0;
        let acc0_1_1 = 0;
        let acc0_1_2 = 0;
        let acc0_1_3 = 0;
        let acc0_2_0 = 0;
        let acc0_2_1 = 0;
        let acc0_2_2 = 0;
        let acc0_2_3 = 0;
        for (let r0 = 0; r0 < p2; r0++) {
          const v2 = v1 + r0;
          const v3 = F32[v2];
          const v5 = v4 + r0 * s1_0;
          const v6 = F32[v5];
          const v7 = F32[v5 + 1];
          const v8 = F32[v5 + 2];
          const v9 = F32[v5 + 3];
          const v11 = v10 + r0;
          const v12 = F32[v11];
          const v14 = v13 + r0;
          const v15 = F32[v14];
          acc0_0_0 += v3 * v6;
          acc0_0_1 += v3 * v7;
          acc0_0_2 += v3 * v8;
          acc0_0_3 += v3 * v9;
          acc0_1_0 += v12 * v6;
          acc0_1_1 += v12 * v7;
          acc0_1_2 += v12 * v8;
          acc0_1_3 += v12 * v9;
          acc0_2_0 += v15 * v6;
          acc0_2_1 += v15 * v7;
          acc0_2_2 += v15 * v8;
          acc0_2_3 += v15 * v9;
        }
        {
          const v17 = v16 + a0 * s2_0;
          const v18 = v16 + (a0 + 1) * s2_0;
          const v19 = v16 + (a0 + 2) * s2_0;
          F32[v17] = acc0_0_0;
          F32[v17 + 1] = acc0_0_1;
          F32[v17 + 2] = acc0_0_2;
          F32[v17 + 3] = acc0_0_3;
          F32[v18] = acc0_1_0;
          F32[v18 + 1] = acc0_1_1;
          F32[v18 + 2] = acc0_1_2;
          F32[v18 + 3] = acc0_1_3;
          F32[v19] = acc0_2_0;
          F32[v19 + 1] = acc0_2_1;
          F32[v19 + 2] = acc0_2_2;
          F32[v19 + 3] = acc0_2_3;
        }
      }
      for (; a0 < p0; a0 += 1) {
        const v20 = x0 + a0 * s0_0;
        let acc0_0_0 = 0;
        let acc0_0_1 = 0;
        let acc0_0_2 = 0;
        let acc0_0_3 = 0;
        for (let r0 = 0; r0 < p2; r0++) {
          const v21 = v20 + r0;
          const v22 = F32[v21];
          const v23 = v4 + r0 * s1_0;
          const v24 = F32[v23];
          const v25 = F32[v23 + 1];
          const v26 = F32[v23 + 2];
          const v27 = F32[v23 + 3];
          acc0_0_0 += v22 * v24;
          acc0_0_1 += v22 * v25;
          acc0_0_2 += v22 * v26;
          acc0_0_3 += v22 * v27;
        }
        {
          const v28 = v16 + a0 * s2_0;
          F32[v28] = acc0_0_0;
          F32[v28 + 1] = acc0_0_1;
          F32[v28 + 2] = acc0_0_2;
          F32[v28 + 3] = acc0_0_3;
        }
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
