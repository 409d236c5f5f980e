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
      const v1 = F32[x0 + a0];
      F32[y0 + a0] = v1;
    }
  }
  function k_9aa6c994c58226e8(x0, x1, y0, p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, s0_0, s0_1, s1_0, s1_1, s1_2, s2_0, s2_1) {
    const v5 = p8 >>> 0;
    const v11 = p9 >>> 0;
    let a2 = 0;
    for (; a2 + 3 < p2; a2 += 4) {
      for (let a0 = 0; a0 < p0; a0++) {
        const v1 = Math.imul(a0, p6) | 0;
        const v56 = a2 + a0 * s2_0;
        let a1 = 0;
        for (; a1 + 3 < p1; a1 += 4) {
          const v7 = Math.imul(a1, p7) | 0;
          const v26 = Math.imul((a1 + 1), p7) | 0;
          const v36 = Math.imul((a1 + 2), p7) | 0;
          const v46 = Math.imul((a1 + 3), p7) | 0;
          const v57 = v56 + a1 * s2_1;
          const v58 = v56 + (a1 + 1) * s2_1;
          const v59 = v56 + (a1 + 2) * s2_1;
          const v60 = v56 + (a1 + 3) * s2_1;
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
          for (let r0 = 0; r0 < p3; r0++) {
            const v2 = v1 + r0 | 0;
            const v3 = v2 - 1 | 0;
            const v4 = v3 >>> 0;
            const v6 = v4 < v5;
            const v14 = v3 * s0_0;
            const v19 = a2 + r0 * s1_0;
            for (let r1 = 0; r1 < p4; r1++) {
              const v8 = v7 + r1 | 0;
              const v9 = v8 - 1 | 0;
              const v10 = v9 >>> 0;
              const v12 = v10 < v11;
              const v13 = v6 && v12;
              const v15 = v14 + v9 * s0_1;
              const v16 = v13 ? x0 + v15 : outside_float32_0;
              const v17 = v13 ? 1 : 0;
              const v20 = v19 + r1 * s1_1;
              const v27 = v26 + r1 | 0;
              const v28 = v27 - 1 | 0;
              const v29 = v28 >>> 0;
              const v30 = v29 < v11;
              const v31 = v6 && v30;
              const v32 = v14 + v28 * s0_1;
              const v33 = v31 ? x0 + v32 : outside_float32_0;
              const v34 = v31 ? 1 : 0;
              const v37 = v36 + r1 | 0;
              const v38 = v37 - 1 | 0;
              const v39 = v38 >>> 0;
              const v40 = v39 < v11;
              const v41 = v6 && v40;
              const v42 = v14 + v38 * s0_1;
              const v43 = v41 ? x0 + v42 : outside_float32_0;
              const v44 = v41 ? 1 : 0;
              const v47 = v46 + r1 | 0;
              const v48 = v47 - 1 | 0;
              const v49 = v48 >>> 0;
              const v50 = v49 < v11;
              const v51 = v6 && v50;
              const v52 = v14 + v48 * s0_1;
              const v53 = v51 ? x0 + v52 : outside_float32_0;
              const v54 = v51 ? 1 : 0;
              for (let r2 = 0; r2 < p5; r2++) {
                const v18 = F32[v16 + r2 * v17];
                const v21 = v20 + r2 * s1_2;
                const v22 = F32[x1 + v21];
                const v23 = F32[x1 + v21 + 1];
                const v24 = F32[x1 + v21 + 2];
                const v25 = F32[x1 + v21 + 3];
                const v35 = F32[v33 + r2 * v34];
                const v45 = F32[v43 + r2 * v44];
                const v55 = F32[v53 + r2 * v54];
                acc0_0_0 += v18 * v22;
                acc0_0_1 += v18 * v23;
                acc0_0_2 += v18 * v24;
                acc0_0_3 += v18 * v25;
                acc0_1_0 += v35 * v22;
                acc0_1_1 += v35 * v23;
                acc0_1_2 += v35 * v24;
                acc0_1_3 += v35 * v25;
                acc0_2_0 += v45 * v22;
                acc0_2_1 += v45 * v23;
                acc0_2_2 += v45 * v24;
                acc0_2_3 += v45 * v25;
                acc0_3_0 += v55 * v22;
                acc0_3_1 += v55 * v23;
                acc0_3_2 += v55 * v24;
                acc0_3_3 += v55 * v25;
              }
            }
          }
          F32[y0 + v57] = acc0_0_0;
          F32[y0 + v57 + 1] = acc0_0_1;
          F32[y0 + v57 + 2] = acc0_0_2;
          F32[y0 + v57 + 3] = acc0_0_3;
          F32[y0 + v58] = acc0_1_0;
          F32[y0 + v58 + 1] = acc0_1_1;
          F32[y0 + v58 + 2] = acc0_1_2;
          F32[y0 + v58 + 3] = acc0_1_3;
          F32[y0 + v59] = acc0_2_0;
          F32[y0 + v59 + 1] = acc0_2_1;
          F32[y0 + v59 + 2] = acc0_2_2;
          F32[y0 + v59 + 3] = acc0_2_3;
          F32[y0 + v60] = acc0_3_0;
          F32[y0 + v60 + 1] = acc0_3_1;
          F32[y0 + v60 + 2] = acc0_3_2;
          F32[y0 + v60 + 3] = acc0_3_3;
        }
        for (; a1 < p1; a1 += 1) {
          const v65 = Math.imul(a1, p7) | 0;
          const v83 = v56 + a1 * s2_1;
          let acc0_0_0 = 0;
          let acc0_0_1 = 0;
          let acc0_0_2 = 0;
          let acc0_0_3 = 0;
          for (let r0 = 0; r0 < p3; r0++) {
            const v61 = v1 + r0 | 0;
            const v62 = v61 - 1 | 0;
            const v63 = v62 >>> 0;
            const v64 = v63 < v5;
            const v71 = v62 * s0_0;
            const v76 = a2 + r0 * s1_0;
            for (let r1 = 0; r1 < p4; r1++) {
              const v66 = v65 + r1 | 0;
              const v67 = v66 - 1 | 0;
              const v68 = v67 >>> 0;
              const v69 = v68 < v11;
              const v70 = v64 && v69;
              const v72 = v71 + v67 * s0_1;
              const v73 = v70 ? x0 + v72 : outside_float32_0;
              const v74 = v70 ? 1 : 0;
              const v77 = v76 + r1 * s1_1;
              for (let r2 = 0; r2 < p5; r2++) {
                const v75 = F32[v73 + r2 * v74];
                const v78 = v77 + r2 * s1_2;
                const v79 = F32[x1 + v78];
                const v80 = F32[x1 + v78 + 1];
                const v81 = F32[x1 + v78 + 2];
                const v82 = F32[x1 + v78 + 3];
                acc0_0_0 += v75 * v79;
                acc0_0_1 += v75 * v80;
                acc0_0_2 += v75 * v81;
                acc0_0_3 += v75 * v82;
              }
            }
          }
          F32[y0 + v83] = acc0_0_0;
          F32[y0 + v83 + 1] = acc0_0_1;
          F32[y0 + v83 + 2] = acc0_0_2;
          F32[y0 + v83 + 3] = acc0_0_3;
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
