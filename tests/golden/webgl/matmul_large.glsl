#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2DArray x0;
uniform highp sampler2DArray x1;
uniform ivec4 P[2];
uniform int first;
layout(location = 0) out vec4 y0;

ivec3 wk_at(int i) {
  return ivec3(i & ((1 << WK_SHIFT) - 1), (i >> WK_SHIFT) & ((1 << WK_ROWS) - 1), i >> (WK_SHIFT + WK_ROWS));
}

void main() {
  int p0 = P[0].x;
  int p1 = P[0].y;
  int p2 = P[0].z;
  int s0_0 = P[0].w;
  int s1_0 = P[1].x;
  int s2_0 = P[1].y;
  int number = (first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x))) << 2;
  int v1 = number / s2_0;
  int v2 = number - v1 * s2_0;
  int a0 = v1;
  if (uint(a0) >= uint(p0)) discard;
  int a1 = v2;
  if (uint(a1) >= uint(p1)) discard;
  int v3 = a0 * s0_0;
  vec4 acc0_0_0 = vec4(0.0);
  int r0 = 0;
  for (; r0 + 3 < p2; r0 += 4) {
    int v4 = v3 + r0;
    vec4 v5 = texelFetch(x0, wk_at((v4) >> 2), 0);
    float v6 = v5.x;
    vec4 v7 = vec4(v6);
    int v8 = a1 + r0 * s1_0;
    vec4 v9 = texelFetch(x1, wk_at((v8) >> 2), 0);
    float v10 = v5.y;
    vec4 v11 = vec4(v10);
    int v12 = a1 + (r0 + 1) * s1_0;
    vec4 v13 = texelFetch(x1, wk_at((v12) >> 2), 0);
    float v14 = v5.z;
    vec4 v15 = vec4(v14);
    int v16 = a1 + (r0 + 2) * s1_0;
    vec4 v17 = texelFetch(x1, wk_at((v16) >> 2), 0);
    float v18 = v5.w;
    vec4 v19 = vec4(v18);
    int v20 = a1 + (r0 + 3) * s1_0;
    vec4 v21 = texelFetch(x1, wk_at((v20) >> 2), 0);
    acc0_0_0 += v7 * v9;
    acc0_0_0 += v11 * v13;
    acc0_0_0 += v15 * v17;
    acc0_0_0 += v19 * v21;
  }
  y0 = acc0_0_0;
}
