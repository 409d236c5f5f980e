export const program = {};

export function create(module, bytes = program.loaded) {
  const buffer = new ArrayBuffer(bytes);
  function k_07f60836054883b5(x0, y0, p0) {
    for (let a0 = 0; a0 < p0; a0++) {
      const v1 = F32[x0 + a0];
      F32[y0 + a0] = v1;
    }
  }
  function k_a3438cd16770e57f(x0, x1, x2, y0, p0, p1, p2, p3, p4, p5, p6, p7, s0_0, s0_1, s1_0, s1_1, s1_2, s3_0, s3_1) {
    const v4 = p6 >>> 0;
    const v9 = p7 >>> 0;
    let a2 = 0;
    for (; a2 + 3 < p2; a2 += 4) {
      const v20 = (a2 + 1);
      const v25 = (a2 + 2);
      const v30 = (a2 + 3);
      const v43 = F32[x2 + a2];
      const v49 = F32[x2 + v20];
      const v55 = F32[x2 + v25];
      const v61 = F32[x2 + v30];
      for (let a0 = 0; a0 < p0; a0++) {
        const v47 = a2 + a0 * s3_0;
        const v53 = v20 + a0 * s3_0;
        const v59 = v25 + a0 * s3_0;
        const v65 = v30 + a0 * s3_0;
        let a1 = 0;
        for (; a1 + 1 < p1; a1 += 2) {
          const v48 = v47 + a1 * s3_1;
          const v54 = v53 + a1 * s3_1;
          const v60 = v59 + a1 * s3_1;
          const v66 = v65 + a1 * s3_1;
          const v70 = v47 + (a1 + 1) * s3_1;
          const v74 = v53 + (a1 + 1) * s3_1;
          const v78 = v59 + (a1 + 1) * s3_1;
          const v82 = v65 + (a1 + 1) * s3_1;
          let acc0_0_0 = 0;
          let acc0_0_1 = 0;
          let acc0_0_2 = 0;
          let acc0_0_3 = 0;
          let acc0_1_0 = 0;
          let acc0_1_1 = 0;
          let acc0_1_2 = 0;
          let acc0_1_3 = 0;
          for (let r0 = 0; r0 < p3; r0++) {
            const v1 = a0 + r0 | 0;
            const v2 = v1 - 1 | 0;
            const v3 = v2 >>> 0;
            const v5 = v3 < v4;
            const v12 = v2 * s0_0;
            const v16 = a2 + r0 * s1_0;
            const v21 = v20 + r0 * s1_0;
            const v26 = v25 + r0 * s1_0;
            const v31 = v30 + r0 * s1_0;
            for (let r1 = 0; r1 < p4; r1++) {
              const v6 = a1 + r1 | 0;
              const v7 = v6 - 1 | 0;
              const v8 = v7 >>> 0;
              const v10 = v8 < v9;
              const v11 = v5 && v10;
              const v13 = v12 + v7 * s0_1;
              const v17 = v16 + r1 * s1_1;
              const v22 = v21 + r1 * s1_1;
              const v27 = v26 + r1 * s1_1;
              const v32 = v31 + r1 * s1_1;
              const v35 = (a1 + 1) + r1 | 0;
              const v36 = v35 - 1 | 0;
              const v37 = v36 >>> 0;
              const v38 = v37 < v9;
              const v39 = v5 && v38;
              const v40 = v12 + v36 * s0_1;
              for (let r2 = 0; r2 < p5; r2++) {
                const v14 = v13 + r2;
                const v15 = v11 ? F32[x0 + v14] : 0;
                const v18 = v17 + r2 * s1_2;
                const v19 = F32[x1 + v18];
                const v23 = v22 + r2 * s1_2;
                const v24 = F32[x1 + v23];
                const v28 = v27 + r2 * s1_2;
                const v29 = F32[x1 + v28];
                const v33 = v32 + r2 * s1_2;
                const v34 = F32[x1 + v33];
                const v41 = v40 + r2;
                const v42 = v39 ? F32[x0 + v41] : 0;
                acc0_0_0 += v15 * v19;
                acc0_0_1 += v15 * v24;
                acc0_0_2 += v15 * v29;
                acc0_0_3 += v15 * v34;
                acc0_1_0 += v42 * v19;
                acc0_1_1 += v42 * v24;
                acc0_1_2 += v42 * v29;
                acc0_1_3 += v42 * v34;
              }
            }
          }
          {
            const v44 = acc0_0_0 + v43;
            const v45 = v44 < 0;
            const v46 = v45 ? 0 : v44;
            const v50 = acc0_0_1 + v49;
            const v51 = v50 < 0;
            const v52 = v51 ? 0 : v50;
            const v56 = acc0_0_2 + v55;
            const v57 = v56 < 0;
            const v58 = v57 ? 0 : v56;
            const v62 = acc0_0_3 + v61;
            const v63 = v62 < 0;
            const v64 = v63 ? 0 : v62;
            const v67 = acc0_1_0 + v43;
            const v68 = v67 < 0;
            const v69 = v68 ? 0 : v67;
            const v71 = acc0_1_1 + v49;
            const v72 = v71 < 0;
            const v73 = v72 ? 0 : v71;
            const v75 = acc0_1_2 + v55;
            const v76 = v75 < 0;
            const v77 = v76 ? 0 : v75;
            const v79 = acc0_1_3 + v61;
            const v80 = v79 < 0;
            const v81 = v80 ? 0 : v79;
            F32[y0 + v48] = v46;
            F32[y0 + v54] = v52;
            F32[y0 + v60] = v58;
            F32[y0 + v66] = v64;
            F32[y0 + v70] = v69;
            F32[y0 + v74] = v73;
            F32[y0 + v78] = v77;
            F32[y0 + v82] = v81;
          }
        }
        for (; a1 < p1; a1 += 1) {
          const v115 = v47 + a1 * s3_1;
          const v119 = v53 + a1 * s3_1;
          const v123 = v59 + a1 * s3_1;
          const v127 = v65 + a1 * s3_1;
          let acc0_0_0 = 0;
          let acc0_0_1 = 0;
          let acc0_0_2 = 0;
          let acc0_0_3 = 0;
          for (let r0 = 0; r0 < p3; r0++) {
            const v83 = a0 + r0 | 0;
            const v84 = v83 - 1 | 0;
            const v85 = v84 >>> 0;
            const v86 = v85 < v4;
            const v92 = v84 * s0_0;
            const v96 = a2 + r0 * s1_0;
            const v100 = v20 + r0 * s1_0;
            const v104 = v25 + r0 * s1_0;
            const v108 = v30 + r0 * s1_0;
            for (let r1 = 0; r1 < p4; r1++) {
              const v87 = a1 + r1 | 0;
              const v88 = v87 - 1 | 0;
              const v89 = v88 >>> 0;
              const v90 = v89 < v9;
              const v91 = v86 && v90;
              const v93 = v92 + v88 * s0_1;
              const v97 = v96 + r1 * s1_1;
              const v101 = v100 + r1 * s1_1;
              const v105 = v104 + r1 * s1_1;
              const v109 = v108 + r1 * s1_1;
              for (let r2 = 0; r2 < p5; r2++) {
                const v94 = v93 + r2;
                const v95 = v91 ? F32[x0 + v94] : 0;
                const v98 = v97 + r2 * s1_2;
                const v99 = F32[x1 + v98];
                const v102 = v101 + r2 * s1_2;
                const v103 = F32[x1 + v102];
                const v106 = v105 + r2 * s1_2;
                const v107 = F32[x1 + v106];
                const v110 = v109 + r2 * s1_2;
                const v111 = F32[x1 + v110];
                acc0_0_0 += v95 * v99;
                acc0_0_1 += v95 * v103;
                acc0_0_2 += v95 * v107;
                acc0_0_3 += v95 * v111;
              }
            }
          }
          {
            const v112 = acc0_0_0 + v43;
            const v113 = v112 < 0;
            const v114 = v113 ? 0 : v112;
            const v116 = acc0_0_1 + v49;
            const v117 = v116 < 0;
            const v118 = v117 ? 0 : v116;
            const v120 = acc0_0_2 + v55;
            const v121 = v120 < 0;
            const v122 = v121 ? 0 : v120;
            const v124 = acc0_0_3 + v61;
            const v125 = v124 < 0;
            const v126 = v125 ? 0 : v124;
            F32[y0 + v115] = v114;
            F32[y0 + v119] = v118;
            F32[y0 + v123] = v122;
            F32[y0 + v127] = v126;
          }
        }
      }
    }
    for (; a2 < p2; a2 += 1) {
      const v153 = F32[x2 + a2];
      for (let a0 = 0; a0 < p0; a0++) {
        const v157 = a2 + a0 * s3_0;
        let a1 = 0;
        for (; a1 + 1 < p1; a1 += 2) {
          const v158 = v157 + a1 * s3_1;
          const v162 = v157 + (a1 + 1) * s3_1;
          let acc0_0_0 = 0;
          let acc0_1_0 = 0;
          for (let r0 = 0; r0 < p3; r0++) {
            const v128 = a0 + r0 | 0;
            const v129 = v128 - 1 | 0;
            const v130 = v129 >>> 0;
            const v131 = v130 < v4;
            const v137 = v129 * s0_0;
            const v141 = a2 + r0 * s1_0;
            for (let r1 = 0; r1 < p4; r1++) {
              const v132 = a1 + r1 | 0;
              const v133 = v132 - 1 | 0;
              const v134 = v133 >>> 0;
              const v135 = v134 < v9;
              const v136 = v131 && v135;
              const v138 = v137 + v133 * s0_1;
              const v142 = v141 + r1 * s1_1;
              const v145 = (a1 + 1) + r1 | 0;
              const v146 = v145 - 1 | 0;
              const v147 = v146 >>> 0;
              const v148 = v147 < v9;
              const v149 = v131 && v148;
              const v150 = v137 + v146 * s0_1;
              for (let r2 = 0; r2 < p5; r2++) {
                const v139 = v138 + r2;
                const v140 = v136 ? F32[x0 + v139] : 0;
                const v143 = v142 + r2 * s1_2;
                const v144 = F32[x1 + v143];
                const v151 = v150 + r2;
                const v152 = v149 ? F32[x0 + v151] : 0;
                acc0_0_0 += v140 * v144;
                acc0_1_0 += v152 * v144;
              }
            }
          }
          {
            const v154 = acc0_0_0 + v153;
            const v155 = v154 < 0;
            const v156 = v155 ? 0 : v154;
            const v159 = acc0_1_0 + v153;
            const v160 = v159 < 0;
            const v161 = v160 ? 0 : v159;
            F32[y0 + v158] = v156;
            F32[y0 + v162] = v161;
          }
        }
        for (; a1 < p1; a1 += 1) {
          const v183 = v157 + a1 * s3_1;
          let acc0_0_0 = 0;
          for (let r0 = 0; r0 < p3; r0++) {
            const v163 = a0 + r0 | 0;
            const v164 = v163 - 1 | 0;
            const v165 = v164 >>> 0;
            const v166 = v165 < v4;
            const v172 = v164 * s0_0;
            const v176 = a2 + r0 * s1_0;
            for (let r1 = 0; r1 < p4; r1++) {
              const v167 = a1 + r1 | 0;
              const v168 = v167 - 1 | 0;
              const v169 = v168 >>> 0;
              const v170 = v169 < v9;
              const v171 = v166 && v170;
              const v173 = v172 + v168 * s0_1;
              const v177 = v176 + r1 * s1_1;
              for (let r2 = 0; r2 < p5; r2++) {
                const v174 = v173 + r2;
                const v175 = v171 ? F32[x0 + v174] : 0;
                const v178 = v177 + r2 * s1_2;
                const v179 = F32[x1 + v178];
                acc0_0_0 += v175 * v179;
              }
            }
          }
          {
            const v180 = acc0_0_0 + v153;
            const v181 = v180 < 0;
            const v182 = v181 ? 0 : v180;
            F32[y0 + v183] = v182;
          }
        }
      }
    }
  }
  const entries = [
  ];
  return {
    buffer,
    base: 0,
    init: (entry) => entries[entry](),
    run: () => {
    },
    grow: (size) => {
      const next = create(module, size);
      new Uint8Array(next.buffer).set(U8);
      return next;
    },
  };
}
