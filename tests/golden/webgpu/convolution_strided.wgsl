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
  x1: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  p2: i32,
  p3: i32,
  p4: i32,
  p5: i32,
  p6: i32,
  p7: i32,
  p8: i32,
  p9: i32,
  s0_0: i32,
  s0_1: i32,
  s1_0: i32,
  s1_1: i32,
  s1_2: i32,
  s2_0: i32,
  s2_1: i32,
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
  let p6 = arguments.p6;
  let p7 = arguments.p7;
  let p8 = arguments.p8;
  let p9 = arguments.p9;
  let s0_0 = arguments.s0_0;
  let s0_1 = arguments.s0_1;
  let s1_0 = arguments.s1_0;
  let s1_1 = arguments.s1_1;
  let s1_2 = arguments.s1_2;
  let s2_0 = arguments.s2_0;
  let s2_1 = arguments.s2_1;
  let v1 = (p2 + 3) / 4;
  let a2 = invocation % v1 * 4;
  let v2 = invocation / v1;
  let v3 = (p1 + 3) / 4;
  let a1 = v2 % v3 * 4;
  let v4 = v2 / v3;
  let a0 = v4;
  if (a0 >= p0) { return; }
  let v5 = a0 * p6;
  let v8 = a1 * p7;
  let v15 = bitcast<u32>(p8);
  let v18 = bitcast<u32>(p9);
  let v22 = vec4<f32>(0.0f);
  let v24 = (a1 + 1) * p7;
  let v34 = (a1 + 2) * p7;
  let v44 = (a1 + 3) * p7;
  var acc0_0_0 = vec4<f32>(0.0f);
  var acc0_1_0 = vec4<f32>(0.0f);
  var acc0_2_0 = vec4<f32>(0.0f);
  var acc0_3_0 = vec4<f32>(0.0f);
  for (var r0 = 0; r0 < p3; r0++) {
    let v6 = v5 + r0;
    let v7 = v6 - 1;
    let v11 = v7 * s0_0;
    let v14 = bitcast<u32>(v7);
    let v16 = v14 < v15;
    let v54 = a2 + r0 * s1_0;
    for (var r1 = 0; r1 < p4; r1++) {
      let v9 = v8 + r1;
      let v10 = v9 - 1;
      let v12 = v11 + v10 * s0_1;
      let v17 = bitcast<u32>(v10);
      let v19 = v17 < v18;
      let v20 = v16 & v19;
      let v21 = vec4<bool>(v20);
      let v25 = v24 + r1;
      let v26 = v25 - 1;
      let v27 = v11 + v26 * s0_1;
      let v29 = bitcast<u32>(v26);
      let v30 = v29 < v18;
      let v31 = v16 & v30;
      let v32 = vec4<bool>(v31);
      let v35 = v34 + r1;
      let v36 = v35 - 1;
      let v37 = v11 + v36 * s0_1;
      let v39 = bitcast<u32>(v36);
      let v40 = v39 < v18;
      let v41 = v16 & v40;
      let v42 = vec4<bool>(v41);
      let v45 = v44 + r1;
      let v46 = v45 - 1;
      let v47 = v11 + v46 * s0_1;
      let v49 = bitcast<u32>(v46);
      let v50 = v49 < v18;
      let v51 = v16 & v50;
      let v52 = vec4<bool>(v51);
      let v55 = v54 + r1 * s1_1;
      var r2 = 0;
      for (; r2 < p5; r2 += 4) {
        let v13 = v12 + r2;
        let v23 = select(v22, bitcast<vec4<f32>>(arena[(x0 + v13) >> 2u]), v21);
        let v28 = v27 + r2;
        let v33 = select(v22, bitcast<vec4<f32>>(arena[(x0 + v28) >> 2u]), v32);
        let v38 = v37 + r2;
        let v43 = select(v22, bitcast<vec4<f32>>(arena[(x0 + v38) >> 2u]), v42);
        let v48 = v47 + r2;
        let v53 = select(v22, bitcast<vec4<f32>>(arena[(x0 + v48) >> 2u]), v52);
        let v56 = v55 + r2 * s1_2;
        let v57 = bitcast<vec4<f32>>(arena[(x1 + v56) >> 2u]);
        let v58 = r2 + 1;
        let v59 = v55 + v58 * s1_2;
        let v60 = bitcast<vec4<f32>>(arena[(x1 + v59) >> 2u]);
        let v61 = r2 + 2;
        let v62 = v55 + v61 * s1_2;
        let v63 = bitcast<vec4<f32>>(arena[(x1 + v62) >> 2u]);
        let v64 = r2 + 3;
        let v65 = v55 + v64 * s1_2;
        let v66 = bitcast<vec4<f32>>(arena[(x1 + v65) >> 2u]);
        acc0_0_0 += vec4<f32>(v23[0]) * v57;
        acc0_1_0 += vec4<f32>(v33[0]) * v57;
        acc0_2_0 += vec4<f32>(v43[0]) * v57;
        acc0_3_0 += vec4<f32>(v53[0]) * v57;
        acc0_0_0 += vec4<f32>(v23[1]) * v60;
        acc0_1_0 += vec4<f32>(v33[1]) * v60;
        acc0_2_0 += vec4<f32>(v43[1]) * v60;
        acc0_3_0 += vec4<f32>(v53[1]) * v60;
        acc0_0_0 += vec4<f32>(v23[2]) * v63;
        acc0_1_0 += vec4<f32>(v33[2]) * v63;
        acc0_2_0 += vec4<f32>(v43[2]) * v63;
        acc0_3_0 += vec4<f32>(v53[2]) * v63;
        acc0_0_0 += vec4<f32>(v23[3]) * v66;
        acc0_1_0 += vec4<f32>(v33[3]) * v66;
        acc0_2_0 += vec4<f32>(v43[3]) * v66;
        acc0_3_0 += vec4<f32>(v53[3]) * v66;
      }
    }
  }
  {
    let v67 = a0 * s2_0 + a1 * s2_1 + a2;
    let v68 = a0 * s2_0 + (a1 + 1) * s2_1 + a2;
    let v69 = a0 * s2_0 + (a1 + 2) * s2_1 + a2;
    let v70 = a0 * s2_0 + (a1 + 3) * s2_1 + a2;
    arena[(y0 + v67) >> 2u] = bitcast<vec4<u32>>(acc0_0_0);
    if (a1 + 1 < p1) { arena[(y0 + v68) >> 2u] = bitcast<vec4<u32>>(acc0_1_0); }
    if (a1 + 2 < p1) { arena[(y0 + v69) >> 2u] = bitcast<vec4<u32>>(acc0_2_0); }
    if (a1 + 3 < p1) { arena[(y0 + v70) >> 2u] = bitcast<vec4<u32>>(acc0_3_0); }
  }
}
