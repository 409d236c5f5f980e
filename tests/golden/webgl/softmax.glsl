#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2DArray x0;
uniform ivec4 P[1];
uniform int first;
layout(location = 0) out float y0;

ivec3 wk_at(int i) {
  return ivec3(i & ((1 << WK_SHIFT) - 1), (i >> WK_SHIFT) & ((1 << WK_ROWS) - 1), i >> (WK_SHIFT + WK_ROWS));
}

bool wk_isnan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bvec4 wk_isnan(vec4 x) { return greaterThan(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u)); }

float wk_max(float a, float b) { return a > b || wk_isnan(a) ? a : b; }
vec4 wk_max(vec4 a, vec4 b) { return mix(mix(b, a, greaterThan(a, b)), a, wk_isnan(a)); }

void main() {
  vec3 x0_step = 1.0 / vec3(vec2(textureSize(x0, 0).xy), 1.0);
  vec3 x0_middle = vec3(0.5, 0.5, 0.0) * x0_step;
  int p0 = P[0].x;
  int p1 = P[0].y;
  int s0_0 = P[0].z;
  int number = first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x));
  int a0 = number;
  if (uint(a0) >= uint(p0)) discard;
  int v1 = a0 * s0_0;
  float acc0_0_0 = uintBitsToFloat(0xff800000u);
  for (int r0 = 0; r0 < p1; r0++) {
    int v2 = v1 + r0;
    float v3 = texture(x0, vec3(wk_at(v2)) * x0_step + x0_middle).r;
    acc0_0_0 = wk_max(acc0_0_0, v3);
  }
  y0 = acc0_0_0;
}

#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2DArray x0;
uniform highp sampler2DArray x1;
uniform ivec4 P[1];
uniform int first;
layout(location = 0) out float y0;

ivec3 wk_at(int i) {
  return ivec3(i & ((1 << WK_SHIFT) - 1), (i >> WK_SHIFT) & ((1 << WK_ROWS) - 1), i >> (WK_SHIFT + WK_ROWS));
}

bool wk_isnan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bvec4 wk_isnan(vec4 x) { return greaterThan(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u)); }

bool wk_numbers(float a, float b) { return !wk_isnan(a) && !wk_isnan(b); }
uvec4 wk_numbers(vec4 a, vec4 b) { return uvec4(not(wk_isnan(a))) & uvec4(not(wk_isnan(b))); }

bool wk_lt(float a, float b) { return a < b && wk_numbers(a, b); }
bvec4 wk_lt(vec4 a, vec4 b) { return bvec4(uvec4(lessThan(a, b)) & wk_numbers(a, b)); }

bool wk_gt(float a, float b) { return a > b && wk_numbers(a, b); }
bvec4 wk_gt(vec4 a, vec4 b) { return bvec4(uvec4(greaterThan(a, b)) & wk_numbers(a, b)); }

int wk_i32(float x) {
  if (wk_isnan(x)) return 0;
  return x >= 2147483648.0 ? 2147483647 : x <= -2147483648.0 ? -2147483647 - 1 : int(x);
}
ivec4 wk_i32(vec4 x) { return ivec4(wk_i32(x.x), wk_i32(x.y), wk_i32(x.z), wk_i32(x.w)); }

void main() {
  vec3 x0_step = 1.0 / vec3(vec2(textureSize(x0, 0).xy), 1.0);
  vec3 x0_middle = vec3(0.5, 0.5, 0.0) * x0_step;
  vec3 x1_step = 1.0 / vec3(vec2(textureSize(x1, 0).xy), 1.0);
  vec3 x1_middle = vec3(0.5, 0.5, 0.0) * x1_step;
  int p0 = P[0].x;
  int p1 = P[0].y;
  int s0_0 = P[0].z;
  int number = first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x));
  int a0 = number;
  if (uint(a0) >= uint(p0)) discard;
  int v1 = a0 * s0_0;
  float v4 = texture(x1, vec3(wk_at(a0)) * x1_step + x1_middle).r;
  float acc0_0_0 = 0.0;
  for (int r0 = 0; r0 < p1; r0++) {
    int v2 = v1 + r0;
    float v3 = texture(x0, vec3(wk_at(v2)) * x0_step + x0_middle).r;
    float v5 = v3 - v4;
    bool v6 = wk_lt(v5, (-104.0));
    float v7 = v6 ? (-104.0) : v5;
    bool v8 = wk_gt(v7, 89.0);
    float v9 = v8 ? 89.0 : v7;
    float v10 = v9 * 1.442695;
    float v11 = roundEven(v10);
    float v12 = v11 * (-0.6933594) + v9;
    float v13 = v11 * 0.00021219444 + v12;
    float v14 = 0.00019875691 * v13 + 0.0013981999;
    float v15 = v14 * v13 + 0.008333452;
    float v16 = v15 * v13 + 0.041665796;
    float v17 = v16 * v13 + 0.16666666;
    float v18 = v17 * v13 + 0.5;
    float v19 = v18 * v13;
    float v20 = v19 * v13 + v13;
    float v21 = v20 + 1.0;
    int v22 = wk_i32(v11);
    int v23 = v22 >> (1 & 31);
    int v24 = v23 + 127;
    int v25 = v24 << (23 & 31);
    float v26 = intBitsToFloat(v25);
    float v27 = v21 * v26;
    int v28 = v22 - v23;
    int v29 = v28 + 127;
    int v30 = v29 << (23 & 31);
    float v31 = intBitsToFloat(v30);
    acc0_0_0 += v27 * v31;
  }
  y0 = acc0_0_0;
}

#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2DArray x0;
uniform highp sampler2DArray x1;
uniform highp sampler2DArray x2;
uniform ivec4 P[1];
uniform int first;
layout(location = 0) out float y0;

ivec3 wk_at(int i) {
  return ivec3(i & ((1 << WK_SHIFT) - 1), (i >> WK_SHIFT) & ((1 << WK_ROWS) - 1), i >> (WK_SHIFT + WK_ROWS));
}

bool wk_isnan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bvec4 wk_isnan(vec4 x) { return greaterThan(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u)); }

bool wk_numbers(float a, float b) { return !wk_isnan(a) && !wk_isnan(b); }
uvec4 wk_numbers(vec4 a, vec4 b) { return uvec4(not(wk_isnan(a))) & uvec4(not(wk_isnan(b))); }

bool wk_lt(float a, float b) { return a < b && wk_numbers(a, b); }
bvec4 wk_lt(vec4 a, vec4 b) { return bvec4(uvec4(lessThan(a, b)) & wk_numbers(a, b)); }

bool wk_gt(float a, float b) { return a > b && wk_numbers(a, b); }
bvec4 wk_gt(vec4 a, vec4 b) { return bvec4(uvec4(greaterThan(a, b)) & wk_numbers(a, b)); }

int wk_i32(float x) {
  if (wk_isnan(x)) return 0;
  return x >= 2147483648.0 ? 2147483647 : x <= -2147483648.0 ? -2147483647 - 1 : int(x);
}
ivec4 wk_i32(vec4 x) { return ivec4(wk_i32(x.x), wk_i32(x.y), wk_i32(x.z), wk_i32(x.w)); }

void main() {
  vec3 x0_step = 1.0 / vec3(vec2(textureSize(x0, 0).xy), 1.0);
  vec3 x0_middle = vec3(0.5, 0.5, 0.0) * x0_step;
  vec3 x1_step = 1.0 / vec3(vec2(textureSize(x1, 0).xy), 1.0);
  vec3 x1_middle = vec3(0.5, 0.5, 0.0) * x1_step;
  vec3 x2_step = 1.0 / vec3(vec2(textureSize(x2, 0).xy), 1.0);
  vec3 x2_middle = vec3(0.5, 0.5, 0.0) * x2_step;
  int p0 = P[0].x;
  int p1 = P[0].y;
  int s0_0 = P[0].z;
  int s3_0 = P[0].w;
  int number = first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x));
  int v1 = number / s3_0;
  int v2 = number - v1 * s3_0;
  int a0 = v1;
  if (uint(a0) >= uint(p0)) discard;
  int a1 = v2;
  if (uint(a1) >= uint(p1)) discard;
  int v3 = a0 * s0_0 + a1;
  float v4 = texture(x0, vec3(wk_at(v3)) * x0_step + x0_middle).r;
  float v5 = texture(x1, vec3(wk_at(a0)) * x1_step + x1_middle).r;
  float v6 = v4 - v5;
  bool v7 = wk_lt(v6, (-104.0));
  float v8 = v7 ? (-104.0) : v6;
  bool v9 = wk_gt(v8, 89.0);
  float v10 = v9 ? 89.0 : v8;
  float v11 = v10 * 1.442695;
  float v12 = roundEven(v11);
  float v13 = v12 * (-0.6933594) + v10;
  float v14 = v12 * 0.00021219444 + v13;
  float v15 = 0.00019875691 * v14 + 0.0013981999;
  float v16 = v15 * v14 + 0.008333452;
  float v17 = v16 * v14 + 0.041665796;
  float v18 = v17 * v14 + 0.16666666;
  float v19 = v18 * v14 + 0.5;
  float v20 = v19 * v14;
  float v21 = v20 * v14 + v14;
  float v22 = v21 + 1.0;
  int v23 = wk_i32(v12);
  int v24 = v23 >> (1 & 31);
  int v25 = v24 + 127;
  int v26 = v25 << (23 & 31);
  float v27 = intBitsToFloat(v26);
  float v28 = v22 * v27;
  int v29 = v23 - v24;
  int v30 = v29 + 127;
  int v31 = v30 << (23 & 31);
  float v32 = intBitsToFloat(v31);
  float v33 = v28 * v32;
  float v34 = texture(x2, vec3(wk_at(a0)) * x2_step + x2_middle).r;
  float v35 = v33 / v34;
  y0 = v35;
}
