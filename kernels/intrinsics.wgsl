fn wk_infinity() -> f32 { return bitcast<f32>(arguments.infinity); }

fn wk_nan() -> f32 { return bitcast<f32>(arguments.nan); }

fn wk_isnan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }

fn wk_max(a: f32, b: f32) -> f32 { return select(b, a, (a > b && !wk_isnan(b)) || wk_isnan(a)); }

fn wk_min(a: f32, b: f32) -> f32 { return select(b, a, (a < b && !wk_isnan(b)) || wk_isnan(a)); }

fn wk_sign(x: f32) -> f32 { return select(select(x, -1.0, x < 0.0), 1.0, x > 0.0); }

fn wk_turn(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  let e = (bits >> 23u) & 255u;
  if (e < 140u) { return x; }
  if (e == 255u) { return wk_nan(); }
  var digits = array<u32, 7>(0u, 0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u);
  let at = (e - 118u) >> 5u;
  let shift = (e - 118u) & 31u;
  let back = (32u - shift) & 31u;
  let whole = (bits & 0x7fffffu) | 0x800000u;
  let high = (digits[at] << shift) | select(0u, digits[at + 1u] >> back, shift != 0u);
  let low = ((digits[at + 1u] << shift) | select(0u, digits[at + 2u] >> back, shift != 0u)) >> 16u;
  let part = bitcast<i32>(whole * high + (((whole >> 8u) * low + (((whole & 255u) * low) >> 8u)) >> 8u));
  return f32(part) * select(1.4629180792671596e-9, -1.4629180792671596e-9, x < 0.0);
}

fn wk_i32(x: f32) -> i32 {
  let inside = x > -2147483648.0 && x < 2147483648.0;
  let beyond = select(select(0, i32(-2147483648), x <= -2147483648.0), 2147483647, x >= 2147483648.0);
  return select(select(beyond, i32(select(0.0, x, inside)), inside), 0, wk_isnan(x));
}

fn wk_u32(x: f32) -> u32 {
  let inside = x > 0.0 && x < 4294967296.0;
  return select(select(select(0u, 4294967295u, x >= 4294967296.0), u32(select(0.0, x, inside)), inside), 0u, wk_isnan(x));
}

fn wk_idiv(a: i32, b: i32) -> i32 {
  let plain = b != 0 && b != -1;
  return select(select(0, 0 - a, b == -1), a / select(1, b, plain), plain);
}

fn wk_irem(a: i32, b: i32) -> i32 {
  let plain = b != 0 && b != -1;
  return select(0, a % select(1, b, plain), plain);
}

fn wk_udiv(a: u32, b: u32) -> u32 { return select(0u, a / select(1u, b, b != 0u), b != 0u); }

fn wk_urem(a: u32, b: u32) -> u32 { return select(0u, a % select(1u, b, b != 0u), b != 0u); }

fn wk_floordiv(a: i32, b: i32) -> i32 {
  let q = wk_idiv(a, b);
  let r = wk_irem(a, b);
  return select(q, q - 1, r != 0 && (r < 0) != (b < 0));
}

fn wk_floormod(a: i32, b: i32) -> i32 {
  let r = wk_irem(a, b);
  return select(r, r + b, r != 0 && (r < 0) != (b < 0));
}

fn wk_uint8(at: i32) -> u32 { return (wk_word(at >> 2u) >> u32((at & 3) * 8)) & 0xffu; }

fn wk_bool(at: i32) -> bool { return wk_uint8(at) != 0u; }

fn wk_int8(at: i32) -> i32 { return bitcast<i32>(wk_uint8(at) << 24u) >> 24u; }

fn wk_uint16(at: i32) -> u32 { return (wk_word(at >> 1u) >> u32((at & 1) * 16)) & 0xffffu; }

fn wk_int16(at: i32) -> i32 { return bitcast<i32>(wk_uint16(at) << 16u) >> 16u; }

fn wk_float16(at: i32) -> f32 {
  let half = wk_uint16(at);
  let size = half & 0x7fffu;
  let sign = (half & 0x8000u) << 16u;
  let normal = bitcast<f32>(((size + select(0x1c000u, 0x38000u, size >= 0x7c00u)) << 13u) | sign);
  return select(normal, select(1.0, -1.0, sign != 0u) * f32(size) * 5.9604644775390625e-8, size < 0x400u);
}

fn wk_isnan4(x: vec4f) -> vec4<bool> { return (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u); }

fn wk_max4(a: vec4f, b: vec4f) -> vec4f { return select(b, a, ((a > b) & !wk_isnan4(b)) | wk_isnan4(a)); }

fn wk_min4(a: vec4f, b: vec4f) -> vec4f { return select(b, a, ((a < b) & !wk_isnan4(b)) | wk_isnan4(a)); }

fn wk_sign4(x: vec4f) -> vec4f { return select(select(x, vec4f(-1.0), x < vec4f()), vec4f(1.0), x > vec4f()); }

fn wk_i32x4(x: vec4f) -> vec4i { return vec4i(wk_i32(x.x), wk_i32(x.y), wk_i32(x.z), wk_i32(x.w)); }

fn wk_u32x4(x: vec4f) -> vec4u { return vec4u(wk_u32(x.x), wk_u32(x.y), wk_u32(x.z), wk_u32(x.w)); }

fn wk_four(at: i32) -> vec4u { return vec4u(arena[at], arena[at + 1], arena[at + 2], arena[at + 3]); }

fn wk_store_four(at: i32, words: vec4u) {
  arena[at] = words.x;
  arena[at + 1] = words.y;
  arena[at + 2] = words.z;
  arena[at + 3] = words.w;
}

fn wk_lane(at: i32) -> u32 { return arena[at >> 2u][at & 3]; }

fn wk_two_pairs(at: i32) -> vec4u { return vec4u(arena[at >> 1u], arena[(at >> 1u) + 1]); }

fn wk_store_two_pairs(at: i32, words: vec4u) {
  arena[at >> 1u] = words.xy;
  arena[(at >> 1u) + 1] = words.zw;
}

fn wk_unpack_float16(words: vec2u) -> vec4f { return vec4f(unpack2x16float(words.x), unpack2x16float(words.y)); }

fn wk_load_float16(at: i32) -> vec4f { return vec4f(wk_float16(at), wk_float16(at + 1), wk_float16(at + 2), wk_float16(at + 3)); }

fn wk_unpack_int8(word: u32) -> vec4i { return bitcast<vec4i>(vec4u(word) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u); }

// The codes in the bits 0 to 3, 8 to 11, ... of a word, times 1, 256, ...: without shifts.
fn wk_scaled_nibbles(word: u32) -> vec4f {
  return vec4f(bitcast<vec4i>(vec4u(word) & vec4u(0xfu, 0xf00u, 0xf0000u, 0xf000000u)));
}

// The bytes of a word, of which the highest one is signed, times 1, 256, ...
fn wk_scaled_bytes(word: u32) -> vec4f {
  return vec4f(bitcast<vec4i>(vec4u(word) & vec4u(0xffu, 0xff00u, 0xff0000u, 0xff000000u)));
}

fn wk_load_int8(at: i32) -> vec4i { return vec4i(wk_int8(at), wk_int8(at + 1), wk_int8(at + 2), wk_int8(at + 3)); }

fn wk_store_byte(at: i32, x: u32) {
  let shift = u32(at & 3) * 8u;
  atomicAnd(&arena[at >> 2u], ~(0xffu << shift));
  atomicOr(&arena[at >> 2u], (x & 0xffu) << shift);
}

fn wk_pack_float16(x: vec4f) -> vec2u { return vec2u(pack2x16float(x.xy), pack2x16float(x.zw)); }

fn wk_store_half(at: i32, x: f32) {
  let shift = u32(at & 1) * 16u;
  atomicAnd(&arena[at >> 1u], 0xffff0000u >> shift);
  atomicOr(&arena[at >> 1u], pack2x16float(vec2f(x, 0.0)) << shift);
}
