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
  int r0 = 0;
  for (; r0 + 3 < p1; r0 += 4) {
    int v2 = v1 + r0;
    vec4 v3 = texture(x0, vec3(wk_at((v2) >> 2)) * x0_step + x0_middle);
    float v4 = v3.x;
    float v5 = v3.y;
    float v6 = v3.z;
    float v7 = v3.w;
    acc0_0_0 = wk_max(acc0_0_0, v4);
    acc0_0_0 = wk_max(acc0_0_0, v5);
    acc0_0_0 = wk_max(acc0_0_0, v6);
    acc0_0_0 = wk_max(acc0_0_0, v7);
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
  float v5 = texture(x1, vec3(wk_at(a0)) * x1_step + x1_middle).r;
  float acc0_0_0 = 0.0;
  int r0 = 0;
  for (; r0 + 3 < p1; r0 += 4) {
    int v2 = v1 + r0;
    vec4 v3 = texture(x0, vec3(wk_at((v2) >> 2)) * x0_step + x0_middle);
    float v4 = v3.x;
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
    float v33 = v3.y;
    float v34 = v33 - v5;
    bool v35 = wk_lt(v34, (-104.0));
    float v36 = v35 ? (-104.0) : v34;
    bool v37 = wk_gt(v36, 89.0);
    float v38 = v37 ? 89.0 : v36;
    float v39 = v38 * 1.442695;
    float v40 = roundEven(v39);
    float v41 = v40 * (-0.6933594) + v38;
    float v42 = v40 * 0.00021219444 + v41;
    float v43 = 0.00019875691 * v42 + 0.0013981999;
    float v44 = v43 * v42 + 0.008333452;
    float v45 = v44 * v42 + 0.041665796;
    float v46 = v45 * v42 + 0.16666666;
    float v47 = v46 * v42 + 0.5;
    float v48 = v47 * v42;
    float v49 = v48 * v42 + v42;
    float v50 = v49 + 1.0;
    int v51 = wk_i32(v40);
    int v52 = v51 >> (1 & 31);
    int v53 = v52 + 127;
    int v54 = v53 << (23 & 31);
    float v55 = intBitsToFloat(v54);
    float v56 = v50 * v55;
    int v57 = v51 - v52;
    int v58 = v57 + 127;
    int v59 = v58 << (23 & 31);
    float v60 = intBitsToFloat(v59);
    float v61 = v3.z;
    float v62 = v61 - v5;
    bool v63 = wk_lt(v62, (-104.0));
    float v64 = v63 ? (-104.0) : v62;
    bool v65 = wk_gt(v64, 89.0);
    float v66 = v65 ? 89.0 : v64;
    float v67 = v66 * 1.442695;
    float v68 = roundEven(v67);
    float v69 = v68 * (-0.6933594) + v66;
    float v70 = v68 * 0.00021219444 + v69;
    float v71 = 0.00019875691 * v70 + 0.0013981999;
    float v72 = v71 * v70 + 0.008333452;
    float v73 = v72 * v70 + 0.041665796;
    float v74 = v73 * v70 + 0.16666666;
    float v75 = v74 * v70 + 0.5;
    float v76 = v75 * v70;
    float v77 = v76 * v70 + v70;
    float v78 = v77 + 1.0;
    int v79 = wk_i32(v68);
    int v80 = v79 >> (1 & 31);
    int v81 = v80 + 127;
    int v82 = v81 << (23 & 31);
    float v83 = intBitsToFloat(v82);
    float v84 = v78 * v83;
    int v85 = v79 - v80;
    int v86 = v85 + 127;
    int v87 = v86 << (23 & 31);
    float v88 = intBitsToFloat(v87);
    float v89 = v3.w;
    float v90 = v89 - v5;
    bool v91 = wk_lt(v90, (-104.0));
    float v92 = v91 ? (-104.0) : v90;
    bool v93 = wk_gt(v92, 89.0);
    float v94 = v93 ? 89.0 : v92;
    float v95 = v94 * 1.442695;
    float v96 = roundEven(v95);
    float v97 = v96 * (-0.6933594) + v94;
    float v98 = v96 * 0.00021219444 + v97;
    float v99 = 0.00019875691 * v98 + 0.0013981999;
    float v100 = v99 * v98 + 0.008333452;
    float v101 = v100 * v98 + 0.041665796;
    float v102 = v101 * v98 + 0.16666666;
    float v103 = v102 * v98 + 0.5;
    float v104 = v103 * v98;
    float v105 = v104 * v98 + v98;
    float v106 = v105 + 1.0;
    int v107 = wk_i32(v96);
    int v108 = v107 >> (1 & 31);
    int v109 = v108 + 127;
    int v110 = v109 << (23 & 31);
    float v111 = intBitsToFloat(v110);
    float v112 = v106 * v111;
    int v113 = v107 - v108;
    int v114 = v113 + 127;
    int v115 = v114 << (23 & 31);
    float v116 = intBitsToFloat(v115);
    acc0_0_0 += v28 * v32;
    acc0_0_0 += v56 * v60;
    acc0_0_0 += v84 * v88;
    acc0_0_0 += v112 * v116;
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
layout(location = 0) out vec4 y0;

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
  int number = (first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x))) << 2;
  int v1 = number / s3_0;
  int v2 = number - v1 * s3_0;
  int a0 = v1;
  if (uint(a0) >= uint(p0)) discard;
  int a1 = v2;
  if (uint(a1) >= uint(p1)) discard;
  vec4 v3 = vec4(0.00019875691);
  vec4 v4 = vec4(0.0013981999);
  int v5 = a0 * s0_0 + a1;
  vec4 v6 = texture(x0, vec3(wk_at((v5) >> 2)) * x0_step + x0_middle);
  float v7 = texture(x1, vec3(wk_at(a0)) * x1_step + x1_middle).r;
  vec4 v8 = vec4(v7);
  vec4 v9 = v6 - v8;
  vec4 v10 = vec4((-104.0));
  bvec4 v11 = wk_lt(v9, v10);
  vec4 v12 = mix(v9, v10, v11);
  vec4 v13 = vec4(89.0);
  bvec4 v14 = wk_gt(v12, v13);
  vec4 v15 = mix(v12, v13, v14);
  vec4 v16 = vec4(1.442695);
  vec4 v17 = v15 * v16;
  vec4 v18 = roundEven(v17);
  vec4 v19 = vec4(0.00021219444);
  vec4 v20 = vec4((-0.6933594));
  vec4 v21 = v18 * v20 + v15;
  vec4 v22 = v18 * v19 + v21;
  vec4 v23 = v3 * v22 + v4;
  vec4 v24 = vec4(0.008333452);
  vec4 v25 = v23 * v22 + v24;
  vec4 v26 = vec4(0.041665796);
  vec4 v27 = v25 * v22 + v26;
  vec4 v28 = vec4(0.16666666);
  vec4 v29 = v27 * v22 + v28;
  vec4 v30 = vec4(0.5);
  vec4 v31 = v29 * v22 + v30;
  vec4 v32 = v31 * v22;
  vec4 v33 = v32 * v22 + v22;
  vec4 v34 = vec4(1.0);
  vec4 v35 = v33 + v34;
  ivec4 v36 = wk_i32(v18);
  ivec4 v37 = v36 >> (1 & 31);
  ivec4 v38 = ivec4(127);
  ivec4 v39 = v37 + v38;
  ivec4 v40 = v39 << (23 & 31);
  vec4 v41 = vec4(intBitsToFloat(v40.x), intBitsToFloat(v40.y), intBitsToFloat(v40.z), intBitsToFloat(v40.w));
  vec4 v42 = v35 * v41;
  ivec4 v43 = v36 - v37;
  ivec4 v44 = v43 + v38;
  ivec4 v45 = v44 << (23 & 31);
  vec4 v46 = vec4(intBitsToFloat(v45.x), intBitsToFloat(v45.y), intBitsToFloat(v45.z), intBitsToFloat(v45.w));
  vec4 v47 = v42 * v46;
  float v48 = texture(x2, vec3(wk_at(a0)) * x2_step + x2_middle).r;
  vec4 v49 = vec4(v48);
  vec4 v50 = v47 / v49;
  y0 = v50;
}
