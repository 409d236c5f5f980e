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
uniform ivec4 P[5];
uniform int first;
layout(location = 0) out vec4 y0;

ivec3 wk_at(int i) {
  return ivec3(i & ((1 << WK_SHIFT) - 1), (i >> WK_SHIFT) & ((1 << WK_ROWS) - 1), i >> (WK_SHIFT + WK_ROWS));
}

void main() {
  int p0 = P[0].x;
  int p1 = P[0].y;
  int p2 = P[0].z;
  int p3 = P[0].w;
  int p4 = P[1].x;
  int p5 = P[1].y;
  int p6 = P[1].z;
  int p7 = P[1].w;
  int p8 = P[2].x;
  int p9 = P[2].y;
  int s0_0 = P[2].z;
  int s0_1 = P[2].w;
  int s1_0 = P[3].x;
  int s1_1 = P[3].y;
  int s1_2 = P[3].z;
  int s2_0 = P[3].w;
  int s2_1 = P[4].x;
  int number = (first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x))) << 2;
  int v1 = number / s2_0;
  int v2 = number - v1 * s2_0;
  int v3 = v2 / s2_1;
  int v4 = v2 - v3 * s2_1;
  int a0 = v1;
  if (uint(a0) >= uint(p0)) discard;
  int a1 = v3;
  if (uint(a1) >= uint(p1)) discard;
  int a2 = v4;
  if (uint(a2) >= uint(p2)) discard;
  int v5 = a0 * p6;
  int v8 = a1 * p7;
  uint v15 = uint(p8);
  uint v18 = uint(p9);
  vec4 acc0_0_0 = vec4(0.0);
  for (int r0 = 0; r0 < p3; r0++) {
    int v6 = v5 + r0;
    int v7 = v6 - 1;
    int v11 = v7 * s0_0;
    uint v14 = uint(v7);
    bool v16 = v14 < v15;
    int v24 = a2 + r0 * s1_0;
    for (int r1 = 0; r1 < p4; r1++) {
      int v9 = v8 + r1;
      int v10 = v9 - 1;
      int v12 = v11 + v10 * s0_1;
      uint v17 = uint(v10);
      bool v19 = v17 < v18;
      bool v20 = v16 && v19;
      int v25 = v24 + r1 * s1_1;
      int r2 = 0;
      for (; r2 + 3 < p5; r2 += 4) {
        int v13 = v12 + r2;
        vec4 v21 = v20 ? texelFetch(x0, wk_at((v13) >> 2), 0) : vec4(0.0);
        float v22 = v21.x;
        vec4 v23 = vec4(v22);
        int v26 = v25 + r2 * s1_2;
        vec4 v27 = texelFetch(x1, wk_at((v26) >> 2), 0);
        float v28 = v21.y;
        vec4 v29 = vec4(v28);
        int v30 = v25 + (r2 + 1) * s1_2;
        vec4 v31 = texelFetch(x1, wk_at((v30) >> 2), 0);
        float v32 = v21.z;
        vec4 v33 = vec4(v32);
        int v34 = v25 + (r2 + 2) * s1_2;
        vec4 v35 = texelFetch(x1, wk_at((v34) >> 2), 0);
        float v36 = v21.w;
        vec4 v37 = vec4(v36);
        int v38 = v25 + (r2 + 3) * s1_2;
        vec4 v39 = texelFetch(x1, wk_at((v38) >> 2), 0);
        acc0_0_0 += v23 * v27;
        acc0_0_0 += v29 * v31;
        acc0_0_0 += v33 * v35;
        acc0_0_0 += v37 * v39;
      }
    }
  }
  y0 = acc0_0_0;
}
