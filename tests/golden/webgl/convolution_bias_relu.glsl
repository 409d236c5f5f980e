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
  vec3 x0_step = 1.0 / vec3(vec2(textureSize(x0, 0).xy), 1.0);
  vec3 x0_middle = vec3(0.5, 0.5, 0.0) * x0_step;
  int p0 = P[0].x;
  int number = (first + (int(gl_FragCoord.y) << WK_SHIFT | int(gl_FragCoord.x))) << 2;
  int a0 = number;
  if (uint(a0) >= uint(p0)) discard;
  float v1 = texture(x0, vec3(wk_at(a0)) * x0_step + x0_middle).r;
  float v2 = texture(x0, vec3(wk_at(a0 + 1)) * x0_step + x0_middle).r;
  float v3 = texture(x0, vec3(wk_at(a0 + 2)) * x0_step + x0_middle).r;
  float v4 = texture(x0, vec3(wk_at(a0 + 3)) * x0_step + x0_middle).r;
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
layout(location = 1) out vec4 y1;
layout(location = 2) out vec4 y2;
layout(location = 3) out vec4 y3;

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
  vec3 x1_step = 1.0 / vec3(vec2(textureSize(x1, 0).xy), 1.0);
  vec3 x1_middle = vec3(0.5, 0.5, 0.0) * x1_step;
  vec3 x2_step = 1.0 / vec3(vec2(textureSize(x2, 0).xy), 1.0);
  vec3 x2_middle = vec3(0.5, 0.5, 0.0) * x2_step;
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
  int q3 = P[3].w;
  int distance = (q3 << 2) / s3_0;
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
  vec4 acc0_0_0 = vec4(0.0);
  vec4 acc0_1_0 = vec4(0.0);
  vec4 acc0_2_0 = vec4(0.0);
  vec4 acc0_3_0 = vec4(0.0);
  for (int r0 = 0; r0 < p3; r0++) {
    int v5 = a0 + r0;
    int v6 = v5 - 1;
    int v9 = v6 * s0_0;
    uint v12 = uint(v6);
    bool v14 = v12 < v13;
    int v22 = a2 + r0 * s1_0;
    int v26 = (a0 + 1 * distance) + r0;
    int v27 = v26 - 1;
    int v28 = v27 * s0_0;
    uint v31 = uint(v27);
    bool v32 = v31 < v13;
    int v37 = (a0 + 2 * distance) + r0;
    int v38 = v37 - 1;
    int v39 = v38 * s0_0;
    uint v42 = uint(v38);
    bool v43 = v42 < v13;
    int v48 = (a0 + 3 * distance) + r0;
    int v49 = v48 - 1;
    int v50 = v49 * s0_0;
    uint v53 = uint(v49);
    bool v54 = v53 < v13;
    for (int r1 = 0; r1 < p4; r1++) {
      int v7 = a1 + r1;
      int v8 = v7 - 1;
      int v10 = v9 + v8 * s0_1;
      uint v15 = uint(v8);
      bool v17 = v15 < v16;
      bool v18 = v14 && v17;
      int v23 = v22 + r1 * s1_1;
      int v29 = v28 + v8 * s0_1;
      bool v33 = v32 && v17;
      int v40 = v39 + v8 * s0_1;
      bool v44 = v43 && v17;
      int v51 = v50 + v8 * s0_1;
      bool v55 = v54 && v17;
      int r2 = 0;
      for (; r2 + 3 < p5; r2 += 4) {
        int v11 = v10 + r2;
        vec4 v19 = v18 ? texture(x0, vec3(wk_at((v11) >> 2)) * x0_step + x0_middle) : vec4(0.0);
        float v20 = v19.x;
        vec4 v21 = vec4(v20);
        int v24 = v23 + r2 * s1_2;
        vec4 v25 = texture(x1, vec3(wk_at((v24) >> 2)) * x1_step + x1_middle);
        int v30 = v29 + r2;
        vec4 v34 = v33 ? texture(x0, vec3(wk_at((v30) >> 2)) * x0_step + x0_middle) : vec4(0.0);
        float v35 = v34.x;
        vec4 v36 = vec4(v35);
        int v41 = v40 + r2;
        vec4 v45 = v44 ? texture(x0, vec3(wk_at((v41) >> 2)) * x0_step + x0_middle) : vec4(0.0);
        float v46 = v45.x;
        vec4 v47 = vec4(v46);
        int v52 = v51 + r2;
        vec4 v56 = v55 ? texture(x0, vec3(wk_at((v52) >> 2)) * x0_step + x0_middle) : vec4(0.0);
        float v57 = v56.x;
        vec4 v58 = vec4(v57);
        float v59 = v19.y;
        vec4 v60 = vec4(v59);
        int v61 = v23 + (r2 + 1) * s1_2;
        vec4 v62 = texture(x1, vec3(wk_at((v61) >> 2)) * x1_step + x1_middle);
        float v63 = v34.y;
        vec4 v64 = vec4(v63);
        float v65 = v45.y;
        vec4 v66 = vec4(v65);
        float v67 = v56.y;
        vec4 v68 = vec4(v67);
        float v69 = v19.z;
        vec4 v70 = vec4(v69);
        int v71 = v23 + (r2 + 2) * s1_2;
        vec4 v72 = texture(x1, vec3(wk_at((v71) >> 2)) * x1_step + x1_middle);
        float v73 = v34.z;
        vec4 v74 = vec4(v73);
        float v75 = v45.z;
        vec4 v76 = vec4(v75);
        float v77 = v56.z;
        vec4 v78 = vec4(v77);
        float v79 = v19.w;
        vec4 v80 = vec4(v79);
        int v81 = v23 + (r2 + 3) * s1_2;
        vec4 v82 = texture(x1, vec3(wk_at((v81) >> 2)) * x1_step + x1_middle);
        float v83 = v34.w;
        vec4 v84 = vec4(v83);
        float v85 = v45.w;
        vec4 v86 = vec4(v85);
        float v87 = v56.w;
        vec4 v88 = vec4(v87);
        acc0_0_0 += v21 * v25;
        acc0_1_0 += v36 * v25;
        acc0_2_0 += v47 * v25;
        acc0_3_0 += v58 * v25;
        acc0_0_0 += v60 * v62;
        acc0_1_0 += v64 * v62;
        acc0_2_0 += v66 * v62;
        acc0_3_0 += v68 * v62;
        acc0_0_0 += v70 * v72;
        acc0_1_0 += v74 * v72;
        acc0_2_0 += v76 * v72;
        acc0_3_0 += v78 * v72;
        acc0_0_0 += v80 * v82;
        acc0_1_0 += v84 * v82;
        acc0_2_0 += v86 * v82;
        acc0_3_0 += v88 * v82;
      }
    }
  }
  {
    vec4 v89 = texture(x2, vec3(wk_at((a2) >> 2)) * x2_step + x2_middle);
    vec4 v90 = acc0_0_0 + v89;
    vec4 v91 = vec4(0.0);
    bvec4 v92 = wk_lt(v90, v91);
    vec4 v93 = mix(v90, v91, v92);
    vec4 v94 = acc0_1_0 + v89;
    bvec4 v95 = wk_lt(v94, v91);
    vec4 v96 = mix(v94, v91, v95);
    vec4 v97 = acc0_2_0 + v89;
    bvec4 v98 = wk_lt(v97, v91);
    vec4 v99 = mix(v97, v91, v98);
    vec4 v100 = acc0_3_0 + v89;
    bvec4 v101 = wk_lt(v100, v91);
    vec4 v102 = mix(v100, v91, v101);
    y0 = v93;
    y1 = v96;
    y2 = v99;
    y3 = v102;
  }
}
