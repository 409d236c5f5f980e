#version 300 es
precision highp float;
precision highp int;
uniform highp sampler2DArray x0;
uniform highp usampler2DArray x1;
uniform ivec4 P[1];
uniform int first;
layout(location = 0) out float y0;

ivec3 wk_at(int i) {
  return ivec3(i & ((1 << WK_SHIFT) - 1), (i >> WK_SHIFT) & ((1 << WK_ROWS) - 1), i >> (WK_SHIFT + WK_ROWS));
}

uint wk_packed(uint word, int i, int bits) { return (word >> ((i & (32 / bits - 1)) * bits)) & ((1u << bits) - 1u); }

int wk_signed(uint value, int bits) { return int(value << (32 - bits)) >> (32 - bits); }

void main() {
  vec3 x0_step = 1.0 / vec3(vec2(textureSize(x0, 0).xy), 1.0);
  vec3 x0_middle = vec3(0.5, 0.5, 0.0) * x0_step;
  vec3 x1_step = 1.0 / vec3(vec2(textureSize(x1, 0).xy), 1.0);
  vec3 x1_middle = vec3(0.5, 0.5, 0.0) * x1_step;
  int p0 = P[0].x;
  int p1 = P[0].y;
  int s1_0 = P[0].z;
  int s2_0 = P[0].w;
  int number = first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x));
  int v1 = number / s2_0;
  int v2 = number - v1 * s2_0;
  int a0 = v1;
  if (uint(a0) >= uint(p0)) discard;
  int a1 = v2;
  if (uint(a1) >= uint(p1)) discard;
  int v3 = a0 * s1_0 + a1;
  int v4 = wk_signed(wk_packed(texture(x1, vec3(wk_at((v3) / 4)) * x1_step + x1_middle).r, v3, 8), 8);
  float v5 = float(v4);
  float v6 = texture(x0, vec3(wk_at(a1)) * x0_step + x0_middle).r;
  float v7 = v5 * v6;
  y0 = v7;
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

void main() {
  vec3 x0_step = 1.0 / vec3(vec2(textureSize(x0, 0).xy), 1.0);
  vec3 x0_middle = vec3(0.5, 0.5, 0.0) * x0_step;
  vec3 x1_step = 1.0 / vec3(vec2(textureSize(x1, 0).xy), 1.0);
  vec3 x1_middle = vec3(0.5, 0.5, 0.0) * x1_step;
  int p0 = P[0].x;
  int p1 = P[0].y;
  int s1_0 = P[0].z;
  int number = first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x));
  int a0 = number;
  if (uint(a0) >= uint(p0)) discard;
  float acc0_0_0 = 0.0;
  int r0 = 0;
  for (; r0 + 3 < p1; r0 += 4) {
    vec4 v1 = texture(x0, vec3(wk_at((r0) >> 2)) * x0_step + x0_middle);
    float v2 = v1.x;
    int v3 = a0 + r0 * s1_0;
    float v4 = texture(x1, vec3(wk_at(v3)) * x1_step + x1_middle).r;
    float v5 = v1.y;
    int v6 = a0 + (r0 + 1) * s1_0;
    float v7 = texture(x1, vec3(wk_at(v6)) * x1_step + x1_middle).r;
    float v8 = v1.z;
    int v9 = a0 + (r0 + 2) * s1_0;
    float v10 = texture(x1, vec3(wk_at(v9)) * x1_step + x1_middle).r;
    float v11 = v1.w;
    int v12 = a0 + (r0 + 3) * s1_0;
    float v13 = texture(x1, vec3(wk_at(v12)) * x1_step + x1_middle).r;
    acc0_0_0 += v2 * v4;
    acc0_0_0 += v5 * v7;
    acc0_0_0 += v8 * v10;
    acc0_0_0 += v11 * v13;
  }
  y0 = acc0_0_0;
}
