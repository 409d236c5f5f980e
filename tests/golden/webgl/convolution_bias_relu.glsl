#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2DArray x0;
uniform ivec4 P[1];
uniform int first;
layout(location = 0) out vec4 y0;

ivec3 wk_at(int i) {
  return ivec3(i & ((1 << WK_SHIFT) - 1), (i >> WK_SHIFT) & ((1 << WK_ROWS) - 1), i >> (WK_SHIFT + WK_ROWS));
}

void main() {
  int p0 = P[0].x;
  int number = (first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x))) << 2;
  int a0 = number;
  if (uint(a0) >= uint(p0)) discard;
  float v1 = texelFetch(x0, wk_at(a0), 0).r;
  float v2 = texelFetch(x0, wk_at(a0 + 1), 0).r;
  float v3 = texelFetch(x0, wk_at(a0 + 2), 0).r;
  float v4 = texelFetch(x0, wk_at(a0 + 3), 0).r;
  vec4 v5 = vec4(v1, v2, v3, v4);
  y0 = v5;
}

#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2DArray x0;
uniform highp sampler2DArray x1;
uniform highp sampler2DArray x2;
uniform ivec4 P[4];
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

void main() {
  int p0 = P[0].x;
  int p1 = P[0].y;
  int p2 = P[0].z;
  int p3 = P[0].w;
  int p4 = P[1].x;
  int p5 = P[1].y;
  int p6 = P[1].z;
  int p7 = P[1].w;
  int s0_0 = P[2].x;
  int s0_1 = P[2].y;
  int s1_0 = P[2].z;
  int s1_1 = P[2].w;
  int s1_2 = P[3].x;
  int s3_0 = P[3].y;
  int s3_1 = P[3].z;
  int number = (first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x))) << 2;
  int v1 = number / s3_0;
  int v2 = number - v1 * s3_0;
  int v3 = v2 / s3_1;
  int v4 = v2 - v3 * s3_1;
  int a0 = v1;
  if (uint(a0) >= uint(p0)) discard;
  int a1 = v3;
  if (uint(a1) >= uint(p1)) discard;
  int a2 = v4;
  if (uint(a2) >= uint(p2)) discard;
  uint v13 = uint(p6);
  uint v16 = uint(p7);
  vec4 v38 = texelFetch(x2, wk_at((a2) >> 2), 0);
  vec4 v40 = vec4(0.0);
  vec4 acc0_0_0 = vec4(0.0);
  for (int r0 = 0; r0 < p3; r0++) {
    int v5 = a0 + r0;
    int v6 = v5 - 1;
    int v9 = v6 * s0_0;
    uint v12 = uint(v6);
    bool v14 = v12 < v13;
    int v22 = a2 + r0 * s1_0;
    for (int r1 = 0; r1 < p4; r1++) {
      int v7 = a1 + r1;
      int v8 = v7 - 1;
      int v10 = v9 + v8 * s0_1;
      uint v15 = uint(v8);
      bool v17 = v15 < v16;
      bool v18 = v14 && v17;
      int v23 = v22 + r1 * s1_1;
      int r2 = 0;
      for (; r2 + 3 < p5; r2 += 4) {
        int v11 = v10 + r2;
        vec4 v19 = v18 ? texelFetch(x0, wk_at((v11) >> 2), 0) : vec4(0.0);
        float v20 = v19.x;
        vec4 v21 = vec4(v20);
        int v24 = v23 + r2 * s1_2;
        vec4 v25 = texelFetch(x1, wk_at((v24) >> 2), 0);
        float v26 = v19.y;
        vec4 v27 = vec4(v26);
        int v28 = v23 + (r2 + 1) * s1_2;
        vec4 v29 = texelFetch(x1, wk_at((v28) >> 2), 0);
        float v30 = v19.z;
        vec4 v31 = vec4(v30);
        int v32 = v23 + (r2 + 2) * s1_2;
        vec4 v33 = texelFetch(x1, wk_at((v32) >> 2), 0);
        float v34 = v19.w;
        vec4 v35 = vec4(v34);
        int v36 = v23 + (r2 + 3) * s1_2;
        vec4 v37 = texelFetch(x1, wk_at((v36) >> 2), 0);
        acc0_0_0 += v21 * v25;
        acc0_0_0 += v27 * v29;
        acc0_0_0 += v31 * v33;
        acc0_0_0 += v35 * v37;
      }
    }
  }
  {
    vec4 v39 = acc0_0_0 + v38;
    bvec4 v41 = wk_lt(v39, v40);
    vec4 v42 = mix(v39, v40, v41);
    y0 = v42;
  }
}
