#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2D x0;
uniform ivec4 P[1];
layout(location = 0) out float y0;

ivec2 wk_at(int i) { return ivec2(i & ((1 << WK_SHIFT) - 1), i >> WK_SHIFT); }

void main() {
  int p0 = P[0].x;
  int number = int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x);
  int a0 = number;
  if (uint(a0) >= uint(p0)) discard;
  float v1 = texelFetch(x0, wk_at(a0), 0).r;
  y0 = v1;
}

#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2D x0;
uniform highp sampler2D x1;
uniform highp sampler2D x2;
uniform ivec4 P[4];
layout(location = 0) out float y0;

ivec2 wk_at(int i) { return ivec2(i & ((1 << WK_SHIFT) - 1), i >> WK_SHIFT); }

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
  int number = int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x);
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
  uint v8 = uint(p6);
  uint v13 = uint(p7);
  float v24 = texelFetch(x2, wk_at(a2), 0).r;
  float acc0_0_0 = 0.0;
  for (int r0 = 0; r0 < p3; r0++) {
    int v5 = a0 + r0;
    int v6 = v5 - 1;
    uint v7 = uint(v6);
    bool v9 = v7 < v8;
    int v16 = v6 * s0_0;
    int v20 = a2 + r0 * s1_0;
    for (int r1 = 0; r1 < p4; r1++) {
      int v10 = a1 + r1;
      int v11 = v10 - 1;
      uint v12 = uint(v11);
      bool v14 = v12 < v13;
      bool v15 = v9 && v14;
      int v17 = v16 + v11 * s0_1;
      int v21 = v20 + r1 * s1_1;
      for (int r2 = 0; r2 < p5; r2++) {
        int v18 = v17 + r2;
        float v19 = v15 ? texelFetch(x0, wk_at(v18), 0).r : 0.0;
        int v22 = v21 + r2 * s1_2;
        float v23 = texelFetch(x1, wk_at(v22), 0).r;
        acc0_0_0 += v19 * v23;
      }
    }
  }
  {
    float v25 = acc0_0_0 + v24;
    bool v26 = v25 < 0.0;
    float v27 = v26 ? 0.0 : v25;
    y0 = v27;
  }
}
