struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  y0: i32,
  p0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) index: u32) {
  let local = i32(index);
  let workgroup = i32(group.y * groups.x + group.x);
  let invocation = workgroup * 64 + local;
  let x0 = arguments.x0;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let a0 = invocation;
  if (a0 >= p0) { return; }
  let v1 = bitcast<f32>(arena[x0 + a0]);
  arena[y0 + a0] = bitcast<u32>(v1);
}

struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  s0_0: i32,
  s0_1: i32,
  s0_2: i32,
  s0_3: i32,
  s1_0: i32,
  s1_1: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<vec4u>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) index: u32) {
  let local = i32(index);
  let workgroup = i32(group.y * groups.x + group.x);
  let invocation = workgroup * 64 + local;
  let x0 = arguments.x0;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let p1 = arguments.p1;
  let s0_0 = arguments.s0_0;
  let s0_1 = arguments.s0_1;
  let s0_2 = arguments.s0_2;
  let s0_3 = arguments.s0_3;
  let s1_0 = arguments.s1_0;
  let s1_1 = arguments.s1_1;
  let v1 = (p1 + 3) / 4;
  let a1 = invocation % v1 * 4;
  let v2 = invocation / v1;
  let a0 = v2;
  if (a0 >= p0) { return; }
  let v3 = a0 * s0_2 + a1;
  let v4 = bitcast<vec4<f32>>(arena[(x0 + v3) >> 2u]);
  let v5 = -v4;
  let v6 = -v5;
  let v7 = a0 * s1_1 + a1;
  let v8 = vec4<f32>(0.5f);
  let v9 = v8 * v5;
  let v10 = 1 * s0_1 + a0 * s0_2 + a1;
  let v11 = bitcast<vec4<f32>>(arena[(x0 + v10) >> 2u]);
  let v12 = -v11;
  let v13 = v8 * v12;
  let v14 = v9 + v13;
  let v15 = 2 * s0_1 + a0 * s0_2 + a1;
  let v16 = bitcast<vec4<f32>>(arena[(x0 + v15) >> 2u]);
  let v17 = -v16;
  let v18 = v8 * v17;
  let v19 = v14 + v18;
  let v20 = 1 * s1_0 + a0 * s1_1 + a1;
  let v21 = v9 - v13;
  let v22 = v21 + v18;
  let v23 = 2 * s1_0 + a0 * s1_1 + a1;
  let v24 = 3 * s1_0 + a0 * s1_1 + a1;
  let v25 = v8 * v4;
  let v26 = 1 * s0_0 + a0 * s0_2 + a1;
  let v27 = bitcast<vec4<f32>>(arena[(x0 + v26) >> 2u]);
  let v28 = v8 * v27;
  let v29 = v25 + v28;
  let v30 = 2 * s0_0 + a0 * s0_2 + a1;
  let v31 = bitcast<vec4<f32>>(arena[(x0 + v30) >> 2u]);
  let v32 = v8 * v31;
  let v33 = v29 + v32;
  let v34 = -v33;
  let v35 = 4 * s1_0 + a0 * s1_1 + a1;
  let v36 = v8 * v33;
  let v37 = v8 * v11;
  let v38 = 1 * s0_0 + 1 * s0_1 + a0 * s0_2 + a1;
  let v39 = bitcast<vec4<f32>>(arena[(x0 + v38) >> 2u]);
  let v40 = v8 * v39;
  let v41 = v37 + v40;
  let v42 = 2 * s0_0 + 1 * s0_1 + a0 * s0_2 + a1;
  let v43 = bitcast<vec4<f32>>(arena[(x0 + v42) >> 2u]);
  let v44 = v8 * v43;
  let v45 = v41 + v44;
  let v46 = v8 * v45;
  let v47 = v36 + v46;
  let v48 = v8 * v16;
  let v49 = 1 * s0_0 + 2 * s0_1 + a0 * s0_2 + a1;
  let v50 = bitcast<vec4<f32>>(arena[(x0 + v49) >> 2u]);
  let v51 = v8 * v50;
  let v52 = v48 + v51;
  let v53 = 2 * s0_0 + 2 * s0_1 + a0 * s0_2 + a1;
  let v54 = bitcast<vec4<f32>>(arena[(x0 + v53) >> 2u]);
  let v55 = v8 * v54;
  let v56 = v52 + v55;
  let v57 = v8 * v56;
  let v58 = v47 + v57;
  let v59 = 5 * s1_0 + a0 * s1_1 + a1;
  let v60 = v36 - v46;
  let v61 = v60 + v57;
  let v62 = 6 * s1_0 + a0 * s1_1 + a1;
  let v63 = 7 * s1_0 + a0 * s1_1 + a1;
  let v64 = v25 - v28;
  let v65 = v64 + v32;
  let v66 = -v65;
  let v67 = 8 * s1_0 + a0 * s1_1 + a1;
  let v68 = v8 * v65;
  let v69 = v37 - v40;
  let v70 = v69 + v44;
  let v71 = v8 * v70;
  let v72 = v68 + v71;
  let v73 = v48 - v51;
  let v74 = v73 + v55;
  let v75 = v8 * v74;
  let v76 = v72 + v75;
  let v77 = 9 * s1_0 + a0 * s1_1 + a1;
  let v78 = v68 - v71;
  let v79 = v78 + v75;
  let v80 = 10 * s1_0 + a0 * s1_1 + a1;
  let v81 = 11 * s1_0 + a0 * s1_1 + a1;
  let v82 = -v31;
  let v83 = 12 * s1_0 + a0 * s1_1 + a1;
  let v84 = v32 + v44;
  let v85 = v84 + v55;
  let v86 = 13 * s1_0 + a0 * s1_1 + a1;
  let v87 = v32 - v44;
  let v88 = v87 + v55;
  let v89 = 14 * s1_0 + a0 * s1_1 + a1;
  let v90 = 15 * s1_0 + a0 * s1_1 + a1;
  arena[(y0 + v7) >> 2u] = bitcast<vec4<u32>>(v6);
  arena[(y0 + v20) >> 2u] = bitcast<vec4<u32>>(v19);
  arena[(y0 + v23) >> 2u] = bitcast<vec4<u32>>(v22);
  arena[(y0 + v24) >> 2u] = bitcast<vec4<u32>>(v17);
  arena[(y0 + v35) >> 2u] = bitcast<vec4<u32>>(v34);
  arena[(y0 + v59) >> 2u] = bitcast<vec4<u32>>(v58);
  arena[(y0 + v62) >> 2u] = bitcast<vec4<u32>>(v61);
  arena[(y0 + v63) >> 2u] = bitcast<vec4<u32>>(v56);
  arena[(y0 + v67) >> 2u] = bitcast<vec4<u32>>(v66);
  arena[(y0 + v77) >> 2u] = bitcast<vec4<u32>>(v76);
  arena[(y0 + v80) >> 2u] = bitcast<vec4<u32>>(v79);
  arena[(y0 + v81) >> 2u] = bitcast<vec4<u32>>(v74);
  arena[(y0 + v83) >> 2u] = bitcast<vec4<u32>>(v82);
  arena[(y0 + v86) >> 2u] = bitcast<vec4<u32>>(v85);
  arena[(y0 + v89) >> 2u] = bitcast<vec4<u32>>(v88);
  arena[(y0 + v90) >> 2u] = bitcast<vec4<u32>>(v54);
}

struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  p2: i32,
  p3: i32,
  p4: i32,
  p5: i32,
  s0_0: i32,
  s0_1: i32,
  s0_2: i32,
  s0_3: i32,
  s1_0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<vec4u>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

fn wk_udiv(a: u32, b: u32) -> u32 { return select(0u, a / select(1u, b, b != 0u), b != 0u); }

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) index: u32) {
  let local = i32(index);
  let workgroup = i32(group.y * groups.x + group.x);
  let invocation = workgroup * 64 + local;
  let x0 = arguments.x0;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let p1 = arguments.p1;
  let p2 = arguments.p2;
  let p3 = arguments.p3;
  let p4 = arguments.p4;
  let p5 = arguments.p5;
  let s0_0 = arguments.s0_0;
  let s0_1 = arguments.s0_1;
  let s0_2 = arguments.s0_2;
  let s0_3 = arguments.s0_3;
  let s1_0 = arguments.s1_0;
  let v1 = (p1 + 3) / 4;
  let a1 = invocation % v1 * 4;
  let v2 = invocation / v1;
  let a0 = v2;
  if (a0 >= p0) { return; }
  let v3 = bitcast<u32>(a0);
  let v4 = bitcast<u32>(p2);
  let v5 = wk_udiv(v3, v4);
  let v6 = bitcast<i32>(v5);
  let v7 = v6 * 2;
  let v8 = v7 + 2;
  let v9 = v8 - 1;
  let v10 = v6 * p2;
  let v11 = a0 - v10;
  let v12 = v11 * 2;
  let v13 = v12 + 2;
  let v14 = v13 - 1;
  let v15 = v9 * s0_1 + v14 * s0_2 + a1;
  let v16 = bitcast<u32>(v9);
  let v17 = bitcast<u32>(p3);
  let v18 = v16 < v17;
  let v19 = bitcast<u32>(v14);
  let v20 = bitcast<u32>(p4);
  let v21 = v19 < v20;
  let v22 = v18 & v21;
  let v23 = vec4<bool>(v22);
  let v24 = vec4<f32>(0.0f);
  let v25 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v15) >> 2u]), v23);
  let v26 = v7 - 1;
  let v27 = v26 * s0_1 + v14 * s0_2 + a1;
  let v28 = bitcast<u32>(v26);
  let v29 = v28 < v17;
  let v30 = v29 & v21;
  let v31 = vec4<bool>(v30);
  let v32 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v27) >> 2u]), v31);
  let v33 = v25 - v32;
  let v34 = v12 - 1;
  let v35 = v9 * s0_1 + v34 * s0_2 + a1;
  let v36 = bitcast<u32>(v34);
  let v37 = v36 < v20;
  let v38 = v18 & v37;
  let v39 = vec4<bool>(v38);
  let v40 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v35) >> 2u]), v39);
  let v41 = v26 * s0_1 + v34 * s0_2 + a1;
  let v42 = v29 & v37;
  let v43 = vec4<bool>(v42);
  let v44 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v41) >> 2u]), v43);
  let v45 = v40 - v44;
  let v46 = v33 - v45;
  let v47 = a0 * p5;
  let v48 = v47 + a1;
  let v49 = v12 + 1;
  let v50 = v49 - 1;
  let v51 = v9 * s0_1 + v50 * s0_2 + a1;
  let v52 = bitcast<u32>(v50);
  let v53 = v52 < v20;
  let v54 = v18 & v53;
  let v55 = vec4<bool>(v54);
  let v56 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v51) >> 2u]), v55);
  let v57 = v26 * s0_1 + v50 * s0_2 + a1;
  let v58 = v29 & v53;
  let v59 = vec4<bool>(v58);
  let v60 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v57) >> 2u]), v59);
  let v61 = v56 - v60;
  let v62 = v33 + v61;
  let v63 = 1 * s1_0 + v48;
  let v64 = v33 - v61;
  let v65 = 2 * s1_0 + v48;
  let v66 = v12 + 3;
  let v67 = v66 - 1;
  let v68 = v9 * s0_1 + v67 * s0_2 + a1;
  let v69 = bitcast<u32>(v67);
  let v70 = v69 < v20;
  let v71 = v18 & v70;
  let v72 = vec4<bool>(v71);
  let v73 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v68) >> 2u]), v72);
  let v74 = v26 * s0_1 + v67 * s0_2 + a1;
  let v75 = v29 & v70;
  let v76 = vec4<bool>(v75);
  let v77 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v74) >> 2u]), v76);
  let v78 = v73 - v77;
  let v79 = v78 - v61;
  let v80 = 3 * s1_0 + v48;
  let v81 = v7 + 1;
  let v82 = v81 - 1;
  let v83 = v82 * s0_1 + v14 * s0_2 + a1;
  let v84 = bitcast<u32>(v82);
  let v85 = v84 < v17;
  let v86 = v85 & v21;
  let v87 = vec4<bool>(v86);
  let v88 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v83) >> 2u]), v87);
  let v89 = v25 + v88;
  let v90 = v82 * s0_1 + v34 * s0_2 + a1;
  let v91 = v85 & v37;
  let v92 = vec4<bool>(v91);
  let v93 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v90) >> 2u]), v92);
  let v94 = v40 + v93;
  let v95 = v89 - v94;
  let v96 = 4 * s1_0 + v48;
  let v97 = v82 * s0_1 + v50 * s0_2 + a1;
  let v98 = v85 & v53;
  let v99 = vec4<bool>(v98);
  let v100 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v97) >> 2u]), v99);
  let v101 = v56 + v100;
  let v102 = v89 + v101;
  let v103 = 5 * s1_0 + v48;
  let v104 = v89 - v101;
  let v105 = 6 * s1_0 + v48;
  let v106 = v82 * s0_1 + v67 * s0_2 + a1;
  let v107 = v85 & v70;
  let v108 = vec4<bool>(v107);
  let v109 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v106) >> 2u]), v108);
  let v110 = v73 + v109;
  let v111 = v110 - v101;
  let v112 = 7 * s1_0 + v48;
  let v113 = v25 - v88;
  let v114 = v40 - v93;
  let v115 = v113 - v114;
  let v116 = 8 * s1_0 + v48;
  let v117 = v56 - v100;
  let v118 = v113 + v117;
  let v119 = 9 * s1_0 + v48;
  let v120 = v113 - v117;
  let v121 = 10 * s1_0 + v48;
  let v122 = v73 - v109;
  let v123 = v122 - v117;
  let v124 = 11 * s1_0 + v48;
  let v125 = v7 + 3;
  let v126 = v125 - 1;
  let v127 = v126 * s0_1 + v14 * s0_2 + a1;
  let v128 = bitcast<u32>(v126);
  let v129 = v128 < v17;
  let v130 = v129 & v21;
  let v131 = vec4<bool>(v130);
  let v132 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v127) >> 2u]), v131);
  let v133 = v132 - v88;
  let v134 = v126 * s0_1 + v34 * s0_2 + a1;
  let v135 = v129 & v37;
  let v136 = vec4<bool>(v135);
  let v137 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v134) >> 2u]), v136);
  let v138 = v137 - v93;
  let v139 = v133 - v138;
  let v140 = 12 * s1_0 + v48;
  let v141 = v126 * s0_1 + v50 * s0_2 + a1;
  let v142 = v129 & v53;
  let v143 = vec4<bool>(v142);
  let v144 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v141) >> 2u]), v143);
  let v145 = v144 - v100;
  let v146 = v133 + v145;
  let v147 = 13 * s1_0 + v48;
  let v148 = v133 - v145;
  let v149 = 14 * s1_0 + v48;
  let v150 = v126 * s0_1 + v67 * s0_2 + a1;
  let v151 = v129 & v70;
  let v152 = vec4<bool>(v151);
  let v153 = select(v24, bitcast<vec4<f32>>(arena[(x0 + v150) >> 2u]), v152);
  let v154 = v153 - v109;
  let v155 = v154 - v145;
  let v156 = 15 * s1_0 + v48;
  arena[(y0 + v48) >> 2u] = bitcast<vec4<u32>>(v46);
  arena[(y0 + v63) >> 2u] = bitcast<vec4<u32>>(v62);
  arena[(y0 + v65) >> 2u] = bitcast<vec4<u32>>(v64);
  arena[(y0 + v80) >> 2u] = bitcast<vec4<u32>>(v79);
  arena[(y0 + v96) >> 2u] = bitcast<vec4<u32>>(v95);
  arena[(y0 + v103) >> 2u] = bitcast<vec4<u32>>(v102);
  arena[(y0 + v105) >> 2u] = bitcast<vec4<u32>>(v104);
  arena[(y0 + v112) >> 2u] = bitcast<vec4<u32>>(v111);
  arena[(y0 + v116) >> 2u] = bitcast<vec4<u32>>(v115);
  arena[(y0 + v119) >> 2u] = bitcast<vec4<u32>>(v118);
  arena[(y0 + v121) >> 2u] = bitcast<vec4<u32>>(v120);
  arena[(y0 + v124) >> 2u] = bitcast<vec4<u32>>(v123);
  arena[(y0 + v140) >> 2u] = bitcast<vec4<u32>>(v139);
  arena[(y0 + v147) >> 2u] = bitcast<vec4<u32>>(v146);
  arena[(y0 + v149) >> 2u] = bitcast<vec4<u32>>(v148);
  arena[(y0 + v156) >> 2u] = bitcast<vec4<u32>>(v155);
}

struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  x1: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  p2: i32,
  p3: i32,
  p4: i32,
  p5: i32,
  s0_0: i32,
  s1_0: i32,
  s1_1: i32,
  s2_0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<vec4u>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) index: u32) {
  let local = i32(index);
  let workgroup = i32(group.y * groups.x + group.x);
  let invocation = workgroup * 64 + local;
  let x0 = arguments.x0;
  let x1 = arguments.x1;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let p1 = arguments.p1;
  let p2 = arguments.p2;
  let p3 = arguments.p3;
  let p4 = arguments.p4;
  let p5 = arguments.p5;
  let s0_0 = arguments.s0_0;
  let s1_0 = arguments.s1_0;
  let s1_1 = arguments.s1_1;
  let s2_0 = arguments.s2_0;
  let v1 = (p2 + 3) / 4;
  let a2 = invocation % v1 * 4;
  let v2 = invocation / v1;
  let v3 = (p1 + 3) / 4;
  let a1 = v2 % v3 * 4;
  let v4 = v2 / v3;
  let a0 = v4;
  if (a0 >= p0) { return; }
  let v5 = a1 * p4;
  let v7 = a0 * s0_0;
  let v10 = (a1 + 1) * p4;
  let v14 = (a1 + 2) * p4;
  let v18 = (a1 + 3) * p4;
  let v22 = a0 * s1_0 + a2;
  var acc0_0_0 = vec4<f32>(0.0f);
  var acc0_1_0 = vec4<f32>(0.0f);
  var acc0_2_0 = vec4<f32>(0.0f);
  var acc0_3_0 = vec4<f32>(0.0f);
  var r0 = 0;
  for (; r0 < p3; r0 += 4) {
    let v6 = v5 + r0;
    let v8 = v7 + v6;
    let v9 = bitcast<vec4<f32>>(arena[(x0 + v8) >> 2u]);
    let v11 = v10 + r0;
    let v12 = v7 + v11;
    let v13 = bitcast<vec4<f32>>(arena[(x0 + v12) >> 2u]);
    let v15 = v14 + r0;
    let v16 = v7 + v15;
    let v17 = bitcast<vec4<f32>>(arena[(x0 + v16) >> 2u]);
    let v19 = v18 + r0;
    let v20 = v7 + v19;
    let v21 = bitcast<vec4<f32>>(arena[(x0 + v20) >> 2u]);
    let v23 = v22 + r0 * s1_1;
    let v24 = bitcast<vec4<f32>>(arena[(x1 + v23) >> 2u]);
    let v25 = r0 + 1;
    let v26 = v22 + v25 * s1_1;
    let v27 = bitcast<vec4<f32>>(arena[(x1 + v26) >> 2u]);
    let v28 = r0 + 2;
    let v29 = v22 + v28 * s1_1;
    let v30 = bitcast<vec4<f32>>(arena[(x1 + v29) >> 2u]);
    let v31 = r0 + 3;
    let v32 = v22 + v31 * s1_1;
    let v33 = bitcast<vec4<f32>>(arena[(x1 + v32) >> 2u]);
    acc0_0_0 += vec4<f32>(v9[0]) * v24;
    acc0_1_0 += vec4<f32>(v13[0]) * v24;
    acc0_2_0 += vec4<f32>(v17[0]) * v24;
    acc0_3_0 += vec4<f32>(v21[0]) * v24;
    acc0_0_0 += vec4<f32>(v9[1]) * v27;
    acc0_1_0 += vec4<f32>(v13[1]) * v27;
    acc0_2_0 += vec4<f32>(v17[1]) * v27;
    acc0_3_0 += vec4<f32>(v21[1]) * v27;
    acc0_0_0 += vec4<f32>(v9[2]) * v30;
    acc0_1_0 += vec4<f32>(v13[2]) * v30;
    acc0_2_0 += vec4<f32>(v17[2]) * v30;
    acc0_3_0 += vec4<f32>(v21[2]) * v30;
    acc0_0_0 += vec4<f32>(v9[3]) * v33;
    acc0_1_0 += vec4<f32>(v13[3]) * v33;
    acc0_2_0 += vec4<f32>(v17[3]) * v33;
    acc0_3_0 += vec4<f32>(v21[3]) * v33;
  }
  {
    let v34 = a1 * p5;
    let v35 = v34 + a2;
    let v36 = a0 * s2_0 + v35;
    let v37 = (a1 + 1) * p5;
    let v38 = v37 + a2;
    let v39 = a0 * s2_0 + v38;
    let v40 = (a1 + 2) * p5;
    let v41 = v40 + a2;
    let v42 = a0 * s2_0 + v41;
    let v43 = (a1 + 3) * p5;
    let v44 = v43 + a2;
    let v45 = a0 * s2_0 + v44;
    arena[(y0 + v36) >> 2u] = bitcast<vec4<u32>>(acc0_0_0);
    if (a1 + 1 < p1) { arena[(y0 + v39) >> 2u] = bitcast<vec4<u32>>(acc0_1_0); }
    if (a1 + 2 < p1) { arena[(y0 + v42) >> 2u] = bitcast<vec4<u32>>(acc0_2_0); }
    if (a1 + 3 < p1) { arena[(y0 + v45) >> 2u] = bitcast<vec4<u32>>(acc0_3_0); }
  }
}

struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  x1: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  p2: i32,
  p3: i32,
  p4: i32,
  p5: i32,
  s0_0: i32,
  s1_0: i32,
  s2_0: i32,
  s2_1: i32,
  s2_2: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<vec4u>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

fn wk_udiv(a: u32, b: u32) -> u32 { return select(0u, a / select(1u, b, b != 0u), b != 0u); }

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) index: u32) {
  let local = i32(index);
  let workgroup = i32(group.y * groups.x + group.x);
  let invocation = workgroup * 64 + local;
  let x0 = arguments.x0;
  let x1 = arguments.x1;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let p1 = arguments.p1;
  let p2 = arguments.p2;
  let p3 = arguments.p3;
  let p4 = arguments.p4;
  let p5 = arguments.p5;
  let s0_0 = arguments.s0_0;
  let s1_0 = arguments.s1_0;
  let s2_0 = arguments.s2_0;
  let s2_1 = arguments.s2_1;
  let s2_2 = arguments.s2_2;
  let v1 = (p1 + 3) / 4;
  let a1 = invocation % v1 * 4;
  let v2 = invocation / v1;
  let a0 = v2;
  if (a0 >= p0) { return; }
  let v3 = a0 * p3;
  let v4 = v3 + a1;
  let v5 = 5 * s0_0 + v4;
  let v6 = bitcast<vec4<f32>>(arena[(x0 + v5) >> 2u]);
  let v7 = 9 * s0_0 + v4;
  let v8 = bitcast<vec4<f32>>(arena[(x0 + v7) >> 2u]);
  let v9 = v6 - v8;
  let v10 = 13 * s0_0 + v4;
  let v11 = bitcast<vec4<f32>>(arena[(x0 + v10) >> 2u]);
  let v12 = v9 + v11;
  let v13 = 6 * s0_0 + v4;
  let v14 = bitcast<vec4<f32>>(arena[(x0 + v13) >> 2u]);
  let v15 = 10 * s0_0 + v4;
  let v16 = bitcast<vec4<f32>>(arena[(x0 + v15) >> 2u]);
  let v17 = v14 - v16;
  let v18 = 14 * s0_0 + v4;
  let v19 = bitcast<vec4<f32>>(arena[(x0 + v18) >> 2u]);
  let v20 = v17 + v19;
  let v21 = v12 - v20;
  let v22 = 7 * s0_0 + v4;
  let v23 = bitcast<vec4<f32>>(arena[(x0 + v22) >> 2u]);
  let v24 = 11 * s0_0 + v4;
  let v25 = bitcast<vec4<f32>>(arena[(x0 + v24) >> 2u]);
  let v26 = v23 - v25;
  let v27 = 15 * s0_0 + v4;
  let v28 = bitcast<vec4<f32>>(arena[(x0 + v27) >> 2u]);
  let v29 = v26 + v28;
  let v30 = v21 + v29;
  let v31 = bitcast<vec4<f32>>(arena[(x1 + a1) >> 2u]);
  let v32 = v30 + v31;
  let v33 = vec4<f32>(0.0f);
  let v34 = v32 < v33;
  let v35 = select(v32, v33, v34);
  let v36 = bitcast<u32>(a0);
  let v37 = bitcast<u32>(p2);
  let v38 = wk_udiv(v36, v37);
  let v39 = bitcast<i32>(v38);
  let v40 = v39 * 2;
  let v41 = v40 + 1;
  let v42 = p4 - 1;
  let v43 = min(v41, v42);
  let v44 = v39 * p2;
  let v45 = a0 - v44;
  let v46 = v45 * 2;
  let v47 = v46 + 1;
  let v48 = p5 - 1;
  let v49 = min(v47, v48);
  let v50 = v43 * s2_1 + v49 * s2_2 + a1;
  let v51 = 4 * s0_0 + v4;
  let v52 = bitcast<vec4<f32>>(arena[(x0 + v51) >> 2u]);
  let v53 = 8 * s0_0 + v4;
  let v54 = bitcast<vec4<f32>>(arena[(x0 + v53) >> 2u]);
  let v55 = v52 - v54;
  let v56 = 12 * s0_0 + v4;
  let v57 = bitcast<vec4<f32>>(arena[(x0 + v56) >> 2u]);
  let v58 = v55 + v57;
  let v59 = v12 + v20;
  let v60 = v58 + v59;
  let v61 = v60 + v31;
  let v62 = v61 < v33;
  let v63 = select(v61, v33, v62);
  let v64 = min(v46, v48);
  let v65 = v43 * s2_1 + v64 * s2_2 + a1;
  let v66 = 1 * s0_0 + v4;
  let v67 = bitcast<vec4<f32>>(arena[(x0 + v66) >> 2u]);
  let v68 = v6 + v8;
  let v69 = v67 + v68;
  let v70 = 2 * s0_0 + v4;
  let v71 = bitcast<vec4<f32>>(arena[(x0 + v70) >> 2u]);
  let v72 = v14 + v16;
  let v73 = v71 + v72;
  let v74 = v69 - v73;
  let v75 = 3 * s0_0 + v4;
  let v76 = bitcast<vec4<f32>>(arena[(x0 + v75) >> 2u]);
  let v77 = v23 + v25;
  let v78 = v76 + v77;
  let v79 = v74 + v78;
  let v80 = v79 + v31;
  let v81 = v80 < v33;
  let v82 = select(v80, v33, v81);
  let v83 = min(v40, v42);
  let v84 = v83 * s2_1 + v49 * s2_2 + a1;
  let v85 = bitcast<vec4<f32>>(arena[(x0 + v4) >> 2u]);
  let v86 = v52 + v54;
  let v87 = v85 + v86;
  let v88 = v69 + v73;
  let v89 = v87 + v88;
  let v90 = v89 + v31;
  let v91 = v90 < v33;
  let v92 = select(v90, v33, v91);
  let v93 = v83 * s2_1 + v64 * s2_2 + a1;
  arena[(y0 + v50) >> 2u] = bitcast<vec4<u32>>(v35);
  arena[(y0 + v65) >> 2u] = bitcast<vec4<u32>>(v63);
  arena[(y0 + v84) >> 2u] = bitcast<vec4<u32>>(v82);
  arena[(y0 + v93) >> 2u] = bitcast<vec4<u32>>(v92);
}
