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

bool wk_isnan(float x) { return (floatBitsToUint(x) & 0x7fffffffu) > 0x7f800000u; }
bvec4 wk_isnan(vec4 x) { return greaterThan(floatBitsToUint(x) & 0x7fffffffu, uvec4(0x7f800000u)); }

bool wk_numbers(float a, float b) { return !wk_isnan(a) && !wk_isnan(b); }
uvec4 wk_numbers(vec4 a, vec4 b) { return uvec4(not(wk_isnan(a))) & uvec4(not(wk_isnan(b))); }

bool wk_lt(float a, float b) { return a < b && wk_numbers(a, b); }
bvec4 wk_lt(vec4 a, vec4 b) { return bvec4(uvec4(lessThan(a, b)) & wk_numbers(a, b)); }

void main() {
  vec3 x0_step = 1.0 / vec3(vec2(textureSize(x0, 0).xy), 1.0);
  vec3 x0_middle = vec3(0.5, 0.5, 0.0) * x0_step;
  int p0 = P[0].x;
  int number = (first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x))) << 2;
  int a0 = number;
  if (uint(a0) >= uint(p0)) discard;
  vec4 v1 = texture(x0, vec3(wk_at((a0) >> 2)) * x0_step + x0_middle);
  vec4 v2 = vec4(0.0);
  bvec4 v3 = wk_lt(v1, v2);
  vec4 v4 = mix(v1, v2, v3);
  y0 = v4;
}
