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
uniform ivec4 P[5];
uniform int first;
layout(location = 0) out vec4 y0;
layout(location = 1) out vec4 y1;
layout(location = 2) out vec4 y2;
layout(location = 3) out vec4 y3;

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
  int q2 = P[4].y;
  int distance = (q2 << 2) / s2_0;
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
  int v28 = (a0 + 1 * distance) * p6;
  int v40 = (a0 + 2 * distance) * p6;
  int v52 = (a0 + 3 * distance) * p6;
  vec4 acc0_0_0 = vec4(0.0);
  vec4 acc0_1_0 = vec4(0.0);
  vec4 acc0_2_0 = vec4(0.0);
  vec4 acc0_3_0 = vec4(0.0);
  for (int r0 = 0; r0 < p3; r0++) {
    int v6 = v5 + r0;
    int v7 = v6 - 1;
    int v11 = v7 * s0_0;
    uint v14 = uint(v7);
    bool v16 = v14 < v15;
    int v24 = a2 + r0 * s1_0;
    int v29 = v28 + r0;
    int v30 = v29 - 1;
    int v31 = v30 * s0_0;
    uint v34 = uint(v30);
    bool v35 = v34 < v15;
    int v41 = v40 + r0;
    int v42 = v41 - 1;
    int v43 = v42 * s0_0;
    uint v46 = uint(v42);
    bool v47 = v46 < v15;
    int v53 = v52 + r0;
    int v54 = v53 - 1;
    int v55 = v54 * s0_0;
    uint v58 = uint(v54);
    bool v59 = v58 < v15;
    for (int r1 = 0; r1 < p4; r1++) {
      int v9 = v8 + r1;
      int v10 = v9 - 1;
      int v12 = v11 + v10 * s0_1;
      uint v17 = uint(v10);
      bool v19 = v17 < v18;
      bool v20 = v16 && v19;
      int v25 = v24 + r1 * s1_1;
      int v32 = v31 + v10 * s0_1;
      bool v36 = v35 && v19;
      int v44 = v43 + v10 * s0_1;
      bool v48 = v47 && v19;
      int v56 = v55 + v10 * s0_1;
      bool v60 = v59 && v19;
      int r2 = 0;
      for (; r2 + 3 < p5; r2 += 4) {
        int v13 = v12 + r2;
        vec4 v21 = v20 ? texture(x0, vec3(wk_at((v13) >> 2)) * x0_step + x0_middle) : vec4(0.0);
        float v22 = v21.x;
        vec4 v23 = vec4(v22);
        int v26 = v25 + r2 * s1_2;
        vec4 v27 = texture(x1, vec3(wk_at((v26) >> 2)) * x1_step + x1_middle);
        int v33 = v32 + r2;
        vec4 v37 = v36 ? texture(x0, vec3(wk_at((v33) >> 2)) * x0_step + x0_middle) : vec4(0.0);
        float v38 = v37.x;
        vec4 v39 = vec4(v38);
        int v45 = v44 + r2;
        vec4 v49 = v48 ? texture(x0, vec3(wk_at((v45) >> 2)) * x0_step + x0_middle) : vec4(0.0);
        float v50 = v49.x;
        vec4 v51 = vec4(v50);
        int v57 = v56 + r2;
        vec4 v61 = v60 ? texture(x0, vec3(wk_at((v57) >> 2)) * x0_step + x0_middle) : vec4(0.0);
        float v62 = v61.x;
        vec4 v63 = vec4(v62);
        float v64 = v21.y;
        vec4 v65 = vec4(v64);
        int v66 = v25 + (r2 + 1) * s1_2;
        vec4 v67 = texture(x1, vec3(wk_at((v66) >> 2)) * x1_step + x1_middle);
        float v68 = v37.y;
        vec4 v69 = vec4(v68);
        float v70 = v49.y;
        vec4 v71 = vec4(v70);
        float v72 = v61.y;
        vec4 v73 = vec4(v72);
        float v74 = v21.z;
        vec4 v75 = vec4(v74);
        int v76 = v25 + (r2 + 2) * s1_2;
        vec4 v77 = texture(x1, vec3(wk_at((v76) >> 2)) * x1_step + x1_middle);
        float v78 = v37.z;
        vec4 v79 = vec4(v78);
        float v80 = v49.z;
        vec4 v81 = vec4(v80);
        float v82 = v61.z;
        vec4 v83 = vec4(v82);
        float v84 = v21.w;
        vec4 v85 = vec4(v84);
        int v86 = v25 + (r2 + 3) * s1_2;
        vec4 v87 = texture(x1, vec3(wk_at((v86) >> 2)) * x1_step + x1_middle);
        float v88 = v37.w;
        vec4 v89 = vec4(v88);
        float v90 = v49.w;
        vec4 v91 = vec4(v90);
        float v92 = v61.w;
        vec4 v93 = vec4(v92);
        acc0_0_0 += v23 * v27;
        acc0_1_0 += v39 * v27;
        acc0_2_0 += v51 * v27;
        acc0_3_0 += v63 * v27;
        acc0_0_0 += v65 * v67;
        acc0_1_0 += v69 * v67;
        acc0_2_0 += v71 * v67;
        acc0_3_0 += v73 * v67;
        acc0_0_0 += v75 * v77;
        acc0_1_0 += v79 * v77;
        acc0_2_0 += v81 * v77;
        acc0_3_0 += v83 * v77;
        acc0_0_0 += v85 * v87;
        acc0_1_0 += v89 * v87;
        acc0_2_0 += v91 * v87;
        acc0_3_0 += v93 * v87;
      }
    }
  }
  y0 = acc0_0_0;
  y1 = acc0_1_0;
  y2 = acc0_2_0;
  y3 = acc0_3_0;
}
