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
    vec4 v3 = texelFetch(x0, wk_at((v2) >> 2), 0);
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
  int p0 = P[0].x;
  int p1 = P[0].y;
  int s0_0 = P[0].z;
  int number = first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x));
  int a0 = number;
  if (uint(a0) >= uint(p0)) discard;
  int v1 = a0 * s0_0;
  float v5 = texelFetch(x1, wk_at(a0), 0).r;
  float acc0_0_0 = 0.0;
  int r0 = 0;
  for (; r0 + 3 < p1; r0 += 4) {
    int v2 = v1 + r0;
    vec4 v3 = texelFetch(x0, wk_at((v2) >> 2), 0);
    float v4 = v3.x;
    float v6 = v4 - v5;
    bool v7 = wk_lt(v6, (-104.0));
    float v8 = v7 ? (-104.0) : v6;
    bool v9 = wk_gt(v8, 89.0);
    float v10 = v9 ? 89.0 : v8;
    float v11 = v10 * 1.442695;
    float v12 = roundEven(v11);
    float v13 = v12 * 0.6933594;
    float v14 = v10 - v13;
    float v15 = v12 * (-0.00021219444);
    float v16 = v14 - v15;
    float v17 = 0.00019875691 * v16;
    float v18 = v17 + 0.0013981999;
    float v19 = v18 * v16;
    float v20 = v19 + 0.008333452;
    float v21 = v20 * v16;
    float v22 = v21 + 0.041665796;
    float v23 = v22 * v16;
    float v24 = v23 + 0.16666666;
    float v25 = v24 * v16;
    float v26 = v25 + 0.5;
    float v27 = v26 * v16;
    float v28 = v27 * v16;
    float v29 = v28 + v16;
    float v30 = v29 + 1.0;
    int v31 = wk_i32(v12);
    int v32 = v31 >> (1 & 31);
    int v33 = v32 + 127;
    int v34 = v33 << (23 & 31);
    float v35 = intBitsToFloat(v34);
    float v36 = v30 * v35;
    int v37 = v31 - v32;
    int v38 = v37 + 127;
    int v39 = v38 << (23 & 31);
    float v40 = intBitsToFloat(v39);
    float v41 = v3.y;
    float v42 = v41 - v5;
    bool v43 = wk_lt(v42, (-104.0));
    float v44 = v43 ? (-104.0) : v42;
    bool v45 = wk_gt(v44, 89.0);
    float v46 = v45 ? 89.0 : v44;
    float v47 = v46 * 1.442695;
    float v48 = roundEven(v47);
    float v49 = v48 * 0.6933594;
    float v50 = v46 - v49;
    float v51 = v48 * (-0.00021219444);
    float v52 = v50 - v51;
    float v53 = 0.00019875691 * v52;
    float v54 = v53 + 0.0013981999;
    float v55 = v54 * v52;
    float v56 = v55 + 0.008333452;
    float v57 = v56 * v52;
    float v58 = v57 + 0.041665796;
    float v59 = v58 * v52;
    float v60 = v59 + 0.16666666;
    float v61 = v60 * v52;
    float v62 = v61 + 0.5;
    float v63 = v62 * v52;
    float v64 = v63 * v52;
    float v65 = v64 + v52;
    float v66 = v65 + 1.0;
    int v67 = wk_i32(v48);
    int v68 = v67 >> (1 & 31);
    int v69 = v68 + 127;
    int v70 = v69 << (23 & 31);
    float v71 = intBitsToFloat(v70);
    float v72 = v66 * v71;
    int v73 = v67 - v68;
    int v74 = v73 + 127;
    int v75 = v74 << (23 & 31);
    float v76 = intBitsToFloat(v75);
    float v77 = v3.z;
    float v78 = v77 - v5;
    bool v79 = wk_lt(v78, (-104.0));
    float v80 = v79 ? (-104.0) : v78;
    bool v81 = wk_gt(v80, 89.0);
    float v82 = v81 ? 89.0 : v80;
    float v83 = v82 * 1.442695;
    float v84 = roundEven(v83);
    float v85 = v84 * 0.6933594;
    float v86 = v82 - v85;
    float v87 = v84 * (-0.00021219444);
    float v88 = v86 - v87;
    float v89 = 0.00019875691 * v88;
    float v90 = v89 + 0.0013981999;
    float v91 = v90 * v88;
    float v92 = v91 + 0.008333452;
    float v93 = v92 * v88;
    float v94 = v93 + 0.041665796;
    float v95 = v94 * v88;
    float v96 = v95 + 0.16666666;
    float v97 = v96 * v88;
    float v98 = v97 + 0.5;
    float v99 = v98 * v88;
    float v100 = v99 * v88;
    float v101 = v100 + v88;
    float v102 = v101 + 1.0;
    int v103 = wk_i32(v84);
    int v104 = v103 >> (1 & 31);
    int v105 = v104 + 127;
    int v106 = v105 << (23 & 31);
    float v107 = intBitsToFloat(v106);
    float v108 = v102 * v107;
    int v109 = v103 - v104;
    int v110 = v109 + 127;
    int v111 = v110 << (23 & 31);
    float v112 = intBitsToFloat(v111);
    float v113 = v3.w;
    float v114 = v113 - v5;
    bool v115 = wk_lt(v114, (-104.0));
    float v116 = v115 ? (-104.0) : v114;
    bool v117 = wk_gt(v116, 89.0);
    float v118 = v117 ? 89.0 : v116;
    float v119 = v118 * 1.442695;
    float v120 = roundEven(v119);
    float v121 = v120 * 0.6933594;
    float v122 = v118 - v121;
    float v123 = v120 * (-0.00021219444);
    float v124 = v122 - v123;
    float v125 = 0.00019875691 * v124;
    float v126 = v125 + 0.0013981999;
    float v127 = v126 * v124;
    float v128 = v127 + 0.008333452;
    float v129 = v128 * v124;
    float v130 = v129 + 0.041665796;
    float v131 = v130 * v124;
    float v132 = v131 + 0.16666666;
    float v133 = v132 * v124;
    float v134 = v133 + 0.5;
    float v135 = v134 * v124;
    float v136 = v135 * v124;
    float v137 = v136 + v124;
    float v138 = v137 + 1.0;
    int v139 = wk_i32(v120);
    int v140 = v139 >> (1 & 31);
    int v141 = v140 + 127;
    int v142 = v141 << (23 & 31);
    float v143 = intBitsToFloat(v142);
    float v144 = v138 * v143;
    int v145 = v139 - v140;
    int v146 = v145 + 127;
    int v147 = v146 << (23 & 31);
    float v148 = intBitsToFloat(v147);
    acc0_0_0 += v36 * v40;
    acc0_0_0 += v72 * v76;
    acc0_0_0 += v108 * v112;
    acc0_0_0 += v144 * v148;
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
  int v4 = a0 * s0_0 + a1;
  vec4 v5 = texelFetch(x0, wk_at((v4) >> 2), 0);
  float v6 = texelFetch(x1, wk_at(a0), 0).r;
  vec4 v7 = vec4(v6);
  vec4 v8 = v5 - v7;
  vec4 v9 = vec4((-104.0));
  bvec4 v10 = wk_lt(v8, v9);
  vec4 v11 = mix(v8, v9, v10);
  vec4 v12 = vec4(89.0);
  bvec4 v13 = wk_gt(v11, v12);
  vec4 v14 = mix(v11, v12, v13);
  vec4 v15 = vec4(1.442695);
  vec4 v16 = v14 * v15;
  vec4 v17 = roundEven(v16);
  vec4 v18 = vec4(0.6933594);
  vec4 v19 = v17 * v18;
  vec4 v20 = v14 - v19;
  vec4 v21 = vec4((-0.00021219444));
  vec4 v22 = v17 * v21;
  vec4 v23 = v20 - v22;
  vec4 v24 = v3 * v23;
  vec4 v25 = vec4(0.0013981999);
  vec4 v26 = v24 + v25;
  vec4 v27 = v26 * v23;
  vec4 v28 = vec4(0.008333452);
  vec4 v29 = v27 + v28;
  vec4 v30 = v29 * v23;
  vec4 v31 = vec4(0.041665796);
  vec4 v32 = v30 + v31;
  vec4 v33 = v32 * v23;
  vec4 v34 = vec4(0.16666666);
  vec4 v35 = v33 + v34;
  vec4 v36 = v35 * v23;
  vec4 v37 = vec4(0.5);
  vec4 v38 = v36 + v37;
  vec4 v39 = v38 * v23;
  vec4 v40 = v39 * v23;
  vec4 v41 = v40 + v23;
  vec4 v42 = vec4(1.0);
  vec4 v43 = v41 + v42;
  ivec4 v44 = wk_i32(v17);
  ivec4 v45 = v44 >> (1 & 31);
  ivec4 v46 = ivec4(127);
  ivec4 v47 = v45 + v46;
  ivec4 v48 = v47 << (23 & 31);
  vec4 v49 = vec4(intBitsToFloat(v48.x), intBitsToFloat(v48.y), intBitsToFloat(v48.z), intBitsToFloat(v48.w));
  vec4 v50 = v43 * v49;
  ivec4 v51 = v44 - v45;
  ivec4 v52 = v51 + v46;
  ivec4 v53 = v52 << (23 & 31);
  vec4 v54 = vec4(intBitsToFloat(v53.x), intBitsToFloat(v53.y), intBitsToFloat(v53.z), intBitsToFloat(v53.w));
  vec4 v55 = v50 * v54;
  float v56 = texelFetch(x2, wk_at(a0), 0).r;
  vec4 v57 = vec4(v56);
  vec4 v58 = v55 / v57;
  y0 = v58;
}
