#include <wasm_simd128.h>

void k_5ca3a8cc0877bc30(const float *restrict x0, float *restrict y0, const int p0) {
  for (int a0 = 0; a0 < p0; a0++) {
    const float v1 = x0[a0];
    y0[a0] = v1;
  }
}

#include <wasm_simd128.h>

void k_b8df34ad8f78d5f5(const float *restrict x0, float *restrict y0, const int p0, const int p1, const int s0_0, const int s0_1, const int s0_2, const int s0_3, const int s1_0, const int s1_1, const int s1_2, const int part_from, const int part_to) {
  const int v11 = 1 * s0_1;
  const int v18 = 2 * s0_1;
  const int v25 = 1 * s1_1;
  const int v30 = 2 * s1_1;
  const int v33 = 3 * s1_1;
  const int v37 = 1 * s0_0;
  const int v43 = 2 * s0_0;
  const int v50 = 4 * s1_1;
  const int v55 = 1 * s0_0 + 1 * s0_1;
  const int v61 = 2 * s0_0 + 1 * s0_1;
  const int v70 = 1 * s0_0 + 2 * s0_1;
  const int v76 = 2 * s0_0 + 2 * s0_1;
  const int v84 = 5 * s1_1;
  const int v89 = 6 * s1_1;
  const int v92 = 7 * s1_1;
  const int v98 = 8 * s1_1;
  const int v110 = 9 * s1_1;
  const int v115 = 10 * s1_1;
  const int v118 = 11 * s1_1;
  const int v122 = 12 * s1_1;
  const int v127 = 13 * s1_1;
  const int v132 = 14 * s1_1;
  const int v135 = 15 * s1_1;
  for (int a0 = 0; a0 < p0; a0++) {
    const int v1 = a0 * s0_2;
    const int v8 = a0 * s1_2;
    const int v12 = v11 + a0 * s0_2;
    const int v19 = v18 + a0 * s0_2;
    const int v26 = v25 + a0 * s1_2;
    const int v31 = v30 + a0 * s1_2;
    const int v34 = v33 + a0 * s1_2;
    const int v38 = v37 + a0 * s0_2;
    const int v44 = v43 + a0 * s0_2;
    const int v51 = v50 + a0 * s1_2;
    const int v56 = v55 + a0 * s0_2;
    const int v62 = v61 + a0 * s0_2;
    const int v71 = v70 + a0 * s0_2;
    const int v77 = v76 + a0 * s0_2;
    const int v85 = v84 + a0 * s1_2;
    const int v90 = v89 + a0 * s1_2;
    const int v93 = v92 + a0 * s1_2;
    const int v99 = v98 + a0 * s1_2;
    const int v111 = v110 + a0 * s1_2;
    const int v116 = v115 + a0 * s1_2;
    const int v119 = v118 + a0 * s1_2;
    const int v123 = v122 + a0 * s1_2;
    const int v128 = v127 + a0 * s1_2;
    const int v133 = v132 + a0 * s1_2;
    const int v136 = v135 + a0 * s1_2;
    int a1 = part_from;
    for (; a1 < part_to; a1 += 1) {
      const int v2 = v1 + a1;
      const float v3 = x0[v2];
      const float v4 = -v3;
      const float v5 = -v4;
      const int v6 = a1 >> (3 & 31);
      const int v7 = a1 & 7;
      const int v9 = v8 + v6 * s1_0 + v7;
      const float v10 = 0x1.0000000000000p-1f * v4;
      const int v13 = v12 + a1;
      const float v14 = x0[v13];
      const float v15 = -v14;
      const float v16 = 0x1.0000000000000p-1f * v15;
      const float v17 = v10 + v16;
      const int v20 = v19 + a1;
      const float v21 = x0[v20];
      const float v22 = -v21;
      const float v23 = 0x1.0000000000000p-1f * v22;
      const float v24 = v17 + v23;
      const int v27 = v26 + v6 * s1_0 + v7;
      const float v28 = v10 - v16;
      const float v29 = v28 + v23;
      const int v32 = v31 + v6 * s1_0 + v7;
      const int v35 = v34 + v6 * s1_0 + v7;
      const float v36 = 0x1.0000000000000p-1f * v3;
      const int v39 = v38 + a1;
      const float v40 = x0[v39];
      const float v41 = 0x1.0000000000000p-1f * v40;
      const float v42 = v36 + v41;
      const int v45 = v44 + a1;
      const float v46 = x0[v45];
      const float v47 = 0x1.0000000000000p-1f * v46;
      const float v48 = v42 + v47;
      const float v49 = -v48;
      const int v52 = v51 + v6 * s1_0 + v7;
      const float v53 = 0x1.0000000000000p-1f * v48;
      const float v54 = 0x1.0000000000000p-1f * v14;
      const int v57 = v56 + a1;
      const float v58 = x0[v57];
      const float v59 = 0x1.0000000000000p-1f * v58;
      const float v60 = v54 + v59;
      const int v63 = v62 + a1;
      const float v64 = x0[v63];
      const float v65 = 0x1.0000000000000p-1f * v64;
      const float v66 = v60 + v65;
      const float v67 = 0x1.0000000000000p-1f * v66;
      const float v68 = v53 + v67;
      const float v69 = 0x1.0000000000000p-1f * v21;
      const int v72 = v71 + a1;
      const float v73 = x0[v72];
      const float v74 = 0x1.0000000000000p-1f * v73;
      const float v75 = v69 + v74;
      const int v78 = v77 + a1;
      const float v79 = x0[v78];
      const float v80 = 0x1.0000000000000p-1f * v79;
      const float v81 = v75 + v80;
      const float v82 = 0x1.0000000000000p-1f * v81;
      const float v83 = v68 + v82;
      const int v86 = v85 + v6 * s1_0 + v7;
      const float v87 = v53 - v67;
      const float v88 = v87 + v82;
      const int v91 = v90 + v6 * s1_0 + v7;
      const int v94 = v93 + v6 * s1_0 + v7;
      const float v95 = v36 - v41;
      const float v96 = v95 + v47;
      const float v97 = -v96;
      const int v100 = v99 + v6 * s1_0 + v7;
      const float v101 = 0x1.0000000000000p-1f * v96;
      const float v102 = v54 - v59;
      const float v103 = v102 + v65;
      const float v104 = 0x1.0000000000000p-1f * v103;
      const float v105 = v101 + v104;
      const float v106 = v69 - v74;
      const float v107 = v106 + v80;
      const float v108 = 0x1.0000000000000p-1f * v107;
      const float v109 = v105 + v108;
      const int v112 = v111 + v6 * s1_0 + v7;
      const float v113 = v101 - v104;
      const float v114 = v113 + v108;
      const int v117 = v116 + v6 * s1_0 + v7;
      const int v120 = v119 + v6 * s1_0 + v7;
      const float v121 = -v46;
      const int v124 = v123 + v6 * s1_0 + v7;
      const float v125 = v47 + v65;
      const float v126 = v125 + v80;
      const int v129 = v128 + v6 * s1_0 + v7;
      const float v130 = v47 - v65;
      const float v131 = v130 + v80;
      const int v134 = v133 + v6 * s1_0 + v7;
      const int v137 = v136 + v6 * s1_0 + v7;
      y0[v9] = v5;
      y0[v27] = v24;
      y0[v32] = v29;
      y0[v35] = v22;
      y0[v52] = v49;
      y0[v86] = v83;
      y0[v91] = v88;
      y0[v94] = v81;
      y0[v100] = v97;
      y0[v112] = v109;
      y0[v117] = v114;
      y0[v120] = v107;
      y0[v124] = v121;
      y0[v129] = v126;
      y0[v134] = v131;
      y0[v137] = v79;
    }
  }
}

#include <wasm_simd128.h>

static inline unsigned long long wk_idiv_u64(unsigned long long a, unsigned long long b) { return b ? a / b : 0; }

__attribute__((weak)) float wk_zeros[WK_ZEROS];

void k_4f0e67aadfb9cfec(const float *restrict x0, float *restrict y0, const int p0, const int p1, const int p2, const int p3, const int p4, const int p5, const int p6, const int p7, const int s0_0, const int s0_1, const int s0_2, const int s0_3, const int s1_0, const int part_from, const int part_to) {
  const int v2 = p3 - 1;
  const unsigned long long v5 = (unsigned long long)(p4);
  const unsigned long long v6 = wk_idiv_u64(1099511627776ull, v5);
  const unsigned long long v7 = v6 + 1ull;
  const unsigned v15 = (unsigned)(p5);
  const unsigned v23 = (unsigned)(p6);
  const int v66 = 1 * s1_0;
  const int v69 = 2 * s1_0;
  const int v85 = 3 * s1_0;
  const int v102 = 4 * s1_0;
  const int v110 = 5 * s1_0;
  const int v113 = 6 * s1_0;
  const int v121 = 7 * s1_0;
  const int v126 = 8 * s1_0;
  const int v130 = 9 * s1_0;
  const int v133 = 10 * s1_0;
  const int v137 = 11 * s1_0;
  const int v154 = 12 * s1_0;
  const int v162 = 13 * s1_0;
  const int v165 = 14 * s1_0;
  const int v173 = 15 * s1_0;
  int a0 = part_from;
  for (; a0 < part_to; a0 += 1) {
    const int v1 = a0 + p2;
    const int v3 = v1 < v2 ? v1 : v2;
    const unsigned long long v4 = (unsigned long long)(v3);
    const unsigned long long v8 = v4 * v7;
    const unsigned long long v9 = v8 >> (40ull & 63);
    const int v10 = (int)(v9);
    const int v11 = v10 * 2;
    const int v12 = v11 + 2;
    const int v13 = v12 - 1;
    const unsigned v14 = (unsigned)(v13);
    const int v16 = v14 < v15;
    const int v17 = v10 * p4;
    const int v18 = v3 - v17;
    const int v19 = v18 * 2;
    const int v20 = v19 + 2;
    const int v21 = v20 - 1;
    const unsigned v22 = (unsigned)(v21);
    const int v24 = v22 < v23;
    const int v25 = v16 & v24;
    const int v26 = v13 * s0_1 + v21 * s0_2;
    const float *const v27 = v25 ? x0 + v26 : wk_zeros;
    const int v29 = v11 - 1;
    const unsigned v30 = (unsigned)(v29);
    const int v31 = v30 < v15;
    const int v32 = v31 & v24;
    const int v33 = v29 * s0_1 + v21 * s0_2;
    const float *const v34 = v32 ? x0 + v33 : wk_zeros;
    const int v37 = v19 - 1;
    const unsigned v38 = (unsigned)(v37);
    const int v39 = v38 < v23;
    const int v40 = v16 & v39;
    const int v41 = v13 * s0_1 + v37 * s0_2;
    const float *const v42 = v40 ? x0 + v41 : wk_zeros;
    const int v44 = v31 & v39;
    const int v45 = v29 * s0_1 + v37 * s0_2;
    const float *const v46 = v44 ? x0 + v45 : wk_zeros;
    const int v50 = a0 * p7;
    const int v52 = v19 + 1;
    const int v53 = v52 - 1;
    const unsigned v54 = (unsigned)(v53);
    const int v55 = v54 < v23;
    const int v56 = v16 & v55;
    const int v57 = v13 * s0_1 + v53 * s0_2;
    const float *const v58 = v56 ? x0 + v57 : wk_zeros;
    const int v60 = v31 & v55;
    const int v61 = v29 * s0_1 + v53 * s0_2;
    const float *const v62 = v60 ? x0 + v61 : wk_zeros;
    const int v71 = v19 + 3;
    const int v72 = v71 - 1;
    const unsigned v73 = (unsigned)(v72);
    const int v74 = v73 < v23;
    const int v75 = v16 & v74;
    const int v76 = v13 * s0_1 + v72 * s0_2;
    const float *const v77 = v75 ? x0 + v76 : wk_zeros;
    const int v79 = v31 & v74;
    const int v80 = v29 * s0_1 + v72 * s0_2;
    const float *const v81 = v79 ? x0 + v80 : wk_zeros;
    const int v87 = v11 + 1;
    const int v88 = v87 - 1;
    const unsigned v89 = (unsigned)(v88);
    const int v90 = v89 < v15;
    const int v91 = v90 & v24;
    const int v92 = v88 * s0_1 + v21 * s0_2;
    const float *const v93 = v91 ? x0 + v92 : wk_zeros;
    const int v96 = v90 & v39;
    const int v97 = v88 * s0_1 + v37 * s0_2;
    const float *const v98 = v96 ? x0 + v97 : wk_zeros;
    const int v104 = v90 & v55;
    const int v105 = v88 * s0_1 + v53 * s0_2;
    const float *const v106 = v104 ? x0 + v105 : wk_zeros;
    const int v115 = v90 & v74;
    const int v116 = v88 * s0_1 + v72 * s0_2;
    const float *const v117 = v115 ? x0 + v116 : wk_zeros;
    const int v139 = v11 + 3;
    const int v140 = v139 - 1;
    const unsigned v141 = (unsigned)(v140);
    const int v142 = v141 < v15;
    const int v143 = v142 & v24;
    const int v144 = v140 * s0_1 + v21 * s0_2;
    const float *const v145 = v143 ? x0 + v144 : wk_zeros;
    const int v148 = v142 & v39;
    const int v149 = v140 * s0_1 + v37 * s0_2;
    const float *const v150 = v148 ? x0 + v149 : wk_zeros;
    const int v156 = v142 & v55;
    const int v157 = v140 * s0_1 + v53 * s0_2;
    const float *const v158 = v156 ? x0 + v157 : wk_zeros;
    const int v167 = v142 & v74;
    const int v168 = v140 * s0_1 + v72 * s0_2;
    const float *const v169 = v167 ? x0 + v168 : wk_zeros;
    int a1 = 0;
    for (; a1 + 3 < p1; a1 += 4) {
      const v128_t v28 = wasm_v128_load(v27 + a1);
      const v128_t v35 = wasm_v128_load(v34 + a1);
      const v128_t v36 = wasm_f32x4_sub(v28, v35);
      const v128_t v43 = wasm_v128_load(v42 + a1);
      const v128_t v47 = wasm_v128_load(v46 + a1);
      const v128_t v48 = wasm_f32x4_sub(v43, v47);
      const v128_t v49 = wasm_f32x4_sub(v36, v48);
      const int v51 = v50 + a1;
      const v128_t v59 = wasm_v128_load(v58 + a1);
      const v128_t v63 = wasm_v128_load(v62 + a1);
      const v128_t v64 = wasm_f32x4_sub(v59, v63);
      const v128_t v65 = wasm_f32x4_add(v36, v64);
      const int v67 = v66 + v51;
      const v128_t v68 = wasm_f32x4_sub(v36, v64);
      const int v70 = v69 + v51;
      const v128_t v78 = wasm_v128_load(v77 + a1);
      const v128_t v82 = wasm_v128_load(v81 + a1);
      const v128_t v83 = wasm_f32x4_sub(v78, v82);
      const v128_t v84 = wasm_f32x4_sub(v83, v64);
      const int v86 = v85 + v51;
      const v128_t v94 = wasm_v128_load(v93 + a1);
      const v128_t v95 = wasm_f32x4_add(v28, v94);
      const v128_t v99 = wasm_v128_load(v98 + a1);
      const v128_t v100 = wasm_f32x4_add(v43, v99);
      const v128_t v101 = wasm_f32x4_sub(v95, v100);
      const int v103 = v102 + v51;
      const v128_t v107 = wasm_v128_load(v106 + a1);
      const v128_t v108 = wasm_f32x4_add(v59, v107);
      const v128_t v109 = wasm_f32x4_add(v95, v108);
      const int v111 = v110 + v51;
      const v128_t v112 = wasm_f32x4_sub(v95, v108);
      const int v114 = v113 + v51;
      const v128_t v118 = wasm_v128_load(v117 + a1);
      const v128_t v119 = wasm_f32x4_add(v78, v118);
      const v128_t v120 = wasm_f32x4_sub(v119, v108);
      const int v122 = v121 + v51;
      const v128_t v123 = wasm_f32x4_sub(v28, v94);
      const v128_t v124 = wasm_f32x4_sub(v43, v99);
      const v128_t v125 = wasm_f32x4_sub(v123, v124);
      const int v127 = v126 + v51;
      const v128_t v128 = wasm_f32x4_sub(v59, v107);
      const v128_t v129 = wasm_f32x4_add(v123, v128);
      const int v131 = v130 + v51;
      const v128_t v132 = wasm_f32x4_sub(v123, v128);
      const int v134 = v133 + v51;
      const v128_t v135 = wasm_f32x4_sub(v78, v118);
      const v128_t v136 = wasm_f32x4_sub(v135, v128);
      const int v138 = v137 + v51;
      const v128_t v146 = wasm_v128_load(v145 + a1);
      const v128_t v147 = wasm_f32x4_sub(v146, v94);
      const v128_t v151 = wasm_v128_load(v150 + a1);
      const v128_t v152 = wasm_f32x4_sub(v151, v99);
      const v128_t v153 = wasm_f32x4_sub(v147, v152);
      const int v155 = v154 + v51;
      const v128_t v159 = wasm_v128_load(v158 + a1);
      const v128_t v160 = wasm_f32x4_sub(v159, v107);
      const v128_t v161 = wasm_f32x4_add(v147, v160);
      const int v163 = v162 + v51;
      const v128_t v164 = wasm_f32x4_sub(v147, v160);
      const int v166 = v165 + v51;
      const v128_t v170 = wasm_v128_load(v169 + a1);
      const v128_t v171 = wasm_f32x4_sub(v170, v118);
      const v128_t v172 = wasm_f32x4_sub(v171, v160);
      const int v174 = v173 + v51;
      wasm_v128_store(y0 + v51, v49);
      wasm_v128_store(y0 + v67, v65);
      wasm_v128_store(y0 + v70, v68);
      wasm_v128_store(y0 + v86, v84);
      wasm_v128_store(y0 + v103, v101);
      wasm_v128_store(y0 + v111, v109);
      wasm_v128_store(y0 + v114, v112);
      wasm_v128_store(y0 + v122, v120);
      wasm_v128_store(y0 + v127, v125);
      wasm_v128_store(y0 + v131, v129);
      wasm_v128_store(y0 + v134, v132);
      wasm_v128_store(y0 + v138, v136);
      wasm_v128_store(y0 + v155, v153);
      wasm_v128_store(y0 + v163, v161);
      wasm_v128_store(y0 + v166, v164);
      wasm_v128_store(y0 + v174, v172);
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

void k_094c83ca96b474ac(const float *restrict x0, const float *restrict x1, float *restrict y0, const int p0, const int p1, const int p2, const int p3, const int p4, const int p5, const int s0_0, const int s1_2, const int s1_0, const int s2_0, const int part_from, const int part_to) {
  #ifdef RELAXED
  int a2 = 0;
  for (; a2 + 7 < p2; a2 += 8) {
    const int v7 = (a2 >> 3) * s1_2 + (a2 & 7);
    int a0 = part_from;
    for (; a0 < part_to; a0 += 1) {
      const int v3 = a0 * s0_0;
      const int v8 = v7 + a0 * s1_0;
      const int v39 = a0 * s2_0;
      int a1 = 0;
      for (; 5 < p1 && a1 + 1 < p1; a1 += 6) {
        const int a1_1 = a1 + 1 < p1 - 1 ? a1 + 1 : p1 - 1;
        const int a1_2 = a1 + 2 < p1 - 1 ? a1 + 2 : p1 - 1;
        const int a1_3 = a1 + 3 < p1 - 1 ? a1 + 3 : p1 - 1;
        const int a1_4 = a1 + 4 < p1 - 1 ? a1 + 4 : p1 - 1;
        const int a1_5 = a1 + 5 < p1 - 1 ? a1 + 5 : p1 - 1;
        const int v1 = a1 * p4;
        const int v12 = a1_1 * p4;
        const int v17 = a1_2 * p4;
        const int v22 = a1_3 * p4;
        const int v27 = a1_4 * p4;
        const int v32 = a1_5 * p4;
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
        for (int r0 = 0; r0 < p3; r0++) {
          const int v2 = v1 + r0;
          const int v4 = v3 + v2;
          const float v5 = x0[v4];
          const v128_t v6 = wasm_f32x4_splat(v5);
          const int v9 = v8 + r0 * 8;
          const v128_t v10 = wasm_v128_load(x1 + v9);
          const v128_t v11 = wasm_v128_load(WK_BEHIND(x1 + v9, 4));
          const int v13 = v12 + r0;
          const int v14 = v3 + v13;
          const float v15 = x0[v14];
          const v128_t v16 = wasm_f32x4_splat(v15);
          const int v18 = v17 + r0;
          const int v19 = v3 + v18;
          const float v20 = x0[v19];
          const v128_t v21 = wasm_f32x4_splat(v20);
          const int v23 = v22 + r0;
          const int v24 = v3 + v23;
          const float v25 = x0[v24];
          const v128_t v26 = wasm_f32x4_splat(v25);
          const int v28 = v27 + r0;
          const int v29 = v3 + v28;
          const float v30 = x0[v29];
          const v128_t v31 = wasm_f32x4_splat(v30);
          const int v33 = v32 + r0;
          const int v34 = v3 + v33;
          const float v35 = x0[v34];
          const v128_t v36 = wasm_f32x4_splat(v35);
          acc0_0_0 = WK_MADD(v6, v10, acc0_0_0);
          acc0_0_4 = WK_MADD(v6, v11, acc0_0_4);
          acc0_1_0 = WK_MADD(v16, v10, acc0_1_0);
          acc0_1_4 = WK_MADD(v16, v11, acc0_1_4);
          acc0_2_0 = WK_MADD(v21, v10, acc0_2_0);
          acc0_2_4 = WK_MADD(v21, v11, acc0_2_4);
          acc0_3_0 = WK_MADD(v26, v10, acc0_3_0);
          acc0_3_4 = WK_MADD(v26, v11, acc0_3_4);
          acc0_4_0 = WK_MADD(v31, v10, acc0_4_0);
          acc0_4_4 = WK_MADD(v31, v11, acc0_4_4);
          acc0_5_0 = WK_MADD(v36, v10, acc0_5_0);
          acc0_5_4 = WK_MADD(v36, v11, acc0_5_4);
        }
        {
          const int v37 = a1 * p5;
          const int v38 = v37 + a2;
          const int v40 = v39 + v38;
          const int v41 = a1_1 * p5;
          const int v42 = v41 + a2;
          const int v43 = v39 + v42;
          const int v44 = a1_2 * p5;
          const int v45 = v44 + a2;
          const int v46 = v39 + v45;
          const int v47 = a1_3 * p5;
          const int v48 = v47 + a2;
          const int v49 = v39 + v48;
          const int v50 = a1_4 * p5;
          const int v51 = v50 + a2;
          const int v52 = v39 + v51;
          const int v53 = a1_5 * p5;
          const int v54 = v53 + a2;
          const int v55 = v39 + v54;
          wasm_v128_store(y0 + v40, acc0_0_0);
          wasm_v128_store(WK_BEHIND(y0 + v40, 4), acc0_0_4);
          wasm_v128_store(y0 + v43, acc0_1_0);
          wasm_v128_store(WK_BEHIND(y0 + v43, 4), acc0_1_4);
          wasm_v128_store(y0 + v46, acc0_2_0);
          wasm_v128_store(WK_BEHIND(y0 + v46, 4), acc0_2_4);
          wasm_v128_store(y0 + v49, acc0_3_0);
          wasm_v128_store(WK_BEHIND(y0 + v49, 4), acc0_3_4);
          wasm_v128_store(y0 + v52, acc0_4_0);
          wasm_v128_store(WK_BEHIND(y0 + v52, 4), acc0_4_4);
          wasm_v128_store(y0 + v55, acc0_5_0);
          wasm_v128_store(WK_BEHIND(y0 + v55, 4), acc0_5_4);
        }
      }
      for (; a1 < p1; a1 += 1) {
        const int v56 = a1 * p4;
        v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
        for (int r0 = 0; r0 < p3; r0++) {
          const int v57 = v56 + r0;
          const int v58 = v3 + v57;
          const float v59 = x0[v58];
          const v128_t v60 = wasm_f32x4_splat(v59);
          const int v61 = v8 + r0 * 8;
          const v128_t v62 = wasm_v128_load(x1 + v61);
          const v128_t v63 = wasm_v128_load(WK_BEHIND(x1 + v61, 4));
          acc0_0_0 = WK_MADD(v60, v62, acc0_0_0);
          acc0_0_4 = WK_MADD(v60, v63, acc0_0_4);
        }
        {
          const int v64 = a1 * p5;
          const int v65 = v64 + a2;
          const int v66 = v39 + v65;
          wasm_v128_store(y0 + v66, acc0_0_0);
          wasm_v128_store(WK_BEHIND(y0 + v66, 4), acc0_0_4);
        }
      }
    }
  }
  #else
  int a2 = 0;
  for (; a2 + 7 < p2; a2 += 8) {
    const int v7 = (a2 >> 3) * s1_2 + (a2 & 7);
    int a0 = part_from;
    for (; a0 < part_to; a0 += 1) {
      const int v3 = a0 * s0_0;
      const int v8 = v7 + a0 * s1_0;
      const int v29 = a0 * s2_0;
      int a1 = 0;
      for (; 3 < p1 && a1 + 1 < p1; a1 += 4) {
        const int a1_1 = a1 + 1 < p1 - 1 ? a1 + 1 : p1 - 1;
        const int a1_2 = a1 + 2 < p1 - 1 ? a1 + 2 : p1 - 1;
        const int a1_3 = a1 + 3 < p1 - 1 ? a1 + 3 : p1 - 1;
        const int v1 = a1 * p4;
        const int v12 = a1_1 * p4;
        const int v17 = a1_2 * p4;
        const int v22 = a1_3 * p4;
        v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_1_4 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_2_0 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_2_4 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_3_0 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_3_4 = wasm_f32x4_splat(0x0.0p+0f);
        for (int r0 = 0; r0 < p3; r0++) {
          const int v2 = v1 + r0;
          const int v4 = v3 + v2;
          const float v5 = x0[v4];
          const v128_t v6 = wasm_f32x4_splat(v5);
          const int v9 = v8 + r0 * 8;
          const v128_t v10 = wasm_v128_load(x1 + v9);
          const v128_t v11 = wasm_v128_load(WK_BEHIND(x1 + v9, 4));
          const int v13 = v12 + r0;
          const int v14 = v3 + v13;
          const float v15 = x0[v14];
          const v128_t v16 = wasm_f32x4_splat(v15);
          const int v18 = v17 + r0;
          const int v19 = v3 + v18;
          const float v20 = x0[v19];
          const v128_t v21 = wasm_f32x4_splat(v20);
          const int v23 = v22 + r0;
          const int v24 = v3 + v23;
          const float v25 = x0[v24];
          const v128_t v26 = wasm_f32x4_splat(v25);
          acc0_0_0 = WK_MADD(v6, v10, acc0_0_0);
          acc0_0_4 = WK_MADD(v6, v11, acc0_0_4);
          acc0_1_0 = WK_MADD(v16, v10, acc0_1_0);
          acc0_1_4 = WK_MADD(v16, v11, acc0_1_4);
          acc0_2_0 = WK_MADD(v21, v10, acc0_2_0);
          acc0_2_4 = WK_MADD(v21, v11, acc0_2_4);
          acc0_3_0 = WK_MADD(v26, v10, acc0_3_0);
          acc0_3_4 = WK_MADD(v26, v11, acc0_3_4);
        }
        {
          const int v27 = a1 * p5;
          const int v28 = v27 + a2;
          const int v30 = v29 + v28;
          const int v31 = a1_1 * p5;
          const int v32 = v31 + a2;
          const int v33 = v29 + v32;
          const int v34 = a1_2 * p5;
          const int v35 = v34 + a2;
          const int v36 = v29 + v35;
          const int v37 = a1_3 * p5;
          const int v38 = v37 + a2;
          const int v39 = v29 + v38;
          wasm_v128_store(y0 + v30, acc0_0_0);
          wasm_v128_store(WK_BEHIND(y0 + v30, 4), acc0_0_4);
          wasm_v128_store(y0 + v33, acc0_1_0);
          wasm_v128_store(WK_BEHIND(y0 + v33, 4), acc0_1_4);
          wasm_v128_store(y0 + v36, acc0_2_0);
          wasm_v128_store(WK_BEHIND(y0 + v36, 4), acc0_2_4);
          wasm_v128_store(y0 + v39, acc0_3_0);
          wasm_v128_store(WK_BEHIND(y0 + v39, 4), acc0_3_4);
        }
      }
      for (; a1 < p1; a1 += 1) {
        const int v40 = a1 * p4;
        v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
        for (int r0 = 0; r0 < p3; r0++) {
          const int v41 = v40 + r0;
          const int v42 = v3 + v41;
          const float v43 = x0[v42];
          const v128_t v44 = wasm_f32x4_splat(v43);
          const int v45 = v8 + r0 * 8;
          const v128_t v46 = wasm_v128_load(x1 + v45);
          const v128_t v47 = wasm_v128_load(WK_BEHIND(x1 + v45, 4));
          acc0_0_0 = WK_MADD(v44, v46, acc0_0_0);
          acc0_0_4 = WK_MADD(v44, v47, acc0_0_4);
        }
        {
          const int v48 = a1 * p5;
          const int v49 = v48 + a2;
          const int v50 = v29 + v49;
          wasm_v128_store(y0 + v50, acc0_0_0);
          wasm_v128_store(WK_BEHIND(y0 + v50, 4), acc0_0_4);
        }
      }
    }
  }
  #endif
}

#include <wasm_simd128.h>

static inline unsigned long long wk_idiv_u64(unsigned long long a, unsigned long long b) { return b ? a / b : 0; }

void k_5b8f0ee51f4f485f(const float *restrict x0, const float *restrict x1, float *restrict y0, const int p0, const int p1, const int p2, const int p3, const int p4, const int p5, const int p6, const int p7, const int s0_0, const int s1_0, const int s2_0, const int s2_1, const int s2_2, const int part_from, const int part_to) {
  const int v3 = 5 * s0_0;
  const int v6 = 9 * s0_0;
  const int v10 = 13 * s0_0;
  const int v14 = 6 * s0_0;
  const int v17 = 10 * s0_0;
  const int v21 = 14 * s0_0;
  const int v26 = 7 * s0_0;
  const int v29 = 11 * s0_0;
  const int v33 = 15 * s0_0;
  const v128_t v40 = wasm_f32x4_splat(0x0.0p+0f);
  const int v44 = p3 - 1;
  const unsigned long long v47 = (unsigned long long)(p4);
  const unsigned long long v48 = wk_idiv_u64(1099511627776ull, v47);
  const unsigned long long v49 = v48 + 1ull;
  const int v55 = p6 - 1;
  const int v61 = p7 - 1;
  const int v65 = 4 * s0_0;
  const int v68 = 8 * s0_0;
  const int v72 = 12 * s0_0;
  const int v84 = 1 * s0_0;
  const int v89 = 2 * s0_0;
  const int v95 = 3 * s0_0;
  int a0 = part_from;
  for (; a0 < part_to; a0 += 1) {
    const int v1 = a0 * p5;
    const int v43 = a0 + p2;
    const int v45 = v43 < v44 ? v43 : v44;
    const unsigned long long v46 = (unsigned long long)(v45);
    const unsigned long long v50 = v46 * v49;
    const unsigned long long v51 = v50 >> (40ull & 63);
    const int v52 = (int)(v51);
    const int v53 = v52 * 2;
    const int v54 = v53 + 1;
    const int v56 = v54 < v55 ? v54 : v55;
    const int v57 = v52 * p4;
    const int v58 = v45 - v57;
    const int v59 = v58 * 2;
    const int v60 = v59 + 1;
    const int v62 = v60 < v61 ? v60 : v61;
    const int v63 = v56 * s2_1 + v62 * s2_2;
    const int v81 = v59 < v61 ? v59 : v61;
    const int v82 = v56 * s2_1 + v81 * s2_2;
    const int v104 = v53 < v55 ? v53 : v55;
    const int v105 = v104 * s2_1 + v62 * s2_2;
    const int v115 = v104 * s2_1 + v81 * s2_2;
    int a1 = 0;
    for (; a1 + 3 < p1; a1 += 4) {
      const int v2 = v1 + a1;
      const int v4 = v3 + v2;
      const v128_t v5 = wasm_v128_load(x0 + v4);
      const int v7 = v6 + v2;
      const v128_t v8 = wasm_v128_load(x0 + v7);
      const v128_t v9 = wasm_f32x4_sub(v5, v8);
      const int v11 = v10 + v2;
      const v128_t v12 = wasm_v128_load(x0 + v11);
      const v128_t v13 = wasm_f32x4_add(v9, v12);
      const int v15 = v14 + v2;
      const v128_t v16 = wasm_v128_load(x0 + v15);
      const int v18 = v17 + v2;
      const v128_t v19 = wasm_v128_load(x0 + v18);
      const v128_t v20 = wasm_f32x4_sub(v16, v19);
      const int v22 = v21 + v2;
      const v128_t v23 = wasm_v128_load(x0 + v22);
      const v128_t v24 = wasm_f32x4_add(v20, v23);
      const v128_t v25 = wasm_f32x4_sub(v13, v24);
      const int v27 = v26 + v2;
      const v128_t v28 = wasm_v128_load(x0 + v27);
      const int v30 = v29 + v2;
      const v128_t v31 = wasm_v128_load(x0 + v30);
      const v128_t v32 = wasm_f32x4_sub(v28, v31);
      const int v34 = v33 + v2;
      const v128_t v35 = wasm_v128_load(x0 + v34);
      const v128_t v36 = wasm_f32x4_add(v32, v35);
      const v128_t v37 = wasm_f32x4_add(v25, v36);
      const v128_t v38 = wasm_v128_load(x1 + a1);
      const v128_t v39 = wasm_f32x4_add(v37, v38);
      const v128_t v41 = wasm_f32x4_lt(v39, v40);
      const v128_t v42 = wasm_f32x4_pmax(v39, v40);
      const int v64 = v63 + a1;
      const int v66 = v65 + v2;
      const v128_t v67 = wasm_v128_load(x0 + v66);
      const int v69 = v68 + v2;
      const v128_t v70 = wasm_v128_load(x0 + v69);
      const v128_t v71 = wasm_f32x4_sub(v67, v70);
      const int v73 = v72 + v2;
      const v128_t v74 = wasm_v128_load(x0 + v73);
      const v128_t v75 = wasm_f32x4_add(v71, v74);
      const v128_t v76 = wasm_f32x4_add(v13, v24);
      const v128_t v77 = wasm_f32x4_add(v75, v76);
      const v128_t v78 = wasm_f32x4_add(v77, v38);
      const v128_t v79 = wasm_f32x4_lt(v78, v40);
      const v128_t v80 = wasm_f32x4_pmax(v78, v40);
      const int v83 = v82 + a1;
      const int v85 = v84 + v2;
      const v128_t v86 = wasm_v128_load(x0 + v85);
      const v128_t v87 = wasm_f32x4_add(v5, v8);
      const v128_t v88 = wasm_f32x4_add(v86, v87);
      const int v90 = v89 + v2;
      const v128_t v91 = wasm_v128_load(x0 + v90);
      const v128_t v92 = wasm_f32x4_add(v16, v19);
      const v128_t v93 = wasm_f32x4_add(v91, v92);
      const v128_t v94 = wasm_f32x4_sub(v88, v93);
      const int v96 = v95 + v2;
      const v128_t v97 = wasm_v128_load(x0 + v96);
      const v128_t v98 = wasm_f32x4_add(v28, v31);
      const v128_t v99 = wasm_f32x4_add(v97, v98);
      const v128_t v100 = wasm_f32x4_add(v94, v99);
      const v128_t v101 = wasm_f32x4_add(v100, v38);
      const v128_t v102 = wasm_f32x4_lt(v101, v40);
      const v128_t v103 = wasm_f32x4_pmax(v101, v40);
      const int v106 = v105 + a1;
      const v128_t v107 = wasm_v128_load(x0 + v2);
      const v128_t v108 = wasm_f32x4_add(v67, v70);
      const v128_t v109 = wasm_f32x4_add(v107, v108);
      const v128_t v110 = wasm_f32x4_add(v88, v93);
      const v128_t v111 = wasm_f32x4_add(v109, v110);
      const v128_t v112 = wasm_f32x4_add(v111, v38);
      const v128_t v113 = wasm_f32x4_lt(v112, v40);
      const v128_t v114 = wasm_f32x4_pmax(v112, v40);
      const int v116 = v115 + a1;
      wasm_v128_store(y0 + v64, v42);
      wasm_v128_store(y0 + v83, v80);
      wasm_v128_store(y0 + v106, v103);
      wasm_v128_store(y0 + v116, v114);
    }
  }
}
