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
  function k_ddea2d20aa370e94(x0, x1, x2, y0, p0, p1, p2, p3, p4, p5, p6, p7, s0_0, s0_1, s1_0, s1_1, s1_2, s3_0, s3_1) {
    const v4 = p6 >>> 0;
    const v9 = p7 >>> 0;
    let a2 = 0;
    for (; a2 + 3 < p2; a2 += 4) {
      const v51 = F32[x2 + a2];
      const v57 = F32[x2 + a2 + 1];
      const v61 = F32[x2 + a2 + 2];
      const v65 = F32[x2 + a2 + 3];
      for (let a0 = 0; a0 < p0; a0++) {
        const v55 = a2 + a0 * s3_0;
        let a1 = 0;
        for (; a1 + 3 < p1; a1 += 4) {
          const v56 = v55 + a1 * s3_1;
          const v72 = v55 + (a1 + 1) * s3_1;
          const v85 = v55 + (a1 + 2) * s3_1;
          const v98 = v55 + (a1 + 3) * s3_1;
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
            const v1 = a0 + r0 | 0;
            const v2 = v1 - 1 | 0;
            const v3 = v2 >>> 0;
            const v5 = v3 < v4;
            const v12 = v2 * s0_0;
            const v17 = a2 + r0 * s1_0;
            for (let r1 = 0; r1 < p4; r1++) {
              const v6 = a1 + r1 | 0;
              const v7 = v6 - 1 | 0;
              const v8 = v7 >>> 0;
              const v10 = v8 < v9;
              const v11 = v5 && v10;
              const v13 = v12 + v7 * s0_1;
              const v14 = v11 ? x0 + v13 : outside_float32_0;
              const v15 = v11 ? 1 : 0;
              const v18 = v17 + r1 * s1_1;
              const v24 = (a1 + 1) + r1 | 0;
              const v25 = v24 - 1 | 0;
              const v26 = v25 >>> 0;
              const v27 = v26 < v9;
              const v28 = v5 && v27;
              const v29 = v12 + v25 * s0_1;
              const v30 = v28 ? x0 + v29 : outside_float32_0;
              const v31 = v28 ? 1 : 0;
              const v33 = (a1 + 2) + r1 | 0;
              const v34 = v33 - 1 | 0;
              const v35 = v34 >>> 0;
              const v36 = v35 < v9;
              const v37 = v5 && v36;
              const v38 = v12 + v34 * s0_1;
              const v39 = v37 ? x0 + v38 : outside_float32_0;
              const v40 = v37 ? 1 : 0;
              const v42 = (a1 + 3) + r1 | 0;
              const v43 = v42 - 1 | 0;
              const v44 = v43 >>> 0;
              const v45 = v44 < v9;
              const v46 = v5 && v45;
              const v47 = v12 + v43 * s0_1;
              const v48 = v46 ? x0 + v47 : outside_float32_0;
              const v49 = v46 ? 1 : 0;
              for (let r2 = 0; r2 < p5; r2++) {
                const v16 = F32[v14 + r2 * v15];
                const v19 = v18 + r2 * s1_2;
                const v20 = F32[x1 + v19];
                const v21 = F32[x1 + v19 + 1];
                const v22 = F32[x1 + v19 + 2];
                const v23 = F32[x1 + v19 + 3];
                const v32 = F32[v30 + r2 * v31];
                const v41 = F32[v39 + r2 * v40];
                const v50 = F32[v48 + r2 * v49];
                acc0_0_0 += v16 * v20;
                acc0_0_1 += v16 * v21;
                acc0_0_2 += v16 * v22;
                acc0_0_3 += v16 * v23;
                acc0_1_0 += v32 * v20;
                acc0_1_1 += v32 * v21;
                acc0_1_2 += v32 * v22;
                acc0_1_3 += v32 * v23;
                acc0_2_0 += v41 * v20;
                acc0_2_1 += v41 * v21;
                acc0_2_2 += v41 * v22;
                acc0_2_3 += v41 * v23;
                acc0_3_0 += v50 * v20;
                acc0_3_1 += v50 * v21;
                acc0_3_2 += v50 * v22;
                acc0_3_3 += v50 * v23;
              }
            }
          }
          {
            const v52 = acc0_0_0 + v51;
            const v53 = v52 < 0;
            const v54 = v53 ? 0 : v52;
            const v58 = acc0_0_1 + v57;
            const v59 = v58 < 0;
            const v60 = v59 ? 0 : v58;
            const v62 = acc0_0_2 + v61;
            const v63 = v62 < 0;
            const v64 = v63 ? 0 : v62;
            const v66 = acc0_0_3 + v65;
            const v67 = v66 < 0;
            const v68 = v67 ? 0 : v66;
            const v69 = acc0_1_0 + v51;
            const v70 = v69 < 0;
            const v71 = v70 ? 0 : v69;
            const v73 = acc0_1_1 + v57;
            const v74 = v73 < 0;
            const v75 = v74 ? 0 : v73;
            const v76 = acc0_1_2 + v61;
            const v77 = v76 < 0;
            const v78 = v77 ? 0 : v76;
            const v79 = acc0_1_3 + v65;
            const v80 = v79 < 0;
            const v81 = v80 ? 0 : v79;
            const v82 = acc0_2_0 + v51;
            const v83 = v82 < 0;
            const v84 = v83 ? 0 : v82;
            const v86 = acc0_2_1 + v57;
            const v87 = v86 < 0;
            const v88 = v87 ? 0 : v86;
            const v89 = acc0_2_2 + v61;
            const v90 = v89 < 0;
            const v91 = v90 ? 0 : v89;
            const v92 = acc0_2_3 + v65;
            const v93 = v92 < 0;
            const v94 = v93 ? 0 : v92;
            const v95 = acc0_3_0 + v51;
            const v96 = v95 < 0;
            const v97 = v96 ? 0 : v95;
            const v99 = acc0_3_1 + v57;
            const v100 = v99 < 0;
            const v101 = v100 ? 0 : v99;
            const v102 = acc0_3_2 + v61;
            const v103 = v102 < 0;
            const v104 = v103 ? 0 : v102;
            const v105 = acc0_3_3 + v65;
            const v106 = v105 < 0;
            const v107 = v106 ? 0 : v105;
            F32[y0 + v56] = v54;
            F32[y0 + v56 + 1] = v60;
            F32[y0 + v56 + 2] = v64;
            F32[y0 + v56 + 3] = v68;
            F32[y0 + v72] = v71;
            F32[y0 + v72 + 1] = v75;
            F32[y0 + v72 + 2] = v78;
            F32[y0 + v72 + 3] = v81;
            F32[y0 + v85] = v84;
            F32[y0 + v85 + 1] = v88;
            F32[y0 + v85 + 2] = v91;
            F32[y0 + v85 + 3] = v94;
            F32[y0 + v98] = v97;
            F32[y0 + v98 + 1] = v101;
            F32[y0 + v98 + 2] = v104;
            F32[y0 + v98 + 3] = v107;
          }
        }
        for (; a1 < p1; a1 += 1) {
          const v132 = v55 + a1 * s3_1;
          let acc0_0_0 = 0;
          let acc0_0_1 = 0;
          let acc0_0_2 = 0;
          let acc0_0_3 = 0;
          for (let r0 = 0; r0 < p3; r0++) {
            const v108 = a0 + r0 | 0;
            const v109 = v108 - 1 | 0;
            const v110 = v109 >>> 0;
            const v111 = v110 < v4;
            const v117 = v109 * s0_0;
            const v122 = a2 + r0 * s1_0;
            for (let r1 = 0; r1 < p4; r1++) {
              const v112 = a1 + r1 | 0;
              const v113 = v112 - 1 | 0;
              const v114 = v113 >>> 0;
              const v115 = v114 < v9;
              const v116 = v111 && v115;
              const v118 = v117 + v113 * s0_1;
              const v119 = v116 ? x0 + v118 : outside_float32_0;
              const v120 = v116 ? 1 : 0;
              const v123 = v122 + r1 * s1_1;
              for (let r2 = 0; r2 < p5; r2++) {
                const v121 = F32[v119 + r2 * v120];
                const v124 = v123 + r2 * s1_2;
                const v125 = F32[x1 + v124];
                const v126 = F32[x1 + v124 + 1];
                const v127 = F32[x1 + v124 + 2];
                const v128 = F32[x1 + v124 + 3];
                acc0_0_0 += v121 * v125;
                acc0_0_1 += v121 * v126;
                acc0_0_2 += v121 * v127;
                acc0_0_3 += v121 * v128;
              }
            }
          }
          {
            const v129 = acc0_0_0 + v51;
            const v130 = v129 < 0;
            const v131 = v130 ? 0 : v129;
            const v133 = acc0_0_1 + v57;
            const v134 = v133 < 0;
            const v135 = v134 ? 0 : v133;
            const v136 = acc0_0_2 + v61;
            const v137 = v136 < 0;
            const v138 = v137 ? 0 : v136;
            const v139 = acc0_0_3 + v65;
            const v140 = v139 < 0;
            const v141 = v140 ? 0 : v139;
            F32[y0 + v132] = v131;
            F32[y0 + v132 + 1] = v135;
            F32[y0 + v132 + 2] = v138;
            F32[y0 + v132 + 3] = v141;
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
