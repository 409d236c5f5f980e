#include <wasm_simd128.h>

void k_a3f8f386b3bfe2f4(const float *restrict x0, float *restrict y0, const int p0, const int p1, const int s0_0, const int s1_0, const int s1_1) {
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

#ifdef RELAXED
#define WK_MADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define WK_MADD(a, b, c) wasm_f32x4_add(c, wasm_f32x4_mul(a, b))
#endif

static inline unsigned long long wk_idiv_u64(unsigned long long a, unsigned long long b) { return b ? a / b : 0; }

__attribute__((weak)) float wk_zeros[WK_ZEROS];

void k_9db0107a0ac04264(const float *restrict x0, const float *restrict x1, float *restrict y0, const int p0, const int p1, const int p2, const int p3, const int p4, const int p5, const int p6, const int p7, const int p8, const int p9, const int s0_0, const int s0_1, const int s1_3, const int s1_0, const int s1_1, const int s2_0, const int part_from, const int part_to) {
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
      const int v144 = a1 + a0 * s2_0;
      const int v145 = a1 + a0_1 * s2_0;
      const int v146 = a1 + a0_2 * s2_0;
      const int v147 = a1 + a0_3 * s2_0;
      const int v148 = a1 + a0_4 * s2_0;
      const int v149 = a1 + a0_5 * s2_0;
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
            const v128_t v33 = wasm_v128_load(x1 + v31 + 4);
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
      wasm_v128_store(y0 + v144, acc0_0_0);
      wasm_v128_store(y0 + v144 + 4, acc0_0_4);
      wasm_v128_store(y0 + v145, acc0_1_0);
      wasm_v128_store(y0 + v145 + 4, acc0_1_4);
      wasm_v128_store(y0 + v146, acc0_2_0);
      wasm_v128_store(y0 + v146 + 4, acc0_2_4);
      wasm_v128_store(y0 + v147, acc0_3_0);
      wasm_v128_store(y0 + v147 + 4, acc0_3_4);
      wasm_v128_store(y0 + v148, acc0_4_0);
      wasm_v128_store(y0 + v148 + 4, acc0_4_4);
      wasm_v128_store(y0 + v149, acc0_5_0);
      wasm_v128_store(y0 + v149 + 4, acc0_5_4);
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
      const int v177 = a1 + a0 * s2_0;
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
            const v128_t v176 = wasm_v128_load(x1 + v174 + 4);
            acc0_0_0 = WK_MADD(v171, v175, acc0_0_0);
            acc0_0_4 = WK_MADD(v171, v176, acc0_0_4);
          }
        }
      }
      wasm_v128_store(y0 + v177, acc0_0_0);
      wasm_v128_store(y0 + v177 + 4, acc0_0_4);
    }
  }
  for (; a1 < part_to; a1 += 4) {
    const int v200 = (a1 >> 3) * s1_3 + (a1 & 7);
    int a0 = 0;
    for (; 5 < p0 && a0 + 1 < p0; a0 += 6) {
      const int a0_1 = a0 + 1 < p0 - 1 ? a0 + 1 : p0 - 1;
      const int a0_2 = a0 + 2 < p0 - 1 ? a0 + 2 : p0 - 1;
      const int a0_3 = a0 + 3 < p0 - 1 ? a0 + 3 : p0 - 1;
      const int a0_4 = a0 + 4 < p0 - 1 ? a0 + 4 : p0 - 1;
      const int a0_5 = a0 + 5 < p0 - 1 ? a0 + 5 : p0 - 1;
      const unsigned long long v178 = (unsigned long long)(a0);
      const unsigned long long v179 = v178 * v4;
      const unsigned long long v180 = v179 >> (40ull & 63);
      const int v181 = (int)(v180);
      const int v182 = v181 * p6;
      const int v187 = v181 * p5;
      const int v188 = a0 - v187;
      const int v189 = v188 * p7;
      const unsigned long long v205 = (unsigned long long)(a0_1);
      const unsigned long long v206 = v205 * v4;
      const unsigned long long v207 = v206 >> (40ull & 63);
      const int v208 = (int)(v207);
      const int v209 = v208 * p6;
      const int v214 = v208 * p5;
      const int v215 = a0_1 - v214;
      const int v216 = v215 * p7;
      const unsigned long long v227 = (unsigned long long)(a0_2);
      const unsigned long long v228 = v227 * v4;
      const unsigned long long v229 = v228 >> (40ull & 63);
      const int v230 = (int)(v229);
      const int v231 = v230 * p6;
      const int v236 = v230 * p5;
      const int v237 = a0_2 - v236;
      const int v238 = v237 * p7;
      const unsigned long long v249 = (unsigned long long)(a0_3);
      const unsigned long long v250 = v249 * v4;
      const unsigned long long v251 = v250 >> (40ull & 63);
      const int v252 = (int)(v251);
      const int v253 = v252 * p6;
      const int v258 = v252 * p5;
      const int v259 = a0_3 - v258;
      const int v260 = v259 * p7;
      const unsigned long long v271 = (unsigned long long)(a0_4);
      const unsigned long long v272 = v271 * v4;
      const unsigned long long v273 = v272 >> (40ull & 63);
      const int v274 = (int)(v273);
      const int v275 = v274 * p6;
      const int v280 = v274 * p5;
      const int v281 = a0_4 - v280;
      const int v282 = v281 * p7;
      const unsigned long long v293 = (unsigned long long)(a0_5);
      const unsigned long long v294 = v293 * v4;
      const unsigned long long v295 = v294 >> (40ull & 63);
      const int v296 = (int)(v295);
      const int v297 = v296 * p6;
      const int v302 = v296 * p5;
      const int v303 = a0_5 - v302;
      const int v304 = v303 * p7;
      const int v315 = a1 + a0 * s2_0;
      const int v316 = a1 + a0_1 * s2_0;
      const int v317 = a1 + a0_2 * s2_0;
      const int v318 = a1 + a0_3 * s2_0;
      const int v319 = a1 + a0_4 * s2_0;
      const int v320 = a1 + a0_5 * s2_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_4_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_5_0 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v183 = v182 + r0;
        const int v184 = v183 - 1;
        const unsigned v185 = (unsigned)(v184);
        const int v186 = v185 < v12;
        const int v195 = v184 * s0_0;
        const int v201 = v200 + r0 * s1_0;
        const int v210 = v209 + r0;
        const int v211 = v210 - 1;
        const unsigned v212 = (unsigned)(v211);
        const int v213 = v212 < v12;
        const int v222 = v211 * s0_0;
        const int v232 = v231 + r0;
        const int v233 = v232 - 1;
        const unsigned v234 = (unsigned)(v233);
        const int v235 = v234 < v12;
        const int v244 = v233 * s0_0;
        const int v254 = v253 + r0;
        const int v255 = v254 - 1;
        const unsigned v256 = (unsigned)(v255);
        const int v257 = v256 < v12;
        const int v266 = v255 * s0_0;
        const int v276 = v275 + r0;
        const int v277 = v276 - 1;
        const unsigned v278 = (unsigned)(v277);
        const int v279 = v278 < v12;
        const int v288 = v277 * s0_0;
        const int v298 = v297 + r0;
        const int v299 = v298 - 1;
        const unsigned v300 = (unsigned)(v299);
        const int v301 = v300 < v12;
        const int v310 = v299 * s0_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v190 = v189 + r1;
          const int v191 = v190 - 1;
          const unsigned v192 = (unsigned)(v191);
          const int v193 = v192 < v20;
          const int v194 = v186 & v193;
          const int v196 = v195 + v191 * s0_1;
          const float *const v197 = v194 ? x0 + v196 : wk_zeros;
          const int v202 = v201 + r1 * s1_1;
          const int v217 = v216 + r1;
          const int v218 = v217 - 1;
          const unsigned v219 = (unsigned)(v218);
          const int v220 = v219 < v20;
          const int v221 = v213 & v220;
          const int v223 = v222 + v218 * s0_1;
          const float *const v224 = v221 ? x0 + v223 : wk_zeros;
          const int v239 = v238 + r1;
          const int v240 = v239 - 1;
          const unsigned v241 = (unsigned)(v240);
          const int v242 = v241 < v20;
          const int v243 = v235 & v242;
          const int v245 = v244 + v240 * s0_1;
          const float *const v246 = v243 ? x0 + v245 : wk_zeros;
          const int v261 = v260 + r1;
          const int v262 = v261 - 1;
          const unsigned v263 = (unsigned)(v262);
          const int v264 = v263 < v20;
          const int v265 = v257 & v264;
          const int v267 = v266 + v262 * s0_1;
          const float *const v268 = v265 ? x0 + v267 : wk_zeros;
          const int v283 = v282 + r1;
          const int v284 = v283 - 1;
          const unsigned v285 = (unsigned)(v284);
          const int v286 = v285 < v20;
          const int v287 = v279 & v286;
          const int v289 = v288 + v284 * s0_1;
          const float *const v290 = v287 ? x0 + v289 : wk_zeros;
          const int v305 = v304 + r1;
          const int v306 = v305 - 1;
          const unsigned v307 = (unsigned)(v306);
          const int v308 = v307 < v20;
          const int v309 = v301 & v308;
          const int v311 = v310 + v306 * s0_1;
          const float *const v312 = v309 ? x0 + v311 : wk_zeros;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v198 = v197[r2];
            const v128_t v199 = wasm_f32x4_splat(v198);
            const int v203 = v202 + r2 * 8;
            const v128_t v204 = wasm_v128_load(x1 + v203);
            const float v225 = v224[r2];
            const v128_t v226 = wasm_f32x4_splat(v225);
            const float v247 = v246[r2];
            const v128_t v248 = wasm_f32x4_splat(v247);
            const float v269 = v268[r2];
            const v128_t v270 = wasm_f32x4_splat(v269);
            const float v291 = v290[r2];
            const v128_t v292 = wasm_f32x4_splat(v291);
            const float v313 = v312[r2];
            const v128_t v314 = wasm_f32x4_splat(v313);
            acc0_0_0 = WK_MADD(v199, v204, acc0_0_0);
            acc0_1_0 = WK_MADD(v226, v204, acc0_1_0);
            acc0_2_0 = WK_MADD(v248, v204, acc0_2_0);
            acc0_3_0 = WK_MADD(v270, v204, acc0_3_0);
            acc0_4_0 = WK_MADD(v292, v204, acc0_4_0);
            acc0_5_0 = WK_MADD(v314, v204, acc0_5_0);
          }
        }
      }
      wasm_v128_store(y0 + v315, acc0_0_0);
      wasm_v128_store(y0 + v316, acc0_1_0);
      wasm_v128_store(y0 + v317, acc0_2_0);
      wasm_v128_store(y0 + v318, acc0_3_0);
      wasm_v128_store(y0 + v319, acc0_4_0);
      wasm_v128_store(y0 + v320, acc0_5_0);
    }
    for (; a0 < p0; a0 += 1) {
      const unsigned long long v321 = (unsigned long long)(a0);
      const unsigned long long v322 = v321 * v4;
      const unsigned long long v323 = v322 >> (40ull & 63);
      const int v324 = (int)(v323);
      const int v325 = v324 * p6;
      const int v330 = v324 * p5;
      const int v331 = a0 - v330;
      const int v332 = v331 * p7;
      const int v347 = a1 + a0 * s2_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v326 = v325 + r0;
        const int v327 = v326 - 1;
        const unsigned v328 = (unsigned)(v327);
        const int v329 = v328 < v12;
        const int v338 = v327 * s0_0;
        const int v343 = v200 + r0 * s1_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v333 = v332 + r1;
          const int v334 = v333 - 1;
          const unsigned v335 = (unsigned)(v334);
          const int v336 = v335 < v20;
          const int v337 = v329 & v336;
          const int v339 = v338 + v334 * s0_1;
          const float *const v340 = v337 ? x0 + v339 : wk_zeros;
          const int v344 = v343 + r1 * s1_1;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v341 = v340[r2];
            const v128_t v342 = wasm_f32x4_splat(v341);
            const int v345 = v344 + r2 * 8;
            const v128_t v346 = wasm_v128_load(x1 + v345);
            acc0_0_0 = WK_MADD(v342, v346, acc0_0_0);
          }
        }
      }
      wasm_v128_store(y0 + v347, acc0_0_0);
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
      const int v100 = a1 + a0 * s2_0;
      const int v101 = a1 + a0_1 * s2_0;
      const int v102 = a1 + a0_2 * s2_0;
      const int v103 = a1 + a0_3 * s2_0;
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
            const v128_t v33 = wasm_v128_load(x1 + v31 + 4);
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
      wasm_v128_store(y0 + v100, acc0_0_0);
      wasm_v128_store(y0 + v100 + 4, acc0_0_4);
      wasm_v128_store(y0 + v101, acc0_1_0);
      wasm_v128_store(y0 + v101 + 4, acc0_1_4);
      wasm_v128_store(y0 + v102, acc0_2_0);
      wasm_v128_store(y0 + v102 + 4, acc0_2_4);
      wasm_v128_store(y0 + v103, acc0_3_0);
      wasm_v128_store(y0 + v103 + 4, acc0_3_4);
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
      const int v131 = a1 + a0 * s2_0;
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
            const v128_t v130 = wasm_v128_load(x1 + v128 + 4);
            acc0_0_0 = WK_MADD(v125, v129, acc0_0_0);
            acc0_0_4 = WK_MADD(v125, v130, acc0_0_4);
          }
        }
      }
      wasm_v128_store(y0 + v131, acc0_0_0);
      wasm_v128_store(y0 + v131 + 4, acc0_0_4);
    }
  }
  for (; a1 < part_to; a1 += 4) {
    const int v154 = (a1 >> 3) * s1_3 + (a1 & 7);
    int a0 = 0;
    for (; 3 < p0 && a0 + 1 < p0; a0 += 4) {
      const int a0_1 = a0 + 1 < p0 - 1 ? a0 + 1 : p0 - 1;
      const int a0_2 = a0 + 2 < p0 - 1 ? a0 + 2 : p0 - 1;
      const int a0_3 = a0 + 3 < p0 - 1 ? a0 + 3 : p0 - 1;
      const unsigned long long v132 = (unsigned long long)(a0);
      const unsigned long long v133 = v132 * v4;
      const unsigned long long v134 = v133 >> (40ull & 63);
      const int v135 = (int)(v134);
      const int v136 = v135 * p6;
      const int v141 = v135 * p5;
      const int v142 = a0 - v141;
      const int v143 = v142 * p7;
      const unsigned long long v159 = (unsigned long long)(a0_1);
      const unsigned long long v160 = v159 * v4;
      const unsigned long long v161 = v160 >> (40ull & 63);
      const int v162 = (int)(v161);
      const int v163 = v162 * p6;
      const int v168 = v162 * p5;
      const int v169 = a0_1 - v168;
      const int v170 = v169 * p7;
      const unsigned long long v181 = (unsigned long long)(a0_2);
      const unsigned long long v182 = v181 * v4;
      const unsigned long long v183 = v182 >> (40ull & 63);
      const int v184 = (int)(v183);
      const int v185 = v184 * p6;
      const int v190 = v184 * p5;
      const int v191 = a0_2 - v190;
      const int v192 = v191 * p7;
      const unsigned long long v203 = (unsigned long long)(a0_3);
      const unsigned long long v204 = v203 * v4;
      const unsigned long long v205 = v204 >> (40ull & 63);
      const int v206 = (int)(v205);
      const int v207 = v206 * p6;
      const int v212 = v206 * p5;
      const int v213 = a0_3 - v212;
      const int v214 = v213 * p7;
      const int v225 = a1 + a0 * s2_0;
      const int v226 = a1 + a0_1 * s2_0;
      const int v227 = a1 + a0_2 * s2_0;
      const int v228 = a1 + a0_3 * s2_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_0 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v137 = v136 + r0;
        const int v138 = v137 - 1;
        const unsigned v139 = (unsigned)(v138);
        const int v140 = v139 < v12;
        const int v149 = v138 * s0_0;
        const int v155 = v154 + r0 * s1_0;
        const int v164 = v163 + r0;
        const int v165 = v164 - 1;
        const unsigned v166 = (unsigned)(v165);
        const int v167 = v166 < v12;
        const int v176 = v165 * s0_0;
        const int v186 = v185 + r0;
        const int v187 = v186 - 1;
        const unsigned v188 = (unsigned)(v187);
        const int v189 = v188 < v12;
        const int v198 = v187 * s0_0;
        const int v208 = v207 + r0;
        const int v209 = v208 - 1;
        const unsigned v210 = (unsigned)(v209);
        const int v211 = v210 < v12;
        const int v220 = v209 * s0_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v144 = v143 + r1;
          const int v145 = v144 - 1;
          const unsigned v146 = (unsigned)(v145);
          const int v147 = v146 < v20;
          const int v148 = v140 & v147;
          const int v150 = v149 + v145 * s0_1;
          const float *const v151 = v148 ? x0 + v150 : wk_zeros;
          const int v156 = v155 + r1 * s1_1;
          const int v171 = v170 + r1;
          const int v172 = v171 - 1;
          const unsigned v173 = (unsigned)(v172);
          const int v174 = v173 < v20;
          const int v175 = v167 & v174;
          const int v177 = v176 + v172 * s0_1;
          const float *const v178 = v175 ? x0 + v177 : wk_zeros;
          const int v193 = v192 + r1;
          const int v194 = v193 - 1;
          const unsigned v195 = (unsigned)(v194);
          const int v196 = v195 < v20;
          const int v197 = v189 & v196;
          const int v199 = v198 + v194 * s0_1;
          const float *const v200 = v197 ? x0 + v199 : wk_zeros;
          const int v215 = v214 + r1;
          const int v216 = v215 - 1;
          const unsigned v217 = (unsigned)(v216);
          const int v218 = v217 < v20;
          const int v219 = v211 & v218;
          const int v221 = v220 + v216 * s0_1;
          const float *const v222 = v219 ? x0 + v221 : wk_zeros;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v152 = v151[r2];
            const v128_t v153 = wasm_f32x4_splat(v152);
            const int v157 = v156 + r2 * 8;
            const v128_t v158 = wasm_v128_load(x1 + v157);
            const float v179 = v178[r2];
            const v128_t v180 = wasm_f32x4_splat(v179);
            const float v201 = v200[r2];
            const v128_t v202 = wasm_f32x4_splat(v201);
            const float v223 = v222[r2];
            const v128_t v224 = wasm_f32x4_splat(v223);
            acc0_0_0 = WK_MADD(v153, v158, acc0_0_0);
            acc0_1_0 = WK_MADD(v180, v158, acc0_1_0);
            acc0_2_0 = WK_MADD(v202, v158, acc0_2_0);
            acc0_3_0 = WK_MADD(v224, v158, acc0_3_0);
          }
        }
      }
      wasm_v128_store(y0 + v225, acc0_0_0);
      wasm_v128_store(y0 + v226, acc0_1_0);
      wasm_v128_store(y0 + v227, acc0_2_0);
      wasm_v128_store(y0 + v228, acc0_3_0);
    }
    for (; a0 < p0; a0 += 1) {
      const unsigned long long v229 = (unsigned long long)(a0);
      const unsigned long long v230 = v229 * v4;
      const unsigned long long v231 = v230 >> (40ull & 63);
      const int v232 = (int)(v231);
      const int v233 = v232 * p6;
      const int v238 = v232 * p5;
      const int v239 = a0 - v238;
      const int v240 = v239 * p7;
      const int v255 = a1 + a0 * s2_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v234 = v233 + r0;
        const int v235 = v234 - 1;
        const unsigned v236 = (unsigned)(v235);
        const int v237 = v236 < v12;
        const int v246 = v235 * s0_0;
        const int v251 = v154 + r0 * s1_0;
        for (int r1 = 0; r1 < p3; r1++) {
          const int v241 = v240 + r1;
          const int v242 = v241 - 1;
          const unsigned v243 = (unsigned)(v242);
          const int v244 = v243 < v20;
          const int v245 = v237 & v244;
          const int v247 = v246 + v242 * s0_1;
          const float *const v248 = v245 ? x0 + v247 : wk_zeros;
          const int v252 = v251 + r1 * s1_1;
          for (int r2 = 0; r2 < p4; r2++) {
            const float v249 = v248[r2];
            const v128_t v250 = wasm_f32x4_splat(v249);
            const int v253 = v252 + r2 * 8;
            const v128_t v254 = wasm_v128_load(x1 + v253);
            acc0_0_0 = WK_MADD(v250, v254, acc0_0_0);
          }
        }
      }
      wasm_v128_store(y0 + v255, acc0_0_0);
    }
  }
  #endif
}
