#include <wasm_simd128.h>

void k_dc0b76778b439a68(const float *restrict x0, const signed char *restrict x1, float *restrict y0, const int p0, const int p1, const int p2, const int p3, const int s1_0, const int s2_0, const int s2_1) {
  for (int a0 = 0; a0 < p0; a0++) {
    const int v1 = a0 * s1_0;
    const int v9 = a0 * s2_1;
    for (int a1 = 0; a1 < p1; a1++) {
      const int v2 = v1 + a1;
      const int v3 = x1[v2];
      const float v4 = (float)(v3);
      const float v5 = x0[a1];
      const float v6 = v4 * v5;
      const int v7 = a1 >> (p2 & 31);
      const int v8 = a1 & p3;
      const int v10 = v9 + v7 * s2_0 + v8;
      y0[v10] = v6;
    }
  }
}

#include <wasm_simd128.h>

#ifdef RELAXED
#define WK_MADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define WK_MADD(a, b, c) wasm_f32x4_add(c, wasm_f32x4_mul(a, b))
#endif

static inline void wk_store_part(void *at, v128_t v, int count) {
  float *p = at;
  if (count >= 4) { wasm_v128_store(p, v); return; }
  wasm_v128_store32_lane(p, v, 0);
  if (count > 1) wasm_v128_store32_lane(p + 1, v, 1);
  if (count > 2) wasm_v128_store32_lane(p + 2, v, 2);
}

void k_929ca76a18b88903(const float *restrict x0, const float *restrict x1, float *restrict y0, const int p0, const int p1, const int s1_1, const int part_from, const int part_to) {
  int a0 = part_from;
  for (; a0 + 3 < part_to; a0 += 4) {
    const int v3 = (a0 >> 2) * s1_1 + (a0 & 3);
    v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
    for (int r0 = 0; r0 < p1; r0++) {
      const float v1 = x0[r0];
      const v128_t v2 = wasm_f32x4_splat(v1);
      const int v4 = v3 + r0 * 4;
      const v128_t v5 = wasm_v128_load(x1 + v4);
      acc0_0_0 = WK_MADD(v2, v5, acc0_0_0);
    }
    wasm_v128_store(y0 + a0, acc0_0_0);
  }
  for (; a0 < part_to; a0 += 4) {
    const int left = p0 - a0;
    const int v8 = (a0 >> 2) * s1_1 + (a0 & 3);
    v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
    for (int r0 = 0; r0 < p1; r0++) {
      const float v6 = x0[r0];
      const v128_t v7 = wasm_f32x4_splat(v6);
      const int v9 = v8 + r0 * 4;
      const v128_t v10 = wasm_v128_load(x1 + v9);
      acc0_0_0 = WK_MADD(v7, v10, acc0_0_0);
    }
    wk_store_part(y0 + a0, acc0_0_0, left);
  }
}
