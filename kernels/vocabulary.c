#ifdef RELAXED
#define WK_MADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define WK_MADD(a, b, c) wasm_f32x4_add(c, wasm_f32x4_mul(a, b))
#endif

static inline float wk_max(float a, float b) { return a > b || a != a ? a : b; }

static inline float wk_min(float a, float b) { return a < b || a != a ? a : b; }

static inline v128_t wk_max4(v128_t a, v128_t b) { return wasm_v128_bitselect(b, wasm_f32x4_pmax(a, b), wasm_f32x4_ne(b, b)); }

static inline v128_t wk_min4(v128_t a, v128_t b) { return wasm_v128_bitselect(b, wasm_f32x4_pmin(a, b), wasm_f32x4_ne(b, b)); }

static inline float wk_sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }

static inline v128_t wk_sign4(v128_t x) {
  const v128_t zero = wasm_f32x4_splat(0), one = wasm_f32x4_splat(1);
  return wasm_v128_bitselect(one, wasm_v128_bitselect(wasm_f32x4_neg(one), x, wasm_f32x4_lt(x, zero)), wasm_f32x4_gt(x, zero));
}

static inline int wk_bits(float x) {
  union { float f; int i; } u = {x};
  return u.i;
}

static inline float wk_float(int x) {
  union { int i; float f; } u = {x};
  return u.f;
}

static inline int wk_idiv(int a, int b) { return b == 0 ? 0 : b == -1 ? -a : a / b; }

static inline int wk_irem(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }

static inline unsigned wk_udiv(unsigned a, unsigned b) { return b ? a / b : 0; }

static inline unsigned wk_urem(unsigned a, unsigned b) { return b ? a % b : 0; }

static inline int wk_floordiv(int a, int b) {
  const int q = wk_idiv(a, b), r = wk_irem(a, b);
  return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}

static inline int wk_floormod(int a, int b) {
  const int r = wk_irem(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline double wk_log2(double x) {
  union { double f; long long i; } u = {x};
  int e = (int)(u.i >> 52) - 1023;
  u.i = (u.i & 0xFFFFFFFFFFFFFll) | 0x3FF0000000000000ll;
  double m = u.f;
  if (m > 1.4142135623730951) { m *= 0.5; e += 1; }
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = 1.0 / 19;
  for (int n = 17; n > 0; n -= 2) p = p * z + 1.0 / n;
  return e + 2 * s * p * 1.4426950408889634;
}

static inline double wk_exp2(double x) {
  if (x > 1000) return __builtin_inf();
  if (x < -1000) return 0;
  const double n = __builtin_rint(x), r = (x - n) * 0.6931471805599453;
  double p = 1;
  for (int k = 12; k > 0; k--) p = p * r / k + 1;
  union { long long i; double f; } u = {((long long)n + 1023) << 52};
  return p * u.f;
}

static inline float wk_pow(float x, float y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  const float size = __builtin_fabsf(x), whole = __builtin_truncf(y);
  const int odd = whole == y && __builtin_fabsf(y) < 16777216.0f && ((int)y & 1);
  if (x < 0 && whole != y && size != __builtin_inff() && __builtin_fabsf(y) != __builtin_inff()) return __builtin_nanf("");
  double r;
  if (size == 1) r = 1;
  else if (__builtin_fabsf(y) == __builtin_inff()) r = (size > 1) == (y > 0) ? __builtin_inf() : 0;
  else if (size == 0 || size == __builtin_inff()) r = (size == 0) == (y > 0) ? 0 : __builtin_inf();
  else r = wk_exp2(y * wk_log2(size));
  return (float)(odd && (x < 0 || (x == 0 && 1 / x < 0)) ? -r : r);
}

static inline float wk_half(unsigned short h) {
  const int sign = (h & 0x8000) << 16, rest = (h & 0x7FFF) << 13;
  const float value = wk_float(rest) * 0x1p112f;
  return wk_float(wk_bits((h & 0x7C00) == 0x7C00 ? wk_float(rest | 0x7F800000) : value) | sign);
}

static inline unsigned short wk_to_half(float x) {
  const int sign = (wk_bits(x) >> 16) & 0x8000;
  const float size = __builtin_fabsf(x);
  if (size != size) return sign | 0x7E00;
  if (size >= 65520.0f) return sign | 0x7C00;
  if (size < 0x1p-14f) return sign | (int)__builtin_rintf(size * 0x1p24f);
  const int bits = wk_bits(size) - (112 << 23);
  return sign | ((bits + 0xFFF + ((bits >> 13) & 1)) >> 13);
}

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

static inline int wk_greatest(int a, int b) { return a > b ? a : b; }

static inline int wk_least(int a, int b) { return a < b ? a : b; }
