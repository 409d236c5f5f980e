#include <wasm_simd128.h>

/* An address plus a constant number of elements. With -fwrapv, address arithmetic may wrap, so the
   compiler cannot fold the constant into the offset of a load; a member of a structure does not
   wrap. */
#define WK_BEHIND(p, elements) (((struct { float before[elements]; float at[4]; } *)(p))->at)

void k_fc0de92f0247dfc6(const float *restrict x0, float *restrict y0, const int p0, const int p1, const int s0_0, const int part_from, const int part_to) {
  int a0 = part_from;
  for (; a0 < part_to; a0 += 1) {
    const int v1 = a0 * s0_0;
    float acc0_0_0 = 0x0.0p+0f;
    v128_t lane0_0_0 = wasm_f32x4_splat(0x0.0p+0f);
    v128_t lane0_0_4 = wasm_f32x4_splat(0x0.0p+0f);
    v128_t lane0_0_8 = wasm_f32x4_splat(0x0.0p+0f);
    v128_t lane0_0_12 = wasm_f32x4_splat(0x0.0p+0f);
    int r0 = 0;
    for (; r0 + 15 < p1; r0 += 16) {
      const int v2 = v1 + r0;
      const v128_t v3 = wasm_v128_load(x0 + v2);
      const v128_t v4 = wasm_v128_load(WK_BEHIND(x0 + v2, 4));
      const v128_t v5 = wasm_v128_load(WK_BEHIND(x0 + v2, 8));
      const v128_t v6 = wasm_v128_load(WK_BEHIND(x0 + v2, 12));
      lane0_0_0 = wasm_f32x4_add(lane0_0_0, v3);
      lane0_0_4 = wasm_f32x4_add(lane0_0_4, v4);
      lane0_0_8 = wasm_f32x4_add(lane0_0_8, v5);
      lane0_0_12 = wasm_f32x4_add(lane0_0_12, v6);
    }
    for (; r0 + 3 < p1; r0 += 4) {
      const int v7 = v1 + r0;
      const v128_t v8 = wasm_v128_load(x0 + v7);
      lane0_0_0 = wasm_f32x4_add(lane0_0_0, v8);
    }
    for (; r0 < p1; r0 += 1) {
      const int v9 = v1 + r0;
      const float v10 = x0[v9];
      acc0_0_0 += v10;
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
