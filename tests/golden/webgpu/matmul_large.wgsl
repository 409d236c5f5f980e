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
var<workgroup> rows: array<f32, 512>;
var<workgroup> columns: array<vec4<f32>, 128>;

fn wk_lane(at: i32) -> u32 { return arena[at >> 2u][at & 3]; }

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
  let v12 = vec4<f32>(0.0f);
  let v14 = a0 * s2_0 + a1;
  let v15 = (a0 + 1) * s2_0 + a1;
  let v16 = (a0 + 2) * s2_0 + a1;
  let v17 = (a0 + 3) * s2_0 + a1;
  var acc0_0_0 = vec4<f32>(0.0f);
  var acc0_1_0 = vec4<f32>(0.0f);
  var acc0_2_0 = vec4<f32>(0.0f);
  var acc0_3_0 = vec4<f32>(0.0f);
  for (var r0_block = 0; r0_block < p2; r0_block += 16) {
    for (var place = local; place < 512; place += 64) {
      let a0_in = a0_block + place / 16;
      let r0_in = r0_block + place % 16;
      let v4 = r0_in < p2;
      let v5 = a0_in * s0_0 + r0_in;
      let v6 = bitcast<f32>(wk_lane(x0 + v5));
      let v7 = select(0.0f, v6, v4);
      rows[place] = v7;
    }
    for (var place = local; place < 128; place += 64) {
      let a1_in = a1_block + place % 8 * 4;
      let r0_in = r0_block + place / 8;
      let v8 = r0_in < p2;
      let v9 = vec4<bool>(v8);
      let v10 = r0_in * s1_0 + a1_in;
      let v11 = bitcast<vec4<f32>>(arena[(x1 + v10) >> 2u]);
      let v13 = select(v12, v11, v9);
      columns[place] = v13;
    }
    workgroupBarrier();
    for (var depth = 0; depth < 16; depth++) {
      acc0_0_0 += vec4<f32>(rows[(local / 8 * 4 + 0) * 16 + depth]) * columns[depth * 8 + local % 8 * 1 + 0];
      acc0_1_0 += vec4<f32>(rows[(local / 8 * 4 + 1) * 16 + depth]) * columns[depth * 8 + local % 8 * 1 + 0];
      acc0_2_0 += vec4<f32>(rows[(local / 8 * 4 + 2) * 16 + depth]) * columns[depth * 8 + local % 8 * 1 + 0];
      acc0_3_0 += vec4<f32>(rows[(local / 8 * 4 + 3) * 16 + depth]) * columns[depth * 8 + local % 8 * 1 + 0];
    }
    workgroupBarrier();
  }
  if (a0 < p0 && a1 < p1) { arena[(y0 + v14) >> 2u] = bitcast<vec4<u32>>(acc0_0_0); }
  if (a0 + 1 < p0 && a1 < p1) { arena[(y0 + v15) >> 2u] = bitcast<vec4<u32>>(acc0_1_0); }
  if (a0 + 2 < p0 && a1 < p1) { arena[(y0 + v16) >> 2u] = bitcast<vec4<u32>>(acc0_2_0); }
  if (a0 + 3 < p0 && a1 < p1) { arena[(y0 + v17) >> 2u] = bitcast<vec4<u32>>(acc0_3_0); }
}
