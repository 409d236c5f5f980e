struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  x1: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  s1_0: i32,
  s2_0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

fn wk_word(at: i32) -> u32 { return arena[at]; }

fn wk_uint8(at: i32) -> u32 { return (wk_word(at >> 2u) >> u32((at & 3) * 8)) & 0xffu; }

fn wk_int8(at: i32) -> i32 { return bitcast<i32>(wk_uint8(at) << 24u) >> 24u; }

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
  let s1_0 = arguments.s1_0;
  let s2_0 = arguments.s2_0;
  let a1 = invocation % p1;
  let v1 = invocation / p1;
  let a0 = v1;
  if (a0 >= p0) { return; }
  let v2 = a0 * s1_0 + a1;
  let v3 = wk_int8(x1 + v2);
  let v4 = f32(v3);
  let v5 = bitcast<f32>(arena[x0 + a1]);
  let v6 = v4 * v5;
  let v7 = a0 * s2_0 + a1;
  arena[y0 + v7] = bitcast<u32>(v6);
}

struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  x1: i32,
  y0: i32,
  p0: i32,
  p1: i32,
  s1_0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<u32>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

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
  let s1_0 = arguments.s1_0;
  let v1 = (p0 + 3) / 4;
  let a0 = invocation * 4;
  if (a0 >= p0) { return; }
  var acc0_0_0 = vec4<f32>(0.0f);
  var r0 = 0;
  for (; r0 < p1; r0 += 4) {
    let v2 = bitcast<vec4<f32>>(wk_four(x0 + r0));
    let v3 = a0 + r0 * s1_0;
    let v4 = bitcast<vec4<f32>>(wk_four(x1 + v3));
    let v5 = r0 + 1;
    let v6 = a0 + v5 * s1_0;
    let v7 = bitcast<vec4<f32>>(wk_four(x1 + v6));
    let v8 = r0 + 2;
    let v9 = a0 + v8 * s1_0;
    let v10 = bitcast<vec4<f32>>(wk_four(x1 + v9));
    let v11 = r0 + 3;
    let v12 = a0 + v11 * s1_0;
    let v13 = bitcast<vec4<f32>>(wk_four(x1 + v12));
    acc0_0_0 += vec4<f32>(v2[0]) * v4;
    acc0_0_0 += vec4<f32>(v2[1]) * v7;
    acc0_0_0 += vec4<f32>(v2[2]) * v10;
    acc0_0_0 += vec4<f32>(v2[3]) * v13;
  }
  arena[y0 + a0] = bitcast<u32>(acc0_0_0[0]);
  if (a0 + 1 < p0) { arena[y0 + a0 + 1] = bitcast<u32>(acc0_0_0[1]); }
  if (a0 + 2 < p0) { arena[y0 + a0 + 2] = bitcast<u32>(acc0_0_0[2]); }
  if (a0 + 3 < p0) { arena[y0 + a0 + 3] = bitcast<u32>(acc0_0_0[3]); }
}
