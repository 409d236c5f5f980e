#include <wasm_simd128.h>

void k_f0cfea1826917b44(const float *restrict x0, float *restrict y0, const int p0, const int p1, const int p2, const int p3, const int s0_0, const int s1_0, const int s1_1) {
  for (int a0 = 0; a0 < p0; a0++) {
    const int v1 = a0 * s0_0;
    const int v6 = a0 * s1_1;
    for (int a1 = 0; a1 < p1; a1++) {
      const int v2 = v1 + a1;
      const float v3 = x0[v2];
      const int v4 = a1 >> (p2 & 31);
      const int v5 = a1 & p3;
      const int v7 = v6 + v4 * s1_0 + v5;
      y0[v7] = v3;
    }
  }
}

#include <wasm_simd128.h>

#ifdef RELAXED
#define WK_MADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define WK_MADD(a, b, c) wasm_f32x4_add(c, wasm_f32x4_mul(a, b))
#endif

/* An address some elements behind another. Where integers wrap, so do sums of addresses, and a load could not have a part of one as its offset;
   members of a structure lie behind its beginning. */
#define WK_BEHIND(p, elements) (((struct { float before[elements]; float at[4]; } *)(p))->at)

static inline unsigned long long wk_idiv_u64(unsigned long long a, unsigned long long b) { return b ? a / b : 0; }

__attribute__((weak)) float wk_zeros[WK_ZEROS];

void k_db190ba718784fdc(const float *restrict x0, const float *restrict x1, float *restrict y0, const int p0, const int p1, const int p2, const int p3, const int p4, const int p5, const int p6, const int p7, const int p8, const int p9, const int s0_0, const int s0_1, const int s1_3, const int s1_0, const int s1_1, const int s2_0, const int part_from, const int part_to) {
  #ifdef RELAXED
  const unsigned long long v2 = (unsigned long long)(p5);
  const unsigned long long v3 = wk_idiv_u64(1099511627776ull, v2);
  const unsigned long long v4 = v3 + 1ull;
  const unsigned v12 = (unsigned)(p8);
  const unsigned v20 = (unsigned)(p9);
  int a1 = part_from;
  for (; a1 + 7 < part_to; a1 += 8) {
    const int v28 = (a1 >> 3) * s1_3 + (a1 & 7);
    int a0 = 0;
    for (; 5 < p0 && a0 + 1 < p0; a0 += 6) {
      const int a0_1 = a0 + 1 < p0 - 1 ? a0 + 1 : p0 - 1;
      const int a0_2 = a0 + 2 < p0 - 1 ? a0 + 2 : p0 - 1;
      const int a0_3 = a0 + 3 < p0 - 1 ? a0 + 3 : p0 - 1;
      const int a0_4 = a0 + 4 < p0 - 1 ? a0 + 4 : p0 - 1;
      const int a0_5 = a0 + 5 < p0 - 1 ? a0 + 5 : p0 - 1;
      const unsigned long long v1 = (unsigned long long)(a0);
      const unsigned long long v5 = v1 * v4;
      const unsigned long long v6 = v5 >> (40ull & 63);
      const int v7 = (int)(v6);
      const int v8 = v7 * p6;
      const int v14 = v7 * p5;
      const int v15 = a0 - v14;
      const int v16 = v15 * p7;
      const unsigned long long v34 = (unsigned long long)(a0_1);
      const unsigned long long v35 = v34 * v4;
      const unsigned long long v36 = v35 >> (40ull & 63);
      const int v37 = (int)(v36);
      const int v38 = v37 * p6;
      const int v43 = v37 * p5;
      const int v44 = a0_1 - v43;
      const int v45 = v44 * p7;
      const unsigned long long v56 = (unsigned long long)(a0_2);
      const unsigned long long v57 = v56 * v4;
      const unsigned long long v58 = v57 >> (40ull & 63);
      const int v59 = (int)(v58);
      const int v60 = v59 * p6;
      const int v65 = v59 * p5;
      const int v66 = a0_2 - v65;
      const int v67 = v66 * p7;
      const unsigned long long v78 = (unsigned long long)(a0_3);
      const unsigned long long v79 = v78 * v4;
      const unsigned long long v80 = v79 >> (40ull & 63);
      const int v81 = (int)(v80);
      const int v82 = v81 * p6;
      const int v87 = v81 * p5;
      const int v88 = a0_3 - v87;
      const int v89 = v88 * p7;
      const unsigned long long v100 = (unsigned long long)(a0_4);
      const unsigned long long v101 = v100 * v4;
      const unsigned long long v102 = v101 >> (40ull & 63);
      const int v103 = (int)(v102);
      const int v104 = v103 * p6;
      const int v109 = v103 * p5;
      const int v110 = a0_4 - v109;
      const int v111 = v110 * p7;
      const unsigned long long v122 = (unsigned long long)(a0_5);
      const unsigned long long v123 = v122 * v4;
      const unsigned long long v124 = v123 >> (40ull & 63);
      const int v125 = (int)(v124);
      const int v126 = v125 * p6;
      const int v131 = v125 * p5;
      const int v132 = a0_5 - v131;
      const int v133 = v132 * p7;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_4_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_4_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_5_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_5_4 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v9 = v8 + r0;
        const int v10 = v9 - 1;
        const unsigned v11 = (unsigned)(v10);
        const int v13 = v11 < v12;
        const int v23 = v10 * s0_0;
        const int v29 = v28 + r0 * s1_0;
        const int v39 = v38 + r0;
        const int v40 = v39 - 1;
        const unsigned v41 = (unsigned)(v40);
        const int v42 = v41 < v12;
        const int v51 = v40 * s0_0;
        const int v61 = v60 + r0;
        const int v62 = v61 - 1;
        const unsigned v63 = (unsigned)(v62);
        const int v64 = v63 < v12;
        const int v73 = v62 * s0_0;
        const int v83 = v82 + r0;
        const int v84 = v83 - 1;
        const unsigned v85 = (unsigned)(v84);
        const int v86 = v85 < v12;
        const int v95 = v84 * s0_0;
        const int v105 = v104 + r0;
        const int v106 = v105 - 1;
        const unsigned v107 = (unsigned)(v106);
        const int v108 = v107 < v12;
        const int v117 = v106 * s0_0;
        const int v127 = v126 + r0;
        const int v128 = v127 - 1;
        const unsigned v129 = (unsigned)(v128);
        const int v130 = v129 < v12;
        const int v139 = v128 * s0_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v17 = v16 + r1;
          const int v18 = v17 - 1;
          const unsigned v19 = (unsigned)(v18);
          const int v21 = v19 < v20;
          const int v22 = v13 & v21;
          const int v24 = v23 + v18 * s0_1;
          const float *const v25 = v22 ? x0 + v24 : wk_zeros;
          const int v30 = v29 + r1 * s1_1;
          const int v46 = v45 + r1;
          const int v47 = v46 - 1;
          const unsigned v48 = (unsigned)(v47);
          const int v49 = v48 < v20;
          const int v50 = v42 & v49;
          const int v52 = v51 + v47 * s0_1;
          const float *const v53 = v50 ? x0 + v52 : wk_zeros;
          const int v68 = v67 + r1;
          const int v69 = v68 - 1;
          const unsigned v70 = (unsigned)(v69);
          const int v71 = v70 < v20;
          const int v72 = v64 & v71;
          const int v74 = v73 + v69 * s0_1;
          const float *const v75 = v72 ? x0 + v74 : wk_zeros;
          const int v90 = v89 + r1;
          const int v91 = v90 - 1;
          const unsigned v92 = (unsigned)(v91);
          const int v93 = v92 < v20;
          const int v94 = v86 & v93;
          const int v96 = v95 + v91 * s0_1;
          const float *const v97 = v94 ? x0 + v96 : wk_zeros;
          const int v112 = v111 + r1;
          const int v113 = v112 - 1;
          const unsigned v114 = (unsigned)(v113);
          const int v115 = v114 < v20;
          const int v116 = v108 & v115;
          const int v118 = v117 + v113 * s0_1;
          const float *const v119 = v116 ? x0 + v118 : wk_zeros;
          const int v134 = v133 + r1;
          const int v135 = v134 - 1;
          const unsigned v136 = (unsigned)(v135);
          const int v137 = v136 < v20;
          const int v138 = v130 & v137;
          const int v140 = v139 + v135 * s0_1;
          const float *const v141 = v138 ? x0 + v140 : wk_zeros;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v26 = v25[r2];
            const v128_t v27 = wasm_f32x4_splat(v26);
            const int v31 = v30 + r2 * 8;
            const v128_t v32 = wasm_v128_load(x1 + v31);
            const v128_t v33 = wasm_v128_load(WK_BEHIND(x1 + v31, 4));
            const float v54 = v53[r2];
            const v128_t v55 = wasm_f32x4_splat(v54);
            const float v76 = v75[r2];
            const v128_t v77 = wasm_f32x4_splat(v76);
            const float v98 = v97[r2];
            const v128_t v99 = wasm_f32x4_splat(v98);
            const float v120 = v119[r2];
            const v128_t v121 = wasm_f32x4_splat(v120);
            const float v142 = v141[r2];
            const v128_t v143 = wasm_f32x4_splat(v142);
            acc0_0_0 = WK_MADD(v27, v32, acc0_0_0);
            acc0_0_4 = WK_MADD(v27, v33, acc0_0_4);
            acc0_1_0 = WK_MADD(v55, v32, acc0_1_0);
            acc0_1_4 = WK_MADD(v55, v33, acc0_1_4);
            acc0_2_0 = WK_MADD(v77, v32, acc0_2_0);
            acc0_2_4 = WK_MADD(v77, v33, acc0_2_4);
            acc0_3_0 = WK_MADD(v99, v32, acc0_3_0);
            acc0_3_4 = WK_MADD(v99, v33, acc0_3_4);
            acc0_4_0 = WK_MADD(v121, v32, acc0_4_0);
            acc0_4_4 = WK_MADD(v121, v33, acc0_4_4);
            acc0_5_0 = WK_MADD(v143, v32, acc0_5_0);
            acc0_5_4 = WK_MADD(v143, v33, acc0_5_4);
          }
        }
      }
      {
        const int v144 = a1 + a0 * s2_0;
        const int v145 = a1 + a0_1 * s2_0;
        const int v146 = a1 + a0_2 * s2_0;
        const int v147 = a1 + a0_3 * s2_0;
        const int v148 = a1 + a0_4 * s2_0;
        const int v149 = a1 + a0_5 * s2_0;
        wasm_v128_store(y0 + v144, acc0_0_0);
        wasm_v128_store(WK_BEHIND(y0 + v144, 4), acc0_0_4);
        wasm_v128_store(y0 + v145, acc0_1_0);
        wasm_v128_store(WK_BEHIND(y0 + v145, 4), acc0_1_4);
        wasm_v128_store(y0 + v146, acc0_2_0);
        wasm_v128_store(WK_BEHIND(y0 + v146, 4), acc0_2_4);
        wasm_v128_store(y0 + v147, acc0_3_0);
        wasm_v128_store(WK_BEHIND(y0 + v147, 4), acc0_3_4);
        wasm_v128_store(y0 + v148, acc0_4_0);
        wasm_v128_store(WK_BEHIND(y0 + v148, 4), acc0_4_4);
        wasm_v128_store(y0 + v149, acc0_5_0);
        wasm_v128_store(WK_BEHIND(y0 + v149, 4), acc0_5_4);
      }
    }
    for (; a0 < p0; a0 += 1) {
      const unsigned long long v150 = (unsigned long long)(a0);
      const unsigned long long v151 = v150 * v4;
      const unsigned long long v152 = v151 >> (40ull & 63);
      const int v153 = (int)(v152);
      const int v154 = v153 * p6;
      const int v159 = v153 * p5;
      const int v160 = a0 - v159;
      const int v161 = v160 * p7;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v155 = v154 + r0;
        const int v156 = v155 - 1;
        const unsigned v157 = (unsigned)(v156);
        const int v158 = v157 < v12;
        const int v167 = v156 * s0_0;
        const int v172 = v28 + r0 * s1_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v162 = v161 + r1;
          const int v163 = v162 - 1;
          const unsigned v164 = (unsigned)(v163);
          const int v165 = v164 < v20;
          const int v166 = v158 & v165;
          const int v168 = v167 + v163 * s0_1;
          const float *const v169 = v166 ? x0 + v168 : wk_zeros;
          const int v173 = v172 + r1 * s1_1;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v170 = v169[r2];
            const v128_t v171 = wasm_f32x4_splat(v170);
            const int v174 = v173 + r2 * 8;
            const v128_t v175 = wasm_v128_load(x1 + v174);
            const v128_t v176 = wasm_v128_load(WK_BEHIND(x1 + v174, 4));
            acc0_0_0 = WK_MADD(v171, v175, acc0_0_0);
            acc0_0_4 = WK_MADD(v171, v176, acc0_0_4);
          }
        }
      }
      {
        const int v177 = a1 + a0 * s2_0;
        wasm_v128_store(y0 + v177, acc0_0_0);
        wasm_v128_store(WK_BEHIND(y0 + v177, 4), acc0_0_4);
      }
    }
  }
  #else
  const unsigned long long v2 = (unsigned long long)(p5);
  const unsigned long long v3 = wk_idiv_u64(1099511627776ull, v2);
  const unsigned long long v4 = v3 + 1ull;
  const unsigned v12 = (unsigned)(p8);
  const unsigned v20 = (unsigned)(p9);
  int a1 = part_from;
  for (; a1 + 7 < part_to; a1 += 8) {
    const int v28 = (a1 >> 3) * s1_3 + (a1 & 7);
    int a0 = 0;
    for (; 3 < p0 && a0 + 1 < p0; a0 += 4) {
      const int a0_1 = a0 + 1 < p0 - 1 ? a0 + 1 : p0 - 1;
      const int a0_2 = a0 + 2 < p0 - 1 ? a0 + 2 : p0 - 1;
      const int a0_3 = a0 + 3 < p0 - 1 ? a0 + 3 : p0 - 1;
      const unsigned long long v1 = (unsigned long long)(a0);
      const unsigned long long v5 = v1 * v4;
      const unsigned long long v6 = v5 >> (40ull & 63);
      const int v7 = (int)(v6);
      const int v8 = v7 * p6;
      const int v14 = v7 * p5;
      const int v15 = a0 - v14;
      const int v16 = v15 * p7;
      const unsigned long long v34 = (unsigned long long)(a0_1);
      const unsigned long long v35 = v34 * v4;
      const unsigned long long v36 = v35 >> (40ull & 63);
      const int v37 = (int)(v36);
      const int v38 = v37 * p6;
      const int v43 = v37 * p5;
      const int v44 = a0_1 - v43;
      const int v45 = v44 * p7;
      const unsigned long long v56 = (unsigned long long)(a0_2);
      const unsigned long long v57 = v56 * v4;
      const unsigned long long v58 = v57 >> (40ull & 63);
      const int v59 = (int)(v58);
      const int v60 = v59 * p6;
      const int v65 = v59 * p5;
      const int v66 = a0_2 - v65;
      const int v67 = v66 * p7;
      const unsigned long long v78 = (unsigned long long)(a0_3);
      const unsigned long long v79 = v78 * v4;
      const unsigned long long v80 = v79 >> (40ull & 63);
      const int v81 = (int)(v80);
      const int v82 = v81 * p6;
      const int v87 = v81 * p5;
      const int v88 = a0_3 - v87;
      const int v89 = v88 * p7;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_4 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v9 = v8 + r0;
        const int v10 = v9 - 1;
        const unsigned v11 = (unsigned)(v10);
        const int v13 = v11 < v12;
        const int v23 = v10 * s0_0;
        const int v29 = v28 + r0 * s1_0;
        const int v39 = v38 + r0;
        const int v40 = v39 - 1;
        const unsigned v41 = (unsigned)(v40);
        const int v42 = v41 < v12;
        const int v51 = v40 * s0_0;
        const int v61 = v60 + r0;
        const int v62 = v61 - 1;
        const unsigned v63 = (unsigned)(v62);
        const int v64 = v63 < v12;
        const int v73 = v62 * s0_0;
        const int v83 = v82 + r0;
        const int v84 = v83 - 1;
        const unsigned v85 = (unsigned)(v84);
        const int v86 = v85 < v12;
        const int v95 = v84 * s0_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v17 = v16 + r1;
          const int v18 = v17 - 1;
          const unsigned v19 = (unsigned)(v18);
          const int v21 = v19 < v20;
          const int v22 = v13 & v21;
          const int v24 = v23 + v18 * s0_1;
          const float *const v25 = v22 ? x0 + v24 : wk_zeros;
          const int v30 = v29 + r1 * s1_1;
          const int v46 = v45 + r1;
          const int v47 = v46 - 1;
          const unsigned v48 = (unsigned)(v47);
          const int v49 = v48 < v20;
          const int v50 = v42 & v49;
          const int v52 = v51 + v47 * s0_1;
          const float *const v53 = v50 ? x0 + v52 : wk_zeros;
          const int v68 = v67 + r1;
          const int v69 = v68 - 1;
          const unsigned v70 = (unsigned)(v69);
          const int v71 = v70 < v20;
          const int v72 = v64 & v71;
          const int v74 = v73 + v69 * s0_1;
          const float *const v75 = v72 ? x0 + v74 : wk_zeros;
          const int v90 = v89 + r1;
          const int v91 = v90 - 1;
          const unsigned v92 = (unsigned)(v91);
          const int v93 = v92 < v20;
          const int v94 = v86 & v93;
          const int v96 = v95 + v91 * s0_1;
          const float *const v97 = v94 ? x0 + v96 : wk_zeros;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v26 = v25[r2];
            const v128_t v27 = wasm_f32x4_splat(v26);
            const int v31 = v30 + r2 * 8;
            const v128_t v32 = wasm_v128_load(x1 + v31);
            const v128_t v33 = wasm_v128_load(WK_BEHIND(x1 + v31, 4));
            const float v54 = v53[r2];
            const v128_t v55 = wasm_f32x4_splat(v54);
            const float v76 = v75[r2];
            const v128_t v77 = wasm_f32x4_splat(v76);
            const float v98 = v97[r2];
            const v128_t v99 = wasm_f32x4_splat(v98);
            acc0_0_0 = WK_MADD(v27, v32, acc0_0_0);
            acc0_0_4 = WK_MADD(v27, v33, acc0_0_4);
            acc0_1_0 = WK_MADD(v55, v32, acc0_1_0);
            acc0_1_4 = WK_MADD(v55, v33, acc0_1_4);
            acc0_2_0 = WK_MADD(v77, v32, acc0_2_0);
            acc0_2_4 = WK_MADD(v77, v33, acc0_2_4);
            acc0_3_0 = WK_MADD(v99, v32, acc0_3_0);
            acc0_3_4 = WK_MADD(v99, v33, acc0_3_4);
          }
        }
      }
      {
        const int v100 = a1 + a0 * s2_0;
        const int v101 = a1 + a0_1 * s2_0;
        const int v102 = a1 + a0_2 * s2_0;
        const int v103 = a1 + a0_3 * s2_0;
        wasm_v128_store(y0 + v100, acc0_0_0);
        wasm_v128_store(WK_BEHIND(y0 + v100, 4), acc0_0_4);
        wasm_v128_store(y0 + v101, acc0_1_0);
        wasm_v128_store(WK_BEHIND(y0 + v101, 4), acc0_1_4);
        wasm_v128_store(y0 + v102, acc0_2_0);
        wasm_v128_store(WK_BEHIND(y0 + v102, 4), acc0_2_4);
        wasm_v128_store(y0 + v103, acc0_3_0);
        wasm_v128_store(WK_BEHIND(y0 + v103, 4), acc0_3_4);
      }
    }
    for (; a0 < p0; a0 += 1) {
      const unsigned long long v104 = (unsigned long long)(a0);
      const unsigned long long v105 = v104 * v4;
      const unsigned long long v106 = v105 >> (40ull & 63);
      const int v107 = (int)(v106);
      const int v108 = v107 * p6;
      const int v113 = v107 * p5;
      const int v114 = a0 - v113;
      const int v115 = v114 * p7;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v109 = v108 + r0;
        const int v110 = v109 - 1;
        const unsigned v111 = (unsigned)(v110);
        const int v112 = v111 < v12;
        const int v121 = v110 * s0_0;
        const int v126 = v28 + r0 * s1_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v116 = v115 + r1;
          const int v117 = v116 - 1;
          const unsigned v118 = (unsigned)(v117);
          const int v119 = v118 < v20;
          const int v120 = v112 & v119;
          const int v122 = v121 + v117 * s0_1;
          const float *const v123 = v120 ? x0 + v122 : wk_zeros;
          const int v127 = v126 + r1 * s1_1;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v124 = v123[r2];
            const v128_t v125 = wasm_f32x4_splat(v124);
            const int v128 = v127 + r2 * 8;
            const v128_t v129 = wasm_v128_load(x1 + v128);
            const v128_t v130 = wasm_v128_load(WK_BEHIND(x1 + v128, 4));
            acc0_0_0 = WK_MADD(v125, v129, acc0_0_0);
            acc0_0_4 = WK_MADD(v125, v130, acc0_0_4);
          }
        }
      }
      {
        const int v131 = a1 + a0 * s2_0;
        wasm_v128_store(y0 + v131, acc0_0_0);
        wasm_v128_store(WK_BEHIND(y0 + v131, 4), acc0_0_4);
      }
    }
  }
  #endif
}
