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
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) local: u32) {
  let invocation = i32((group.y * groups.x + group.x) * 64 + local);
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

@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) local: u32) {
  let invocation = i32((group.y * groups.x + group.x) * 64 + local);
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
  let a1 = invocation % p1;
  let v1 = invocation / p1;
  let a0 = v1 % p0;
  let v2 = v1 / p0;
  let a2 = v2;
  if (a2 >= p2) { return; }
  let v6 = bitcast<u32>(p6);
  let v11 = bitcast<u32>(p7);
  let v22 = bitcast<f32>(arena[x2 + a2]);
  let v26 = a0 * s3_0 + a1 * s3_1 + a2;
  var acc0_0_0 = 0.0f;
  for (var r0 = 0; r0 < p3; r0++) {
    let v3 = a0 + r0;
    let v4 = v3 - 1;
    let v5 = bitcast<u32>(v4);
    let v7 = v5 < v6;
    let v14 = v4 * s0_0;
    let v18 = a2 + r0 * s1_0;
    for (var r1 = 0; r1 < p4; r1++) {
      let v8 = a1 + r1;
      let v9 = v8 - 1;
      let v10 = bitcast<u32>(v9);
      let v12 = v10 < v11;
      let v13 = v7 & v12;
      let v15 = v14 + v9 * s0_1;
      let v19 = v18 + r1 * s1_1;
      for (var r2 = 0; r2 < p5; r2++) {
        let v16 = v15 + r2;
        let v17 = select(0.0f, bitcast<f32>(arena[x0 + v16]), v13);
        let v20 = v19 + r2 * s1_2;
        let v21 = bitcast<f32>(arena[x1 + v20]);
        acc0_0_0 += v17 * v21;
      }
    }
  }
  {
    let v23 = acc0_0_0 + v22;
    let v24 = v23 < 0.0f;
    let v25 = select(v23, 0.0f, v24);
    arena[y0 + v26] = bitcast<u32>(v25);
  }
}
