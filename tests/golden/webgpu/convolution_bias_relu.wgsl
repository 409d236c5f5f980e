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

fn wk_lane(at: i32) -> u32 { return arena[at >> 2u][at & 3]; }

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
  let v8 = bitcast<u32>(p6);
  let v13 = bitcast<u32>(p7);
  let v52 = bitcast<vec4<f32>>(arena[(x2 + a2) >> 2u]);
  let v54 = vec4<f32>(0.0f);
  let v57 = a0 * s3_0 + a1 * s3_1 + a2;
  let v61 = a0 * s3_0 + (a1 + 1) * s3_1 + a2;
  let v65 = a0 * s3_0 + (a1 + 2) * s3_1 + a2;
  let v69 = a0 * s3_0 + (a1 + 3) * s3_1 + a2;
  var acc0_0_0 = vec4<f32>(0.0f);
  var acc0_1_0 = vec4<f32>(0.0f);
  var acc0_2_0 = vec4<f32>(0.0f);
  var acc0_3_0 = vec4<f32>(0.0f);
  for (var r0 = 0; r0 < p3; r0++) {
    let v5 = a0 + r0;
    let v6 = v5 - 1;
    let v7 = bitcast<u32>(v6);
    let v9 = v7 < v8;
    let v16 = v6 * s0_0;
    let v21 = a2 + r0 * s1_0;
    for (var r1 = 0; r1 < p4; r1++) {
      let v10 = a1 + r1;
      let v11 = v10 - 1;
      let v12 = bitcast<u32>(v11);
      let v14 = v12 < v13;
      let v15 = v9 & v14;
      let v17 = v16 + v11 * s0_1;
      let v22 = v21 + r1 * s1_1;
      let v25 = (a1 + 1) + r1;
      let v26 = v25 - 1;
      let v27 = bitcast<u32>(v26);
      let v28 = v27 < v13;
      let v29 = v9 & v28;
      let v30 = v16 + v26 * s0_1;
      let v34 = (a1 + 2) + r1;
      let v35 = v34 - 1;
      let v36 = bitcast<u32>(v35);
      let v37 = v36 < v13;
      let v38 = v9 & v37;
      let v39 = v16 + v35 * s0_1;
      let v43 = (a1 + 3) + r1;
      let v44 = v43 - 1;
      let v45 = bitcast<u32>(v44);
      let v46 = v45 < v13;
      let v47 = v9 & v46;
      let v48 = v16 + v44 * s0_1;
      for (var r2 = 0; r2 < p5; r2++) {
        let v18 = v17 + r2;
        let v19 = select(0.0f, bitcast<f32>(wk_lane(x0 + v18)), v15);
        let v20 = vec4<f32>(v19);
        let v23 = v22 + r2 * s1_2;
        let v24 = bitcast<vec4<f32>>(arena[(x1 + v23) >> 2u]);
        let v31 = v30 + r2;
        let v32 = select(0.0f, bitcast<f32>(wk_lane(x0 + v31)), v29);
        let v33 = vec4<f32>(v32);
        let v40 = v39 + r2;
        let v41 = select(0.0f, bitcast<f32>(wk_lane(x0 + v40)), v38);
        let v42 = vec4<f32>(v41);
        let v49 = v48 + r2;
        let v50 = select(0.0f, bitcast<f32>(wk_lane(x0 + v49)), v47);
        let v51 = vec4<f32>(v50);
        acc0_0_0 += v20 * v24;
        acc0_1_0 += v33 * v24;
        acc0_2_0 += v42 * v24;
        acc0_3_0 += v51 * v24;
      }
    }
  }
  {
    let v53 = acc0_0_0 + v52;
    let v55 = v53 < v54;
    let v56 = select(v53, v54, v55);
    let v58 = acc0_1_0 + v52;
    let v59 = v58 < v54;
    let v60 = select(v58, v54, v59);
    let v62 = acc0_2_0 + v52;
    let v63 = v62 < v54;
    let v64 = select(v62, v54, v63);
    let v66 = acc0_3_0 + v52;
    let v67 = v66 < v54;
    let v68 = select(v66, v54, v67);
    arena[(y0 + v57) >> 2u] = bitcast<vec4<u32>>(v56);
    if (a1 + 1 < p1) { arena[(y0 + v61) >> 2u] = bitcast<vec4<u32>>(v60); }
    if (a1 + 2 < p1) { arena[(y0 + v65) >> 2u] = bitcast<vec4<u32>>(v64); }
    if (a1 + 3 < p1) { arena[(y0 + v69) >> 2u] = bitcast<vec4<u32>>(v68); }
  }
}
