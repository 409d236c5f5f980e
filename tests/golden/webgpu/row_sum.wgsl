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

fn wk_four(at: i32) -> vec4u { return vec4u(arena[at], arena[at + 1], arena[at + 2], arena[at + 3]); }

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) index: u32) {
  let workgroup = i32(group.y * groups.x + group.x);
  let x0 = arguments.x0;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let p1 = arguments.p1;
  let s0_0 = arguments.s0_0;
  let invocation = workgroup * 64 + i32(index);
  let a0 = invocation;
  if (a0 >= p0) { return; }
  let v1 = a0 * s0_0;
  var acc0_0_0 = 0.0f;
  var lane0_0_0 = vec4<f32>(0.0f);
  var r0 = 0;
  for (; r0 + 3 < p1; r0 += 4) {
    let v2 = v1 + r0;
    let v3 = bitcast<vec4<f32>>(wk_four(x0 + v2));
    lane0_0_0 += v3;
  }
  for (; r0 < p1; r0 += 1) {
    let v4 = v1 + r0;
    let v5 = bitcast<f32>(arena[x0 + v4]);
    acc0_0_0 += v5;
  }
  acc0_0_0 += lane0_0_0[0];
  acc0_0_0 += lane0_0_0[1];
  acc0_0_0 += lane0_0_0[2];
  acc0_0_0 += lane0_0_0[3];
  arena[y0 + a0] = bitcast<u32>(acc0_0_0);
}
