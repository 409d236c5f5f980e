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
var<workgroup> parts_acc0_0_0: array<f32, 64>;

fn wk_infinity() -> f32 { return bitcast<f32>(arguments.infinity); }

fn wk_isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn wk_max(a: f32, b: f32) -> f32 { return select(b, a, (a > b && !wk_isnan(b)) || wk_isnan(a)); }

fn wk_isnan4(x: vec4f) -> vec4<bool> { return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u); }

fn wk_max4(a: vec4f, b: vec4f) -> vec4f { return select(b, a, ((a > b) & !wk_isnan4(b)) | wk_isnan4(a)); }

fn wk_four(at: i32) -> vec4u { return vec4u(arena[at], arena[at + 1], arena[at + 2], arena[at + 3]); }

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
  let a0 = workgroup;
  if (a0 >= p0) { return; }
  let v1 = a0 * s0_0;
  var acc0_0_0 = (-wk_infinity());
  var lane0_0_0 = vec4<f32>((-wk_infinity()));
  for (var r0 = local * 4; r0 + 3 < p1; r0 += 256) {
    let v2 = v1 + r0;
    let v3 = bitcast<vec4<f32>>(wk_four(x0 + v2));
    lane0_0_0 = wk_max4(lane0_0_0, v3);
  }
  for (var r0 = p1 / 4 * 4 + local; r0 < p1; r0 += 64) {
    let v4 = v1 + r0;
    let v5 = bitcast<f32>(arena[x0 + v4]);
    acc0_0_0 = wk_max(acc0_0_0, v5);
  }
  acc0_0_0 = wk_max(acc0_0_0, lane0_0_0[0]);
  acc0_0_0 = wk_max(acc0_0_0, lane0_0_0[1]);
  acc0_0_0 = wk_max(acc0_0_0, lane0_0_0[2]);
  acc0_0_0 = wk_max(acc0_0_0, lane0_0_0[3]);
  parts_acc0_0_0[local] = acc0_0_0;
  workgroupBarrier();
  for (var half = 32; half >= 1; half /= 2) {
    if (local < half) { parts_acc0_0_0[local] = wk_max(parts_acc0_0_0[local], parts_acc0_0_0[local + half]); }
    workgroupBarrier();
  }
  acc0_0_0 = parts_acc0_0_0[local % 1];
  if (local == 0) { arena[y0 + a0] = bitcast<u32>(acc0_0_0); }
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
var<workgroup> parts_acc0_0_0: array<f32, 64>;

fn wk_isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn wk_i32(x: f32) -> i32 {
  let inside = x > -2147483648.0 && x < 2147483648.0;
  let beyond = select(select(0, i32(-2147483648), x <= -2147483648.0), 2147483647, x >= 2147483648.0);
  return select(select(beyond, i32(select(0.0, x, inside)), inside), 0, wk_isnan(x));
}

fn wk_i32x4(x: vec4f) -> vec4i { return vec4i(wk_i32(x.x), wk_i32(x.y), wk_i32(x.z), wk_i32(x.w)); }

fn wk_four(at: i32) -> vec4u { return vec4u(arena[at], arena[at + 1], arena[at + 2], arena[at + 3]); }

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
  let s0_0 = arguments.s0_0;
  let a0 = workgroup;
  if (a0 >= p0) { return; }
  let v1 = vec4<f32>(0.00019875691214110702f);
  let v2 = vec4<f32>(0.001398199936375022f);
  let v3 = a0 * s0_0;
  let v6 = bitcast<f32>(arena[x1 + a0]);
  let v7 = vec4<f32>(v6);
  let v9 = vec4<f32>((-104.0f));
  let v12 = vec4<f32>(89.0f);
  let v15 = vec4<f32>(1.4426950216293335f);
  let v18 = vec4<f32>(0.00021219444170128554f);
  let v19 = vec4<f32>((-0.693359375f));
  let v23 = vec4<f32>(0.008333452045917511f);
  let v25 = vec4<f32>(0.04166579619050026f);
  let v27 = vec4<f32>(0.1666666567325592f);
  let v29 = vec4<f32>(0.5f);
  let v33 = vec4<f32>(1.0f);
  let v37 = vec4<i32>(127);
  var acc0_0_0 = 0.0f;
  var lane0_0_0 = vec4<f32>(0.0f);
  for (var r0 = local * 4; r0 + 3 < p1; r0 += 256) {
    let v4 = v3 + r0;
    let v5 = bitcast<vec4<f32>>(wk_four(x0 + v4));
    let v8 = v5 - v7;
    let v10 = v8 < v9;
    let v11 = select(v8, v9, v10);
    let v13 = v11 > v12;
    let v14 = select(v11, v12, v13);
    let v16 = v14 * v15;
    let v17 = round(v16);
    let v20 = v17 * v19 + v14;
    let v21 = v17 * v18 + v20;
    let v22 = v1 * v21 + v2;
    let v24 = v22 * v21 + v23;
    let v26 = v24 * v21 + v25;
    let v28 = v26 * v21 + v27;
    let v30 = v28 * v21 + v29;
    let v31 = v30 * v21;
    let v32 = v31 * v21 + v21;
    let v34 = v32 + v33;
    let v35 = wk_i32x4(v17);
    let v36 = v35 >> vec4<u32>(1);
    let v38 = v36 + v37;
    let v39 = v38 << vec4<u32>(23);
    let v40 = bitcast<vec4<f32>>(v39);
    let v41 = v34 * v40;
    let v42 = v35 - v36;
    let v43 = v42 + v37;
    let v44 = v43 << vec4<u32>(23);
    let v45 = bitcast<vec4<f32>>(v44);
    lane0_0_0 += v41 * v45;
  }
  for (var r0 = p1 / 4 * 4 + local; r0 < p1; r0 += 64) {
    let v46 = v3 + r0;
    let v47 = bitcast<f32>(arena[x0 + v46]);
    let v48 = v47 - v6;
    let v49 = v48 < (-104.0f);
    let v50 = select(v48, (-104.0f), v49);
    let v51 = v50 > 89.0f;
    let v52 = select(v50, 89.0f, v51);
    let v53 = v52 * 1.4426950216293335f;
    let v54 = round(v53);
    let v55 = v54 * (-0.693359375f) + v52;
    let v56 = v54 * 0.00021219444170128554f + v55;
    let v57 = 0.00019875691214110702f * v56 + 0.001398199936375022f;
    let v58 = v57 * v56 + 0.008333452045917511f;
    let v59 = v58 * v56 + 0.04166579619050026f;
    let v60 = v59 * v56 + 0.1666666567325592f;
    let v61 = v60 * v56 + 0.5f;
    let v62 = v61 * v56;
    let v63 = v62 * v56 + v56;
    let v64 = v63 + 1.0f;
    let v65 = wk_i32(v54);
    let v66 = v65 >> u32(1 & 31);
    let v67 = v66 + 127;
    let v68 = v67 << u32(23 & 31);
    let v69 = bitcast<f32>(v68);
    let v70 = v64 * v69;
    let v71 = v65 - v66;
    let v72 = v71 + 127;
    let v73 = v72 << u32(23 & 31);
    let v74 = bitcast<f32>(v73);
    acc0_0_0 += v70 * v74;
  }
  acc0_0_0 += lane0_0_0[0];
  acc0_0_0 += lane0_0_0[1];
  acc0_0_0 += lane0_0_0[2];
  acc0_0_0 += lane0_0_0[3];
  parts_acc0_0_0[local] = acc0_0_0;
  workgroupBarrier();
  for (var half = 32; half >= 1; half /= 2) {
    if (local < half) { parts_acc0_0_0[local] += parts_acc0_0_0[local + half]; }
    workgroupBarrier();
  }
  acc0_0_0 = parts_acc0_0_0[local % 1];
  if (local == 0) { arena[y0 + a0] = bitcast<u32>(acc0_0_0); }
}

enable subgroups;
requires subgroup_id;

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
var<workgroup> parts_acc0_0_0: array<f32, 64>;

fn wk_isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn wk_i32(x: f32) -> i32 {
  let inside = x > -2147483648.0 && x < 2147483648.0;
  let beyond = select(select(0, i32(-2147483648), x <= -2147483648.0), 2147483647, x >= 2147483648.0);
  return select(select(beyond, i32(select(0.0, x, inside)), inside), 0, wk_isnan(x));
}

fn wk_i32x4(x: vec4f) -> vec4i { return vec4i(wk_i32(x.x), wk_i32(x.y), wk_i32(x.z), wk_i32(x.w)); }

fn wk_four(at: i32) -> vec4u { return vec4u(arena[at], arena[at + 1], arena[at + 2], arena[at + 3]); }

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) index: u32, @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32) {
  let local = i32(index);
  let workgroup = i32(group.y * groups.x + group.x);
  let invocation = workgroup * 64 + local;
  let x0 = arguments.x0;
  let x1 = arguments.x1;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let p1 = arguments.p1;
  let s0_0 = arguments.s0_0;
  let a0 = workgroup;
  if (a0 >= p0) { return; }
  let v1 = vec4<f32>(0.00019875691214110702f);
  let v2 = vec4<f32>(0.001398199936375022f);
  let v3 = a0 * s0_0;
  let v6 = bitcast<f32>(arena[x1 + a0]);
  let v7 = vec4<f32>(v6);
  let v9 = vec4<f32>((-104.0f));
  let v12 = vec4<f32>(89.0f);
  let v15 = vec4<f32>(1.4426950216293335f);
  let v18 = vec4<f32>(0.00021219444170128554f);
  let v19 = vec4<f32>((-0.693359375f));
  let v23 = vec4<f32>(0.008333452045917511f);
  let v25 = vec4<f32>(0.04166579619050026f);
  let v27 = vec4<f32>(0.1666666567325592f);
  let v29 = vec4<f32>(0.5f);
  let v33 = vec4<f32>(1.0f);
  let v37 = vec4<i32>(127);
  var acc0_0_0 = 0.0f;
  var lane0_0_0 = vec4<f32>(0.0f);
  for (var r0 = local * 4; r0 + 3 < p1; r0 += 256) {
    let v4 = v3 + r0;
    let v5 = bitcast<vec4<f32>>(wk_four(x0 + v4));
    let v8 = v5 - v7;
    let v10 = v8 < v9;
    let v11 = select(v8, v9, v10);
    let v13 = v11 > v12;
    let v14 = select(v11, v12, v13);
    let v16 = v14 * v15;
    let v17 = round(v16);
    let v20 = v17 * v19 + v14;
    let v21 = v17 * v18 + v20;
    let v22 = v1 * v21 + v2;
    let v24 = v22 * v21 + v23;
    let v26 = v24 * v21 + v25;
    let v28 = v26 * v21 + v27;
    let v30 = v28 * v21 + v29;
    let v31 = v30 * v21;
    let v32 = v31 * v21 + v21;
    let v34 = v32 + v33;
    let v35 = wk_i32x4(v17);
    let v36 = v35 >> vec4<u32>(1);
    let v38 = v36 + v37;
    let v39 = v38 << vec4<u32>(23);
    let v40 = bitcast<vec4<f32>>(v39);
    let v41 = v34 * v40;
    let v42 = v35 - v36;
    let v43 = v42 + v37;
    let v44 = v43 << vec4<u32>(23);
    let v45 = bitcast<vec4<f32>>(v44);
    lane0_0_0 += v41 * v45;
  }
  for (var r0 = p1 / 4 * 4 + local; r0 < p1; r0 += 64) {
    let v46 = v3 + r0;
    let v47 = bitcast<f32>(arena[x0 + v46]);
    let v48 = v47 - v6;
    let v49 = v48 < (-104.0f);
    let v50 = select(v48, (-104.0f), v49);
    let v51 = v50 > 89.0f;
    let v52 = select(v50, 89.0f, v51);
    let v53 = v52 * 1.4426950216293335f;
    let v54 = round(v53);
    let v55 = v54 * (-0.693359375f) + v52;
    let v56 = v54 * 0.00021219444170128554f + v55;
    let v57 = 0.00019875691214110702f * v56 + 0.001398199936375022f;
    let v58 = v57 * v56 + 0.008333452045917511f;
    let v59 = v58 * v56 + 0.04166579619050026f;
    let v60 = v59 * v56 + 0.1666666567325592f;
    let v61 = v60 * v56 + 0.5f;
    let v62 = v61 * v56;
    let v63 = v62 * v56 + v56;
    let v64 = v63 + 1.0f;
    let v65 = wk_i32(v54);
    let v66 = v65 >> u32(1 & 31);
    let v67 = v66 + 127;
    let v68 = v67 << u32(23 & 31);
    let v69 = bitcast<f32>(v68);
    let v70 = v64 * v69;
    let v71 = v65 - v66;
    let v72 = v71 + 127;
    let v73 = v72 << u32(23 & 31);
    let v74 = bitcast<f32>(v73);
    acc0_0_0 += v70 * v74;
  }
  acc0_0_0 += lane0_0_0[0];
  acc0_0_0 += lane0_0_0[1];
  acc0_0_0 += lane0_0_0[2];
  acc0_0_0 += lane0_0_0[3];
  acc0_0_0 = subgroupAdd(acc0_0_0);
  if (subgroupElect()) { parts_acc0_0_0[subgroup] = acc0_0_0; }
  workgroupBarrier();
  acc0_0_0 = parts_acc0_0_0[0];
  for (var part = 1u; part < subgroups; part++) { acc0_0_0 += parts_acc0_0_0[part]; }
  if (local == 0) { arena[y0 + a0] = bitcast<u32>(acc0_0_0); }
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

@group(0) @binding(0) var<storage, read_write> arena: array<vec4u>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

fn wk_isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn wk_i32(x: f32) -> i32 {
  let inside = x > -2147483648.0 && x < 2147483648.0;
  let beyond = select(select(0, i32(-2147483648), x <= -2147483648.0), 2147483647, x >= 2147483648.0);
  return select(select(beyond, i32(select(0.0, x, inside)), inside), 0, wk_isnan(x));
}

fn wk_i32x4(x: vec4f) -> vec4i { return vec4i(wk_i32(x.x), wk_i32(x.y), wk_i32(x.z), wk_i32(x.w)); }

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
  let s0_0 = arguments.s0_0;
  let s3_0 = arguments.s3_0;
  let v1 = (p1 + 3) / 4;
  let a1 = invocation % v1 * 4;
  let v2 = invocation / v1;
  let a0 = v2;
  if (a0 >= p0) { return; }
  let v3 = vec4<f32>(0.00019875691214110702f);
  let v4 = vec4<f32>(0.001398199936375022f);
  let v5 = a0 * s0_0 + a1;
  let v6 = bitcast<vec4<f32>>(arena[(x0 + v5) >> 2u]);
  let v7 = bitcast<f32>(wk_lane(x1 + a0));
  let v8 = vec4<f32>(v7);
  let v9 = v6 - v8;
  let v10 = vec4<f32>((-104.0f));
  let v11 = v9 < v10;
  let v12 = select(v9, v10, v11);
  let v13 = vec4<f32>(89.0f);
  let v14 = v12 > v13;
  let v15 = select(v12, v13, v14);
  let v16 = vec4<f32>(1.4426950216293335f);
  let v17 = v15 * v16;
  let v18 = round(v17);
  let v19 = vec4<f32>(0.00021219444170128554f);
  let v20 = vec4<f32>((-0.693359375f));
  let v21 = v18 * v20 + v15;
  let v22 = v18 * v19 + v21;
  let v23 = v3 * v22 + v4;
  let v24 = vec4<f32>(0.008333452045917511f);
  let v25 = v23 * v22 + v24;
  let v26 = vec4<f32>(0.04166579619050026f);
  let v27 = v25 * v22 + v26;
  let v28 = vec4<f32>(0.1666666567325592f);
  let v29 = v27 * v22 + v28;
  let v30 = vec4<f32>(0.5f);
  let v31 = v29 * v22 + v30;
  let v32 = v31 * v22;
  let v33 = v32 * v22 + v22;
  let v34 = vec4<f32>(1.0f);
  let v35 = v33 + v34;
  let v36 = wk_i32x4(v18);
  let v37 = v36 >> vec4<u32>(1);
  let v38 = vec4<i32>(127);
  let v39 = v37 + v38;
  let v40 = v39 << vec4<u32>(23);
  let v41 = bitcast<vec4<f32>>(v40);
  let v42 = v35 * v41;
  let v43 = v36 - v37;
  let v44 = v43 + v38;
  let v45 = v44 << vec4<u32>(23);
  let v46 = bitcast<vec4<f32>>(v45);
  let v47 = v42 * v46;
  let v48 = bitcast<f32>(wk_lane(x2 + a0));
  let v49 = vec4<f32>(v48);
  let v50 = v47 / v49;
  let v51 = a0 * s3_0 + a1;
  arena[(y0 + v51) >> 2u] = bitcast<vec4<u32>>(v50);
}
