#include <wasm_simd128.h>

/* An address some elements behind another. Where integers wrap, so do sums of addresses, and a load could not have a part of one as its offset;
   members of a structure lie behind its beginning. */
#define WK_BEHIND(p, elements) (((struct { float before[elements]; float at[4]; } *)(p))->at)

static inline float wk_max(float a, float b) { return a > b || a != a ? a : b; }

void k_25a7938f540e9da8(const float *restrict x0, float *restrict y0, const int p0, const int p1, const int s0_0, const int part_from, const int part_to) {
  int a0 = part_from;
  for (; a0 < part_to; a0 += 1) {
    const int v1 = a0 * s0_0;
    float acc0_0_0 = (-__builtin_inff());
    v128_t lane0_0_0 = wasm_f32x4_splat((-__builtin_inff()));
    v128_t lane0_0_0_nan = wasm_i32x4_splat(0);
    v128_t lane0_0_4 = wasm_f32x4_splat((-__builtin_inff()));
    v128_t lane0_0_4_nan = wasm_i32x4_splat(0);
    v128_t lane0_0_8 = wasm_f32x4_splat((-__builtin_inff()));
    v128_t lane0_0_8_nan = wasm_i32x4_splat(0);
    v128_t lane0_0_12 = wasm_f32x4_splat((-__builtin_inff()));
    v128_t lane0_0_12_nan = wasm_i32x4_splat(0);
    int r0 = 0;
    for (; r0 + 15 < p1; r0 += 16) {
      const int v2 = v1 + r0;
      const v128_t v3 = wasm_v128_load(x0 + v2);
      const v128_t v4 = wasm_v128_load(WK_BEHIND(x0 + v2, 4));
      const v128_t v5 = wasm_v128_load(WK_BEHIND(x0 + v2, 8));
      const v128_t v6 = wasm_v128_load(WK_BEHIND(x0 + v2, 12));
      lane0_0_0 = wasm_f32x4_pmax(lane0_0_0, v3);
      lane0_0_0_nan = wasm_v128_or(lane0_0_0_nan, wasm_f32x4_ne(v3, v3));
      lane0_0_4 = wasm_f32x4_pmax(lane0_0_4, v4);
      lane0_0_4_nan = wasm_v128_or(lane0_0_4_nan, wasm_f32x4_ne(v4, v4));
      lane0_0_8 = wasm_f32x4_pmax(lane0_0_8, v5);
      lane0_0_8_nan = wasm_v128_or(lane0_0_8_nan, wasm_f32x4_ne(v5, v5));
      lane0_0_12 = wasm_f32x4_pmax(lane0_0_12, v6);
      lane0_0_12_nan = wasm_v128_or(lane0_0_12_nan, wasm_f32x4_ne(v6, v6));
    }
    for (; r0 + 3 < p1; r0 += 4) {
      const int v7 = v1 + r0;
      const v128_t v8 = wasm_v128_load(x0 + v7);
      lane0_0_0 = wasm_f32x4_pmax(lane0_0_0, v8);
      lane0_0_0_nan = wasm_v128_or(lane0_0_0_nan, wasm_f32x4_ne(v8, v8));
    }
    for (; r0 < p1; r0 += 1) {
      const int v9 = v1 + r0;
      const float v10 = x0[v9];
      acc0_0_0 = wk_max(acc0_0_0, v10);
    }
    lane0_0_0 = wasm_v128_or(lane0_0_0, lane0_0_0_nan);
    lane0_0_4 = wasm_v128_or(lane0_0_4, lane0_0_4_nan);
    lane0_0_8 = wasm_v128_or(lane0_0_8, lane0_0_8_nan);
    lane0_0_12 = wasm_v128_or(lane0_0_12, lane0_0_12_nan);
    lane0_0_0 = wasm_f32x4_pmax(lane0_0_0, lane0_0_4);
    lane0_0_0_nan = wasm_v128_or(lane0_0_0_nan, wasm_f32x4_ne(lane0_0_4, lane0_0_4));
    lane0_0_0 = wasm_f32x4_pmax(lane0_0_0, lane0_0_8);
    lane0_0_0_nan = wasm_v128_or(lane0_0_0_nan, wasm_f32x4_ne(lane0_0_8, lane0_0_8));
    lane0_0_0 = wasm_f32x4_pmax(lane0_0_0, lane0_0_12);
    lane0_0_0_nan = wasm_v128_or(lane0_0_0_nan, wasm_f32x4_ne(lane0_0_12, lane0_0_12));
    lane0_0_0 = wasm_v128_or(lane0_0_0, lane0_0_0_nan);
    acc0_0_0 = wk_max(acc0_0_0, wasm_f32x4_extract_lane(lane0_0_0, 0));
    acc0_0_0 = wk_max(acc0_0_0, wasm_f32x4_extract_lane(lane0_0_0, 1));
    acc0_0_0 = wk_max(acc0_0_0, wasm_f32x4_extract_lane(lane0_0_0, 2));
    acc0_0_0 = wk_max(acc0_0_0, wasm_f32x4_extract_lane(lane0_0_0, 3));
    y0[a0] = acc0_0_0;
  }
}

#include <wasm_simd128.h>

#ifdef RELAXED
#define WK_MADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define WK_MADD(a, b, c) wasm_f32x4_add(c, wasm_f32x4_mul(a, b))
#endif

#ifdef RELAXED
#define WK_TRUNC(a) wasm_i32x4_relaxed_trunc_f32x4(a)
#else
#define WK_TRUNC(a) wasm_i32x4_trunc_sat_f32x4(a)
#endif

/* An address some elements behind another. Where integers wrap, so do sums of addresses, and a load could not have a part of one as its offset;
   members of a structure lie behind its beginning. */
#define WK_BEHIND(p, elements) (((struct { float before[elements]; float at[4]; } *)(p))->at)

static inline float wk_float(int x) {
  union { int i; float f; } u = {x};
  return u.f;
}

void k_72cd442a3297d525(const float *restrict x0, const float *restrict x1, float *restrict y0, const int p0, const int p1, const int s0_0, const int part_from, const int part_to) {
  const v128_t v1 = wasm_f32x4_splat(0x1.a0d2ce0000000p-13f);
  const v128_t v2 = wasm_f32x4_splat(0x1.6e879c0000000p-10f);
  const v128_t v9 = wasm_f32x4_splat((-0x1.a000000000000p+6f));
  const v128_t v12 = wasm_f32x4_splat(0x1.6400000000000p+6f);
  const v128_t v15 = wasm_f32x4_splat(0x1.7154760000000p+0f);
  const v128_t v18 = wasm_f32x4_splat(0x1.bd01060000000p-13f);
  const v128_t v19 = wasm_f32x4_splat((-0x1.6300000000000p-1f));
  const v128_t v23 = wasm_f32x4_splat(0x1.1112100000000p-7f);
  const v128_t v25 = wasm_f32x4_splat(0x1.5553820000000p-5f);
  const v128_t v27 = wasm_f32x4_splat(0x1.5555540000000p-3f);
  const v128_t v29 = wasm_f32x4_splat(0x1.0000000000000p-1f);
  const v128_t v33 = wasm_f32x4_splat(0x1.0000000000000p+0f);
  const v128_t v37 = wasm_i32x4_splat(127);
  int a0 = part_from;
  for (; a0 < part_to; a0 += 1) {
    const int v3 = a0 * s0_0;
    const float v6 = x1[a0];
    const v128_t v7 = wasm_f32x4_splat(v6);
    float acc0_0_0 = 0x0.0p+0f;
    v128_t lane0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
    v128_t lane0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
    v128_t lane0_0_8 = wasm_f32x4_splat(0x0.0p+0f);
    v128_t lane0_0_12 = wasm_f32x4_splat(0x0.0p+0f);
    int r0 = 0;
    for (; r0 + 15 < p1; r0 += 16) {
      const int v4 = v3 + r0;
      const v128_t v5 = wasm_v128_load(x0 + v4);
      const v128_t v8 = wasm_f32x4_sub(v5, v7);
      const v128_t v10 = wasm_f32x4_lt(v8, v9);
      const v128_t v11 = wasm_f32x4_pmax(v8, v9);
      const v128_t v13 = wasm_f32x4_gt(v11, v12);
      const v128_t v14 = wasm_f32x4_pmin(v11, v12);
      const v128_t v16 = wasm_f32x4_mul(v14, v15);
      const v128_t v17 = wasm_f32x4_nearest(v16);
      const v128_t v20 = WK_MADD(v17, v19, v14);
      const v128_t v21 = WK_MADD(v17, v18, v20);
      const v128_t v22 = WK_MADD(v1, v21, v2);
      const v128_t v24 = WK_MADD(v22, v21, v23);
      const v128_t v26 = WK_MADD(v24, v21, v25);
      const v128_t v28 = WK_MADD(v26, v21, v27);
      const v128_t v30 = WK_MADD(v28, v21, v29);
      const v128_t v31 = wasm_f32x4_mul(v30, v21);
      const v128_t v32 = WK_MADD(v31, v21, v21);
      const v128_t v34 = wasm_f32x4_add(v32, v33);
      const v128_t v35 = WK_TRUNC(v17);
      const v128_t v36 = wasm_i32x4_shr(v35, 1);
      const v128_t v38 = wasm_i32x4_add(v36, v37);
      const v128_t v39 = wasm_i32x4_shl(v38, 23);
      const v128_t v40 = v39;
      const v128_t v41 = wasm_f32x4_mul(v34, v40);
      const v128_t v42 = wasm_i32x4_sub(v35, v36);
      const v128_t v43 = wasm_i32x4_add(v42, v37);
      const v128_t v44 = wasm_i32x4_shl(v43, 23);
      const v128_t v45 = v44;
      const v128_t v46 = wasm_v128_load(WK_BEHIND(x0 + v4, 4));
      const v128_t v47 = wasm_f32x4_sub(v46, v7);
      const v128_t v48 = wasm_f32x4_lt(v47, v9);
      const v128_t v49 = wasm_f32x4_pmax(v47, v9);
      const v128_t v50 = wasm_f32x4_gt(v49, v12);
      const v128_t v51 = wasm_f32x4_pmin(v49, v12);
      const v128_t v52 = wasm_f32x4_mul(v51, v15);
      const v128_t v53 = wasm_f32x4_nearest(v52);
      const v128_t v54 = WK_MADD(v53, v19, v51);
      const v128_t v55 = WK_MADD(v53, v18, v54);
      const v128_t v56 = WK_MADD(v1, v55, v2);
      const v128_t v57 = WK_MADD(v56, v55, v23);
      const v128_t v58 = WK_MADD(v57, v55, v25);
      const v128_t v59 = WK_MADD(v58, v55, v27);
      const v128_t v60 = WK_MADD(v59, v55, v29);
      const v128_t v61 = wasm_f32x4_mul(v60, v55);
      const v128_t v62 = WK_MADD(v61, v55, v55);
      const v128_t v63 = wasm_f32x4_add(v62, v33);
      const v128_t v64 = WK_TRUNC(v53);
      const v128_t v65 = wasm_i32x4_shr(v64, 1);
      const v128_t v66 = wasm_i32x4_add(v65, v37);
      const v128_t v67 = wasm_i32x4_shl(v66, 23);
      const v128_t v68 = v67;
      const v128_t v69 = wasm_f32x4_mul(v63, v68);
      const v128_t v70 = wasm_i32x4_sub(v64, v65);
      const v128_t v71 = wasm_i32x4_add(v70, v37);
      const v128_t v72 = wasm_i32x4_shl(v71, 23);
      const v128_t v73 = v72;
      const v128_t v74 = wasm_v128_load(WK_BEHIND(x0 + v4, 8));
      const v128_t v75 = wasm_f32x4_sub(v74, v7);
      const v128_t v76 = wasm_f32x4_lt(v75, v9);
      const v128_t v77 = wasm_f32x4_pmax(v75, v9);
      const v128_t v78 = wasm_f32x4_gt(v77, v12);
      const v128_t v79 = wasm_f32x4_pmin(v77, v12);
      const v128_t v80 = wasm_f32x4_mul(v79, v15);
      const v128_t v81 = wasm_f32x4_nearest(v80);
      const v128_t v82 = WK_MADD(v81, v19, v79);
      const v128_t v83 = WK_MADD(v81, v18, v82);
      const v128_t v84 = WK_MADD(v1, v83, v2);
      const v128_t v85 = WK_MADD(v84, v83, v23);
      const v128_t v86 = WK_MADD(v85, v83, v25);
      const v128_t v87 = WK_MADD(v86, v83, v27);
      const v128_t v88 = WK_MADD(v87, v83, v29);
      const v128_t v89 = wasm_f32x4_mul(v88, v83);
      const v128_t v90 = WK_MADD(v89, v83, v83);
      const v128_t v91 = wasm_f32x4_add(v90, v33);
      const v128_t v92 = WK_TRUNC(v81);
      const v128_t v93 = wasm_i32x4_shr(v92, 1);
      const v128_t v94 = wasm_i32x4_add(v93, v37);
      const v128_t v95 = wasm_i32x4_shl(v94, 23);
      const v128_t v96 = v95;
      const v128_t v97 = wasm_f32x4_mul(v91, v96);
      const v128_t v98 = wasm_i32x4_sub(v92, v93);
      const v128_t v99 = wasm_i32x4_add(v98, v37);
      const v128_t v100 = wasm_i32x4_shl(v99, 23);
      const v128_t v101 = v100;
      const v128_t v102 = wasm_v128_load(WK_BEHIND(x0 + v4, 12));
      const v128_t v103 = wasm_f32x4_sub(v102, v7);
      const v128_t v104 = wasm_f32x4_lt(v103, v9);
      const v128_t v105 = wasm_f32x4_pmax(v103, v9);
      const v128_t v106 = wasm_f32x4_gt(v105, v12);
      const v128_t v107 = wasm_f32x4_pmin(v105, v12);
      const v128_t v108 = wasm_f32x4_mul(v107, v15);
      const v128_t v109 = wasm_f32x4_nearest(v108);
      const v128_t v110 = WK_MADD(v109, v19, v107);
      const v128_t v111 = WK_MADD(v109, v18, v110);
      const v128_t v112 = WK_MADD(v1, v111, v2);
      const v128_t v113 = WK_MADD(v112, v111, v23);
      const v128_t v114 = WK_MADD(v113, v111, v25);
      const v128_t v115 = WK_MADD(v114, v111, v27);
      const v128_t v116 = WK_MADD(v115, v111, v29);
      const v128_t v117 = wasm_f32x4_mul(v116, v111);
      const v128_t v118 = WK_MADD(v117, v111, v111);
      const v128_t v119 = wasm_f32x4_add(v118, v33);
      const v128_t v120 = WK_TRUNC(v109);
      const v128_t v121 = wasm_i32x4_shr(v120, 1);
      const v128_t v122 = wasm_i32x4_add(v121, v37);
      const v128_t v123 = wasm_i32x4_shl(v122, 23);
      const v128_t v124 = v123;
      const v128_t v125 = wasm_f32x4_mul(v119, v124);
      const v128_t v126 = wasm_i32x4_sub(v120, v121);
      const v128_t v127 = wasm_i32x4_add(v126, v37);
      const v128_t v128 = wasm_i32x4_shl(v127, 23);
      const v128_t v129 = v128;
      lane0_0_0 = WK_MADD(v41, v45, lane0_0_0);
      lane0_0_4 = WK_MADD(v69, v73, lane0_0_4);
      lane0_0_8 = WK_MADD(v97, v101, lane0_0_8);
      lane0_0_12 = WK_MADD(v125, v129, lane0_0_12);
    }
    for (; r0 + 3 < p1; r0 += 4) {
      const int v130 = v3 + r0;
      const v128_t v131 = wasm_v128_load(x0 + v130);
      const v128_t v132 = wasm_f32x4_sub(v131, v7);
      const v128_t v133 = wasm_f32x4_lt(v132, v9);
      const v128_t v134 = wasm_f32x4_pmax(v132, v9);
      const v128_t v135 = wasm_f32x4_gt(v134, v12);
      const v128_t v136 = wasm_f32x4_pmin(v134, v12);
      const v128_t v137 = wasm_f32x4_mul(v136, v15);
      const v128_t v138 = wasm_f32x4_nearest(v137);
      const v128_t v139 = WK_MADD(v138, v19, v136);
      const v128_t v140 = WK_MADD(v138, v18, v139);
      const v128_t v141 = WK_MADD(v1, v140, v2);
      const v128_t v142 = WK_MADD(v141, v140, v23);
      const v128_t v143 = WK_MADD(v142, v140, v25);
      const v128_t v144 = WK_MADD(v143, v140, v27);
      const v128_t v145 = WK_MADD(v144, v140, v29);
      const v128_t v146 = wasm_f32x4_mul(v145, v140);
      const v128_t v147 = WK_MADD(v146, v140, v140);
      const v128_t v148 = wasm_f32x4_add(v147, v33);
      const v128_t v149 = WK_TRUNC(v138);
      const v128_t v150 = wasm_i32x4_shr(v149, 1);
      const v128_t v151 = wasm_i32x4_add(v150, v37);
      const v128_t v152 = wasm_i32x4_shl(v151, 23);
      const v128_t v153 = v152;
      const v128_t v154 = wasm_f32x4_mul(v148, v153);
      const v128_t v155 = wasm_i32x4_sub(v149, v150);
      const v128_t v156 = wasm_i32x4_add(v155, v37);
      const v128_t v157 = wasm_i32x4_shl(v156, 23);
      const v128_t v158 = v157;
      lane0_0_0 = WK_MADD(v154, v158, lane0_0_0);
    }
    for (; r0 < p1; r0 += 1) {
      const int v159 = v3 + r0;
      const float v160 = x0[v159];
      const float v161 = v160 - v6;
      const int v162 = v161 < (-0x1.a000000000000p+6f);
      const float v163 = v162 ? (-0x1.a000000000000p+6f) : v161;
      const int v164 = v163 > 0x1.6400000000000p+6f;
      const float v165 = v164 ? 0x1.6400000000000p+6f : v163;
      const float v166 = v165 * 0x1.7154760000000p+0f;
      const float v167 = __builtin_rintf(v166);
      const float v168 = v167 * (-0x1.6300000000000p-1f) + v165;
      const float v169 = v167 * 0x1.bd01060000000p-13f + v168;
      const float v170 = 0x1.a0d2ce0000000p-13f * v169 + 0x1.6e879c0000000p-10f;
      const float v171 = v170 * v169 + 0x1.1112100000000p-7f;
      const float v172 = v171 * v169 + 0x1.5553820000000p-5f;
      const float v173 = v172 * v169 + 0x1.5555540000000p-3f;
      const float v174 = v173 * v169 + 0x1.0000000000000p-1f;
      const float v175 = v174 * v169;
      const float v176 = v175 * v169 + v169;
      const float v177 = v176 + 0x1.0000000000000p+0f;
      const int v178 = __builtin_wasm_trunc_saturate_s_i32_f32(v167);
      const int v179 = v178 >> (1 & 31);
      const int v180 = v179 + 127;
      const int v181 = v180 << (23 & 31);
      const float v182 = wk_float(v181);
      const float v183 = v177 * v182;
      const int v184 = v178 - v179;
      const int v185 = v184 + 127;
      const int v186 = v185 << (23 & 31);
      const float v187 = wk_float(v186);
      acc0_0_0 += v183 * v187;
    }
    lane0_0_0 = wasm_f32x4_add(lane0_0_0, lane0_0_4);
    lane0_0_0 = wasm_f32x4_add(lane0_0_0, lane0_0_8);
    lane0_0_0 = wasm_f32x4_add(lane0_0_0, lane0_0_12);
    acc0_0_0 += wasm_f32x4_extract_lane(lane0_0_0, 0);
    acc0_0_0 += wasm_f32x4_extract_lane(lane0_0_0, 1);
    acc0_0_0 += wasm_f32x4_extract_lane(lane0_0_0, 2);
    acc0_0_0 += wasm_f32x4_extract_lane(lane0_0_0, 3);
    y0[a0] = acc0_0_0;
  }
}

#include <wasm_simd128.h>

#ifdef RELAXED
#define WK_MADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define WK_MADD(a, b, c) wasm_f32x4_add(c, wasm_f32x4_mul(a, b))
#endif

#ifdef RELAXED
#define WK_TRUNC(a) wasm_i32x4_relaxed_trunc_f32x4(a)
#else
#define WK_TRUNC(a) wasm_i32x4_trunc_sat_f32x4(a)
#endif

/* An address some elements behind another. Where integers wrap, so do sums of addresses, and a load could not have a part of one as its offset;
   members of a structure lie behind its beginning. */
#define WK_BEHIND(p, elements) (((struct { float before[elements]; float at[4]; } *)(p))->at)

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

void k_14bcdfaf9b3bba1e(const float *restrict x0, const float *restrict x1, const float *restrict x2, float *restrict y0, const int p0, const int p1, const int s0_0, const int s3_0, const int part_from, const int part_to) {
  const v128_t v1 = wasm_f32x4_splat(0x1.a0d2ce0000000p-13f);
  const v128_t v2 = wasm_f32x4_splat(0x1.6e879c0000000p-10f);
  const v128_t v9 = wasm_f32x4_splat((-0x1.a000000000000p+6f));
  const v128_t v12 = wasm_f32x4_splat(0x1.6400000000000p+6f);
  const v128_t v15 = wasm_f32x4_splat(0x1.7154760000000p+0f);
  const v128_t v18 = wasm_f32x4_splat(0x1.bd01060000000p-13f);
  const v128_t v19 = wasm_f32x4_splat((-0x1.6300000000000p-1f));
  const v128_t v23 = wasm_f32x4_splat(0x1.1112100000000p-7f);
  const v128_t v25 = wasm_f32x4_splat(0x1.5553820000000p-5f);
  const v128_t v27 = wasm_f32x4_splat(0x1.5555540000000p-3f);
  const v128_t v29 = wasm_f32x4_splat(0x1.0000000000000p-1f);
  const v128_t v33 = wasm_f32x4_splat(0x1.0000000000000p+0f);
  const v128_t v37 = wasm_i32x4_splat(127);
  int a0 = part_from;
  for (; a0 < part_to; a0 += 1) {
    const int v3 = a0 * s0_0;
    const float v6 = x1[a0];
    const v128_t v7 = wasm_f32x4_splat(v6);
    const float v47 = x2[a0];
    const v128_t v48 = wasm_f32x4_splat(v47);
    const int v50 = a0 * s3_0;
    int a1 = 0;
    for (; a1 + 15 < p1; a1 += 16) {
      const int v4 = v3 + a1;
      const v128_t v5 = wasm_v128_load(x0 + v4);
      const v128_t v8 = wasm_f32x4_sub(v5, v7);
      const v128_t v10 = wasm_f32x4_lt(v8, v9);
      const v128_t v11 = wasm_f32x4_pmax(v8, v9);
      const v128_t v13 = wasm_f32x4_gt(v11, v12);
      const v128_t v14 = wasm_f32x4_pmin(v11, v12);
      const v128_t v16 = wasm_f32x4_mul(v14, v15);
      const v128_t v17 = wasm_f32x4_nearest(v16);
      const v128_t v20 = WK_MADD(v17, v19, v14);
      const v128_t v21 = WK_MADD(v17, v18, v20);
      const v128_t v22 = WK_MADD(v1, v21, v2);
      const v128_t v24 = WK_MADD(v22, v21, v23);
      const v128_t v26 = WK_MADD(v24, v21, v25);
      const v128_t v28 = WK_MADD(v26, v21, v27);
      const v128_t v30 = WK_MADD(v28, v21, v29);
      const v128_t v31 = wasm_f32x4_mul(v30, v21);
      const v128_t v32 = WK_MADD(v31, v21, v21);
      const v128_t v34 = wasm_f32x4_add(v32, v33);
      const v128_t v35 = WK_TRUNC(v17);
      const v128_t v36 = wasm_i32x4_shr(v35, 1);
      const v128_t v38 = wasm_i32x4_add(v36, v37);
      const v128_t v39 = wasm_i32x4_shl(v38, 23);
      const v128_t v40 = v39;
      const v128_t v41 = wasm_f32x4_mul(v34, v40);
      const v128_t v42 = wasm_i32x4_sub(v35, v36);
      const v128_t v43 = wasm_i32x4_add(v42, v37);
      const v128_t v44 = wasm_i32x4_shl(v43, 23);
      const v128_t v45 = v44;
      const v128_t v46 = wasm_f32x4_mul(v41, v45);
      const v128_t v49 = wasm_f32x4_div(v46, v48);
      const int v51 = v50 + a1;
      const v128_t v52 = wasm_v128_load(WK_BEHIND(x0 + v4, 4));
      const v128_t v53 = wasm_f32x4_sub(v52, v7);
      const v128_t v54 = wasm_f32x4_lt(v53, v9);
      const v128_t v55 = wasm_f32x4_pmax(v53, v9);
      const v128_t v56 = wasm_f32x4_gt(v55, v12);
      const v128_t v57 = wasm_f32x4_pmin(v55, v12);
      const v128_t v58 = wasm_f32x4_mul(v57, v15);
      const v128_t v59 = wasm_f32x4_nearest(v58);
      const v128_t v60 = WK_MADD(v59, v19, v57);
      const v128_t v61 = WK_MADD(v59, v18, v60);
      const v128_t v62 = WK_MADD(v1, v61, v2);
      const v128_t v63 = WK_MADD(v62, v61, v23);
      const v128_t v64 = WK_MADD(v63, v61, v25);
      const v128_t v65 = WK_MADD(v64, v61, v27);
      const v128_t v66 = WK_MADD(v65, v61, v29);
      const v128_t v67 = wasm_f32x4_mul(v66, v61);
      const v128_t v68 = WK_MADD(v67, v61, v61);
      const v128_t v69 = wasm_f32x4_add(v68, v33);
      const v128_t v70 = WK_TRUNC(v59);
      const v128_t v71 = wasm_i32x4_shr(v70, 1);
      const v128_t v72 = wasm_i32x4_add(v71, v37);
      const v128_t v73 = wasm_i32x4_shl(v72, 23);
      const v128_t v74 = v73;
      const v128_t v75 = wasm_f32x4_mul(v69, v74);
      const v128_t v76 = wasm_i32x4_sub(v70, v71);
      const v128_t v77 = wasm_i32x4_add(v76, v37);
      const v128_t v78 = wasm_i32x4_shl(v77, 23);
      const v128_t v79 = v78;
      const v128_t v80 = wasm_f32x4_mul(v75, v79);
      const v128_t v81 = wasm_f32x4_div(v80, v48);
      const v128_t v82 = wasm_v128_load(WK_BEHIND(x0 + v4, 8));
      const v128_t v83 = wasm_f32x4_sub(v82, v7);
      const v128_t v84 = wasm_f32x4_lt(v83, v9);
      const v128_t v85 = wasm_f32x4_pmax(v83, v9);
      const v128_t v86 = wasm_f32x4_gt(v85, v12);
      const v128_t v87 = wasm_f32x4_pmin(v85, v12);
      const v128_t v88 = wasm_f32x4_mul(v87, v15);
      const v128_t v89 = wasm_f32x4_nearest(v88);
      const v128_t v90 = WK_MADD(v89, v19, v87);
      const v128_t v91 = WK_MADD(v89, v18, v90);
      const v128_t v92 = WK_MADD(v1, v91, v2);
      const v128_t v93 = WK_MADD(v92, v91, v23);
      const v128_t v94 = WK_MADD(v93, v91, v25);
      const v128_t v95 = WK_MADD(v94, v91, v27);
      const v128_t v96 = WK_MADD(v95, v91, v29);
      const v128_t v97 = wasm_f32x4_mul(v96, v91);
      const v128_t v98 = WK_MADD(v97, v91, v91);
      const v128_t v99 = wasm_f32x4_add(v98, v33);
      const v128_t v100 = WK_TRUNC(v89);
      const v128_t v101 = wasm_i32x4_shr(v100, 1);
      const v128_t v102 = wasm_i32x4_add(v101, v37);
      const v128_t v103 = wasm_i32x4_shl(v102, 23);
      const v128_t v104 = v103;
      const v128_t v105 = wasm_f32x4_mul(v99, v104);
      const v128_t v106 = wasm_i32x4_sub(v100, v101);
      const v128_t v107 = wasm_i32x4_add(v106, v37);
      const v128_t v108 = wasm_i32x4_shl(v107, 23);
      const v128_t v109 = v108;
      const v128_t v110 = wasm_f32x4_mul(v105, v109);
      const v128_t v111 = wasm_f32x4_div(v110, v48);
      const v128_t v112 = wasm_v128_load(WK_BEHIND(x0 + v4, 12));
      const v128_t v113 = wasm_f32x4_sub(v112, v7);
      const v128_t v114 = wasm_f32x4_lt(v113, v9);
      const v128_t v115 = wasm_f32x4_pmax(v113, v9);
      const v128_t v116 = wasm_f32x4_gt(v115, v12);
      const v128_t v117 = wasm_f32x4_pmin(v115, v12);
      const v128_t v118 = wasm_f32x4_mul(v117, v15);
      const v128_t v119 = wasm_f32x4_nearest(v118);
      const v128_t v120 = WK_MADD(v119, v19, v117);
      const v128_t v121 = WK_MADD(v119, v18, v120);
      const v128_t v122 = WK_MADD(v1, v121, v2);
      const v128_t v123 = WK_MADD(v122, v121, v23);
      const v128_t v124 = WK_MADD(v123, v121, v25);
      const v128_t v125 = WK_MADD(v124, v121, v27);
      const v128_t v126 = WK_MADD(v125, v121, v29);
      const v128_t v127 = wasm_f32x4_mul(v126, v121);
      const v128_t v128 = WK_MADD(v127, v121, v121);
      const v128_t v129 = wasm_f32x4_add(v128, v33);
      const v128_t v130 = WK_TRUNC(v119);
      const v128_t v131 = wasm_i32x4_shr(v130, 1);
      const v128_t v132 = wasm_i32x4_add(v131, v37);
      const v128_t v133 = wasm_i32x4_shl(v132, 23);
      const v128_t v134 = v133;
      const v128_t v135 = wasm_f32x4_mul(v129, v134);
      const v128_t v136 = wasm_i32x4_sub(v130, v131);
      const v128_t v137 = wasm_i32x4_add(v136, v37);
      const v128_t v138 = wasm_i32x4_shl(v137, 23);
      const v128_t v139 = v138;
      const v128_t v140 = wasm_f32x4_mul(v135, v139);
      const v128_t v141 = wasm_f32x4_div(v140, v48);
      wasm_v128_store(y0 + v51, v49);
      wasm_v128_store(WK_BEHIND(y0 + v51, 4), v81);
      wasm_v128_store(WK_BEHIND(y0 + v51, 8), v111);
      wasm_v128_store(WK_BEHIND(y0 + v51, 12), v141);
    }
    for (; a1 < p1; a1 += 4) {
      const int left = p1 - a1;
      const int v142 = v3 + a1;
      const v128_t v143 = wk_load_part(x0 + v142, left);
      const v128_t v144 = wasm_f32x4_sub(v143, v7);
      const v128_t v145 = wasm_f32x4_lt(v144, v9);
      const v128_t v146 = wasm_f32x4_pmax(v144, v9);
      const v128_t v147 = wasm_f32x4_gt(v146, v12);
      const v128_t v148 = wasm_f32x4_pmin(v146, v12);
      const v128_t v149 = wasm_f32x4_mul(v148, v15);
      const v128_t v150 = wasm_f32x4_nearest(v149);
      const v128_t v151 = WK_MADD(v150, v19, v148);
      const v128_t v152 = WK_MADD(v150, v18, v151);
      const v128_t v153 = WK_MADD(v1, v152, v2);
      const v128_t v154 = WK_MADD(v153, v152, v23);
      const v128_t v155 = WK_MADD(v154, v152, v25);
      const v128_t v156 = WK_MADD(v155, v152, v27);
      const v128_t v157 = WK_MADD(v156, v152, v29);
      const v128_t v158 = wasm_f32x4_mul(v157, v152);
      const v128_t v159 = WK_MADD(v158, v152, v152);
      const v128_t v160 = wasm_f32x4_add(v159, v33);
      const v128_t v161 = WK_TRUNC(v150);
      const v128_t v162 = wasm_i32x4_shr(v161, 1);
      const v128_t v163 = wasm_i32x4_add(v162, v37);
      const v128_t v164 = wasm_i32x4_shl(v163, 23);
      const v128_t v165 = v164;
      const v128_t v166 = wasm_f32x4_mul(v160, v165);
      const v128_t v167 = wasm_i32x4_sub(v161, v162);
      const v128_t v168 = wasm_i32x4_add(v167, v37);
      const v128_t v169 = wasm_i32x4_shl(v168, 23);
      const v128_t v170 = v169;
      const v128_t v171 = wasm_f32x4_mul(v166, v170);
      const v128_t v172 = wasm_f32x4_div(v171, v48);
      const int v173 = v50 + a1;
      wk_store_part(y0 + v173, v172, left);
    }
  }
}
