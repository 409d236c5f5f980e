#include <wasm_simd128.h>

#ifdef RELAXED
#define WK_MADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define WK_MADD(a, b, c) wasm_f32x4_add(c, wasm_f32x4_mul(a, b))
#endif

/* An address some elements behind another. Where integers wrap, so do sums of addresses, and a load could not have a part of one as its offset;
   members of a structure lie behind its beginning. */
#define WK_BEHIND(p, elements) (((struct { float before[elements]; float at[4]; } *)(p))->at)

void k_46098cb0e25e3ffa(const float *restrict x0, const float *restrict x1, float *restrict y0, const int p0, const int p1, const int p2, const int s0_0, const int s1_0, const int s2_0, const int part_from, const int part_to) {
  #ifdef RELAXED
  int a1 = part_from;
  for (; a1 + 7 < part_to; a1 += 8) {
    int a0 = 0;
    for (; 5 < p0 && a0 + 1 < p0; a0 += 6) {
      const int a0_1 = a0 + 1 < p0 - 1 ? a0 + 1 : p0 - 1;
      const int a0_2 = a0 + 2 < p0 - 1 ? a0 + 2 : p0 - 1;
      const int a0_3 = a0 + 3 < p0 - 1 ? a0 + 3 : p0 - 1;
      const int a0_4 = a0 + 4 < p0 - 1 ? a0 + 4 : p0 - 1;
      const int a0_5 = a0 + 5 < p0 - 1 ? a0 + 5 : p0 - 1;
      const int v1 = a0 * s0_0;
      const int v8 = a0_1 * s0_0;
      const int v12 = a0_2 * s0_0;
      const int v16 = a0_3 * s0_0;
      const int v20 = a0_4 * s0_0;
      const int v24 = a0_5 * s0_0;
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
        const int v2 = v1 + r0;
        const float v3 = x0[v2];
        const v128_t v4 = wasm_f32x4_splat(v3);
        const int v5 = a1 + r0 * s1_0;
        const v128_t v6 = wasm_v128_load(x1 + v5);
        const v128_t v7 = wasm_v128_load(WK_BEHIND(x1 + v5, 4));
        const int v9 = v8 + r0;
        const float v10 = x0[v9];
        const v128_t v11 = wasm_f32x4_splat(v10);
        const int v13 = v12 + r0;
        const float v14 = x0[v13];
        const v128_t v15 = wasm_f32x4_splat(v14);
        const int v17 = v16 + r0;
        const float v18 = x0[v17];
        const v128_t v19 = wasm_f32x4_splat(v18);
        const int v21 = v20 + r0;
        const float v22 = x0[v21];
        const v128_t v23 = wasm_f32x4_splat(v22);
        const int v25 = v24 + r0;
        const float v26 = x0[v25];
        const v128_t v27 = wasm_f32x4_splat(v26);
        acc0_0_0 = WK_MADD(v4, v6, acc0_0_0);
        acc0_0_4 = WK_MADD(v4, v7, acc0_0_4);
        acc0_1_0 = WK_MADD(v11, v6, acc0_1_0);
        acc0_1_4 = WK_MADD(v11, v7, acc0_1_4);
        acc0_2_0 = WK_MADD(v15, v6, acc0_2_0);
        acc0_2_4 = WK_MADD(v15, v7, acc0_2_4);
        acc0_3_0 = WK_MADD(v19, v6, acc0_3_0);
        acc0_3_4 = WK_MADD(v19, v7, acc0_3_4);
        acc0_4_0 = WK_MADD(v23, v6, acc0_4_0);
        acc0_4_4 = WK_MADD(v23, v7, acc0_4_4);
        acc0_5_0 = WK_MADD(v27, v6, acc0_5_0);
        acc0_5_4 = WK_MADD(v27, v7, acc0_5_4);
      }
      {
        const int v28 = a1 + a0 * s2_0;
        const int v29 = a1 + a0_1 * s2_0;
        const int v30 = a1 + a0_2 * s2_0;
        const int v31 = a1 + a0_3 * s2_0;
        const int v32 = a1 + a0_4 * s2_0;
        const int v33 = a1 + a0_5 * s2_0;
        wasm_v128_store(y0 + v28, acc0_0_0);
        wasm_v128_store(WK_BEHIND(y0 + v28, 4), acc0_0_4);
        wasm_v128_store(y0 + v29, acc0_1_0);
        wasm_v128_store(WK_BEHIND(y0 + v29, 4), acc0_1_4);
        wasm_v128_store(y0 + v30, acc0_2_0);
        wasm_v128_store(WK_BEHIND(y0 + v30, 4), acc0_2_4);
        wasm_v128_store(y0 + v31, acc0_3_0);
        wasm_v128_store(WK_BEHIND(y0 + v31, 4), acc0_3_4);
        wasm_v128_store(y0 + v32, acc0_4_0);
        wasm_v128_store(WK_BEHIND(y0 + v32, 4), acc0_4_4);
        wasm_v128_store(y0 + v33, acc0_5_0);
        wasm_v128_store(WK_BEHIND(y0 + v33, 4), acc0_5_4);
      }
    }
    for (; a0 < p0; a0 += 1) {
      const int v34 = a0 * s0_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v35 = v34 + r0;
        const float v36 = x0[v35];
        const v128_t v37 = wasm_f32x4_splat(v36);
        const int v38 = a1 + r0 * s1_0;
        const v128_t v39 = wasm_v128_load(x1 + v38);
        const v128_t v40 = wasm_v128_load(WK_BEHIND(x1 + v38, 4));
        acc0_0_0 = WK_MADD(v37, v39, acc0_0_0);
        acc0_0_4 = WK_MADD(v37, v40, acc0_0_4);
      }
      {
        const int v41 = a1 + a0 * s2_0;
        wasm_v128_store(y0 + v41, acc0_0_0);
        wasm_v128_store(WK_BEHIND(y0 + v41, 4), acc0_0_4);
      }
    }
  }
  #else
  int a1 = part_from;
  for (; a1 + 7 < part_to; a1 += 8) {
    int a0 = 0;
    for (; 3 < p0 && a0 + 1 < p0; a0 += 4) {
      const int a0_1 = a0 + 1 < p0 - 1 ? a0 + 1 : p0 - 1;
      const int a0_2 = a0 + 2 < p0 - 1 ? a0 + 2 : p0 - 1;
      const int a0_3 = a0 + 3 < p0 - 1 ? a0 + 3 : p0 - 1;
      const int v1 = a0 * s0_0;
      const int v8 = a0_1 * s0_0;
      const int v12 = a0_2 * s0_0;
      const int v16 = a0_3 * s0_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_2_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_3_4 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v2 = v1 + r0;
        const float v3 = x0[v2];
        const v128_t v4 = wasm_f32x4_splat(v3);
        const int v5 = a1 + r0 * s1_0;
        const v128_t v6 = wasm_v128_load(x1 + v5);
        const v128_t v7 = wasm_v128_load(WK_BEHIND(x1 + v5, 4));
        const int v9 = v8 + r0;
        const float v10 = x0[v9];
        const v128_t v11 = wasm_f32x4_splat(v10);
        const int v13 = v12 + r0;
        const float v14 = x0[v13];
        const v128_t v15 = wasm_f32x4_splat(v14);
        const int v17 = v16 + r0;
        const float v18 = x0[v17];
        const v128_t v19 = wasm_f32x4_splat(v18);
        acc0_0_0 = WK_MADD(v4, v6, acc0_0_0);
        acc0_0_4 = WK_MADD(v4, v7, acc0_0_4);
        acc0_1_0 = WK_MADD(v11, v6, acc0_1_0);
        acc0_1_4 = WK_MADD(v11, v7, acc0_1_4);
        acc0_2_0 = WK_MADD(v15, v6, acc0_2_0);
        acc0_2_4 = WK_MADD(v15, v7, acc0_2_4);
        acc0_3_0 = WK_MADD(v19, v6, acc0_3_0);
        acc0_3_4 = WK_MADD(v19, v7, acc0_3_4);
      }
      {
        const int v20 = a1 + a0 * s2_0;
        const int v21 = a1 + a0_1 * s2_0;
        const int v22 = a1 + a0_2 * s2_0;
        const int v23 = a1 + a0_3 * s2_0;
        wasm_v128_store(y0 + v20, acc0_0_0);
        wasm_v128_store(WK_BEHIND(y0 + v20, 4), acc0_0_4);
        wasm_v128_store(y0 + v21, acc0_1_0);
        wasm_v128_store(WK_BEHIND(y0 + v21, 4), acc0_1_4);
        wasm_v128_store(y0 + v22, acc0_2_0);
        wasm_v128_store(WK_BEHIND(y0 + v22, 4), acc0_2_4);
        wasm_v128_store(y0 + v23, acc0_3_0);
        wasm_v128_store(WK_BEHIND(y0 + v23, 4), acc0_3_4);
      }
    }
    for (; a0 < p0; a0 += 1) {
      const int v24 = a0 * s0_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v25 = v24 + r0;
        const float v26 = x0[v25];
        const v128_t v27 = wasm_f32x4_splat(v26);
        const int v28 = a1 + r0 * s1_0;
        const v128_t v29 = wasm_v128_load(x1 + v28);
        const v128_t v30 = wasm_v128_load(WK_BEHIND(x1 + v28, 4));
        acc0_0_0 = WK_MADD(v27, v29, acc0_0_0);
        acc0_0_4 = WK_MADD(v27, v30, acc0_0_4);
      }
      {
        const int v31 = a1 + a0 * s2_0;
        wasm_v128_store(y0 + v31, acc0_0_0);
        wasm_v128_store(WK_BEHIND(y0 + v31, 4), acc0_0_4);
      }
    }
  }
  #endif
}
