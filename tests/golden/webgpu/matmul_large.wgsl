struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  x1: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  p2: i32,
  s0_0: i32,
  s1_0: i32,
  s2_0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<vec4u>;
@group(0) @binding(1) var<uniform> arguments: Arguments;
var<workgroup> rows: array<vec4<f32>, 128>;
var<workgroup> columns: array<vec4<f32>, 128>;

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
  let s0_0 = arguments.s0_0;
  let s1_0 = arguments.s1_0;
  let s2_0 = arguments.s2_0;
  let v1 = (p1 + 31) / 32;
  let a1_block = workgroup % v1 * 32;
  let a1 = a1_block + local % 8 * 4;
  let v2 = workgroup / v1;
  let v3 = (p0 + 31) / 32;
  let a0_block = v2 * 32;
  let a0 = a0_block + local / 8 * 4;
  if (a0_block >= p0) { return; }
  let v8 = vec4<f32>(0.0f);
  var acc0_0_0 = vec4<f32>(0.0f);
  var acc0_1_0 = vec4<f32>(0.0f);
  var acc0_2_0 = vec4<f32>(0.0f);
  var acc0_3_0 = vec4<f32>(0.0f);
  for (var r0_block = 0; r0_block < p2; r0_block += 16) {
    for (var place = local; place < 128; place += 64) {
      let a0_in = a0_block + place / 4;
      let r0_in = r0_block + place % 4 * 4;
      let reached = r0_in;
      let v4 = reached < p2;
      let v5 = vec4<bool>(v4);
      let v6 = a0_in * s0_0 + r0_in;
      let v7 = bitcast<vec4<f32>>(arena[(x0 + v6) >> 2u]);
      let v9 = select(v8, v7, v5);
      rows[place] = v9;
    }
    for (var place = local; place < 128; place += 64) {
      let a1_in = a1_block + place % 8 * 4;
      let r0_in = r0_block + place / 8;
      let reached = r0_in;
      let v10 = reached < p2;
      let v11 = vec4<bool>(v10);
      let v12 = r0_in * s1_0 + a1_in;
      let v13 = bitcast<vec4<f32>>(arena[(x1 + v12) >> 2u]);
      let v14 = select(v8, v13, v11);
      columns[place] = v14;
    }
    workgroupBarrier();
    for (var depth = 0; depth < 4; depth++) {
      let v15 = rows[(local / 8 * 4 + 0) * 4 + depth];
      let v16 = rows[(local / 8 * 4 + 1) * 4 + depth];
      let v17 = rows[(local / 8 * 4 + 2) * 4 + depth];
      let v18 = rows[(local / 8 * 4 + 3) * 4 + depth];
      let v19 = columns[(depth * 4 + 0) * 8 + local % 8 * 1 + 0];
      let v20 = columns[(depth * 4 + 1) * 8 + local % 8 * 1 + 0];
      let v21 = columns[(depth * 4 + 2) * 8 + local % 8 * 1 + 0];
      let v22 = columns[(depth * 4 + 3) * 8 + local % 8 * 1 + 0];
      acc0_0_0 += vec4<f32>(v15[0]) * v19;
      acc0_1_0 += vec4<f32>(v16[0]) * v19;
      acc0_2_0 += vec4<f32>(v17[0]) * v19;
      acc0_3_0 += vec4<f32>(v18[0]) * v19;
      acc0_0_0 += vec4<f32>(v15[1]) * v20;
      acc0_1_0 += vec4<f32>(v16[1]) * v20;
      acc0_2_0 += vec4<f32>(v17[1]) * v20;
      acc0_3_0 += vec4<f32>(v18[1]) * v20;
      acc0_0_0 += vec4<f32>(v15[2]) * v21;
      acc0_1_0 += vec4<f32>(v16[2]) * v21;
      acc0_2_0 += vec4<f32>(v17[2]) * v21;
      acc0_3_0 += vec4<f32>(v18[2]) * v21;
      acc0_0_0 += vec4<f32>(v15[3]) * v22;
      acc0_1_0 += vec4<f32>(v16[3]) * v22;
      acc0_2_0 += vec4<f32>(v17[3]) * v22;
      acc0_3_0 += vec4<f32>(v18[3]) * v22;
    }
    workgroupBarrier();
  }
  {
    let v23 = a0 * s2_0 + a1;
    let v24 = (a0 + 1) * s2_0 + a1;
    let v25 = (a0 + 2) * s2_0 + a1;
    let v26 = (a0 + 3) * s2_0 + a1;
    if (a0 < p0 && a1 < p1) { arena[(y0 + v23) >> 2u] = bitcast<vec4<u32>>(acc0_0_0); }
    if (a0 + 1 < p0 && a1 < p1) { arena[(y0 + v24) >> 2u] = bitcast<vec4<u32>>(acc0_1_0); }
    if (a0 + 2 < p0 && a1 < p1) { arena[(y0 + v25) >> 2u] = bitcast<vec4<u32>>(acc0_2_0); }
    if (a0 + 3 < p0 && a1 < p1) { arena[(y0 + v26) >> 2u] = bitcast<vec4<u32>>(acc0_3_0); }
  }
}

enable f16;

struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  x1: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  p2: i32,
  s0_0: i32,
  s1_0: i32,
  s2_0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<vec4u>;
@group(0) @binding(1) var<uniform> arguments: Arguments;
var<workgroup> rows: array<vec4<f16>, 128>;
var<workgroup> columns: array<vec4<f16>, 128>;

fn wk_isnan4(x: vec4f) -> vec4<bool> { return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u); }

fn wk_max4(a: vec4f, b: vec4f) -> vec4f { return select(b, a, ((a > b) & !wk_isnan4(b)) | wk_isnan4(a)); }

fn wk_min4(a: vec4f, b: vec4f) -> vec4f { return select(b, a, ((a < b) & !wk_isnan4(b)) | wk_isnan4(a)); }

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
  let s0_0 = arguments.s0_0;
  let s1_0 = arguments.s1_0;
  let s2_0 = arguments.s2_0;
  let v1 = (p1 + 31) / 32;
  let a1_block = workgroup % v1 * 32;
  let a1 = a1_block + local % 8 * 4;
  let v2 = workgroup / v1;
  let v3 = (p0 + 31) / 32;
  let a0_block = v2 * 32;
  let a0 = a0_block + local / 8 * 4;
  if (a0_block >= p0) { return; }
  let v8 = -65504.0f;
  let v9 = vec4<f32>(v8);
  let v11 = vec4<f32>(65504.0f);
  let v13 = vec4<f32>(0.0f);
  var acc0_0_0 = vec4<f32>(0.0f);
  var acc0_1_0 = vec4<f32>(0.0f);
  var acc0_2_0 = vec4<f32>(0.0f);
  var acc0_3_0 = vec4<f32>(0.0f);
  for (var r0_block = 0; r0_block < p2; r0_block += 16) {
    for (var place = local; place < 128; place += 64) {
      let a0_in = a0_block + place / 4;
      let r0_in = r0_block + place % 4 * 4;
      let reached = r0_in;
      let v4 = reached < p2;
      let v5 = vec4<bool>(v4);
      let v6 = a0_in * s0_0 + r0_in;
      let v7 = bitcast<vec4<f32>>(arena[(x0 + v6) >> 2u]);
      let v10 = wk_max4(v7, v9);
      let v12 = wk_min4(v10, v11);
      let v14 = select(v13, v12, v5);
      rows[place] = vec4<f16>(v14);
    }
    for (var place = local; place < 128; place += 64) {
      let a1_in = a1_block + place % 8 * 4;
      let r0_in = r0_block + place / 8;
      let reached = r0_in;
      let v15 = reached < p2;
      let v16 = vec4<bool>(v15);
      let v17 = r0_in * s1_0 + a1_in;
      let v18 = bitcast<vec4<f32>>(arena[(x1 + v17) >> 2u]);
      let v19 = wk_max4(v18, v9);
      let v20 = wk_min4(v19, v11);
      let v21 = select(v13, v20, v16);
      columns[place] = vec4<f16>(v21);
    }
    workgroupBarrier();
    var acc0_0_0_here = vec4<f16>();
    var acc0_1_0_here = vec4<f16>();
    var acc0_2_0_here = vec4<f16>();
    var acc0_3_0_here = vec4<f16>();
    for (var depth = 0; depth < 4; depth++) {
      let v22 = rows[(local / 8 * 4 + 0) * 4 + depth];
      let v23 = rows[(local / 8 * 4 + 1) * 4 + depth];
      let v24 = rows[(local / 8 * 4 + 2) * 4 + depth];
      let v25 = rows[(local / 8 * 4 + 3) * 4 + depth];
      let v26 = columns[(depth * 4 + 0) * 8 + local % 8 * 1 + 0];
      let v27 = columns[(depth * 4 + 1) * 8 + local % 8 * 1 + 0];
      let v28 = columns[(depth * 4 + 2) * 8 + local % 8 * 1 + 0];
      let v29 = columns[(depth * 4 + 3) * 8 + local % 8 * 1 + 0];
      acc0_0_0_here += vec4<f16>(v22[0]) * v26;
      acc0_1_0_here += vec4<f16>(v23[0]) * v26;
      acc0_2_0_here += vec4<f16>(v24[0]) * v26;
      acc0_3_0_here += vec4<f16>(v25[0]) * v26;
      acc0_0_0_here += vec4<f16>(v22[1]) * v27;
      acc0_1_0_here += vec4<f16>(v23[1]) * v27;
      acc0_2_0_here += vec4<f16>(v24[1]) * v27;
      acc0_3_0_here += vec4<f16>(v25[1]) * v27;
      acc0_0_0_here += vec4<f16>(v22[2]) * v28;
      acc0_1_0_here += vec4<f16>(v23[2]) * v28;
      acc0_2_0_here += vec4<f16>(v24[2]) * v28;
      acc0_3_0_here += vec4<f16>(v25[2]) * v28;
      acc0_0_0_here += vec4<f16>(v22[3]) * v29;
      acc0_1_0_here += vec4<f16>(v23[3]) * v29;
      acc0_2_0_here += vec4<f16>(v24[3]) * v29;
      acc0_3_0_here += vec4<f16>(v25[3]) * v29;
    }
    acc0_0_0 += vec4<f32>(acc0_0_0_here);
    acc0_1_0 += vec4<f32>(acc0_1_0_here);
    acc0_2_0 += vec4<f32>(acc0_2_0_here);
    acc0_3_0 += vec4<f32>(acc0_3_0_here);
    workgroupBarrier();
  }
  {
    let v30 = a0 * s2_0 + a1;
    let v31 = (a0 + 1) * s2_0 + a1;
    let v32 = (a0 + 2) * s2_0 + a1;
    let v33 = (a0 + 3) * s2_0 + a1;
    if (a0 < p0 && a1 < p1) { arena[(y0 + v30) >> 2u] = bitcast<vec4<u32>>(acc0_0_0); }
    if (a0 + 1 < p0 && a1 < p1) { arena[(y0 + v31) >> 2u] = bitcast<vec4<u32>>(acc0_1_0); }
    if (a0 + 2 < p0 && a1 < p1) { arena[(y0 + v32) >> 2u] = bitcast<vec4<u32>>(acc0_2_0); }
    if (a0 + 3 < p0 && a1 < p1) { arena[(y0 + v33) >> 2u] = bitcast<vec4<u32>>(acc0_3_0); }
  }
}
