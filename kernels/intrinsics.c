#ifdef RELAXED
#define WK_MADD(a, b, c) wasm_f32x4_relaxed_madd(a, b, c)
#else
#define WK_MADD(a, b, c) wasm_f32x4_add(c, wasm_f32x4_mul(a, b))
#endif

#ifdef RELAXED
#define WK_TRUNC(a) wasm_i32x4_relaxed_trunc_f32x4(a)
#else
#define WK_TRUNC(a) wasm_i32x4_trunc_sat_f32x4(a)
#endif

/* An address plus a constant number of elements. With -fwrapv, address arithmetic may wrap, so the
   compiler cannot fold the constant into the offset of a load; a member of a structure does not
   wrap. */
#define WK_BEHIND(p, elements) (((struct { float before[elements]; float at[4]; } *)(p))->at)

static inline float wk_max(float a, float b) { return a > b || a != a ? a : b; }

static inline float wk_min(float a, float b) { return a < b || a != a ? a : b; }

static inline v128_t wk_max4(v128_t a, v128_t b) {
  return wasm_v128_bitselect(b, wasm_f32x4_pmax(a, b), wasm_f32x4_ne(b, b));
}

static inline v128_t wk_min4(v128_t a, v128_t b) {
  return wasm_v128_bitselect(b, wasm_f32x4_pmin(a, b), wasm_f32x4_ne(b, b));
}

static inline float wk_sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }

static inline v128_t wk_sign4(v128_t x) {
  const v128_t zero = wasm_f32x4_splat(0), one = wasm_f32x4_splat(1);
  return wasm_v128_bitselect(one,
      wasm_v128_bitselect(wasm_f32x4_neg(one), x, wasm_f32x4_lt(x, zero)), wasm_f32x4_gt(x, zero));
}

static inline int wk_bits(float x) {
  union { float f; int i; } u = {x};
  return u.i;
}

static inline float wk_float(int x) {
  union { int i; float f; } u = {x};
  return u.f;
}

/* Payne & Hanek range reduction: x is an integer times 2^(e-150). The digits of 1 / (2 pi) from
   that position on, times the integer, are a fraction of a full turn. */
static inline float wk_turn(float x) {
  static const unsigned digits[] = {
      0, 0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410};
  const unsigned bits = (unsigned)wk_bits(x), e = bits >> 23 & 255, start = e - 118;
  if (e < 140) return x;
  if (e == 255) return x - x;
  const unsigned *at = digits + (start >> 5), shift = start & 31,
                 whole = (bits & 0x7fffff) | 0x800000;
  const unsigned high = shift ? at[0] << shift | at[1] >> (32 - shift) : at[0],
                 low = shift ? at[1] << shift | at[2] >> (32 - shift) : at[1];
  const int part = (int)(whole * high + (unsigned)((unsigned long long)whole * low >> 32));
  return (float)part * (x < 0 ? -1.4629180792671596e-9f : 1.4629180792671596e-9f);
}

static inline int wk_idiv(int a, int b) { return b == 0 ? 0 : b == -1 ? -a : a / b; }

static inline int wk_irem(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }

static inline unsigned wk_idiv_u(unsigned a, unsigned b) { return b ? a / b : 0; }

static inline unsigned wk_irem_u(unsigned a, unsigned b) { return b ? a % b : 0; }

static inline long long wk_idiv_64(long long a, long long b) {
  return b == 0 ? 0 : b == -1 ? -a : a / b;
}

static inline long long wk_irem_64(long long a, long long b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

static inline unsigned long long wk_idiv_u64(unsigned long long a, unsigned long long b) {
  return b ? a / b : 0;
}

static inline unsigned long long wk_irem_u64(unsigned long long a, unsigned long long b) {
  return b ? a % b : 0;
}

static inline int wk_floordiv(int a, int b) {
  const int q = wk_idiv(a, b), r = wk_irem(a, b);
  return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}

static inline int wk_floormod(int a, int b) {
  const int r = wk_irem(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline long long wk_floordiv_64(long long a, long long b) {
  const long long q = wk_idiv_64(a, b), r = wk_irem_64(a, b);
  return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}

static inline long long wk_floormod_64(long long a, long long b) {
  const long long r = wk_irem_64(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static inline double wk_max_64(double a, double b) { return a > b || a != a ? a : b; }

static inline double wk_min_64(double a, double b) { return a < b || a != a ? a : b; }

static inline double wk_sign_64(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }

static inline double wk_log2(double x) {
  union { double f; long long i; } u = {x < 0x1p-1022 ? x * 0x1p54 : x};
  int e = (int)(u.i >> 52) - 1023 - (x < 0x1p-1022 ? 54 : 0);
  u.i = (u.i & 0xFFFFFFFFFFFFFll) | 0x3FF0000000000000ll;
  double m = u.f;
  if (m > 1.4142135623730951) { m *= 0.5; e += 1; }
  const double s = (m - 1) / (m + 1), z = s * s;
  double p = 1.0 / 19;
  for (int n = 17; n > 0; n -= 2) p = p * z + 1.0 / n;
  return e + 2 * s * p * 1.4426950408889634;
}

static inline double wk_scaled(double x, int e) {
  const int half = e / 2;
  union {
    long long i;
    double f;
  } a = {(long long)(half + 1023) << 52}, b = {(long long)(e - half + 1023) << 52};
  return x * a.f * b.f;
}

static inline double wk_exp2(double x) {
  if (x > 1100) return __builtin_inf();
  if (x < -1100) return 0;
  const double n = __builtin_rint(x), r = (x - n) * 0.6931471805599453;
  double p = 1;
  for (int k = 13; k > 0; k--) p = p * r / k + 1;
  return wk_scaled(p, (int)n);
}

static inline double wk_exp_64(double x) {
  if (x != x) return x;
  if (x > 710) return __builtin_inf();
  if (x < -746) return 0;
  const double n = __builtin_rint(x * 1.4426950408889634),
               r = x - n * 0.693147180369123816490 - n * 1.90821492927058770002e-10;
  double p = 1;
  for (int k = 14; k > 0; k--) p = p * r / k + 1;
  return wk_scaled(p, (int)n);
}

static inline double wk_log_64(double x) {
  if (!(x > 0)) return x == 0 ? -__builtin_inf() : __builtin_nan("");
  return x == __builtin_inf() ? x : wk_log2(x) * 0.6931471805599453;
}

static inline double wk_log1p_64(double x) {
  const double u = 1 + x;
  return u == 1 || x == __builtin_inf() ? x : wk_log_64(u) * (x / (u - 1));
}

static inline double wk_expm1_64(double x) {
  if (__builtin_fabs(x) > 0.5) return wk_exp_64(x) - 1;
  double p = 1;
  for (int k = 16; k > 1; k--) p = p * x / k + 1;
  return p * x;
}

static inline double wk_tanh_64(double x) {
  const double t = wk_expm1_64(2 * __builtin_fabs(x)), r = t > 1e300 ? 1 : t / (t + 2);
  return x < 0 ? -r : x == 0 ? x : r;
}

/* The same for a double, with 128 binary digits. */
static inline double wk_turn_64(double x) {
  static const unsigned digits[] = {
      0, 0, 0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566,
      0x4f10e410, 0x7f9458ea, 0xf7aef158, 0x6dc91b8e, 0x909374b8, 0x01924bba, 0x82746487,
      0x3f877ac7, 0x2c4a69cf, 0xba208d7d, 0x4baed121, 0x3a671c09, 0xad17df90, 0x4e64758e,
      0x60d4ce7d, 0x272117e2, 0xef7e4a0e, 0xc7fe25ff, 0xf7816603, 0xfbcbc462, 0xd6829b47,
      0xdb4d9fb3, 0xc9f2c26d, 0xd3d18fd9, 0xa797fa8b, 0x5d49eeb1, 0xfaf97c5e, 0xcf41ce7d,
      0xe294a4ba, 0x9afed7ec, 0x47e35742
  };
  union { double f; unsigned long long i; } u = {x};
  const unsigned e = (unsigned)(u.i >> 52) & 2047, start = e - 1011;
  if (e < 1042) return x;
  if (e == 2047) return x - x;
  const unsigned *at = digits + (start >> 5), shift = start & 31;
  unsigned words[4];
  for (int k = 0; k < 4; k++) words[k] = shift ? at[k] << shift | at[k + 1] >> (32 - shift) : at[k];
  const unsigned long long whole = (u.i & 0xfffffffffffffull) | 1ull << 52,
                           high = (unsigned long long)words[0] << 32 | words[1];
  const unsigned long long upper = (whole >> 32) * words[2] +
      ((whole & 0xffffffff) * words[2] >> 32) + ((whole >> 32) * words[3] >> 32);
  return (double)(long long)(whole * high + upper) *
      (x < 0 ? -3.406121580086554e-19 : 3.406121580086554e-19);
}

static inline double wk_sine(double x, int quarter) {
  x = wk_turn_64(x);
  const double n = __builtin_rint(x * 0.6366197723675814);
  const double r = x - n * 1.5707963267341256142 - n * 6.0771005063039e-11 -
      n * 2.0222662487959506e-21,
               z = r * r;
  double sine = 1, cosine = 1;
  for (int k = 20; k > 0; k -= 2) {
    cosine = 1 - cosine * z / (k * (k - 1));
    sine = 1 - sine * z / (k * (k + 1));
  }
  const int q = ((int)n + quarter) & 3;
  const double v = q & 1 ? cosine : sine * r;
  return q & 2 ? -v : v;
}

static inline double wk_sin_64(double x) { return wk_sine(x, 0); }

static inline double wk_cos_64(double x) { return wk_sine(x, 1); }

static inline double wk_erf_64(double x) {
  const double size = __builtin_fabs(x) > 6 ? 6 : __builtin_fabs(x);
  double r = size, term = size;
  if (size < 3) {
    for (int n = 1; n < 60; n++) { term = -term * size * size / n; r += term / (2 * n + 1); }
    r *= 1.1283791670955126;
  } else {
    double f = size;
    for (int k = 60; k > 0; k--) f = size + k / (2 * f);
    r = 1 - wk_exp_64(-size * size) / (f * 1.7724538509055159);
  }
  return x != x ? x : x < 0 ? -r : r;
}

static inline double wk_pow_64(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  const double size = __builtin_fabs(x), whole = __builtin_trunc(y);
  const int odd = whole == y && __builtin_trunc(y / 2) * 2 != y;
  if (x < 0 && whole != y && size != __builtin_inf() && __builtin_fabs(y) != __builtin_inf())
    return __builtin_nan("");
  double r;
  if (size == 1) r = 1;
  else if (__builtin_fabs(y) == __builtin_inf()) r = (size > 1) == (y > 0) ? __builtin_inf() : 0;
  else if (size == 0 || size == __builtin_inf()) r = (size == 0) == (y > 0) ? 0 : __builtin_inf();
  else r = wk_exp2(y * wk_log2(size));
  return odd && (x < 0 || (x == 0 && 1 / x < 0)) ? -r : r;
}

static inline float wk_pow(float x, float y) { return (float)wk_pow_64(x, y); }

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

static inline int wk_doubling_high(int a, int b) {
  return (int)(((long long)a * b + (1ll << 30)) >> 31);
}

// The lower words of four 64-bit integers.
static inline v128_t wk_low_words(v128_t low, v128_t high) {
  return wasm_i32x4_shuffle(low, high, 0, 2, 4, 6);
}

static inline v128_t wk_doubling_high4(v128_t a, v128_t b) {
  const v128_t half = wasm_i64x2_const_splat(1ll << 30);
  const v128_t low = wasm_i64x2_add(wasm_i64x2_extmul_low_i32x4(a, b), half);
  const v128_t high = wasm_i64x2_add(wasm_i64x2_extmul_high_i32x4(a, b), half);
  return wk_low_words(wasm_u64x2_shr(low, 31), wasm_u64x2_shr(high, 31));
}

// The 32-bit integers of four quotients of doubles, which are exact if dividend and divisor have 32
// bits.
#define WK_QUOTIENTS(convert, trunc, a, b) \
  wasm_i64x2_shuffle(trunc(wasm_f64x2_div(convert(a), convert(b))), \
                     trunc(wasm_f64x2_div(convert(wasm_i64x2_shuffle(a, a, 1, 1)), \
                                          convert(wasm_i64x2_shuffle(b, b, 1, 1)))), 0, 2)

static inline v128_t wk_idiv4(v128_t a, v128_t b) {
  const v128_t all =
      WK_QUOTIENTS(wasm_f64x2_convert_low_i32x4, wasm_i32x4_trunc_sat_f64x2_zero, a, b);
  const v128_t defined = wasm_v128_and(all, wasm_i32x4_ne(b, wasm_i32x4_const_splat(0)));
  const v128_t negated = wasm_i32x4_eq(b, wasm_i32x4_const_splat(-1));
  return wasm_v128_bitselect(wasm_i32x4_neg(a), defined, negated);
}

static inline v128_t wk_idiv4_u(v128_t a, v128_t b) {
  const v128_t all =
      WK_QUOTIENTS(wasm_f64x2_convert_low_u32x4, wasm_u32x4_trunc_sat_f64x2_zero, a, b);
  return wasm_v128_and(all, wasm_i32x4_ne(b, wasm_i32x4_const_splat(0)));
}

// Quotients by 2^places, for places from 1 to 30, rounded toward zero.
static inline v128_t wk_idiv_power4(v128_t a, int places) {
  const v128_t below = wasm_u32x4_shr(wasm_i32x4_shr(a, 31), 32 - places);
  return wasm_i32x4_shr(wasm_i32x4_add(a, below), places);
}

// A constant for all lanes that stays in a register during a loop. V8 makes other constants again,
// by four instructions, wherever they are used.
static inline v128_t wk_constant4(int bits) {
  __asm__("" : "+r"(bits));
  return wasm_i32x4_splat(bits);
}

// The distance of each estimate from the integer to which it is rounded, as the bits of a float,
// which have the order of the floats; those of NaN are greatest.
static inline v128_t wk_distance4(v128_t estimate, v128_t rounded) {
  return wasm_f32x4_abs(wasm_f32x4_sub(estimate, rounded));
}

// Whether a lane is closer than 2^-11 to a tie, or is not a number.
static inline int wk_is_near_tie4(v128_t distance) {
  const v128_t most = wk_constant4(wk_bits(0.5f - 0x1p-11f));
  return wasm_i32x4_bitmask(wasm_i32x4_gt(distance, most)) != 0;
}

// The estimate, a float in each lane, rounded to the nearest integer; or, where a lane is close to a
// tie or is not a number, the exact results. The compiler computes these in the branch, which is
// rarely taken; the empty assembly keeps it from computing them always, without a branch.
static inline v128_t wk_filtered4(v128_t exact, v128_t estimate) {
  const v128_t rounded = wasm_f32x4_nearest(estimate);
  if (__builtin_expect(wk_is_near_tie4(wk_distance4(estimate, rounded)), 0)) {
    __asm__ volatile("");
    return exact;
  }
  return WK_TRUNC(rounded);
}

// A constant of 8 or 16 bits for all lanes.
static inline v128_t wk_constant8(int value) { return wk_constant4((value & 255) * 0x1010101); }

static inline v128_t wk_constant16(int value) { return wk_constant4((value & 65535) * 0x10001); }

// The low bytes of the lanes of four vectors.
static inline v128_t wk_low16x8(v128_t a, v128_t b, v128_t c, v128_t d) {
  const v128_t kept = wk_constant4(255);
  return wasm_u8x16_narrow_i16x8(
      wasm_i16x8_narrow_i32x4(wasm_v128_and(a, kept), wasm_v128_and(b, kept)),
      wasm_i16x8_narrow_i32x4(wasm_v128_and(c, kept), wasm_v128_and(d, kept)));
}

// The lanes of two vectors plus an offset, saturated to 16 bits.
static inline v128_t wk_offset16(v128_t a, v128_t b, int offset) {
  return wasm_i16x8_add_sat(wasm_i16x8_narrow_i32x4(a, b), wk_constant16(offset));
}

// The lanes of four vectors plus an offset, clamped to low..high.
static inline v128_t wk_clamp_int8(v128_t a, v128_t b, v128_t c, v128_t d, int offset, int low,
                                   int high) {
  v128_t bytes =
      wasm_i8x16_narrow_i16x8(wk_offset16(a, b, offset), wk_offset16(c, d, offset));
  if (low > -128) bytes = wasm_i8x16_max(bytes, wk_constant8(low));
  return high < 127 ? wasm_i8x16_min(bytes, wk_constant8(high)) : bytes;
}

static inline v128_t wk_clamp_uint8(v128_t a, v128_t b, v128_t c, v128_t d, int offset, int low,
                                    int high) {
  v128_t bytes =
      wasm_u8x16_narrow_i16x8(wk_offset16(a, b, offset), wk_offset16(c, d, offset));
  if (low > 0) bytes = wasm_u8x16_max(bytes, wk_constant8(low));
  return high < 255 ? wasm_u8x16_min(bytes, wk_constant8(high)) : bytes;
}

// The lanes of four estimates rounded, or the exact results x, clamped to bytes, with one branch.
#define WK_FILTERED16(clamp, ...) \
  const v128_t ra = wasm_f32x4_nearest(ea), rb = wasm_f32x4_nearest(eb); \
  const v128_t rc = wasm_f32x4_nearest(ec), rd = wasm_f32x4_nearest(ed); \
  const v128_t first = wasm_i32x4_max(wk_distance4(ea, ra), wk_distance4(eb, rb)); \
  const v128_t second = wasm_i32x4_max(wk_distance4(ec, rc), wk_distance4(ed, rd)); \
  if (__builtin_expect(wk_is_near_tie4(wasm_i32x4_max(first, second)), 0)) { \
    __asm__ volatile(""); \
    return clamp(xa, xb, xc, xd, __VA_ARGS__); \
  } \
  return clamp(WK_TRUNC(ra), WK_TRUNC(rb), WK_TRUNC(rc), WK_TRUNC(rd), __VA_ARGS__);

static inline v128_t wk_filtered_int8(v128_t xa, v128_t xb, v128_t xc, v128_t xd, v128_t ea,
                                      v128_t eb, v128_t ec, v128_t ed, int offset, int low,
                                      int high) {
  WK_FILTERED16(wk_clamp_int8, offset, low, high)
}

static inline v128_t wk_filtered_uint8(v128_t xa, v128_t xb, v128_t xc, v128_t xd, v128_t ea,
                                       v128_t eb, v128_t ec, v128_t ed, int offset, int low,
                                       int high) {
  WK_FILTERED16(wk_clamp_uint8, offset, low, high)
}

// 2^n, for n from -126 to 31, rounded down.
static inline v128_t wk_power_of_two4(v128_t n) {
  return wasm_u32x4_trunc_sat_f32x4(
      wasm_i32x4_shl(wasm_i32x4_add(n, wasm_i32x4_const_splat(127)), 23));
}

// Shifts of each lane by its own number of places, by multiplications with powers of two.
static inline v128_t wk_shl4(v128_t x, v128_t places) {
  const v128_t count = wasm_v128_and(places, wasm_i32x4_const_splat(31));
  return wasm_i32x4_mul(x, wk_power_of_two4(count));
}

static inline v128_t wk_shr4(v128_t x, v128_t places) {
  const v128_t count = wasm_v128_and(places, wasm_i32x4_const_splat(31));
  const v128_t factor = wk_power_of_two4(wasm_i32x4_sub(wasm_i32x4_const_splat(30), count));
  const v128_t low = wasm_u64x2_shr(wasm_i64x2_extmul_low_i32x4(x, factor), 30);
  const v128_t high = wasm_u64x2_shr(wasm_i64x2_extmul_high_i32x4(x, factor), 30);
  const v128_t all = wasm_i32x4_eq(count, wasm_i32x4_const_splat(31));
  return wasm_v128_bitselect(wasm_i32x4_shr(x, 31), wk_low_words(low, high), all);
}

static inline v128_t wk_shr4_u(v128_t x, v128_t places) {
  const v128_t count = wasm_v128_and(places, wasm_i32x4_const_splat(31));
  const v128_t factor = wk_power_of_two4(wasm_i32x4_sub(wasm_i32x4_const_splat(31), count));
  const v128_t low = wasm_u64x2_shr(wasm_u64x2_extmul_low_u32x4(x, factor), 31);
  const v128_t high = wasm_u64x2_shr(wasm_u64x2_extmul_high_u32x4(x, factor), 31);
  return wk_low_words(low, high);
}

// What the engine's relaxed dot product of int8 by int8 computes: it takes the second operand as
// unsigned, as signed, or saturates sums of pairs. All are exact if that has 7 bits.
enum { WK_UNSIGNED, WK_SIGNED, WK_PAIRS };

#if defined RELAXED && !defined WK_DOT
#define WK_DOT(a, b, sums) wasm_i32x4_relaxed_dot_i8x16_i7x16_add(a, b, sums)
#endif

static inline int wk_dot_kind(void) {
#ifdef WK_DOT
  const v128_t sums = WK_DOT(wasm_i8x16_splat(127), wasm_i8x16_splat(-1), wasm_i32x4_splat(0));
  const int sum = wasm_i32x4_extract_lane(sums, 0);
  return sum == 4 * 127 * 255 ? WK_UNSIGNED : sum == 4 * 127 * -1 ? WK_SIGNED : WK_PAIRS;
#else
  return WK_PAIRS;
#endif
}

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

/* Four elements of narrow integers, widened to the lanes of a vector, and the low bits of lanes. */

static inline v128_t wk_wide_int8(v128_t v) {
  return wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(v));
}

static inline v128_t wk_wide_uint8(v128_t v) {
  return wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(v));
}

static inline v128_t wk_wide_int16(v128_t v) { return wasm_i32x4_extend_low_i16x8(v); }

static inline v128_t wk_wide_uint16(v128_t v) { return wasm_u32x4_extend_low_u16x8(v); }

static inline v128_t wk_part8(const void *at, int count) {
  const char *p = at;
  char part[4] = {0};
  for (int i = 0; i < 4 && i < count; i++) part[i] = p[i];
  return wasm_v128_load32_zero(part);
}

static inline v128_t wk_part16(const void *at, int count) {
  const short *p = at;
  short part[4] = {0};
  for (int i = 0; i < 4 && i < count; i++) part[i] = p[i];
  return wasm_v128_load64_zero(part);
}

static inline v128_t wk_load_int8(const signed char *p) {
  return wk_wide_int8(wasm_v128_load32_zero(p));
}

static inline v128_t wk_load_int8_part(const signed char *p, int count) {
  return wk_wide_int8(wk_part8(p, count));
}

static inline v128_t wk_load_uint8(const unsigned char *p) {
  return wk_wide_uint8(wasm_v128_load32_zero(p));
}

static inline v128_t wk_load_uint8_part(const unsigned char *p, int count) {
  return wk_wide_uint8(wk_part8(p, count));
}

static inline v128_t wk_load_int16(const short *p) {
  return wk_wide_int16(wasm_v128_load64_zero(p));
}

static inline v128_t wk_load_int16_part(const short *p, int count) {
  return wk_wide_int16(wk_part16(p, count));
}

static inline v128_t wk_load_uint16(const unsigned short *p) {
  return wk_wide_uint16(wasm_v128_load64_zero(p));
}

static inline v128_t wk_load_uint16_part(const unsigned short *p, int count) {
  return wk_wide_uint16(wk_part16(p, count));
}

static inline v128_t wk_low8(v128_t v) {
  const v128_t low = wasm_v128_and(v, wk_constant4(255)), pairs = wasm_i16x8_narrow_i32x4(low, low);
  return wasm_u8x16_narrow_i16x8(pairs, pairs);
}

static inline v128_t wk_low16(v128_t v) {
  return wasm_i16x8_shuffle(v, v, 0, 2, 4, 6, 0, 2, 4, 6);
}

static inline void wk_store_8(void *p, v128_t v) { wasm_v128_store32_lane(p, wk_low8(v), 0); }

static inline void wk_store_8_part(void *p, v128_t v, int count) {
  v128_t low = wk_low8(v);
  if (count >= 4) { wasm_v128_store32_lane(p, low, 0); return; }
  wasm_v128_store8_lane(p, low, 0);
  if (count > 1) wasm_v128_store8_lane((char *)p + 1, low, 1);
  if (count > 2) wasm_v128_store8_lane((char *)p + 2, low, 2);
}

static inline void wk_store_16(void *p, v128_t v) { wasm_v128_store64_lane(p, wk_low16(v), 0); }

static inline void wk_store_16_part(void *p, v128_t v, int count) {
  v128_t low = wk_low16(v);
  if (count >= 4) { wasm_v128_store64_lane(p, low, 0); return; }
  wasm_v128_store16_lane(p, low, 0);
  if (count > 1) wasm_v128_store16_lane((char *)p + 2, low, 1);
  if (count > 2) wasm_v128_store16_lane((char *)p + 4, low, 2);
}

/* The lanes of a bool are masks. */

static inline v128_t wk_mask(v128_t v) { return wasm_i32x4_ne(v, wasm_i32x4_splat(0)); }

static inline v128_t wk_load_bool(const unsigned char *p) { return wk_mask(wk_load_uint8(p)); }

static inline v128_t wk_load_bool_part(const unsigned char *p, int count) {
  return wk_mask(wk_load_uint8_part(p, count));
}

static inline void wk_store_bool(void *p, v128_t v) { wk_store_8(p, wasm_u32x4_shr(v, 31)); }

static inline void wk_store_bool_part(void *p, v128_t v, int count) {
  wk_store_8_part(p, wasm_u32x4_shr(v, 31), count);
}

/* The same conversions of float16 as those of one element. */

static inline v128_t wk_half4(v128_t v) {
  const v128_t sign = wasm_i32x4_shl(wasm_v128_and(v, wasm_i32x4_splat(0x8000)), 16),
               rest = wasm_i32x4_shl(wasm_v128_and(v, wasm_i32x4_splat(0x7FFF)), 13),
               infinite = wasm_i32x4_gt(rest, wasm_i32x4_splat(0x7BFF << 13)),
               value = wasm_f32x4_mul(rest, wasm_f32x4_splat(0x1p112f)),
               special = wasm_v128_or(rest, wasm_i32x4_splat(0x7F800000));
  return wasm_v128_or(sign, wasm_v128_bitselect(special, value, infinite));
}

static inline v128_t wk_to_half4(v128_t x) {
  const v128_t sign = wasm_v128_and(wasm_u32x4_shr(x, 16), wasm_i32x4_splat(0x8000)),
               size = wasm_f32x4_abs(x), bits = wasm_i32x4_sub(size, wasm_i32x4_splat(112 << 23)),
               odd = wasm_v128_and(wasm_u32x4_shr(bits, 13), wasm_i32x4_splat(1)),
               rounded = wasm_u32x4_shr(
                   wasm_i32x4_add(wasm_i32x4_add(bits, wasm_i32x4_splat(0xFFF)), odd), 13),
               least = wasm_f32x4_mul(size, wasm_f32x4_splat(0x1p24f)),
               tiny = wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(least));
  v128_t v = wasm_v128_bitselect(tiny, rounded, wasm_f32x4_lt(size, wasm_f32x4_splat(0x1p-14f)));
  v = wasm_v128_bitselect(wasm_i32x4_splat(0x7C00), v,
      wasm_f32x4_ge(size, wasm_f32x4_splat(65520.0f)));
  v = wasm_v128_bitselect(wasm_i32x4_splat(0x7E00), v, wasm_f32x4_ne(size, size));
  return wasm_v128_or(sign, v);
}

static inline v128_t wk_load_float16(const unsigned short *p) {
  return wk_half4(wk_load_uint16(p));
}

static inline v128_t wk_load_float16_part(const unsigned short *p, int count) {
  return wk_half4(wk_load_uint16_part(p, count));
}

static inline void wk_store_float16(void *p, v128_t v) { wk_store_16(p, wk_to_half4(v)); }

static inline void wk_store_float16_part(void *p, v128_t v, int count) {
  wk_store_16_part(p, wk_to_half4(v), count);
}

static inline int wk_greatest(int a, int b) { return a > b ? a : b; }

static inline int wk_least(int a, int b) { return a < b ? a : b; }

__attribute__((weak)) float wk_zeros[WK_ZEROS];

/* Prefetches a cache line by reading a byte of it. */
static inline void wk_fetch(const float *p) { (void)*(const volatile char *)p; }

/* The cache lines of the next panel to prefetch during each tile of the current one. */
static inline int wk_lines(int elements, int points, int count) {
  const int tiles = points > count ? (points + count - 1) / count : 1;
  return (elements / 16 + tiles) / tiles;
}

/* The iterations between two prefetches of `together` lines. With fewer iterations, prefetching
   costs more than it saves. */
static inline int wk_turns(int extent, int lines, int together) {
  const int turns = (extent + lines - 1) / lines * together;
  return turns < 12 ? 12 : turns;
}

__attribute__((noinline)) static int wk_share(int turns, int grain, int part, int parts) {
  const int units = (turns + grain - 1) / grain,
            at = (int)((long long)units * part / parts) * grain;
  return at < turns ? at : turns;
}

static void wk_mark(int site);
__attribute__((import_module("env"), import_name("mark"))) void wk_tell(int site);
static int wk_watched;
__attribute__((export_name("watch"))) void wk_watch(int on) { wk_watched = on; }
__attribute__((noinline)) static void wk_mark(int site) { if (wk_watched) wk_tell(site); }

static void wk_launch(void (*task)(int, int, int), int entry);
// A launch is one atomic word: serial number, entry, number of chunks, and number of chunks
// claimed.
enum {
  WK_TAKEN = 12,
  WK_ENTRY = 24,
  WK_SERIAL = 40,
  WK_FEW = (1 << WK_TAKEN) - 1,
  WK_OVER = 0xFFFF,
  WK_TURNS = 1 << 18,
  WK_SHORT = 1 << 13
};
static unsigned long long wk_word;
static int wk_chunks = 1, wk_done, wk_asleep, wk_waiting, wk_stopped;
static void (*wk_task)(int, int, int);
static char wk_stacks[WK_HELPERS][WK_STACK] __attribute__((aligned(16)));
static inline int wk_entry(unsigned long long word) { return (int)(word >> WK_ENTRY) & 0xFFFF; }
static inline int wk_left(unsigned long long word) {
  return ((int)(word >> WK_TAKEN) & WK_FEW) - ((int)word & WK_FEW);
}
static void wk_set(int entry, int chunks) {
  const unsigned long long serial = (wk_word >> WK_SERIAL) + 1;
  __atomic_store_n(&wk_word,
      serial << WK_SERIAL | (unsigned long long)entry << WK_ENTRY | chunks << WK_TAKEN,
      __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&wk_asleep, __ATOMIC_SEQ_CST))
    __builtin_wasm_memory_atomic_notify((int *)&wk_word, -1);
}
static int wk_take(void) {
  if (wk_left(__atomic_load_n(&wk_word, __ATOMIC_SEQ_CST)) <= 0) return 0;
  const unsigned long long word = __atomic_fetch_add(&wk_word, 1, __ATOMIC_SEQ_CST);
  if (wk_left(word) <= 0) return 0;
  wk_task(wk_entry(word), (int)word & WK_FEW, (int)(word >> WK_TAKEN) & WK_FEW);
  __atomic_fetch_add(&wk_done, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&wk_waiting, __ATOMIC_SEQ_CST))
    __builtin_wasm_memory_atomic_notify(&wk_done, 1);
  return 1;
}
static void wk_launch(void (*task)(int, int, int), int entry) {
  const int chunks = wk_chunks;
  if (chunks == 1) { task(entry, 0, 1); return; }
  wk_task = task;
  wk_done = 0;
  wk_set(entry, chunks);
  while (wk_take()) {}
  for (int turns = 0, done; (done = __atomic_load_n(&wk_done, __ATOMIC_SEQ_CST)) != chunks;
      turns++) {
    if (turns < WK_SHORT) continue;
    __atomic_store_n(&wk_waiting, 1, __ATOMIC_SEQ_CST);
    __builtin_wasm_memory_atomic_wait32(&wk_done, done, 1000000);
    __atomic_store_n(&wk_waiting, 0, __ATOMIC_SEQ_CST);
  }
}
__attribute__((export_name("share"))) void wk_set_chunks(int chunks) { wk_chunks = chunks; }
__attribute__((export_name("begin"))) void wk_begin(void) { wk_set(0, 0); }
__attribute__((export_name("end"))) void wk_end(void) { wk_set(WK_OVER, 0); }
__attribute__((export_name("stopped"))) int *wk_stop(void) { return &wk_stopped; }
__attribute__((export_name("stack"))) char *wk_stack(int helper) {
  return wk_stacks[helper] + WK_STACK;
}
__attribute__((export_name("help"))) void wk_help(void) {
  for (int turns = 0; !__atomic_load_n(&wk_stopped, __ATOMIC_SEQ_CST); turns++) {
    const unsigned long long word = __atomic_load_n(&wk_word, __ATOMIC_SEQ_CST);
    if (wk_entry(word) == WK_OVER) return;
    if (wk_left(word) > 0) { turns = 0; wk_take(); continue; }
    if (turns < WK_TURNS) continue;
    __atomic_fetch_add(&wk_asleep, 1, __ATOMIC_SEQ_CST);
    __builtin_wasm_memory_atomic_wait64((long long *)&wk_word, word, 20000000);
    __atomic_fetch_sub(&wk_asleep, 1, __ATOMIC_SEQ_CST);
  }
}
