ivec3 wk_at(int i) {
  return ivec3(i & ((1 << WK_SHIFT) - 1), (i >> WK_SHIFT) & ((1 << WK_ROWS) - 1), i >> (WK_SHIFT + WK_ROWS));
}

ivec2 wk_in_layer(int i) { return ivec2(i & ((1 << WK_SHIFT) - 1), i >> WK_SHIFT); }

ivec3 wk_in_quarters(int i, int quarter) {
  int layer = int(i >= quarter) + int(i >= 2 * quarter) + int(i >= 3 * quarter), at = i - layer * quarter;
  return ivec3(wk_in_layer(at), layer);
}

uint wk_packed(uint word, int i, int bits) { return (word >> ((i & (32 / bits - 1)) * bits)) & ((1u << bits) - 1u); }

int wk_signed(uint value, int bits) { return int(value << (32 - bits)) >> (32 - bits); }

bool wk_isnan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bvec4 wk_isnan(vec4 x) { return greaterThan(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u)); }

bool wk_numbers(float a, float b) { return !wk_isnan(a) && !wk_isnan(b); }
uvec4 wk_numbers(vec4 a, vec4 b) { return uvec4(not(wk_isnan(a))) & uvec4(not(wk_isnan(b))); }

bool wk_lt(float a, float b) { return a < b && wk_numbers(a, b); }
bvec4 wk_lt(vec4 a, vec4 b) { return bvec4(uvec4(lessThan(a, b)) & wk_numbers(a, b)); }

bool wk_le(float a, float b) { return a <= b && wk_numbers(a, b); }
bvec4 wk_le(vec4 a, vec4 b) { return bvec4(uvec4(lessThanEqual(a, b)) & wk_numbers(a, b)); }

bool wk_gt(float a, float b) { return a > b && wk_numbers(a, b); }
bvec4 wk_gt(vec4 a, vec4 b) { return bvec4(uvec4(greaterThan(a, b)) & wk_numbers(a, b)); }

bool wk_ge(float a, float b) { return a >= b && wk_numbers(a, b); }
bvec4 wk_ge(vec4 a, vec4 b) { return bvec4(uvec4(greaterThanEqual(a, b)) & wk_numbers(a, b)); }

float wk_max(float a, float b) { return a > b || wk_isnan(a) ? a : b; }
vec4 wk_max(vec4 a, vec4 b) { return mix(mix(b, a, greaterThan(a, b)), a, wk_isnan(a)); }

float wk_min(float a, float b) { return a < b || wk_isnan(a) ? a : b; }
vec4 wk_min(vec4 a, vec4 b) { return mix(mix(b, a, lessThan(a, b)), a, wk_isnan(a)); }

float wk_sign(float x) { return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x; }
vec4 wk_sign(vec4 x) { return mix(mix(x, vec4(-1), lessThan(x, vec4(0))), vec4(1), greaterThan(x, vec4(0))); }

float wk_turn(float x) {
  uint bits = floatBitsToUint(x), e = (bits >> 23) & 255u;
  if (e < 140u) return x;
  if (e == 255u) return uintBitsToFloat(0x7fc00000u);
  uint digits[7] = uint[7](0u, 0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u);
  uint at = (e - 118u) >> 5, shift = (e - 118u) & 31u, back = (32u - shift) & 31u, whole = (bits & 0x7fffffu) | 0x800000u;
  uint high = (digits[at] << shift) | (shift == 0u ? 0u : digits[at + 1u] >> back);
  uint low = ((digits[at + 1u] << shift) | (shift == 0u ? 0u : digits[at + 2u] >> back)) >> 16;
  int part = int(whole * high + (((whole >> 8) * low + (((whole & 255u) * low) >> 8)) >> 8));
  return float(part) * (x < 0.0 ? -1.4629180792671596e-9 : 1.4629180792671596e-9);
}

int wk_i32(float x) {
  if (wk_isnan(x)) return 0;
  return x >= 2147483648.0 ? 2147483647 : x <= -2147483648.0 ? -2147483647 - 1 : int(x);
}
ivec4 wk_i32(vec4 x) { return ivec4(wk_i32(x.x), wk_i32(x.y), wk_i32(x.z), wk_i32(x.w)); }

uint wk_u32(float x) {
  if (wk_isnan(x)) return 0u;
  return x >= 4294967296.0 ? 4294967295u : x <= 0.0 ? 0u : uint(x);
}
uvec4 wk_u32(vec4 x) { return uvec4(wk_u32(x.x), wk_u32(x.y), wk_u32(x.z), wk_u32(x.w)); }

int wk_idiv(int a, int b) {
  if (b == 0) return 0;
  return b == -1 ? -a : a / b;
}

int wk_irem(int a, int b) {
  if (b == 0 || b == -1) return 0;
  return a - a / b * b;
}

uint wk_udiv(uint a, uint b) { return b == 0u ? 0u : a / b; }

uint wk_urem(uint a, uint b) { return b == 0u ? 0u : a % b; }

int wk_floordiv(int a, int b) {
  int q = wk_idiv(a, b), r = wk_irem(a, b);
  return r != 0 && (r < 0) != (b < 0) ? q - 1 : q;
}

int wk_floormod(int a, int b) {
  int r = wk_irem(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

float wk_half(uint h) {
  uint exponent = (h >> 10) & 31u, rest = h & 1023u;
  uint normal = ((exponent == 31u ? 255u : exponent + 112u) << 23) | (rest << 13);
  uint size = exponent == 0u ? floatBitsToUint(float(rest) * 0.000000059604644775390625) : normal;
  return uintBitsToFloat(size | ((h & 0x8000u) << 16));
}

float wk_high(float x) { return uintBitsToFloat(floatBitsToUint(x) & 0xfffff000u); }

float wk_power(float x, float y) {
  if (abs(y) >= 4294967296.0) return (x > 1.0) == (y > 0.0) ? uintBitsToFloat(0x7f800000u) : 0.0;
  uint bits = floatBitsToUint(x), shift = (bits & 0x7fffffu) > 0x3504f3u ? 1u : 0u;
  float e = float(int(bits >> 23) - 127 + int(shift));
  float m = uintBitsToFloat((bits & 0x7fffffu) | ((127u - shift) << 23));
  float f = m - 1.0, t = m + 1.0, s = f / t;
  float sh = wk_high(s), th = wk_high(t), tl = m - (th - 1.0);
  float sl = ((f - sh * th) - sh * tl) / t, z = s * s;
  float rest = 2.0 * sl + s * z * (0.66666667 + z * (0.4 + z * (0.28571429 + z * (0.22222222 + z * 0.18181818))));
  float p = 2.0 * sh * 1.4423828125, low = 2.0 * sh * 0.00031222854 + rest * 1.44269504;
  float wh = wk_high(e + p + low), wl = low - ((wh - e) - p);
  float yh = wk_high(y), ph = yh * wh, pl = (y - yh) * wh + y * wl, w = ph + pl;
  if (w >= 128.0) return uintBitsToFloat(0x7f800000u);
  if (w < -150.0) return 0.0;
  float n = roundEven(w), r = ((ph - n) + pl) * 0.69314718;
  float series = 1.0 + r * (1.0 + r * (0.5 + r * (0.16666667 + r * (0.041666667 + r * (0.0083333333 + r * (0.0013888889 + r * 0.0001984127))))));
  int half_n = int(n) >> 1;
  return series * uintBitsToFloat(uint(half_n + 127) << 23) * uintBitsToFloat(uint(int(n) - half_n + 127) << 23);
}

float wk_pow(float x, float y) {
  if (y == 0.0 || x == 1.0) return 1.0;
  if (wk_isnan(x) || wk_isnan(y)) return uintBitsToFloat(0x7fc00000u);
  float infinity = uintBitsToFloat(0x7f800000u), size = abs(x), whole = trunc(y);
  bool odd = whole == y && abs(y) < 16777216.0 && (int(y) & 1) != 0;
  if (x < 0.0 && whole != y && size != infinity && abs(y) != infinity) return uintBitsToFloat(0x7fc00000u);
  float r;
  if (size == 1.0) r = 1.0;
  else if (abs(y) == infinity) r = (size > 1.0) == (y > 0.0) ? infinity : 0.0;
  else if (size == 0.0 || size == infinity) r = (size == 0.0) == (y > 0.0) ? 0.0 : infinity;
  else r = wk_power(size, y);
  return odd && (floatBitsToUint(x) & 0x80000000u) != 0u ? -r : r;
}
