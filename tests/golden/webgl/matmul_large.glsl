#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2D x0;
uniform highp sampler2D x1;
uniform ivec4 P[2];
layout(location = 0) out float y0;

ivec2 wk_at(int i) { return ivec2(i & ((1 << WK_SHIFT) - 1), i >> WK_SHIFT); }

void main() {
  int p0 = P[0].x;
  int p1 = P[0].y;
  int p2 = P[0].z;
  int s0_0 = P[0].w;
  int s1_0 = P[1].x;
  int s2_0 = P[1].y;
  int number = int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x);
  int v1 = number / s2_0;
  int v2 = number - v1 * s2_0;
  int a0 = v1;
  if (uint(a0) >= uint(p0)) discard;
  int a1 = v2;
  if (uint(a1) >= uint(p1)) discard;
  int v3 = a0 * s0_0;
  float acc0_0_0 = 0.0;
  for (int r0 = 0; r0 < p2; r0++) {
    int v4 = v3 + r0;
    float v5 = texelFetch(x0, wk_at(v4), 0).r;
    int v6 = a1 + r0 * s1_0;
    float v7 = texelFetch(x1, wk_at(v6), 0).r;
    acc0_0_0 += v5 * v7;
  }
  y0 = acc0_0_0;
}
