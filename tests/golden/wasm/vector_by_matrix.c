#include <wasm_simd128.h>

void k_3c5bc97049e48718(const float *restrict x0, float *restrict y0, const int p0, const int p1, const int p2, const int p3, const int s0_0, const int s1_0, const int s1_1) {
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

/* An address plus a constant number of elements. With -fwrapv, address arithmetic may wrap, so the
   compiler cannot fold the constant into the offset of a load; a member of a structure does not
   wrap. */
#define WK_BEHIND(p, elements) (((struct { float before[elements]; float at[4]; } *)(p))->at)

void k_90b2fb7f9fda9fa3(const float *restrict x0, const float *restrict x1, float *restrict y0, const int p0, const int p1, const int s1_1, const int part_from, const int part_to) {
  int a0 = part_from;
  for (; a0 + 7 < part_to; a0 += 8) {
    const int v3 = (a0 >> 3) * s1_1 + (a0 & 7);
    v128_t acc0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
    v128_t acc0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
    for (int r0 = 0; r0 < p1; r0++) {
      const float v1 = x0[r0];
      const v128_t v2 = wasm_f32x4_splat(v1);
      const int v4 = v3 + r0 * 8;
      const v128_t v5 = wasm_v128_load(x1 + v4);
      const v128_t v6 = wasm_v128_load(WK_BEHIND(x1 + v4, 4));
      acc0_0_0 = WK_MADD(v2, v5, acc0_0_0);
      acc0_0_4 = WK_MADD(v2, v6, acc0_0_4);
    }
    wasm_v128_store(y0 + a0, acc0_0_0);
    wasm_v128_store(WK_BEHIND(y0 + a0, 4), acc0_0_4);
  }
}
