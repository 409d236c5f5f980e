struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  s0_0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

fn wk_infinity() -> f32 { return bitcast<f32>(arguments.infinity); }

fn wk_isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn wk_max(a: f32, b: f32) -> f32 { return select(b, a, (a > b && !wk_isnan(b)) || wk_isnan(a)); }

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) local: u32) {
  let invocation = i32((group.y * groups.x + group.x) * 64 + local);
  let x0 = arguments.x0;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let p1 = arguments.p1;
  let s0_0 = arguments.s0_0;
  let a0 = invocation;
  if (a0 >= p0) { return; }
  let v1 = a0 * s0_0;
  var acc0_0_0 = (-wk_infinity());
  var lane0_0_0 = (-wk_infinity());
  var r0 = 0;
  for (; r0 < p1; r0 += 1) {
    let v2 = v1 + r0;
    let v3 = bitcast<f32>(arena[x0 + v2]);
    acc0_0_0 = wk_max(acc0_0_0, v3);
  }
  acc0_0_0 = wk_max(acc0_0_0, lane0_0_0);
  arena[y0 + a0] = bitcast<u32>(acc0_0_0);
}

struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  x1: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  s0_0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

fn wk_isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn wk_i32(x: f32) -> i32 {
  let inside = x > -2147483648.0 && x < 2147483648.0;
  let beyond = select(select(0, i32(-2147483648), x <= -2147483648.0), 2147483647, x >= 2147483648.0);
  return select(select(beyond, i32(select(0.0, x, inside)), inside), 0, wk_isnan(x));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) local: u32) {
  let invocation = i32((group.y * groups.x + group.x) * 64 + local);
  let x0 = arguments.x0;
  let x1 = arguments.x1;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let p1 = arguments.p1;
  let s0_0 = arguments.s0_0;
  let a0 = invocation;
  if (a0 >= p0) { return; }
  let v1 = a0 * s0_0;
  let v4 = bitcast<f32>(arena[x1 + a0]);
  var acc0_0_0 = 0.0f;
  var lane0_0_0 = 0.0f;
  var r0 = 0;
  for (; r0 < p1; r0 += 1) {
    let v2 = v1 + r0;
    let v3 = bitcast<f32>(arena[x0 + v2]);
    let v5 = v3 - v4;
    let v6 = v5 < (-104.0f);
    let v7 = select(v5, (-104.0f), v6);
    let v8 = v7 > 89.0f;
    let v9 = select(v7, 89.0f, v8);
    let v10 = v9 * 1.4426950216293335f;
    let v11 = round(v10);
    let v12 = v11 * 0.693359375f;
    let v13 = v9 - v12;
    let v14 = v11 * (-0.00021219444170128554f);
    let v15 = v13 - v14;
    let v16 = 0.00019875691214110702f * v15;
    let v17 = v16 + 0.001398199936375022f;
    let v18 = v17 * v15;
    let v19 = v18 + 0.008333452045917511f;
    let v20 = v19 * v15;
    let v21 = v20 + 0.04166579619050026f;
    let v22 = v21 * v15;
    let v23 = v22 + 0.1666666567325592f;
    let v24 = v23 * v15;
    let v25 = v24 + 0.5f;
    let v26 = v25 * v15;
    let v27 = v26 * v15;
    let v28 = v27 + v15;
    let v29 = v28 + 1.0f;
    let v30 = wk_i32(v11);
    let v31 = v30 >> u32(1 & 31);
    let v32 = v31 + 127;
    let v33 = v32 << u32(23 & 31);
    let v34 = bitcast<f32>(v33);
    let v35 = v29 * v34;
    let v36 = v30 - v31;
    let v37 = v36 + 127;
    let v38 = v37 << u32(23 & 31);
    let v39 = bitcast<f32>(v38);
    acc0_0_0 += v35 * v39;
  }
  acc0_0_0 += lane0_0_0;
  arena[y0 + a0] = bitcast<u32>(acc0_0_0);
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
  s0_0: i32,
  s3_0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

fn wk_isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn wk_i32(x: f32) -> i32 {
  let inside = x > -2147483648.0 && x < 2147483648.0;
  let beyond = select(select(0, i32(-2147483648), x <= -2147483648.0), 2147483647, x >= 2147483648.0);
  return select(select(beyond, i32(select(0.0, x, inside)), inside), 0, wk_isnan(x));
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) local: u32) {
  let invocation = i32((group.y * groups.x + group.x) * 64 + local);
  let x0 = arguments.x0;
  let x1 = arguments.x1;
  let x2 = arguments.x2;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let p1 = arguments.p1;
  let s0_0 = arguments.s0_0;
  let s3_0 = arguments.s3_0;
  let a1 = invocation % p1;
  let v1 = invocation / p1;
  let a0 = v1;
  if (a0 >= p0) { return; }
  let v2 = a0 * s0_0 + a1;
  let v3 = bitcast<f32>(arena[x0 + v2]);
  let v4 = bitcast<f32>(arena[x1 + a0]);
  let v5 = v3 - v4;
  let v6 = v5 < (-104.0f);
  let v7 = select(v5, (-104.0f), v6);
  let v8 = v7 > 89.0f;
  let v9 = select(v7, 89.0f, v8);
  let v10 = v9 * 1.4426950216293335f;
  let v11 = round(v10);
  let v12 = v11 * 0.693359375f;
  let v13 = v9 - v12;
  let v14 = v11 * (-0.00021219444170128554f);
  let v15 = v13 - v14;
  let v16 = 0.00019875691214110702f * v15;
  let v17 = v16 + 0.001398199936375022f;
  let v18 = v17 * v15;
  let v19 = v18 + 0.008333452045917511f;
  let v20 = v19 * v15;
  let v21 = v20 + 0.04166579619050026f;
  let v22 = v21 * v15;
  let v23 = v22 + 0.1666666567325592f;
  let v24 = v23 * v15;
  let v25 = v24 + 0.5f;
  let v26 = v25 * v15;
  let v27 = v26 * v15;
  let v28 = v27 + v15;
  let v29 = v28 + 1.0f;
  let v30 = wk_i32(v11);
  let v31 = v30 >> u32(1 & 31);
  let v32 = v31 + 127;
  let v33 = v32 << u32(23 & 31);
  let v34 = bitcast<f32>(v33);
  let v35 = v29 * v34;
  let v36 = v30 - v31;
  let v37 = v36 + 127;
  let v38 = v37 << u32(23 & 31);
  let v39 = bitcast<f32>(v38);
  let v40 = v35 * v39;
  let v41 = bitcast<f32>(arena[x2 + a0]);
  let v42 = v40 / v41;
  let v43 = a0 * s3_0 + a1;
  arena[y0 + v43] = bitcast<u32>(v42);
}
