#include <wasm_simd128.h>

/* An address plus a constant number of elements. With -fwrapv, address arithmetic may wrap, so the
   compiler cannot fold the constant into the offset of a load; a member of a structure does not
   wrap. */
#define WK_BEHIND(p, elements) (((struct { float before[elements]; float at[4]; } *)(p))->at)

static inline v128_t wk_load_part(const void *at, int count) {
  const float *p = at;
  if (count >= 4) return wasm_v128_load(p);
  v128_t v = wasm_v128_load32_zero(p);
  if (count > 1) v = wasm_v128_load32_lane(p + 1, v, 1);
  if (count > 2) v = wasm_v128_load32_lane(p + 2, v, 2);
  return v;
}

static inline void wk_store_part(void *at, v128_t v, int count) {
  float *p = at;
  if (count >= 4) { wasm_v128_store(p, v); return; }
  wasm_v128_store32_lane(p, v, 0);
  if (count > 1) wasm_v128_store32_lane(p + 1, v, 1);
  if (count > 2) wasm_v128_store32_lane(p + 2, v, 2);
}

void k_c8cae6b77b92e7f1(const float *restrict x0, float *restrict y0, const int p0) {
  const v128_t v2 = wasm_f32x4_splat(0x0.0p+0f);
  int a0 = 0;
  for (; a0 + 15 < p0; a0 += 16) {
    const v128_t v1 = wasm_v128_load(x0 + a0);
    const v128_t v3 = wasm_f32x4_lt(v1, v2);
    const v128_t v4 = wasm_f32x4_pmax(v1, v2);
    const v128_t v5 = wasm_v128_load(WK_BEHIND(x0 + a0, 4));
    const v128_t v6 = wasm_f32x4_lt(v5, v2);
    const v128_t v7 = wasm_f32x4_pmax(v5, v2);
    const v128_t v8 = wasm_v128_load(WK_BEHIND(x0 + a0, 8));
    const v128_t v9 = wasm_f32x4_lt(v8, v2);
    const v128_t v10 = wasm_f32x4_pmax(v8, v2);
    const v128_t v11 = wasm_v128_load(WK_BEHIND(x0 + a0, 12));
    const v128_t v12 = wasm_f32x4_lt(v11, v2);
    const v128_t v13 = wasm_f32x4_pmax(v11, v2);
    wasm_v128_store(y0 + a0, v4);
    wasm_v128_store(WK_BEHIND(y0 + a0, 4), v7);
    wasm_v128_store(WK_BEHIND(y0 + a0, 8), v10);
    wasm_v128_store(WK_BEHIND(y0 + a0, 12), v13);
  }
  for (; a0 < p0; a0 += 4) {
    const int left = p0 - a0;
    const v128_t v14 = wk_load_part(x0 + a0, left);
    const v128_t v15 = wasm_f32x4_lt(v14, v2);
    const v128_t v16 = wasm_f32x4_pmax(v14, v2);
    wk_store_part(y0 + a0, v16, left);
  }
}
