export const program = {};

export function create(module, bytes = program.loaded) {
  const end = Math.ceil(bytes / 64) * 64;
  const buffer = new ArrayBuffer(end + 0);
  function k_21e93f04f4804e62(x0, y0, p0, p1, s0_0) {
    for (let a0 = 0; a0 < p0; a0++) {
      const v1 = a0 * s0_0;
      let acc0_0_0 = -Infinity;
      for (let r0 = 0; r0 < p1; r0++) {
        const v2 = v1 + r0;
        const v3 = F32[x0 + v2];
        acc0_0_0 = v3 > acc0_0_0 || v3 !== v3 ? v3 : acc0_0_0;
      }
      F32[y0 + a0] = acc0_0_0;
    }
  }
  function k_18e17f1101de8541(x0, x1, y0, p0, p1, s0_0) {
    for (let a0 = 0; a0 < p0; a0++) {
      const v1 = a0 * s0_0;
      const v4 = F32[x1 + a0];
      let acc0_0_0 = 0;
      for (let r0 = 0; r0 < p1; r0++) {
        const v2 = v1 + r0;
        const v3 = F32[x0 + v2];
        const v5 = v3 - v4;
        const v6 = Math.exp(v5);
        acc0_0_0 = acc0_0_0 + v6;
      }
      F32[y0 + a0] = acc0_0_0;
    }
  }
  function k_a51ff2c4e3b743c6(x0, x1, x2, y0, p0, p1, s0_0, s3_0) {
    for (let a0 = 0; a0 < p0; a0++) {
      const v1 = a0 * s0_0;
      const v4 = F32[x1 + a0];
      const v7 = F32[x2 + a0];
      const v9 = a0 * s3_0;
      for (let a1 = 0; a1 < p1; a1++) {
        const v2 = v1 + a1;
        const v3 = F32[x0 + v2];
        const v5 = v3 - v4;
        const v6 = Math.exp(v5);
        const v8 = v6 / v7;
        const v10 = v9 + a1;
        F32[y0 + v10] = v8;
      }
    }
  }
  const entries = [
  ];
  return {
    buffer,
    base: 0,
    init: (entry) => entries[entry](),
    run: () => {
    },
    grow: (size) => {
      const next = create(module, size);
      new Uint8Array(next.buffer).set(U8);
      return next;
    },
  };
}
