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
  function k_3dccd671e449f995(x0, y0, p0, p1, s0_0) {
    for (let a0 = 0; a0 < p0; a0++) {
      const v1 = x0 + a0 * s0_0;
      let acc0_0_0 = -Infinity;
      let lane0_0_0 = -Infinity;
      let lane0_0_1 = -Infinity;
      let lane0_0_2 = -Infinity;
      let lane0_0_3 = -Infinity;
      let r0 = 0;
      for (; r0 + 3 < p1; r0 += 4) {
        const v2 = v1 + r0;
        const v3 = F32[v2];
        const v4 = F32[v2 + 1];
        const v5 = F32[v2 + 2];
        const v6 = F32[v2 + 3];
        lane0_0_0 = v3 > lane0_0_0 || v3 !== v3 ? v3 : lane0_0_0;
        lane0_0_1 = v4 > lane0_0_1 || v4 !== v4 ? v4 : lane0_0_1;
        lane0_0_2 = v5 > lane0_0_2 || v5 !== v5 ? v5 : lane0_0_2;
        lane0_0_3 = v6 > lane0_0_3 || v6 !== v6 ? v6 : lane0_0_3;
      }
      for (; r0 < p1; r0 += 1) {
        const v7 = v1 + r0;
        const v8 = F32[v7];
        acc0_0_0 = v8 > acc0_0_0 || v8 !== v8 ? v8 : acc0_0_0;
      }
      acc0_0_0 = lane0_0_0 > acc0_0_0 || lane0_0_0 !== lane0_0_0 ? lane0_0_0 : acc0_0_0;
      acc0_0_0 = lane0_0_1 > acc0_0_0 || lane0_0_1 !== lane0_0_1 ? lane0_0_1 : acc0_0_0;
      acc0_0_0 = lane0_0_2 > acc0_0_0 || lane0_0_2 !== lane0_0_2 ? lane0_0_2 : acc0_0_0;
      acc0_0_0 = lane0_0_3 > acc0_0_0 || lane0_0_3 !== lane0_0_3 ? lane0_0_3 : acc0_0_0;
      {
        const v9 = y0 + a0;
        F32[v9] = acc0_0_0;
      }
    }
  }
  function k_b62b5f0ce262484e(x0, x1, y0, p0, p1, s0_0) {
    for (let a0 = 0; a0 < p0; a0++) {
      const v1 = x0 + a0 * s0_0;
      const v4 = x1 + a0;
      const v5 = F32[v4];
      let acc0_0_0 = 0;
      let lane0_0_0 = 0;
      let lane0_0_1 = 0;
      let lane0_0_2 = 0;
      let lane0_0_3 = 0;
      let r0 = 0;
      for (; r0 + 3 < p1; r0 += 4) {
        const v2 = v1 + r0;
        const v3 = F32[v2];
        const v6 = v3 - v5;
        const v7 = Math.exp(v6);
        const v8 = F32[v2 + 1];
        const v9 = v8 - v5;
        const v10 = Math.exp(v9);
        const v11 = F32[v2 + 2];
        const v12 = v11 - v5;
        const v13 = Math.exp(v12);
        const v14 = F32[v2 + 3];
        const v15 = v14 - v5;
        const v16 = Math.exp(v15);
        lane0_0_0 += v7;
        lane0_0_1 += v10;
        lane0_0_2 += v13;
        lane0_0_3 += v16;
      }
      for (; r0 < p1; r0 += 1) {
        const v17 = v1 + r0;
        const v18 = F32[v17];
        const v19 = v18 - v5;
        const v20 = Math.exp(v19);
        acc0_0_0 += v20;
      }
      acc0_0_0 += lane0_0_0;
      acc0_0_0 += lane0_0_1;
      acc0_0_0 += lane0_0_2;
      acc0_0_0 += lane0_0_3;
      {
        const v21 = y0 + a0;
        F32[v21] = acc0_0_0;
      }
    }
  }
  function k_eca8437e5d36f95c(x0, x1, x2, y0, p0, p1, s0_0, s3_0) {
    for (let a0 = 0; a0 < p0; a0++) {
      const v1 = x0 + a0 * s0_0;
      const v4 = x1 + a0;
      const v5 = F32[v4];
      const v8 = x2 + a0;
      const v9 = F32[v8];
      const v11 = y0 + a0 * s3_0;
      for (let a1 = 0; a1 < p1; a1++) {
        const v2 = v1 + a1;
        const v3 = F32[v2];
        const v6 = v3 - v5;
        const v7 = Math.exp(v6);
        const v10 = v7 / v9;
        const v12 = v11 + a1;
        F32[v12] = v10;
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
