#include <wasm_simd128.h>

#define STEP(n) a##n = wasm_f32x4_relaxed_madd(a##n, x, y);

__attribute__((export_name("peak"))) float peak(int count) {
  v128_t x = wasm_f32x4_splat(0.999f), y = wasm_f32x4_splat(0.001f);
  v128_t a0 = x, a1 = y, a2 = x, a3 = y, a4 = x, a5 = y, a6 = x, a7 = y, a8 = x, a9 = y;
  for (int i = 0; i < count; i++) { STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8) STEP(9) }
  v128_t s = wasm_f32x4_add(wasm_f32x4_add(wasm_f32x4_add(a0, a1), wasm_f32x4_add(a2, a3)), wasm_f32x4_add(wasm_f32x4_add(a4, a5), wasm_f32x4_add(a6, a7)));
  s = wasm_f32x4_add(s, wasm_f32x4_add(a8, a9));
  return wasm_f32x4_extract_lane(s, 0) + wasm_f32x4_extract_lane(s, 1) + wasm_f32x4_extract_lane(s, 2) + wasm_f32x4_extract_lane(s, 3);
}
