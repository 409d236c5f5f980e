#include <wasm_simd128.h>

void k_32af5713ce61db14(const float *restrict x0, float *restrict y0, const int p0, const int p1, const int s0_0, const int s1_0, const int s1_1) {
  for (int a0 = 0; a0 < p0; a0++) {
    const int v1 = a0 * s0_0;
    const int v6 = a0 * s1_1;
    for (int a1 = 0; a1 < p1; a1++) {
      const int v2 = v1 + a1;
      const float v3 = x0[v2];
      const int v4 = a1 >> (4 & 31);
      const int v5 = a1 & 15;
      const int v7 = v6 + v4 * s1_0 + v5;
      y0[v7] = v3;
    }
  }
}

#include <wasm_simd128.h>

void k_3afb97666ef05648(const float *restrict x0, float *restrict y0, const int p0) {
  for (int a0 = 0; a0 < p0; a0++) {
    const float v1 = x0[a0];
    y0[a0] = v1;
  }
}

#include <wasm_simd128.h>

#ifdef RELAXED
#define WK_MADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define WK_MADD(a, b, c) wasm_f32x4_add(c, wasm_f32x4_mul(a, b))
#endif

static const float outside_float32_0x0_0p_0f[16] = {0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, 0x0.0p+0f, };
void k_b3f81ec10ce2d21a(const float *restrict x0, const float *restrict x1, const float *restrict x2, float *restrict y0, const int p0, const int p1, const int p2, const int p3, const int p4, const int p5, const int p6, const int p7, const int s0_0, const int s0_1, const int s1_3, const int s1_0, const int s1_1, const int s3_0, const int s3_1) {
  const unsigned v4 = (unsigned)(p6);
  const unsigned v9 = (unsigned)(p7);
  const v128_t v38 = wasm_f32x4_splat(0x0.0p+0f);
  int a2 = 0;
  for (; a2 + 15 < p2; a2 += 16) {
    const int v18 = (a2 >> 4) * s1_3 + (a2 & 15);
    const v128_t v36 = wasm_v128_load(x2 + a2);
    const v128_t v43 = wasm_v128_load(x2 + a2 + 4);
    const v128_t v47 = wasm_v128_load(x2 + a2 + 8);
    const v128_t v51 = wasm_v128_load(x2 + a2 + 12);
    for (int a0 = 0; a0 < p0; a0++) {
      const int v41 = a2 + a0 * s3_0;
      int a1 = 0;
      for (; a1 + 1 < p1; a1 += 2) {
        const int v42 = v41 + a1 * s3_1;
        const int v58 = v41 + (a1 + 1) * s3_1;
        v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_0_8 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_0_12 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_1_4 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_1_8 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_1_12 = wasm_f32x4_splat(0x0.0p+0f);
        for (int r0 = 0; r0 < p3; r0++) {
          const int v1 = a0 + r0;
          const int v2 = v1 - 1;
          const unsigned v3 = (unsigned)(v2);
          const int v5 = v3 < v4;
          const int v12 = v2 * s0_0;
          const int v19 = v18 + r0 * s1_0;
          for (int r1 = 0; r1 < p4; r1++) {
            const int v6 = a1 + r1;
            const int v7 = v6 - 1;
            const unsigned v8 = (unsigned)(v7);
            const int v10 = v8 < v9;
            const int v11 = v5 & v10;
            const int v13 = v12 + v7 * s0_1;
            const float *const v14 = v11 ? x0 + v13 : outside_float32_0x0_0p_0f;
            const int v15 = v11 ? 1 : 0;
            const int v20 = v19 + r1 * s1_1;
            const int v26 = (a1 + 1) + r1;
            const int v27 = v26 - 1;
            const unsigned v28 = (unsigned)(v27);
            const int v29 = v28 < v9;
            const int v30 = v5 & v29;
            const int v31 = v12 + v27 * s0_1;
            const float *const v32 = v30 ? x0 + v31 : outside_float32_0x0_0p_0f;
            const int v33 = v30 ? 1 : 0;
            for (int r2 = 0; r2 < p5; r2++) {
              const float v16 = v14[r2 * v15];
              const v128_t v17 = wasm_f32x4_splat(v16);
              const int v21 = v20 + r2 * 16;
              const v128_t v22 = wasm_v128_load(x1 + v21);
              const v128_t v23 = wasm_v128_load(x1 + v21 + 4);
              const v128_t v24 = wasm_v128_load(x1 + v21 + 8);
              const v128_t v25 = wasm_v128_load(x1 + v21 + 12);
              const float v34 = v32[r2 * v33];
              const v128_t v35 = wasm_f32x4_splat(v34);
              acc0_0_0 = WK_MADD(v17, v22, acc0_0_0);
              acc0_0_4 = WK_MADD(v17, v23, acc0_0_4);
              acc0_0_8 = WK_MADD(v17, v24, acc0_0_8);
              acc0_0_12 = WK_MADD(v17, v25, acc0_0_12);
              acc0_1_0 = WK_MADD(v35, v22, acc0_1_0);
              acc0_1_4 = WK_MADD(v35, v23, acc0_1_4);
              acc0_1_8 = WK_MADD(v35, v24, acc0_1_8);
              acc0_1_12 = WK_MADD(v35, v25, acc0_1_12);
            }
          }
        }
        {
          const v128_t v37 = wasm_f32x4_add(acc0_0_0, v36);
          const v128_t v39 = wasm_f32x4_lt(v37, v38);
          const v128_t v40 = wasm_v128_bitselect(v38, v37, v39);
          const v128_t v44 = wasm_f32x4_add(acc0_0_4, v43);
          const v128_t v45 = wasm_f32x4_lt(v44, v38);
          const v128_t v46 = wasm_v128_bitselect(v38, v44, v45);
          const v128_t v48 = wasm_f32x4_add(acc0_0_8, v47);
          const v128_t v49 = wasm_f32x4_lt(v48, v38);
          const v128_t v50 = wasm_v128_bitselect(v38, v48, v49);
          const v128_t v52 = wasm_f32x4_add(acc0_0_12, v51);
          const v128_t v53 = wasm_f32x4_lt(v52, v38);
          const v128_t v54 = wasm_v128_bitselect(v38, v52, v53);
          const v128_t v55 = wasm_f32x4_add(acc0_1_0, v36);
          const v128_t v56 = wasm_f32x4_lt(v55, v38);
          const v128_t v57 = wasm_v128_bitselect(v38, v55, v56);
          const v128_t v59 = wasm_f32x4_add(acc0_1_4, v43);
          const v128_t v60 = wasm_f32x4_lt(v59, v38);
          const v128_t v61 = wasm_v128_bitselect(v38, v59, v60);
          const v128_t v62 = wasm_f32x4_add(acc0_1_8, v47);
          const v128_t v63 = wasm_f32x4_lt(v62, v38);
          const v128_t v64 = wasm_v128_bitselect(v38, v62, v63);
          const v128_t v65 = wasm_f32x4_add(acc0_1_12, v51);
          const v128_t v66 = wasm_f32x4_lt(v65, v38);
          const v128_t v67 = wasm_v128_bitselect(v38, v65, v66);
          wasm_v128_store(y0 + v42, v40);
          wasm_v128_store(y0 + v42 + 4, v46);
          wasm_v128_store(y0 + v42 + 8, v50);
          wasm_v128_store(y0 + v42 + 12, v54);
          wasm_v128_store(y0 + v58, v57);
          wasm_v128_store(y0 + v58 + 4, v61);
          wasm_v128_store(y0 + v58 + 8, v64);
          wasm_v128_store(y0 + v58 + 12, v67);
        }
      }
      for (; a1 < p1; a1 += 1) {
        const int v93 = v41 + a1 * s3_1;
        v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_0_8 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_0_12 = wasm_f32x4_splat(0x0.0p+0f);
        for (int r0 = 0; r0 < p3; r0++) {
          const int v68 = a0 + r0;
          const int v69 = v68 - 1;
          const unsigned v70 = (unsigned)(v69);
          const int v71 = v70 < v4;
          const int v77 = v69 * s0_0;
          const int v83 = v18 + r0 * s1_0;
          for (int r1 = 0; r1 < p4; r1++) {
            const int v72 = a1 + r1;
            const int v73 = v72 - 1;
            const unsigned v74 = (unsigned)(v73);
            const int v75 = v74 < v9;
            const int v76 = v71 & v75;
            const int v78 = v77 + v73 * s0_1;
            const float *const v79 = v76 ? x0 + v78 : outside_float32_0x0_0p_0f;
            const int v80 = v76 ? 1 : 0;
            const int v84 = v83 + r1 * s1_1;
            for (int r2 = 0; r2 < p5; r2++) {
              const float v81 = v79[r2 * v80];
              const v128_t v82 = wasm_f32x4_splat(v81);
              const int v85 = v84 + r2 * 16;
              const v128_t v86 = wasm_v128_load(x1 + v85);
              const v128_t v87 = wasm_v128_load(x1 + v85 + 4);
              const v128_t v88 = wasm_v128_load(x1 + v85 + 8);
              const v128_t v89 = wasm_v128_load(x1 + v85 + 12);
              acc0_0_0 = WK_MADD(v82, v86, acc0_0_0);
              acc0_0_4 = WK_MADD(v82, v87, acc0_0_4);
              acc0_0_8 = WK_MADD(v82, v88, acc0_0_8);
              acc0_0_12 = WK_MADD(v82, v89, acc0_0_12);
            }
          }
        }
        {
          const v128_t v90 = wasm_f32x4_add(acc0_0_0, v36);
          const v128_t v91 = wasm_f32x4_lt(v90, v38);
          const v128_t v92 = wasm_v128_bitselect(v38, v90, v91);
          const v128_t v94 = wasm_f32x4_add(acc0_0_4, v43);
          const v128_t v95 = wasm_f32x4_lt(v94, v38);
          const v128_t v96 = wasm_v128_bitselect(v38, v94, v95);
          const v128_t v97 = wasm_f32x4_add(acc0_0_8, v47);
          const v128_t v98 = wasm_f32x4_lt(v97, v38);
          const v128_t v99 = wasm_v128_bitselect(v38, v97, v98);
          const v128_t v100 = wasm_f32x4_add(acc0_0_12, v51);
          const v128_t v101 = wasm_f32x4_lt(v100, v38);
          const v128_t v102 = wasm_v128_bitselect(v38, v100, v101);
          wasm_v128_store(y0 + v93, v92);
          wasm_v128_store(y0 + v93 + 4, v96);
          wasm_v128_store(y0 + v93 + 8, v99);
          wasm_v128_store(y0 + v93 + 12, v102);
        }
      }
    }
  }
  for (; a2 < p2; a2 += 4) {
    const int v118 = (a2 >> 4) * s1_3 + (a2 & 15);
    const v128_t v133 = wasm_v128_load(x2 + a2);
    for (int a0 = 0; a0 < p0; a0++) {
      const int v137 = a2 + a0 * s3_0;
      int a1 = 0;
      for (; a1 + 1 < p1; a1 += 2) {
        const int v138 = v137 + a1 * s3_1;
        const int v142 = v137 + (a1 + 1) * s3_1;
        v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
        v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
        for (int r0 = 0; r0 < p3; r0++) {
          const int v103 = a0 + r0;
          const int v104 = v103 - 1;
          const unsigned v105 = (unsigned)(v104);
          const int v106 = v105 < v4;
          const int v112 = v104 * s0_0;
          const int v119 = v118 + r0 * s1_0;
          for (int r1 = 0; r1 < p4; r1++) {
            const int v107 = a1 + r1;
            const int v108 = v107 - 1;
            const unsigned v109 = (unsigned)(v108);
            const int v110 = v109 < v9;
            const int v111 = v106 & v110;
            const int v113 = v112 + v108 * s0_1;
            const float *const v114 = v111 ? x0 + v113 : outside_float32_0x0_0p_0f;
            const int v115 = v111 ? 1 : 0;
            const int v120 = v119 + r1 * s1_1;
            const int v123 = (a1 + 1) + r1;
            const int v124 = v123 - 1;
            const unsigned v125 = (unsigned)(v124);
            const int v126 = v125 < v9;
            const int v127 = v106 & v126;
            const int v128 = v112 + v124 * s0_1;
            const float *const v129 = v127 ? x0 + v128 : outside_float32_0x0_0p_0f;
            const int v130 = v127 ? 1 : 0;
            for (int r2 = 0; r2 < p5; r2++) {
              const float v116 = v114[r2 * v115];
              const v128_t v117 = wasm_f32x4_splat(v116);
              const int v121 = v120 + r2 * 16;
              const v128_t v122 = wasm_v128_load(x1 + v121);
              const float v131 = v129[r2 * v130];
              const v128_t v132 = wasm_f32x4_splat(v131);
              acc0_0_0 = WK_MADD(v117, v122, acc0_0_0);
              acc0_1_0 = WK_MADD(v132, v122, acc0_1_0);
            }
          }
        }
        {
          const v128_t v134 = wasm_f32x4_add(acc0_0_0, v133);
          const v128_t v135 = wasm_f32x4_lt(v134, v38);
          const v128_t v136 = wasm_v128_bitselect(v38, v134, v135);
          const v128_t v139 = wasm_f32x4_add(acc0_1_0, v133);
          const v128_t v140 = wasm_f32x4_lt(v139, v38);
          const v128_t v141 = wasm_v128_bitselect(v38, v139, v140);
          wasm_v128_store(y0 + v138, v136);
          wasm_v128_store(y0 + v142, v141);
        }
      }
      for (; a1 < p1; a1 += 1) {
        const int v165 = v137 + a1 * s3_1;
        v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
        for (int r0 = 0; r0 < p3; r0++) {
          const int v143 = a0 + r0;
          const int v144 = v143 - 1;
          const unsigned v145 = (unsigned)(v144);
          const int v146 = v145 < v4;
          const int v152 = v144 * s0_0;
          const int v158 = v118 + r0 * s1_0;
          for (int r1 = 0; r1 < p4; r1++) {
            const int v147 = a1 + r1;
            const int v148 = v147 - 1;
            const unsigned v149 = (unsigned)(v148);
            const int v150 = v149 < v9;
            const int v151 = v146 & v150;
            const int v153 = v152 + v148 * s0_1;
            const float *const v154 = v151 ? x0 + v153 : outside_float32_0x0_0p_0f;
            const int v155 = v151 ? 1 : 0;
            const int v159 = v158 + r1 * s1_1;
            for (int r2 = 0; r2 < p5; r2++) {
              const float v156 = v154[r2 * v155];
              const v128_t v157 = wasm_f32x4_splat(v156);
              const int v160 = v159 + r2 * 16;
              const v128_t v161 = wasm_v128_load(x1 + v160);
              acc0_0_0 = WK_MADD(v157, v161, acc0_0_0);
            }
          }
        }
        {
          const v128_t v162 = wasm_f32x4_add(acc0_0_0, v133);
          const v128_t v163 = wasm_f32x4_lt(v162, v38);
          const v128_t v164 = wasm_v128_bitselect(v38, v162, v163);
          wasm_v128_store(y0 + v165, v164);
        }
      }
    }
  }
}
