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
  x2: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  p2: i32,
  p3: i32,
  p4: i32,
  p5: i32,
  p6: i32,
  p7: i32,
  s0_0: i32,
  s0_1: i32,
  s1_0: i32,
  s1_1: i32,
  s1_2: i32,
  s3_0: i32,
  s3_1: i32,
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
  let x2 = arguments.x2;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let p1 = arguments.p1;
  let p2 = arguments.p2;
  let p3 = arguments.p3;
  let p4 = arguments.p4;
  let p5 = arguments.p5;
  let p6 = arguments.p6;
  let p7 = arguments.p7;
  let s0_0 = arguments.s0_0;
  let s0_1 = arguments.s0_1;
  let s1_0 = arguments.s1_0;
  let s1_1 = arguments.s1_1;
  let s1_2 = arguments.s1_2;
  let s3_0 = arguments.s3_0;
  let s3_1 = arguments.s3_1;
  let v1 = (p2 + 3) / 4;
  let a2 = invocation % v1 * 4;
  let v2 = invocation / v1;
  let v3 = (p1 + 3) / 4;
  let a1 = v2 % v3 * 4;
  let v4 = v2 / v3;
  let a0 = v4;
  if (a0 >= p0) { return; }
  let v13 = bitcast<u32>(p6);
  let v16 = bitcast<u32>(p7);
  let v20 = vec4<f32>(0.0f);
  let v62 = bitcast<vec4<f32>>(arena[(x2 + a2) >> 2u]);
  let v66 = a0 * s3_0 + a1 * s3_1 + a2;
  let v70 = a0 * s3_0 + (a1 + 1) * s3_1 + a2;
  let v74 = a0 * s3_0 + (a1 + 2) * s3_1 + a2;
  let v78 = a0 * s3_0 + (a1 + 3) * s3_1 + a2;
  var acc0_0_0 = vec4<f32>(0.0f);
  var acc0_1_0 = vec4<f32>(0.0f);
  var acc0_2_0 = vec4<f32>(0.0f);
  var acc0_3_0 = vec4<f32>(0.0f);
  for (var r0 = 0; r0 < p3; r0++) {
    let v5 = a0 + r0;
    let v6 = v5 - 1;
    let v9 = v6 * s0_0;
    let v12 = bitcast<u32>(v6);
    let v14 = v12 < v13;
    let v49 = a2 + r0 * s1_0;
    for (var r1 = 0; r1 < p4; r1++) {
      let v7 = a1 + r1;
      let v8 = v7 - 1;
      let v10 = v9 + v8 * s0_1;
      let v15 = bitcast<u32>(v8);
      let v17 = v15 < v16;
      let v18 = v14 & v17;
      let v19 = vec4<bool>(v18);
      let v22 = (a1 + 1) + r1;
      let v23 = v22 - 1;
      let v24 = v9 + v23 * s0_1;
      let v26 = bitcast<u32>(v23);
      let v27 = v26 < v16;
      let v28 = v14 & v27;
      let v29 = vec4<bool>(v28);
      let v31 = (a1 + 2) + r1;
      let v32 = v31 - 1;
      let v33 = v9 + v32 * s0_1;
      let v35 = bitcast<u32>(v32);
      let v36 = v35 < v16;
      let v37 = v14 & v36;
      let v38 = vec4<bool>(v37);
      let v40 = (a1 + 3) + r1;
      let v41 = v40 - 1;
      let v42 = v9 + v41 * s0_1;
      let v44 = bitcast<u32>(v41);
      let v45 = v44 < v16;
      let v46 = v14 & v45;
      let v47 = vec4<bool>(v46);
      let v50 = v49 + r1 * s1_1;
      var r2 = 0;
      for (; r2 < p5; r2 += 4) {
        let v11 = v10 + r2;
        let v21 = select(v20, bitcast<vec4<f32>>(arena[(x0 + v11) >> 2u]), v19);
        let v25 = v24 + r2;
        let v30 = select(v20, bitcast<vec4<f32>>(arena[(x0 + v25) >> 2u]), v29);
        let v34 = v33 + r2;
        let v39 = select(v20, bitcast<vec4<f32>>(arena[(x0 + v34) >> 2u]), v38);
        let v43 = v42 + r2;
        let v48 = select(v20, bitcast<vec4<f32>>(arena[(x0 + v43) >> 2u]), v47);
        let v51 = v50 + r2 * s1_2;
        let v52 = bitcast<vec4<f32>>(arena[(x1 + v51) >> 2u]);
        let v53 = r2 + 1;
        let v54 = v50 + v53 * s1_2;
        let v55 = bitcast<vec4<f32>>(arena[(x1 + v54) >> 2u]);
        let v56 = r2 + 2;
        let v57 = v50 + v56 * s1_2;
        let v58 = bitcast<vec4<f32>>(arena[(x1 + v57) >> 2u]);
        let v59 = r2 + 3;
        let v60 = v50 + v59 * s1_2;
        let v61 = bitcast<vec4<f32>>(arena[(x1 + v60) >> 2u]);
        acc0_0_0 += vec4<f32>(v21[0]) * v52;
        acc0_1_0 += vec4<f32>(v30[0]) * v52;
        acc0_2_0 += vec4<f32>(v39[0]) * v52;
        acc0_3_0 += vec4<f32>(v48[0]) * v52;
        acc0_0_0 += vec4<f32>(v21[1]) * v55;
        acc0_1_0 += vec4<f32>(v30[1]) * v55;
        acc0_2_0 += vec4<f32>(v39[1]) * v55;
        acc0_3_0 += vec4<f32>(v48[1]) * v55;
        acc0_0_0 += vec4<f32>(v21[2]) * v58;
        acc0_1_0 += vec4<f32>(v30[2]) * v58;
        acc0_2_0 += vec4<f32>(v39[2]) * v58;
        acc0_3_0 += vec4<f32>(v48[2]) * v58;
        acc0_0_0 += vec4<f32>(v21[3]) * v61;
        acc0_1_0 += vec4<f32>(v30[3]) * v61;
        acc0_2_0 += vec4<f32>(v39[3]) * v61;
        acc0_3_0 += vec4<f32>(v48[3]) * v61;
      }
    }
  }
  {
    let v63 = acc0_0_0 + v62;
    let v64 = v63 < v20;
    let v65 = select(v63, v20, v64);
    let v67 = acc0_1_0 + v62;
    let v68 = v67 < v20;
    let v69 = select(v67, v20, v68);
    let v71 = acc0_2_0 + v62;
    let v72 = v71 < v20;
    let v73 = select(v71, v20, v72);
    let v75 = acc0_3_0 + v62;
    let v76 = v75 < v20;
    let v77 = select(v75, v20, v76);
    arena[(y0 + v66) >> 2u] = bitcast<vec4<u32>>(v65);
    if (a1 + 1 < p1) { arena[(y0 + v70) >> 2u] = bitcast<vec4<u32>>(v69); }
    if (a1 + 2 < p1) { arena[(y0 + v74) >> 2u] = bitcast<vec4<u32>>(v73); }
    if (a1 + 3 < p1) { arena[(y0 + v78) >> 2u] = bitcast<vec4<u32>>(v77); }
  }
}
