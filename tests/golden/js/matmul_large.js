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
  function k_2edc08c9850405c4(x0, x1, y0, p0, p1, p2, s0_0, s1_0, s2_0) {
    let a1 = 0;
    for (; a1 + 3 < p1; a1 += 4) {
      let a0 = 0;
      for (; a0 + 3 < p0; a0 += 4) {
        const v1 = a0 * s0_0;
        const v9 = (a0 + 1) * s0_0;
        const v12 = (a0 + 2) * s0_0;
        const v15 = (a0 + 3) * s0_0;
        const v18 = a1 + a0 * s2_0;
        const v19 = a1 + (a0 + 1) * s2_0;
        const v20 = a1 + (a0 + 2) * s2_0;
        const v21 = a1 + (a0 + 3) * s2_0;
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
        let acc0_3_0 = 0;
        let acc0_3_1 = 0;
        let acc0_3_2 = 0;
        let acc0_3_3 = 0;
        for (let r0 = 0; r0 < p2; r0++) {
          const v2 = v1 + r0;
          const v3 = F32[x0 + v2];
          const v4 = a1 + r0 * s1_0;
          const v5 = F32[x1 + v4];
          const v6 = F32[x1 + v4 + 1];
          const v7 = F32[x1 + v4 + 2];
          const v8 = F32[x1 + v4 + 3];
          const v10 = v9 + r0;
          const v11 = F32[x0 + v10];
          const v13 = v12 + r0;
          const v14 = F32[x0 + v13];
          const v16 = v15 + r0;
          const v17 = F32[x0 + v16];
          acc0_0_0 += v3 * v5;
          acc0_0_1 += v3 * v6;
          acc0_0_2 += v3 * v7;
          acc0_0_3 += v3 * v8;
          acc0_1_0 += v11 * v5;
          acc0_1_1 += v11 * v6;
          acc0_1_2 += v11 * v7;
          acc0_1_3 += v11 * v8;
          acc0_2_0 += v14 * v5;
          acc0_2_1 += v14 * v6;
          acc0_2_2 += v14 * v7;
          acc0_2_3 += v14 * v8;
          acc0_3_0 += v17 * v5;
          acc0_3_1 += v17 * v6;
          acc0_3_2 += v17 * v7;
          acc0_3_3 += v17 * v8;
        }
        F32[y0 + v18] = acc0_0_0;
        F32[y0 + v18 + 1] = acc0_0_1;
        F32[y0 + v18 + 2] = acc0_0_2;
        F32[y0 + v18 + 3] = acc0_0_3;
        F32[y0 + v19] = acc0_1_0;
        F32[y0 + v19 + 1] = acc0_1_1;
        F32[y0 + v19 + 2] = acc0_1_2;
        F32[y0 + v19 + 3] = acc0_1_3;
        F32[y0 + v20] = acc0_2_0;
        F32[y0 + v20 + 1] = acc0_2_1;
        F32[y0 + v20 + 2] = acc0_2_2;
        F32[y0 + v20 + 3] = acc0_2_3;
        F32[y0 + v21] = acc0_3_0;
        F32[y0 + v21 + 1] = acc0_3_1;
        F32[y0 + v21 + 2] = acc0_3_2;
        F32[y0 + v21 + 3] = acc0_3_3;
      }
      for (; a0 < p0; a0 += 1) {
        const v22 = a0 * s0_0;
        const v30 = a1 + a0 * s2_0;
        let acc0_0_0 = 0;
        let acc0_0_1 = 0;
        let acc0_0_2 = 0;
        let acc0_0_3 = 0;
        for (let r0 = 0; r0 < p2; r0++) {
          const v23 = v22 + r0;
          const v24 = F32[x0 + v23];
          const v25 = a1 + r0 * s1_0;
          const v26 = F32[x1 + v25];
          const v27 = F32[x1 + v25 + 1];
          const v28 = F32[x1 + v25 + 2];
          const v29 = F32[x1 + v25 + 3];
          acc0_0_0 += v24 * v26;
          acc0_0_1 += v24 * v27;
          acc0_0_2 += v24 * v28;
          acc0_0_3 += v24 * v29;
        }
        F32[y0 + v30] = acc0_0_0;
        F32[y0 + v30 + 1] = acc0_0_1;
        F32[y0 + v30 + 2] = acc0_0_2;
        F32[y0 + v30 + 3] = acc0_0_3;
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
