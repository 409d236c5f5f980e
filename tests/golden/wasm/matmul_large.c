#include <wasm_simd128.h>

#ifdef RELAXED
#define WK_MADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define WK_MADD(a, b, c) wasm_f32x4_add(c, wasm_f32x4_mul(a, b))
#endif

void k_2bdff9bc7c05f91e(const float *restrict x0, const float *restrict x1, float *restrict y0, const int p0, const int p1, const int p2, const int s0_0, const int s1_0, const int s2_0) {
  int a1 = 0;
  for (; a1 + 15 < p1; a1 += 16) {
    int a0 = 0;
    for (; a0 + 1 < p0; a0 += 2) {
      const int v1 = a0 * s0_0;
      const int v10 = (a0 + 1) * s0_0;
      const int v14 = a1 + a0 * s2_0;
      const int v15 = a1 + (a0 + 1) * s2_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_8 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_12 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_8 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_12 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v2 = v1 + r0;
        const float v3 = x0[v2];
        const v128_t v4 = wasm_f32x4_splat(v3);
        const int v5 = a1 + r0 * s1_0;
        const v128_t v6 = wasm_v128_load(x1 + v5);
        const v128_t v7 = wasm_v128_load(x1 + v5 + 4);
        const v128_t v8 = wasm_v128_load(x1 + v5 + 8);
        const v128_t v9 = wasm_v128_load(x1 + v5 + 12);
        const int v11 = v10 + r0;
        const float v12 = x0[v11];
        const v128_t v13 = wasm_f32x4_splat(v12);
        acc0_0_0 = WK_MADD(v4, v6, acc0_0_0);
        acc0_0_4 = WK_MADD(v4, v7, acc0_0_4);
        acc0_0_8 = WK_MADD(v4, v8, acc0_0_8);
        acc0_0_12 = WK_MADD(v4, v9, acc0_0_12);
        acc0_1_0 = WK_MADD(v13, v6, acc0_1_0);
        acc0_1_4 = WK_MADD(v13, v7, acc0_1_4);
        acc0_1_8 = WK_MADD(v13, v8, acc0_1_8);
        acc0_1_12 = WK_MADD(v13, v9, acc0_1_12);
      }
      wasm_v128_store(y0 + v14, acc0_0_0);
      wasm_v128_store(y0 + v14 + 4, acc0_0_4);
      wasm_v128_store(y0 + v14 + 8, acc0_0_8);
      wasm_v128_store(y0 + v14 + 12, acc0_0_12);
      wasm_v128_store(y0 + v15, acc0_1_0);
      wasm_v128_store(y0 + v15 + 4, acc0_1_4);
      wasm_v128_store(y0 + v15 + 8, acc0_1_8);
      wasm_v128_store(y0 + v15 + 12, acc0_1_12);
    }
    for (; a0 < p0; a0 += 1) {
      const int v16 = a0 * s0_0;
      const int v25 = a1 + a0 * s2_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_8 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_0_12 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v17 = v16 + r0;
        const float v18 = x0[v17];
        const v128_t v19 = wasm_f32x4_splat(v18);
        const int v20 = a1 + r0 * s1_0;
        const v128_t v21 = wasm_v128_load(x1 + v20);
        const v128_t v22 = wasm_v128_load(x1 + v20 + 4);
        const v128_t v23 = wasm_v128_load(x1 + v20 + 8);
        const v128_t v24 = wasm_v128_load(x1 + v20 + 12);
        acc0_0_0 = WK_MADD(v19, v21, acc0_0_0);
        acc0_0_4 = WK_MADD(v19, v22, acc0_0_4);
        acc0_0_8 = WK_MADD(v19, v23, acc0_0_8);
        acc0_0_12 = WK_MADD(v19, v24, acc0_0_12);
      }
      wasm_v128_store(y0 + v25, acc0_0_0);
      wasm_v128_store(y0 + v25 + 4, acc0_0_4);
      wasm_v128_store(y0 + v25 + 8, acc0_0_8);
      wasm_v128_store(y0 + v25 + 12, acc0_0_12);
    }
  }
  for (; a1 < p1; a1 += 4) {
    int a0 = 0;
    for (; a0 + 1 < p0; a0 += 2) {
      const int v26 = a0 * s0_0;
      const int v32 = (a0 + 1) * s0_0;
      const int v36 = a1 + a0 * s2_0;
      const int v37 = a1 + (a0 + 1) * s2_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      v128_t acc0_1_0 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v27 = v26 + r0;
        const float v28 = x0[v27];
        const v128_t v29 = wasm_f32x4_splat(v28);
        const int v30 = a1 + r0 * s1_0;
        const v128_t v31 = wasm_v128_load(x1 + v30);
        const int v33 = v32 + r0;
        const float v34 = x0[v33];
        const v128_t v35 = wasm_f32x4_splat(v34);
        acc0_0_0 = WK_MADD(v29, v31, acc0_0_0);
        acc0_1_0 = WK_MADD(v35, v31, acc0_1_0);
      }
      wasm_v128_store(y0 + v36, acc0_0_0);
      wasm_v128_store(y0 + v37, acc0_1_0);
    }
    for (; a0 < p0; a0 += 1) {
      const int v38 = a0 * s0_0;
      const int v44 = a1 + a0 * s2_0;
      v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
      for (int r0 = 0; r0 < p2; r0++) {
        const int v39 = v38 + r0;
        const float v40 = x0[v39];
        const v128_t v41 = wasm_f32x4_splat(v40);
        const int v42 = a1 + r0 * s1_0;
        const v128_t v43 = wasm_v128_load(x1 + v42);
        acc0_0_0 = WK_MADD(v41, v43, acc0_0_0);
      }
      wasm_v128_store(y0 + v44, acc0_0_0);
    }
  }
}
