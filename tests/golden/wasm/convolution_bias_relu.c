#include <wasm_simd128.h>

void k_8a1647cafedd7107(const float *restrict x0, float *restrict y0, const int p0, const int p1, const int s0_0, const int s1_0, const int s1_1) {
  for (int a0 = 0; a0 < p0; a0++) {
    const int v1 = a0 * s0_0;
    const int v6 = a0 * s1_1;
    for (int a1 = 0; a1 < p1; a1++) {
      const int v2 = v1 + a1;
      const float v3 = x0[v2];
      const int v4 = a1 >> (3 & 31);
      const int v5 = a1 & 7;
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

static inline unsigned long long wk_idiv_u64(unsigned long long a, unsigned long long b) { return b ? a / b : 0; }

__attribute__((weak)) float wk_zeros[4096 + 16];

void k_b816b12e0b1334fd(const float *restrict x0, const float *restrict x1, const float *restrict x2, float *restrict y0, const int p0, const int p1, const int p2, const int p3, const int p4, const int p5, const int p6, const int p7, const int s0_0, const int s0_1, const int s1_3, const int s1_0, const int s1_1, const int s3_0) {
  #ifdef RELAXED
  const unsigned long long v2 = (unsigned long long)(p5);
  const unsigned long long v3 = wk_idiv_u64(1099511627776ull, v2);
  const unsigned long long v4 = v3 + 1ull;
  const unsigned v11 = (unsigned)(p6);
  const unsigned v18 = (unsigned)(p7);
  const v128_t v134 = wasm_f32x4_splat(0x0.0p+0f);
  int a1 = 0;
  for (; a1 + 7 < p1; a1 += 8) {
    const int v26 = (a1 >> 3) * s1_3 + (a1 & 7);
    const v128_t v132 = wasm_v128_load(x2 + a1);
    const v128_t v138 = wasm_v128_load(x2 + a1 + 4);
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
      const int v13 = v7 * p5;
      const int v14 = a0 - v13;
      const unsigned long long v32 = (unsigned long long)(a0_1);
      const unsigned long long v33 = v32 * v4;
      const unsigned long long v34 = v33 >> (40ull & 63);
      const int v35 = (int)(v34);
      const int v40 = v35 * p5;
      const int v41 = a0_1 - v40;
      const unsigned long long v52 = (unsigned long long)(a0_2);
      const unsigned long long v53 = v52 * v4;
      const unsigned long long v54 = v53 >> (40ull & 63);
      const int v55 = (int)(v54);
      const int v60 = v55 * p5;
      const int v61 = a0_2 - v60;
      const unsigned long long v72 = (unsigned long long)(a0_3);
      const unsigned long long v73 = v72 * v4;
      const unsigned long long v74 = v73 >> (40ull & 63);
      const int v75 = (int)(v74);
      const int v80 = v75 * p5;
      const int v81 = a0_3 - v80;
      const unsigned long long v92 = (unsigned long long)(a0_4);
      const unsigned long long v93 = v92 * v4;
      const unsigned long long v94 = v93 >> (40ull & 63);
      const int v95 = (int)(v94);
      const int v100 = v95 * p5;
      const int v101 = a0_4 - v100;
      const unsigned long long v112 = (unsigned long long)(a0_5);
      const unsigned long long v113 = v112 * v4;
      const unsigned long long v114 = v113 >> (40ull & 63);
      const int v115 = (int)(v114);
      const int v120 = v115 * p5;
      const int v121 = a0_5 - v120;
      const int v137 = a1 + a0 * s3_0;
      const int v145 = a1 + a0_1 * s3_0;
      const int v152 = a1 + a0_2 * s3_0;
      const int v159 = a1 + a0_3 * s3_0;
      const int v166 = a1 + a0_4 * s3_0;
      const int v173 = a1 + a0_5 * s3_0;
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
        const int v8 = v7 + r0;
        const int v9 = v8 - 1;
        const unsigned v10 = (unsigned)(v9);
        const int v12 = v10 < v11;
        const int v21 = v9 * s0_0;
        const int v27 = v26 + r0 * s1_0;
        const int v36 = v35 + r0;
        const int v37 = v36 - 1;
        const unsigned v38 = (unsigned)(v37);
        const int v39 = v38 < v11;
        const int v47 = v37 * s0_0;
        const int v56 = v55 + r0;
        const int v57 = v56 - 1;
        const unsigned v58 = (unsigned)(v57);
        const int v59 = v58 < v11;
        const int v67 = v57 * s0_0;
        const int v76 = v75 + r0;
        const int v77 = v76 - 1;
        const unsigned v78 = (unsigned)(v77);
        const int v79 = v78 < v11;
        const int v87 = v77 * s0_0;
        const int v96 = v95 + r0;
        const int v97 = v96 - 1;
        const unsigned v98 = (unsigned)(v97);
        const int v99 = v98 < v11;
        const int v107 = v97 * s0_0;
        const int v116 = v115 + r0;
        const int v117 = v116 - 1;
        const unsigned v118 = (unsigned)(v117);
        const int v119 = v118 < v11;
        const int v127 = v117 * s0_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v15 = v14 + r1;
          const int v16 = v15 - 1;
          const unsigned v17 = (unsigned)(v16);
          const int v19 = v17 < v18;
          const int v20 = v12 & v19;
          const int v22 = v21 + v16 * s0_1;
          const float *const v23 = v20 ? x0 + v22 : wk_zeros;
          const int v28 = v27 + r1 * s1_1;
          const int v42 = v41 + r1;
          const int v43 = v42 - 1;
          const unsigned v44 = (unsigned)(v43);
          const int v45 = v44 < v18;
          const int v46 = v39 & v45;
          const int v48 = v47 + v43 * s0_1;
          const float *const v49 = v46 ? x0 + v48 : wk_zeros;
          const int v62 = v61 + r1;
          const int v63 = v62 - 1;
          const unsigned v64 = (unsigned)(v63);
          const int v65 = v64 < v18;
          const int v66 = v59 & v65;
          const int v68 = v67 + v63 * s0_1;
          const float *const v69 = v66 ? x0 + v68 : wk_zeros;
          const int v82 = v81 + r1;
          const int v83 = v82 - 1;
          const unsigned v84 = (unsigned)(v83);
          const int v85 = v84 < v18;
          const int v86 = v79 & v85;
          const int v88 = v87 + v83 * s0_1;
          const float *const v89 = v86 ? x0 + v88 : wk_zeros;
          const int v102 = v101 + r1;
          const int v103 = v102 - 1;
          const unsigned v104 = (unsigned)(v103);
          const int v105 = v104 < v18;
          const int v106 = v99 & v105;
          const int v108 = v107 + v103 * s0_1;
          const float *const v109 = v106 ? x0 + v108 : wk_zeros;
          const int v122 = v121 + r1;
          const int v123 = v122 - 1;
          const unsigned v124 = (unsigned)(v123);
          const int v125 = v124 < v18;
          const int v126 = v119 & v125;
          const int v128 = v127 + v123 * s0_1;
          const float *const v129 = v126 ? x0 + v128 : wk_zeros;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v24 = v23[r2];
            const v128_t v25 = wasm_f32x4_splat(v24);
            const int v29 = v28 + r2 * 8;
            const v128_t v30 = wasm_v128_load(x1 + v29);
            const v128_t v31 = wasm_v128_load(x1 + v29 + 4);
            const float v50 = v49[r2];
            const v128_t v51 = wasm_f32x4_splat(v50);
            const float v70 = v69[r2];
            const v128_t v71 = wasm_f32x4_splat(v70);
            const float v90 = v89[r2];
            const v128_t v91 = wasm_f32x4_splat(v90);
            const float v110 = v109[r2];
            const v128_t v111 = wasm_f32x4_splat(v110);
            const float v130 = v129[r2];
            const v128_t v131 = wasm_f32x4_splat(v130);
            acc0_0_0 = WK_MADD(v25, v30, acc0_0_0);
            acc0_0_4 = WK_MADD(v25, v31, acc0_0_4);
            acc0_1_0 = WK_MADD(v51, v30, acc0_1_0);
            acc0_1_4 = WK_MADD(v51, v31, acc0_1_4);
            acc0_2_0 = WK_MADD(v71, v30, acc0_2_0);
            acc0_2_4 = WK_MADD(v71, v31, acc0_2_4);
            acc0_3_0 = WK_MADD(v91, v30, acc0_3_0);
            acc0_3_4 = WK_MADD(v91, v31, acc0_3_4);
            acc0_4_0 = WK_MADD(v111, v30, acc0_4_0);
            acc0_4_4 = WK_MADD(v111, v31, acc0_4_4);
            acc0_5_0 = WK_MADD(v131, v30, acc0_5_0);
            acc0_5_4 = WK_MADD(v131, v31, acc0_5_4);
          }
        }
      }
      {
        const v128_t v133 = wasm_f32x4_add(acc0_0_0, v132);
        const v128_t v135 = wasm_f32x4_lt(v133, v134);
        const v128_t v136 = wasm_v128_bitselect(v134, v133, v135);
        const v128_t v139 = wasm_f32x4_add(acc0_0_4, v138);
        const v128_t v140 = wasm_f32x4_lt(v139, v134);
        const v128_t v141 = wasm_v128_bitselect(v134, v139, v140);
        const v128_t v142 = wasm_f32x4_add(acc0_1_0, v132);
        const v128_t v143 = wasm_f32x4_lt(v142, v134);
        const v128_t v144 = wasm_v128_bitselect(v134, v142, v143);
        const v128_t v146 = wasm_f32x4_add(acc0_1_4, v138);
        const v128_t v147 = wasm_f32x4_lt(v146, v134);
        const v128_t v148 = wasm_v128_bitselect(v134, v146, v147);
        const v128_t v149 = wasm_f32x4_add(acc0_2_0, v132);
        const v128_t v150 = wasm_f32x4_lt(v149, v134);
        const v128_t v151 = wasm_v128_bitselect(v134, v149, v150);
        const v128_t v153 = wasm_f32x4_add(acc0_2_4, v138);
        const v128_t v154 = wasm_f32x4_lt(v153, v134);
        const v128_t v155 = wasm_v128_bitselect(v134, v153, v154);
        const v128_t v156 = wasm_f32x4_add(acc0_3_0, v132);
        const v128_t v157 = wasm_f32x4_lt(v156, v134);
        const v128_t v158 = wasm_v128_bitselect(v134, v156, v157);
        const v128_t v160 = wasm_f32x4_add(acc0_3_4, v138);
        const v128_t v161 = wasm_f32x4_lt(v160, v134);
        const v128_t v162 = wasm_v128_bitselect(v134, v160, v161);
        const v128_t v163 = wasm_f32x4_add(acc0_4_0, v132);
        const v128_t v164 = wasm_f32x4_lt(v163, v134);
        const v128_t v165 = wasm_v128_bitselect(v134, v163, v164);
        const v128_t v167 = wasm_f32x4_add(acc0_4_4, v138);
        const v128_t v168 = wasm_f32x4_lt(v167, v134);
        const v128_t v169 = wasm_v128_bitselect(v134, v167, v168);
        const v128_t v170 = wasm_f32x4_add(acc0_5_0, v132);
        const v128_t v171 = wasm_f32x4_lt(v170, v134);
        const v128_t v172 = wasm_v128_bitselect(v134, v170, v171);
        const v128_t v174 = wasm_f32x4_add(acc0_5_4, v138);
        const v128_t v175 = wasm_f32x4_lt(v174, v134);
        const v128_t v176 = wasm_v128_bitselect(v134, v174, v175);
        wasm_v128_store(y0 + v137, v136);
        wasm_v128_store(y0 + v137 + 4, v141);
        wasm_v128_store(y0 + v145, v144);
        wasm_v128_store(y0 + v145 + 4, v148);
        wasm_v128_store(y0 + v152, v151);
        wasm_v128_store(y0 + v152 + 4, v155);
        wasm_v128_store(y0 + v159, v158);
        wasm_v128_store(y0 + v159 + 4, v162);
        wasm_v128_store(y0 + v166, v165);
        wasm_v128_store(y0 + v166 + 4, v169);
        wasm_v128_store(y0 + v173, v172);
        wasm_v128_store(y0 + v173 + 4, v176);
      }
    }
    for (; a0 < p0; a0 += 1) {
      const unsigned long long v177 = (unsigned long long)(a0);
      const unsigned long long v178 = v177 * v4;
      const unsigned long long v179 = v178 >> (40ull & 63);
      const int v180 = (int)(v179);
      const int v185 = v180 * p5;
      const int v186 = a0 - v185;
      const int v205 = a1 + a0 * s3_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v181 = v180 + r0;
        const int v182 = v181 - 1;
        const unsigned v183 = (unsigned)(v182);
        const int v184 = v183 < v11;
        const int v192 = v182 * s0_0;
        const int v197 = v26 + r0 * s1_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v187 = v186 + r1;
          const int v188 = v187 - 1;
          const unsigned v189 = (unsigned)(v188);
          const int v190 = v189 < v18;
          const int v191 = v184 & v190;
          const int v193 = v192 + v188 * s0_1;
          const float *const v194 = v191 ? x0 + v193 : wk_zeros;
          const int v198 = v197 + r1 * s1_1;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v195 = v194[r2];
            const v128_t v196 = wasm_f32x4_splat(v195);
            const int v199 = v198 + r2 * 8;
            const v128_t v200 = wasm_v128_load(x1 + v199);
            const v128_t v201 = wasm_v128_load(x1 + v199 + 4);
            acc0_0_0 = WK_MADD(v196, v200, acc0_0_0);
            acc0_0_4 = WK_MADD(v196, v201, acc0_0_4);
          }
        }
      }
      {
        const v128_t v202 = wasm_f32x4_add(acc0_0_0, v132);
        const v128_t v203 = wasm_f32x4_lt(v202, v134);
        const v128_t v204 = wasm_v128_bitselect(v134, v202, v203);
        const v128_t v206 = wasm_f32x4_add(acc0_0_4, v138);
        const v128_t v207 = wasm_f32x4_lt(v206, v134);
        const v128_t v208 = wasm_v128_bitselect(v134, v206, v207);
        wasm_v128_store(y0 + v205, v204);
        wasm_v128_store(y0 + v205 + 4, v208);
      }
    }
  }
  for (; a1 < p1; a1 += 4) {
    const int v229 = (a1 >> 3) * s1_3 + (a1 & 7);
    const v128_t v334 = wasm_v128_load(x2 + a1);
    int a0 = 0;
    for (; 5 < p0 && a0 + 1 < p0; a0 += 6) {
      const int a0_1 = a0 + 1 < p0 - 1 ? a0 + 1 : p0 - 1;
      const int a0_2 = a0 + 2 < p0 - 1 ? a0 + 2 : p0 - 1;
      const int a0_3 = a0 + 3 < p0 - 1 ? a0 + 3 : p0 - 1;
      const int a0_4 = a0 + 4 < p0 - 1 ? a0 + 4 : p0 - 1;
      const int a0_5 = a0 + 5 < p0 - 1 ? a0 + 5 : p0 - 1;
      const unsigned long long v209 = (unsigned long long)(a0);
      const unsigned long long v210 = v209 * v4;
      const unsigned long long v211 = v210 >> (40ull & 63);
      const int v212 = (int)(v211);
      const int v217 = v212 * p5;
      const int v218 = a0 - v217;
      const unsigned long long v234 = (unsigned long long)(a0_1);
      const unsigned long long v235 = v234 * v4;
      const unsigned long long v236 = v235 >> (40ull & 63);
      const int v237 = (int)(v236);
      const int v242 = v237 * p5;
      const int v243 = a0_1 - v242;
      const unsigned long long v254 = (unsigned long long)(a0_2);
      const unsigned long long v255 = v254 * v4;
      const unsigned long long v256 = v255 >> (40ull & 63);
      const int v257 = (int)(v256);
      const int v262 = v257 * p5;
      const int v263 = a0_2 - v262;
      const unsigned long long v274 = (unsigned long long)(a0_3);
      const unsigned long long v275 = v274 * v4;
      const unsigned long long v276 = v275 >> (40ull & 63);
      const int v277 = (int)(v276);
      const int v282 = v277 * p5;
      const int v283 = a0_3 - v282;
      const unsigned long long v294 = (unsigned long long)(a0_4);
      const unsigned long long v295 = v294 * v4;
      const unsigned long long v296 = v295 >> (40ull & 63);
      const int v297 = (int)(v296);
      const int v302 = v297 * p5;
      const int v303 = a0_4 - v302;
      const unsigned long long v314 = (unsigned long long)(a0_5);
      const unsigned long long v315 = v314 * v4;
      const unsigned long long v316 = v315 >> (40ull & 63);
      const int v317 = (int)(v316);
      const int v322 = v317 * p5;
      const int v323 = a0_5 - v322;
      const int v338 = a1 + a0 * s3_0;
      const int v342 = a1 + a0_1 * s3_0;
      const int v346 = a1 + a0_2 * s3_0;
      const int v350 = a1 + a0_3 * s3_0;
      const int v354 = a1 + a0_4 * s3_0;
      const int v358 = a1 + a0_5 * s3_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_4_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_5_0 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v213 = v212 + r0;
        const int v214 = v213 - 1;
        const unsigned v215 = (unsigned)(v214);
        const int v216 = v215 < v11;
        const int v224 = v214 * s0_0;
        const int v230 = v229 + r0 * s1_0;
        const int v238 = v237 + r0;
        const int v239 = v238 - 1;
        const unsigned v240 = (unsigned)(v239);
        const int v241 = v240 < v11;
        const int v249 = v239 * s0_0;
        const int v258 = v257 + r0;
        const int v259 = v258 - 1;
        const unsigned v260 = (unsigned)(v259);
        const int v261 = v260 < v11;
        const int v269 = v259 * s0_0;
        const int v278 = v277 + r0;
        const int v279 = v278 - 1;
        const unsigned v280 = (unsigned)(v279);
        const int v281 = v280 < v11;
        const int v289 = v279 * s0_0;
        const int v298 = v297 + r0;
        const int v299 = v298 - 1;
        const unsigned v300 = (unsigned)(v299);
        const int v301 = v300 < v11;
        const int v309 = v299 * s0_0;
        const int v318 = v317 + r0;
        const int v319 = v318 - 1;
        const unsigned v320 = (unsigned)(v319);
        const int v321 = v320 < v11;
        const int v329 = v319 * s0_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v219 = v218 + r1;
          const int v220 = v219 - 1;
          const unsigned v221 = (unsigned)(v220);
          const int v222 = v221 < v18;
          const int v223 = v216 & v222;
          const int v225 = v224 + v220 * s0_1;
          const float *const v226 = v223 ? x0 + v225 : wk_zeros;
          const int v231 = v230 + r1 * s1_1;
          const int v244 = v243 + r1;
          const int v245 = v244 - 1;
          const unsigned v246 = (unsigned)(v245);
          const int v247 = v246 < v18;
          const int v248 = v241 & v247;
          const int v250 = v249 + v245 * s0_1;
          const float *const v251 = v248 ? x0 + v250 : wk_zeros;
          const int v264 = v263 + r1;
          const int v265 = v264 - 1;
          const unsigned v266 = (unsigned)(v265);
          const int v267 = v266 < v18;
          const int v268 = v261 & v267;
          const int v270 = v269 + v265 * s0_1;
          const float *const v271 = v268 ? x0 + v270 : wk_zeros;
          const int v284 = v283 + r1;
          const int v285 = v284 - 1;
          const unsigned v286 = (unsigned)(v285);
          const int v287 = v286 < v18;
          const int v288 = v281 & v287;
          const int v290 = v289 + v285 * s0_1;
          const float *const v291 = v288 ? x0 + v290 : wk_zeros;
          const int v304 = v303 + r1;
          const int v305 = v304 - 1;
          const unsigned v306 = (unsigned)(v305);
          const int v307 = v306 < v18;
          const int v308 = v301 & v307;
          const int v310 = v309 + v305 * s0_1;
          const float *const v311 = v308 ? x0 + v310 : wk_zeros;
          const int v324 = v323 + r1;
          const int v325 = v324 - 1;
          const unsigned v326 = (unsigned)(v325);
          const int v327 = v326 < v18;
          const int v328 = v321 & v327;
          const int v330 = v329 + v325 * s0_1;
          const float *const v331 = v328 ? x0 + v330 : wk_zeros;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v227 = v226[r2];
            const v128_t v228 = wasm_f32x4_splat(v227);
            const int v232 = v231 + r2 * 8;
            const v128_t v233 = wasm_v128_load(x1 + v232);
            const float v252 = v251[r2];
            const v128_t v253 = wasm_f32x4_splat(v252);
            const float v272 = v271[r2];
            const v128_t v273 = wasm_f32x4_splat(v272);
            const float v292 = v291[r2];
            const v128_t v293 = wasm_f32x4_splat(v292);
            const float v312 = v311[r2];
            const v128_t v313 = wasm_f32x4_splat(v312);
            const float v332 = v331[r2];
            const v128_t v333 = wasm_f32x4_splat(v332);
            acc0_0_0 = WK_MADD(v228, v233, acc0_0_0);
            acc0_1_0 = WK_MADD(v253, v233, acc0_1_0);
            acc0_2_0 = WK_MADD(v273, v233, acc0_2_0);
            acc0_3_0 = WK_MADD(v293, v233, acc0_3_0);
            acc0_4_0 = WK_MADD(v313, v233, acc0_4_0);
            acc0_5_0 = WK_MADD(v333, v233, acc0_5_0);
          }
        }
      }
      {
        const v128_t v335 = wasm_f32x4_add(acc0_0_0, v334);
        const v128_t v336 = wasm_f32x4_lt(v335, v134);
        const v128_t v337 = wasm_v128_bitselect(v134, v335, v336);
        const v128_t v339 = wasm_f32x4_add(acc0_1_0, v334);
        const v128_t v340 = wasm_f32x4_lt(v339, v134);
        const v128_t v341 = wasm_v128_bitselect(v134, v339, v340);
        const v128_t v343 = wasm_f32x4_add(acc0_2_0, v334);
        const v128_t v344 = wasm_f32x4_lt(v343, v134);
        const v128_t v345 = wasm_v128_bitselect(v134, v343, v344);
        const v128_t v347 = wasm_f32x4_add(acc0_3_0, v334);
        const v128_t v348 = wasm_f32x4_lt(v347, v134);
        const v128_t v349 = wasm_v128_bitselect(v134, v347, v348);
        const v128_t v351 = wasm_f32x4_add(acc0_4_0, v334);
        const v128_t v352 = wasm_f32x4_lt(v351, v134);
        const v128_t v353 = wasm_v128_bitselect(v134, v351, v352);
        const v128_t v355 = wasm_f32x4_add(acc0_5_0, v334);
        const v128_t v356 = wasm_f32x4_lt(v355, v134);
        const v128_t v357 = wasm_v128_bitselect(v134, v355, v356);
        wasm_v128_store(y0 + v338, v337);
        wasm_v128_store(y0 + v342, v341);
        wasm_v128_store(y0 + v346, v345);
        wasm_v128_store(y0 + v350, v349);
        wasm_v128_store(y0 + v354, v353);
        wasm_v128_store(y0 + v358, v357);
      }
    }
    for (; a0 < p0; a0 += 1) {
      const unsigned long long v359 = (unsigned long long)(a0);
      const unsigned long long v360 = v359 * v4;
      const unsigned long long v361 = v360 >> (40ull & 63);
      const int v362 = (int)(v361);
      const int v367 = v362 * p5;
      const int v368 = a0 - v367;
      const int v386 = a1 + a0 * s3_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v363 = v362 + r0;
        const int v364 = v363 - 1;
        const unsigned v365 = (unsigned)(v364);
        const int v366 = v365 < v11;
        const int v374 = v364 * s0_0;
        const int v379 = v229 + r0 * s1_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v369 = v368 + r1;
          const int v370 = v369 - 1;
          const unsigned v371 = (unsigned)(v370);
          const int v372 = v371 < v18;
          const int v373 = v366 & v372;
          const int v375 = v374 + v370 * s0_1;
          const float *const v376 = v373 ? x0 + v375 : wk_zeros;
          const int v380 = v379 + r1 * s1_1;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v377 = v376[r2];
            const v128_t v378 = wasm_f32x4_splat(v377);
            const int v381 = v380 + r2 * 8;
            const v128_t v382 = wasm_v128_load(x1 + v381);
            acc0_0_0 = WK_MADD(v378, v382, acc0_0_0);
          }
        }
      }
      {
        const v128_t v383 = wasm_f32x4_add(acc0_0_0, v334);
        const v128_t v384 = wasm_f32x4_lt(v383, v134);
        const v128_t v385 = wasm_v128_bitselect(v134, v383, v384);
        wasm_v128_store(y0 + v386, v385);
      }
    }
  }
  #else
  const unsigned long long v2 = (unsigned long long)(p5);
  const unsigned long long v3 = wk_idiv_u64(1099511627776ull, v2);
  const unsigned long long v4 = v3 + 1ull;
  const unsigned v11 = (unsigned)(p6);
  const unsigned v18 = (unsigned)(p7);
  const v128_t v94 = wasm_f32x4_splat(0x0.0p+0f);
  int a1 = 0;
  for (; a1 + 7 < p1; a1 += 8) {
    const int v26 = (a1 >> 3) * s1_3 + (a1 & 7);
    const v128_t v92 = wasm_v128_load(x2 + a1);
    const v128_t v98 = wasm_v128_load(x2 + a1 + 4);
    int a0 = 0;
    for (; 3 < p0 && a0 + 1 < p0; a0 += 4) {
      const int a0_1 = a0 + 1 < p0 - 1 ? a0 + 1 : p0 - 1;
      const int a0_2 = a0 + 2 < p0 - 1 ? a0 + 2 : p0 - 1;
      const int a0_3 = a0 + 3 < p0 - 1 ? a0 + 3 : p0 - 1;
      const unsigned long long v1 = (unsigned long long)(a0);
      const unsigned long long v5 = v1 * v4;
      const unsigned long long v6 = v5 >> (40ull & 63);
      const int v7 = (int)(v6);
      const int v13 = v7 * p5;
      const int v14 = a0 - v13;
      const unsigned long long v32 = (unsigned long long)(a0_1);
      const unsigned long long v33 = v32 * v4;
      const unsigned long long v34 = v33 >> (40ull & 63);
      const int v35 = (int)(v34);
      const int v40 = v35 * p5;
      const int v41 = a0_1 - v40;
      const unsigned long long v52 = (unsigned long long)(a0_2);
      const unsigned long long v53 = v52 * v4;
      const unsigned long long v54 = v53 >> (40ull & 63);
      const int v55 = (int)(v54);
      const int v60 = v55 * p5;
      const int v61 = a0_2 - v60;
      const unsigned long long v72 = (unsigned long long)(a0_3);
      const unsigned long long v73 = v72 * v4;
      const unsigned long long v74 = v73 >> (40ull & 63);
      const int v75 = (int)(v74);
      const int v80 = v75 * p5;
      const int v81 = a0_3 - v80;
      const int v97 = a1 + a0 * s3_0;
      const int v105 = a1 + a0_1 * s3_0;
      const int v112 = a1 + a0_2 * s3_0;
      const int v119 = a1 + a0_3 * s3_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_4 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v8 = v7 + r0;
        const int v9 = v8 - 1;
        const unsigned v10 = (unsigned)(v9);
        const int v12 = v10 < v11;
        const int v21 = v9 * s0_0;
        const int v27 = v26 + r0 * s1_0;
        const int v36 = v35 + r0;
        const int v37 = v36 - 1;
        const unsigned v38 = (unsigned)(v37);
        const int v39 = v38 < v11;
        const int v47 = v37 * s0_0;
        const int v56 = v55 + r0;
        const int v57 = v56 - 1;
        const unsigned v58 = (unsigned)(v57);
        const int v59 = v58 < v11;
        const int v67 = v57 * s0_0;
        const int v76 = v75 + r0;
        const int v77 = v76 - 1;
        const unsigned v78 = (unsigned)(v77);
        const int v79 = v78 < v11;
        const int v87 = v77 * s0_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v15 = v14 + r1;
          const int v16 = v15 - 1;
          const unsigned v17 = (unsigned)(v16);
          const int v19 = v17 < v18;
          const int v20 = v12 & v19;
          const int v22 = v21 + v16 * s0_1;
          const float *const v23 = v20 ? x0 + v22 : wk_zeros;
          const int v28 = v27 + r1 * s1_1;
          const int v42 = v41 + r1;
          const int v43 = v42 - 1;
          const unsigned v44 = (unsigned)(v43);
          const int v45 = v44 < v18;
          const int v46 = v39 & v45;
          const int v48 = v47 + v43 * s0_1;
          const float *const v49 = v46 ? x0 + v48 : wk_zeros;
          const int v62 = v61 + r1;
          const int v63 = v62 - 1;
          const unsigned v64 = (unsigned)(v63);
          const int v65 = v64 < v18;
          const int v66 = v59 & v65;
          const int v68 = v67 + v63 * s0_1;
          const float *const v69 = v66 ? x0 + v68 : wk_zeros;
          const int v82 = v81 + r1;
          const int v83 = v82 - 1;
          const unsigned v84 = (unsigned)(v83);
          const int v85 = v84 < v18;
          const int v86 = v79 & v85;
          const int v88 = v87 + v83 * s0_1;
          const float *const v89 = v86 ? x0 + v88 : wk_zeros;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v24 = v23[r2];
            const v128_t v25 = wasm_f32x4_splat(v24);
            const int v29 = v28 + r2 * 8;
            const v128_t v30 = wasm_v128_load(x1 + v29);
            const v128_t v31 = wasm_v128_load(x1 + v29 + 4);
            const float v50 = v49[r2];
            const v128_t v51 = wasm_f32x4_splat(v50);
            const float v70 = v69[r2];
            const v128_t v71 = wasm_f32x4_splat(v70);
            const float v90 = v89[r2];
            const v128_t v91 = wasm_f32x4_splat(v90);
            acc0_0_0 = WK_MADD(v25, v30, acc0_0_0);
            acc0_0_4 = WK_MADD(v25, v31, acc0_0_4);
            acc0_1_0 = WK_MADD(v51, v30, acc0_1_0);
            acc0_1_4 = WK_MADD(v51, v31, acc0_1_4);
            acc0_2_0 = WK_MADD(v71, v30, acc0_2_0);
            acc0_2_4 = WK_MADD(v71, v31, acc0_2_4);
            acc0_3_0 = WK_MADD(v91, v30, acc0_3_0);
            acc0_3_4 = WK_MADD(v91, v31, acc0_3_4);
          }
        }
      }
      {
        const v128_t v93 = wasm_f32x4_add(acc0_0_0, v92);
        const v128_t v95 = wasm_f32x4_lt(v93, v94);
        const v128_t v96 = wasm_v128_bitselect(v94, v93, v95);
        const v128_t v99 = wasm_f32x4_add(acc0_0_4, v98);
        const v128_t v100 = wasm_f32x4_lt(v99, v94);
        const v128_t v101 = wasm_v128_bitselect(v94, v99, v100);
        const v128_t v102 = wasm_f32x4_add(acc0_1_0, v92);
        const v128_t v103 = wasm_f32x4_lt(v102, v94);
        const v128_t v104 = wasm_v128_bitselect(v94, v102, v103);
        const v128_t v106 = wasm_f32x4_add(acc0_1_4, v98);
        const v128_t v107 = wasm_f32x4_lt(v106, v94);
        const v128_t v108 = wasm_v128_bitselect(v94, v106, v107);
        const v128_t v109 = wasm_f32x4_add(acc0_2_0, v92);
        const v128_t v110 = wasm_f32x4_lt(v109, v94);
        const v128_t v111 = wasm_v128_bitselect(v94, v109, v110);
        const v128_t v113 = wasm_f32x4_add(acc0_2_4, v98);
        const v128_t v114 = wasm_f32x4_lt(v113, v94);
        const v128_t v115 = wasm_v128_bitselect(v94, v113, v114);
        const v128_t v116 = wasm_f32x4_add(acc0_3_0, v92);
        const v128_t v117 = wasm_f32x4_lt(v116, v94);
        const v128_t v118 = wasm_v128_bitselect(v94, v116, v117);
        const v128_t v120 = wasm_f32x4_add(acc0_3_4, v98);
        const v128_t v121 = wasm_f32x4_lt(v120, v94);
        const v128_t v122 = wasm_v128_bitselect(v94, v120, v121);
        wasm_v128_store(y0 + v97, v96);
        wasm_v128_store(y0 + v97 + 4, v101);
        wasm_v128_store(y0 + v105, v104);
        wasm_v128_store(y0 + v105 + 4, v108);
        wasm_v128_store(y0 + v112, v111);
        wasm_v128_store(y0 + v112 + 4, v115);
        wasm_v128_store(y0 + v119, v118);
        wasm_v128_store(y0 + v119 + 4, v122);
      }
    }
    for (; a0 < p0; a0 += 1) {
      const unsigned long long v123 = (unsigned long long)(a0);
      const unsigned long long v124 = v123 * v4;
      const unsigned long long v125 = v124 >> (40ull & 63);
      const int v126 = (int)(v125);
      const int v131 = v126 * p5;
      const int v132 = a0 - v131;
      const int v151 = a1 + a0 * s3_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v127 = v126 + r0;
        const int v128 = v127 - 1;
        const unsigned v129 = (unsigned)(v128);
        const int v130 = v129 < v11;
        const int v138 = v128 * s0_0;
        const int v143 = v26 + r0 * s1_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v133 = v132 + r1;
          const int v134 = v133 - 1;
          const unsigned v135 = (unsigned)(v134);
          const int v136 = v135 < v18;
          const int v137 = v130 & v136;
          const int v139 = v138 + v134 * s0_1;
          const float *const v140 = v137 ? x0 + v139 : wk_zeros;
          const int v144 = v143 + r1 * s1_1;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v141 = v140[r2];
            const v128_t v142 = wasm_f32x4_splat(v141);
            const int v145 = v144 + r2 * 8;
            const v128_t v146 = wasm_v128_load(x1 + v145);
            const v128_t v147 = wasm_v128_load(x1 + v145 + 4);
            acc0_0_0 = WK_MADD(v142, v146, acc0_0_0);
            acc0_0_4 = WK_MADD(v142, v147, acc0_0_4);
          }
        }
      }
      {
        const v128_t v148 = wasm_f32x4_add(acc0_0_0, v92);
        const v128_t v149 = wasm_f32x4_lt(v148, v94);
        const v128_t v150 = wasm_v128_bitselect(v94, v148, v149);
        const v128_t v152 = wasm_f32x4_add(acc0_0_4, v98);
        const v128_t v153 = wasm_f32x4_lt(v152, v94);
        const v128_t v154 = wasm_v128_bitselect(v94, v152, v153);
        wasm_v128_store(y0 + v151, v150);
        wasm_v128_store(y0 + v151 + 4, v154);
      }
    }
  }
  for (; a1 < p1; a1 += 4) {
    const int v175 = (a1 >> 3) * s1_3 + (a1 & 7);
    const v128_t v240 = wasm_v128_load(x2 + a1);
    int a0 = 0;
    for (; 3 < p0 && a0 + 1 < p0; a0 += 4) {
      const int a0_1 = a0 + 1 < p0 - 1 ? a0 + 1 : p0 - 1;
      const int a0_2 = a0 + 2 < p0 - 1 ? a0 + 2 : p0 - 1;
      const int a0_3 = a0 + 3 < p0 - 1 ? a0 + 3 : p0 - 1;
      const unsigned long long v155 = (unsigned long long)(a0);
      const unsigned long long v156 = v155 * v4;
      const unsigned long long v157 = v156 >> (40ull & 63);
      const int v158 = (int)(v157);
      const int v163 = v158 * p5;
      const int v164 = a0 - v163;
      const unsigned long long v180 = (unsigned long long)(a0_1);
      const unsigned long long v181 = v180 * v4;
      const unsigned long long v182 = v181 >> (40ull & 63);
      const int v183 = (int)(v182);
      const int v188 = v183 * p5;
      const int v189 = a0_1 - v188;
      const unsigned long long v200 = (unsigned long long)(a0_2);
      const unsigned long long v201 = v200 * v4;
      const unsigned long long v202 = v201 >> (40ull & 63);
      const int v203 = (int)(v202);
      const int v208 = v203 * p5;
      const int v209 = a0_2 - v208;
      const unsigned long long v220 = (unsigned long long)(a0_3);
      const unsigned long long v221 = v220 * v4;
      const unsigned long long v222 = v221 >> (40ull & 63);
      const int v223 = (int)(v222);
      const int v228 = v223 * p5;
      const int v229 = a0_3 - v228;
      const int v244 = a1 + a0 * s3_0;
      const int v248 = a1 + a0_1 * s3_0;
      const int v252 = a1 + a0_2 * s3_0;
      const int v256 = a1 + a0_3 * s3_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_0 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v159 = v158 + r0;
        const int v160 = v159 - 1;
        const unsigned v161 = (unsigned)(v160);
        const int v162 = v161 < v11;
        const int v170 = v160 * s0_0;
        const int v176 = v175 + r0 * s1_0;
        const int v184 = v183 + r0;
        const int v185 = v184 - 1;
        const unsigned v186 = (unsigned)(v185);
        const int v187 = v186 < v11;
        const int v195 = v185 * s0_0;
        const int v204 = v203 + r0;
        const int v205 = v204 - 1;
        const unsigned v206 = (unsigned)(v205);
        const int v207 = v206 < v11;
        const int v215 = v205 * s0_0;
        const int v224 = v223 + r0;
        const int v225 = v224 - 1;
        const unsigned v226 = (unsigned)(v225);
        const int v227 = v226 < v11;
        const int v235 = v225 * s0_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v165 = v164 + r1;
          const int v166 = v165 - 1;
          const unsigned v167 = (unsigned)(v166);
          const int v168 = v167 < v18;
          const int v169 = v162 & v168;
          const int v171 = v170 + v166 * s0_1;
          const float *const v172 = v169 ? x0 + v171 : wk_zeros;
          const int v177 = v176 + r1 * s1_1;
          const int v190 = v189 + r1;
          const int v191 = v190 - 1;
          const unsigned v192 = (unsigned)(v191);
          const int v193 = v192 < v18;
          const int v194 = v187 & v193;
          const int v196 = v195 + v191 * s0_1;
          const float *const v197 = v194 ? x0 + v196 : wk_zeros;
          const int v210 = v209 + r1;
          const int v211 = v210 - 1;
          const unsigned v212 = (unsigned)(v211);
          const int v213 = v212 < v18;
          const int v214 = v207 & v213;
          const int v216 = v215 + v211 * s0_1;
          const float *const v217 = v214 ? x0 + v216 : wk_zeros;
          const int v230 = v229 + r1;
          const int v231 = v230 - 1;
          const unsigned v232 = (unsigned)(v231);
          const int v233 = v232 < v18;
          const int v234 = v227 & v233;
          const int v236 = v235 + v231 * s0_1;
          const float *const v237 = v234 ? x0 + v236 : wk_zeros;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v173 = v172[r2];
            const v128_t v174 = wasm_f32x4_splat(v173);
            const int v178 = v177 + r2 * 8;
            const v128_t v179 = wasm_v128_load(x1 + v178);
            const float v198 = v197[r2];
            const v128_t v199 = wasm_f32x4_splat(v198);
            const float v218 = v217[r2];
            const v128_t v219 = wasm_f32x4_splat(v218);
            const float v238 = v237[r2];
            const v128_t v239 = wasm_f32x4_splat(v238);
            acc0_0_0 = WK_MADD(v174, v179, acc0_0_0);
            acc0_1_0 = WK_MADD(v199, v179, acc0_1_0);
            acc0_2_0 = WK_MADD(v219, v179, acc0_2_0);
            acc0_3_0 = WK_MADD(v239, v179, acc0_3_0);
          }
        }
      }
      {
        const v128_t v241 = wasm_f32x4_add(acc0_0_0, v240);
        const v128_t v242 = wasm_f32x4_lt(v241, v94);
        const v128_t v243 = wasm_v128_bitselect(v94, v241, v242);
        const v128_t v245 = wasm_f32x4_add(acc0_1_0, v240);
        const v128_t v246 = wasm_f32x4_lt(v245, v94);
        const v128_t v247 = wasm_v128_bitselect(v94, v245, v246);
        const v128_t v249 = wasm_f32x4_add(acc0_2_0, v240);
        const v128_t v250 = wasm_f32x4_lt(v249, v94);
        const v128_t v251 = wasm_v128_bitselect(v94, v249, v250);
        const v128_t v253 = wasm_f32x4_add(acc0_3_0, v240);
        const v128_t v254 = wasm_f32x4_lt(v253, v94);
        const v128_t v255 = wasm_v128_bitselect(v94, v253, v254);
        wasm_v128_store(y0 + v244, v243);
        wasm_v128_store(y0 + v248, v247);
        wasm_v128_store(y0 + v252, v251);
        wasm_v128_store(y0 + v256, v255);
      }
    }
    for (; a0 < p0; a0 += 1) {
      const unsigned long long v257 = (unsigned long long)(a0);
      const unsigned long long v258 = v257 * v4;
      const unsigned long long v259 = v258 >> (40ull & 63);
      const int v260 = (int)(v259);
      const int v265 = v260 * p5;
      const int v266 = a0 - v265;
      const int v284 = a1 + a0 * s3_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v261 = v260 + r0;
        const int v262 = v261 - 1;
        const unsigned v263 = (unsigned)(v262);
        const int v264 = v263 < v11;
        const int v272 = v262 * s0_0;
        const int v277 = v175 + r0 * s1_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v267 = v266 + r1;
          const int v268 = v267 - 1;
          const unsigned v269 = (unsigned)(v268);
          const int v270 = v269 < v18;
          const int v271 = v264 & v270;
          const int v273 = v272 + v268 * s0_1;
          const float *const v274 = v271 ? x0 + v273 : wk_zeros;
          const int v278 = v277 + r1 * s1_1;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v275 = v274[r2];
            const v128_t v276 = wasm_f32x4_splat(v275);
            const int v279 = v278 + r2 * 8;
            const v128_t v280 = wasm_v128_load(x1 + v279);
            acc0_0_0 = WK_MADD(v276, v280, acc0_0_0);
          }
        }
      }
      {
        const v128_t v281 = wasm_f32x4_add(acc0_0_0, v240);
        const v128_t v282 = wasm_f32x4_lt(v281, v94);
        const v128_t v283 = wasm_v128_bitselect(v94, v281, v282);
        wasm_v128_store(y0 + v284, v283);
      }
    }
  }
  #endif
}
