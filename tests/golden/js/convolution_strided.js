export const program = {};

export function create(module, bytes = program.loaded) {
  const end = Math.ceil(bytes / 64) * 64;
  const buffer = new ArrayBuffer(end + 64);
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
  const outside_float32_0 = (end + 0) / 4;
  F32.fill(0, outside_float32_0, outside_float32_0 + 16);
  function k_5ca3a8cc0877bc30(x0, y0, p0) {
    for (let a0 = 0; a0 < p0; a0++) {
      const v1 = x0 + a0;
      const v2 = F32[v1];
      const v3 = y0 + a0;
      F32[v3] = v2;
    }
  }
  function k_e70743bb7c8bef87(x0, x1, y0, p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, s0_0, s0_1, s1_0, s1_1, s1_2, s2_0, s2_1) {
    const v5 = p8 >>> 0;
    const v11 = p9 >>> 0;
    let a2 = 0;
    for (; a2 + 3 < p2; a2 += 4) {
      const v19 = x1 + a2;
      const v47 = y0 + a2;
      for (let a0 = 0; a0 < p0; a0++) {
        const v1 = Math.imul(a0, p6) | 0;
        const v48 = v47 + a0 * s2_0;
        let a1 = 0;
        for (; a1 + 2 < p1; a1 += 3) {
          const v7 = Math.imul(a1, p7) | 0;
          const v27 = Math.imul((a1 + 1), p7) | 0;
          const v37 = Math.imul((a1 + 2), p7) | 0;
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
          for (let r0 = 0; r0 < p3; r0++) {
            const v2 = v1 + r0 | 0;
            const v3 = v2 - 1 | 0;
            const v4 = v3 >>> 0;
            const v6 = v4 < v5;
            const v14 = x0 + v3 * s0_0;
            const v20 = v19 + r0 * s1_0;
            for (let r1 = 0; r1 < p4; r1++) {
              const v8 = v7 + r1 | 0;
              const v9 = v8 - 1 | 0;
              const v10 = v9 >>> 0;
              const v12 = v10 < v11;
              const v13 = v6 && v12;
              const v15 = v14 + v9 * s0_1;
              const v16 = v13 ? v15 : outside_float32_0;
              const v17 = v13 ? 1 : 0;
              const v21 = v20 + r1 * s1_1;
              const v28 = v27 + r1 | 0;
              const v29 = v28 - 1 | 0;
              const v30 = v29 >>> 0;
              const v31 = v30 < v11;
              const v32 = v6 && v31;
              const v33 = v14 + v29 * s0_1;
              const v34 = v32 ? v33 : outside_float32_0;
              const v35 = v32 ? 1 : 0;
              const v38 = v37 + r1 | 0;
              const v39 = v38 - 1 | 0;
              const v40 = v39 >>> 0;
              const v41 = v40 < v11;
              const v42 = v6 && v41;
              const v43 = v14 + v39 * s0_1;
              const v44 = v42 ? v43 : outside_float32_0;
              const v45 = v42 ? 1 : 0;
              for (let r2 = 0; r2 < p5; r2++) {
                const v18 = F32[v16 + r2 * v17];
                const v22 = v21 + r2 * s1_2;
                const v23 = F32[v22];
                const v24 = F32[v22 + 1];
                const v25 = F32[v22 + 2];
                const v26 = F32[v22 + 3];
                const v36 = F32[v34 + r2 * v35];
                const v46 = F32[v44 + r2 * v45];
                acc0_0_0 += v18 * v23;
                acc0_0_1 += v18 * v24;
                acc0_0_2 += v18 * v25;
                acc0_0_3 += v18 * v26;
                acc0_1_0 += v36 * v23;
                acc0_1_1 += v36 * v24;
                acc0_1_2 += v36 * v25;
                acc0_1_3 += v36 * v26;
                acc0_2_0 += v46 * v23;
                acc0_2_1 += v46 * v24;
                acc0_2_2 += v46 * v25;
                acc0_2_3 += v46 * v26;
              }
            }
          }
          {
            const v49 = v48 + a1 * s2_1;
            const v50 = v48 + (a1 + 1) * s2_1;
            const v51 = v48 + (a1 + 2) * s2_1;
            F32[v49] = acc0_0_0;
            F32[v49 + 1] = acc0_0_1;
            F32[v49 + 2] = acc0_0_2;
            F32[v49 + 3] = acc0_0_3;
            F32[v50] = acc0_1_0;
            F32[v50 + 1] = acc0_1_1;
            F32[v50 + 2] = acc0_1_2;
            F32[v50 + 3] = acc0_1_3;
            F32[v51] = acc0_2_0;
            F32[v51 + 1] = acc0_2_1;
            F32[v51 + 2] = acc0_2_2;
            F32[v51 + 3] = acc0_2_3;
          }
        }
        for (; a1 < p1; a1 += 1) {
          const v56 = Math.imul(a1, p7) | 0;
          let acc0_0_0 = 0;
          let acc0_0_1 = 0;
          let acc0_0_2 = 0;
          let acc0_0_3 = 0;
          for (let r0 = 0; r0 < p3; r0++) {
            const v52 = v1 + r0 | 0;
            const v53 = v52 - 1 | 0;
            const v54 = v53 >>> 0;
            const v55 = v54 < v5;
            const v62 = x0 + v53 * s0_0;
            const v67 = v19 + r0 * s1_0;
            for (let r1 = 0; r1 < p4; r1++) {
              const v57 = v56 + r1 | 0;
              const v58 = v57 - 1 | 0;
              const v59 = v58 >>> 0;
              const v60 = v59 < v11;
              const v61 = v55 && v60;
              const v63 = v62 + v58 * s0_1;
              const v64 = v61 ? v63 : outside_float32_0;
              const v65 = v61 ? 1 : 0;
              const v68 = v67 + r1 * s1_1;
              for (let r2 = 0; r2 < p5; r2++) {
                const v66 = F32[v64 + r2 * v65];
                const v69 = v68 + r2 * s1_2;
                const v70 = F32[v69];
                const v71 = F32[v69 + 1];
                const v72 = F32[v69 + 2];
                const v73 = F32[v69 + 3];
                acc0_0_0 += v66 * v70;
                acc0_0_1 += v66 * v71;
                acc0_0_2 += v66 * v72;
                acc0_0_3 += v66 * v73;
              }
            }
          }
          {
            const v74 = v48 + a1 * s2_1;
            F32[v74] = acc0_0_0;
            F32[v74 + 1] = acc0_0_1;
            F32[v74 + 2] = acc0_0_2;
            F32[v74 + 3] = acc0_0_3;
          }
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
