#include <wasm_simd128.h>

static inline float wk_max(float a, float b) { return a > b || a != a ? a : b; }

void k_21e93f04f4804e62(const float *restrict x0, float *restrict y0, const int p0, const int p1, const int s0_0) {
  for (int a0 = 0; a0 < p0; a0++) {
    const int v1 = a0 * s0_0;
    float acc0_0_0 = (-__builtin_inff());
    for (int r0 = 0; r0 < p1; r0++) {
      const int v2 = v1 + r0;
      const float v3 = x0[v2];
      acc0_0_0 = wk_max(acc0_0_0, v3);
    }
    y0[a0] = acc0_0_0;
  }
}

#include <wasm_simd128.h>

static inline float wk_float(int x) {
  union { int i; float f; } u = {x};
  return u.f;
}

void k_18e17f1101de8541(const float *restrict x0, const float *restrict x1, float *restrict y0, const int p0, const int p1, const int s0_0) {
  for (int a0 = 0; a0 < p0; a0++) {
    const int v1 = a0 * s0_0;
    const float v4 = x1[a0];
    float acc0_0_0 = 0x0.0p+0f;
    for (int r0 = 0; r0 < p1; r0++) {
      const int v2 = v1 + r0;
      const float v3 = x0[v2];
      const float v5 = v3 - v4;
      const int v6 = v5 < (-0x1.a000000000000p+6f);
      const float v7 = v6 ? (-0x1.a000000000000p+6f) : v5;
      const int v8 = v7 > 0x1.6400000000000p+6f;
      const float v9 = v8 ? 0x1.6400000000000p+6f : v7;
      const float v10 = v9 * 0x1.7154760000000p+0f;
      const float v11 = __builtin_rintf(v10);
      const float v12 = v11 * 0x1.6300000000000p-1f;
      const float v13 = v9 - v12;
      const float v14 = v11 * (-0x1.bd01060000000p-13f);
      const float v15 = v13 - v14;
      const float v16 = 0x1.a0d2ce0000000p-13f * v15;
      const float v17 = v16 + 0x1.6e879c0000000p-10f;
      const float v18 = v17 * v15;
      const float v19 = v18 + 0x1.1112100000000p-7f;
      const float v20 = v19 * v15;
      const float v21 = v20 + 0x1.5553820000000p-5f;
      const float v22 = v21 * v15;
      const float v23 = v22 + 0x1.5555540000000p-3f;
      const float v24 = v23 * v15;
      const float v25 = v24 + 0x1.0000000000000p-1f;
      const float v26 = v25 * v15;
      const float v27 = v26 * v15;
      const float v28 = v27 + v15;
      const float v29 = v28 + 0x1.0000000000000p+0f;
      const int v30 = __builtin_wasm_trunc_saturate_s_i32_f32(v11);
      const int v31 = v30 >> (1 & 31);
      const int v32 = v31 + 127;
      const int v33 = v32 << (23 & 31);
      const float v34 = wk_float(v33);
      const float v35 = v29 * v34;
      const int v36 = v30 - v31;
      const int v37 = v36 + 127;
      const int v38 = v37 << (23 & 31);
      const float v39 = wk_float(v38);
      acc0_0_0 += v35 * v39;
    }
    y0[a0] = acc0_0_0;
  }
}

#include <wasm_simd128.h>

static inline v128_t wk_load_part(const float *p, int count) {
  if (count >= 4) return wasm_v128_load(p);
  v128_t v = wasm_v128_load32_zero(p);
  if (count > 1) v = wasm_v128_load32_lane(p + 1, v, 1);
  if (count > 2) v = wasm_v128_load32_lane(p + 2, v, 2);
  return v;
}

static inline void wk_store_part(float *p, v128_t v, int count) {
  if (count >= 4) { wasm_v128_store(p, v); return; }
  wasm_v128_store32_lane(p, v, 0);
  if (count > 1) wasm_v128_store32_lane(p + 1, v, 1);
  if (count > 2) wasm_v128_store32_lane(p + 2, v, 2);
}

void k_4bc7cf313261ce30(const float *restrict x0, const float *restrict x1, const float *restrict x2, float *restrict y0, const int p0, const int p1, const int s0_0, const int s3_0) {
  const v128_t v1 = wasm_f32x4_splat(0x1.a0d2ce0000000p-13f);
  const v128_t v8 = wasm_f32x4_splat((-0x1.a000000000000p+6f));
  const v128_t v11 = wasm_f32x4_splat(0x1.6400000000000p+6f);
  const v128_t v14 = wasm_f32x4_splat(0x1.7154760000000p+0f);
  const v128_t v17 = wasm_f32x4_splat(0x1.6300000000000p-1f);
  const v128_t v20 = wasm_f32x4_splat((-0x1.bd01060000000p-13f));
  const v128_t v24 = wasm_f32x4_splat(0x1.6e879c0000000p-10f);
  const v128_t v27 = wasm_f32x4_splat(0x1.1112100000000p-7f);
  const v128_t v30 = wasm_f32x4_splat(0x1.5553820000000p-5f);
  const v128_t v33 = wasm_f32x4_splat(0x1.5555540000000p-3f);
  const v128_t v36 = wasm_f32x4_splat(0x1.0000000000000p-1f);
  const v128_t v41 = wasm_f32x4_splat(0x1.0000000000000p+0f);
  const v128_t v45 = wasm_i32x4_splat(127);
  for (int a0 = 0; a0 < p0; a0++) {
    const int v2 = a0 * s0_0;
    const float v5 = x1[a0];
    const v128_t v6 = wasm_f32x4_splat(v5);
    const float v55 = x2[a0];
    const v128_t v56 = wasm_f32x4_splat(v55);
    const int v58 = a0 * s3_0;
    int a1 = 0;
    for (; a1 + 15 < p1; a1 += 16) {
      const int v3 = v2 + a1;
      const v128_t v4 = wasm_v128_load(x0 + v3);
      const v128_t v7 = wasm_f32x4_sub(v4, v6);
      const v128_t v9 = wasm_f32x4_lt(v7, v8);
      const v128_t v10 = wasm_v128_bitselect(v8, v7, v9);
      const v128_t v12 = wasm_f32x4_gt(v10, v11);
      const v128_t v13 = wasm_v128_bitselect(v11, v10, v12);
      const v128_t v15 = wasm_f32x4_mul(v13, v14);
      const v128_t v16 = wasm_f32x4_nearest(v15);
      const v128_t v18 = wasm_f32x4_mul(v16, v17);
      const v128_t v19 = wasm_f32x4_sub(v13, v18);
      const v128_t v21 = wasm_f32x4_mul(v16, v20);
      const v128_t v22 = wasm_f32x4_sub(v19, v21);
      const v128_t v23 = wasm_f32x4_mul(v1, v22);
      const v128_t v25 = wasm_f32x4_add(v23, v24);
      const v128_t v26 = wasm_f32x4_mul(v25, v22);
      const v128_t v28 = wasm_f32x4_add(v26, v27);
      const v128_t v29 = wasm_f32x4_mul(v28, v22);
      const v128_t v31 = wasm_f32x4_add(v29, v30);
      const v128_t v32 = wasm_f32x4_mul(v31, v22);
      const v128_t v34 = wasm_f32x4_add(v32, v33);
      const v128_t v35 = wasm_f32x4_mul(v34, v22);
      const v128_t v37 = wasm_f32x4_add(v35, v36);
      const v128_t v38 = wasm_f32x4_mul(v37, v22);
      const v128_t v39 = wasm_f32x4_mul(v38, v22);
      const v128_t v40 = wasm_f32x4_add(v39, v22);
      const v128_t v42 = wasm_f32x4_add(v40, v41);
      const v128_t v43 = wasm_i32x4_trunc_sat_f32x4(v16);
      const v128_t v44 = wasm_i32x4_shr(v43, 1);
      const v128_t v46 = wasm_i32x4_add(v44, v45);
      const v128_t v47 = wasm_i32x4_shl(v46, 23);
      const v128_t v48 = v47;
      const v128_t v49 = wasm_f32x4_mul(v42, v48);
      const v128_t v50 = wasm_i32x4_sub(v43, v44);
      const v128_t v51 = wasm_i32x4_add(v50, v45);
      const v128_t v52 = wasm_i32x4_shl(v51, 23);
      const v128_t v53 = v52;
      const v128_t v54 = wasm_f32x4_mul(v49, v53);
      const v128_t v57 = wasm_f32x4_div(v54, v56);
      const int v59 = v58 + a1;
      const v128_t v60 = wasm_v128_load(x0 + v3 + 4);
      const v128_t v61 = wasm_f32x4_sub(v60, v6);
      const v128_t v62 = wasm_f32x4_lt(v61, v8);
      const v128_t v63 = wasm_v128_bitselect(v8, v61, v62);
      const v128_t v64 = wasm_f32x4_gt(v63, v11);
      const v128_t v65 = wasm_v128_bitselect(v11, v63, v64);
      const v128_t v66 = wasm_f32x4_mul(v65, v14);
      const v128_t v67 = wasm_f32x4_nearest(v66);
      const v128_t v68 = wasm_f32x4_mul(v67, v17);
      const v128_t v69 = wasm_f32x4_sub(v65, v68);
      const v128_t v70 = wasm_f32x4_mul(v67, v20);
      const v128_t v71 = wasm_f32x4_sub(v69, v70);
      const v128_t v72 = wasm_f32x4_mul(v1, v71);
      const v128_t v73 = wasm_f32x4_add(v72, v24);
      const v128_t v74 = wasm_f32x4_mul(v73, v71);
      const v128_t v75 = wasm_f32x4_add(v74, v27);
      const v128_t v76 = wasm_f32x4_mul(v75, v71);
      const v128_t v77 = wasm_f32x4_add(v76, v30);
      const v128_t v78 = wasm_f32x4_mul(v77, v71);
      const v128_t v79 = wasm_f32x4_add(v78, v33);
      const v128_t v80 = wasm_f32x4_mul(v79, v71);
      const v128_t v81 = wasm_f32x4_add(v80, v36);
      const v128_t v82 = wasm_f32x4_mul(v81, v71);
      const v128_t v83 = wasm_f32x4_mul(v82, v71);
      const v128_t v84 = wasm_f32x4_add(v83, v71);
      const v128_t v85 = wasm_f32x4_add(v84, v41);
      const v128_t v86 = wasm_i32x4_trunc_sat_f32x4(v67);
      const v128_t v87 = wasm_i32x4_shr(v86, 1);
      const v128_t v88 = wasm_i32x4_add(v87, v45);
      const v128_t v89 = wasm_i32x4_shl(v88, 23);
      const v128_t v90 = v89;
      const v128_t v91 = wasm_f32x4_mul(v85, v90);
      const v128_t v92 = wasm_i32x4_sub(v86, v87);
      const v128_t v93 = wasm_i32x4_add(v92, v45);
      const v128_t v94 = wasm_i32x4_shl(v93, 23);
      const v128_t v95 = v94;
      const v128_t v96 = wasm_f32x4_mul(v91, v95);
      const v128_t v97 = wasm_f32x4_div(v96, v56);
      const v128_t v98 = wasm_v128_load(x0 + v3 + 8);
      const v128_t v99 = wasm_f32x4_sub(v98, v6);
      const v128_t v100 = wasm_f32x4_lt(v99, v8);
      const v128_t v101 = wasm_v128_bitselect(v8, v99, v100);
      const v128_t v102 = wasm_f32x4_gt(v101, v11);
      const v128_t v103 = wasm_v128_bitselect(v11, v101, v102);
      const v128_t v104 = wasm_f32x4_mul(v103, v14);
      const v128_t v105 = wasm_f32x4_nearest(v104);
      const v128_t v106 = wasm_f32x4_mul(v105, v17);
      const v128_t v107 = wasm_f32x4_sub(v103, v106);
      const v128_t v108 = wasm_f32x4_mul(v105, v20);
      const v128_t v109 = wasm_f32x4_sub(v107, v108);
      const v128_t v110 = wasm_f32x4_mul(v1, v109);
      const v128_t v111 = wasm_f32x4_add(v110, v24);
      const v128_t v112 = wasm_f32x4_mul(v111, v109);
      const v128_t v113 = wasm_f32x4_add(v112, v27);
      const v128_t v114 = wasm_f32x4_mul(v113, v109);
      const v128_t v115 = wasm_f32x4_add(v114, v30);
      const v128_t v116 = wasm_f32x4_mul(v115, v109);
      const v128_t v117 = wasm_f32x4_add(v116, v33);
      const v128_t v118 = wasm_f32x4_mul(v117, v109);
      const v128_t v119 = wasm_f32x4_add(v118, v36);
      const v128_t v120 = wasm_f32x4_mul(v119, v109);
      const v128_t v121 = wasm_f32x4_mul(v120, v109);
      const v128_t v122 = wasm_f32x4_add(v121, v109);
      const v128_t v123 = wasm_f32x4_add(v122, v41);
      const v128_t v124 = wasm_i32x4_trunc_sat_f32x4(v105);
      const v128_t v125 = wasm_i32x4_shr(v124, 1);
      const v128_t v126 = wasm_i32x4_add(v125, v45);
      const v128_t v127 = wasm_i32x4_shl(v126, 23);
      const v128_t v128 = v127;
      const v128_t v129 = wasm_f32x4_mul(v123, v128);
      const v128_t v130 = wasm_i32x4_sub(v124, v125);
      const v128_t v131 = wasm_i32x4_add(v130, v45);
      const v128_t v132 = wasm_i32x4_shl(v131, 23);
      const v128_t v133 = v132;
      const v128_t v134 = wasm_f32x4_mul(v129, v133);
      const v128_t v135 = wasm_f32x4_div(v134, v56);
      const v128_t v136 = wasm_v128_load(x0 + v3 + 12);
      const v128_t v137 = wasm_f32x4_sub(v136, v6);
      const v128_t v138 = wasm_f32x4_lt(v137, v8);
      const v128_t v139 = wasm_v128_bitselect(v8, v137, v138);
      const v128_t v140 = wasm_f32x4_gt(v139, v11);
      const v128_t v141 = wasm_v128_bitselect(v11, v139, v140);
      const v128_t v142 = wasm_f32x4_mul(v141, v14);
      const v128_t v143 = wasm_f32x4_nearest(v142);
      const v128_t v144 = wasm_f32x4_mul(v143, v17);
      const v128_t v145 = wasm_f32x4_sub(v141, v144);
      const v128_t v146 = wasm_f32x4_mul(v143, v20);
      const v128_t v147 = wasm_f32x4_sub(v145, v146);
      const v128_t v148 = wasm_f32x4_mul(v1, v147);
      const v128_t v149 = wasm_f32x4_add(v148, v24);
      const v128_t v150 = wasm_f32x4_mul(v149, v147);
      const v128_t v151 = wasm_f32x4_add(v150, v27);
      const v128_t v152 = wasm_f32x4_mul(v151, v147);
      const v128_t v153 = wasm_f32x4_add(v152, v30);
      const v128_t v154 = wasm_f32x4_mul(v153, v147);
      const v128_t v155 = wasm_f32x4_add(v154, v33);
      const v128_t v156 = wasm_f32x4_mul(v155, v147);
      const v128_t v157 = wasm_f32x4_add(v156, v36);
      const v128_t v158 = wasm_f32x4_mul(v157, v147);
      const v128_t v159 = wasm_f32x4_mul(v158, v147);
      const v128_t v160 = wasm_f32x4_add(v159, v147);
      const v128_t v161 = wasm_f32x4_add(v160, v41);
      const v128_t v162 = wasm_i32x4_trunc_sat_f32x4(v143);
      const v128_t v163 = wasm_i32x4_shr(v162, 1);
      const v128_t v164 = wasm_i32x4_add(v163, v45);
      const v128_t v165 = wasm_i32x4_shl(v164, 23);
      const v128_t v166 = v165;
      const v128_t v167 = wasm_f32x4_mul(v161, v166);
      const v128_t v168 = wasm_i32x4_sub(v162, v163);
      const v128_t v169 = wasm_i32x4_add(v168, v45);
      const v128_t v170 = wasm_i32x4_shl(v169, 23);
      const v128_t v171 = v170;
      const v128_t v172 = wasm_f32x4_mul(v167, v171);
      const v128_t v173 = wasm_f32x4_div(v172, v56);
      wasm_v128_store(y0 + v59, v57);
      wasm_v128_store(y0 + v59 + 4, v97);
      wasm_v128_store(y0 + v59 + 8, v135);
      wasm_v128_store(y0 + v59 + 12, v173);
    }
    for (; a1 < p1; a1 += 4) {
      const int left = p1 - a1;
      const int v174 = v2 + a1;
      const v128_t v175 = wk_load_part(x0 + v174, left);
      const v128_t v176 = wasm_f32x4_sub(v175, v6);
      const v128_t v177 = wasm_f32x4_lt(v176, v8);
      const v128_t v178 = wasm_v128_bitselect(v8, v176, v177);
      const v128_t v179 = wasm_f32x4_gt(v178, v11);
      const v128_t v180 = wasm_v128_bitselect(v11, v178, v179);
      const v128_t v181 = wasm_f32x4_mul(v180, v14);
      const v128_t v182 = wasm_f32x4_nearest(v181);
      const v128_t v183 = wasm_f32x4_mul(v182, v17);
      const v128_t v184 = wasm_f32x4_sub(v180, v183);
      const v128_t v185 = wasm_f32x4_mul(v182, v20);
      const v128_t v186 = wasm_f32x4_sub(v184, v185);
      const v128_t v187 = wasm_f32x4_mul(v1, v186);
      const v128_t v188 = wasm_f32x4_add(v187, v24);
      const v128_t v189 = wasm_f32x4_mul(v188, v186);
      const v128_t v190 = wasm_f32x4_add(v189, v27);
      const v128_t v191 = wasm_f32x4_mul(v190, v186);
      const v128_t v192 = wasm_f32x4_add(v191, v30);
      const v128_t v193 = wasm_f32x4_mul(v192, v186);
      const v128_t v194 = wasm_f32x4_add(v193, v33);
      const v128_t v195 = wasm_f32x4_mul(v194, v186);
      const v128_t v196 = wasm_f32x4_add(v195, v36);
      const v128_t v197 = wasm_f32x4_mul(v196, v186);
      const v128_t v198 = wasm_f32x4_mul(v197, v186);
      const v128_t v199 = wasm_f32x4_add(v198, v186);
      const v128_t v200 = wasm_f32x4_add(v199, v41);
      const v128_t v201 = wasm_i32x4_trunc_sat_f32x4(v182);
      const v128_t v202 = wasm_i32x4_shr(v201, 1);
      const v128_t v203 = wasm_i32x4_add(v202, v45);
      const v128_t v204 = wasm_i32x4_shl(v203, 23);
      const v128_t v205 = v204;
      const v128_t v206 = wasm_f32x4_mul(v200, v205);
      const v128_t v207 = wasm_i32x4_sub(v201, v202);
      const v128_t v208 = wasm_i32x4_add(v207, v45);
      const v128_t v209 = wasm_i32x4_shl(v208, 23);
      const v128_t v210 = v209;
      const v128_t v211 = wasm_f32x4_mul(v206, v210);
      const v128_t v212 = wasm_f32x4_div(v211, v56);
      const int v213 = v58 + a1;
      wk_store_part(y0 + v213, v212, left);
    }
  }
}
