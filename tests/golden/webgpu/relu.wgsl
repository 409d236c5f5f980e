struct Arguments {
  infinity: u32,
  nan: u32,
  x0: i32,
  y0: i32,
  p0: i32,
}

@group(0) @binding(0) var<storage, read_write> arena: array<vec4u>;
@group(0) @binding(1) var<uniform> arguments: Arguments;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u, @builtin(local_invocation_index) index: u32) {
  let workgroup = i32(group.y * groups.x + group.x);
  let x0 = arguments.x0;
  let y0 = arguments.y0;
  let p0 = arguments.p0;
  let invocation = workgroup * 64 + i32(index);
  let v1 = (p0 + 3) / 4;
  let a0 = invocation * 4;
  if (a0 >= p0) { return; }
  let v2 = bitcast<vec4<f32>>(arena[(x0 + a0) >> 2u]);
  let v3 = vec4<f32>(0.0f);
  let v4 = v2 < v3;
  let v5 = select(v2, v3, v4);
  arena[(y0 + a0) >> 2u] = bitcast<vec4<u32>>(v5);
}
