/** @typedef {import('./webgpu_device.js').Gpu} Gpu */
/** @typedef {{ buffer: any, size: number, busy: boolean }} Slot */

/** A pool of mappable buffers. Each serves one read-back at a time. */
export class Staging {
  /** @param {Gpu} gpu */
  constructor(gpu) {
    this.gpu = gpu;
    /** @type {Slot[]} */
    this.slots = [];
  }

  /**
   * @param {number} bytes
   * @returns {Slot} a free buffer of at least this size, marked as busy
   */
  acquire(bytes) {
    const free = this.slots.filter(({ busy }) => !busy);
    let slot = free.find(({ size }) => size >= bytes);
    if (!slot) {
      free[0]?.buffer.destroy();
      this.slots = this.slots.filter(other => other !== free[0]);
      slot = {
        buffer: this.gpu.device.createBuffer({ label: 'outputs', size: bytes, usage: 0x1 | 0x8 }),
        size: bytes,
        busy: false,
      };
      this.slots.push(slot);
    }
    slot.busy = true;
    return slot;
  }

  destroy() {
    for (const { buffer } of this.slots) buffer.destroy();
  }
}

/** A temporary buffer for copies within the arena, which take effect as if simultaneously. */
export class MoveBuffer {
  /** @param {Gpu} gpu */
  constructor(gpu) {
    this.gpu = gpu;
    /** @type {any} */
    this.buffer = null;
  }

  /**
   * @param {any} encoder
   * @param {any} arena
   * @param {Move[]} moves
   */
  encode(encoder, arena, moves) {
    const size = moves.reduce((sum, { bytes }) => sum + bytes, 0);
    if (!size) return;
    if (!(this.buffer?.size >= size)) {
      this.buffer?.destroy();
      this.buffer = this.gpu.device.createBuffer({ label: 'moves', size, usage: 0x4 | 0x8 });
    }
    let at = 0;
    for (const { source, bytes } of moves) {
      encoder.copyBufferToBuffer(arena, source, this.buffer, at, bytes);
      at += bytes;
    }
    at = 0;
    for (const { target, bytes } of moves) {
      encoder.copyBufferToBuffer(this.buffer, at, arena, target, bytes);
      at += bytes;
    }
  }

  destroy() {
    this.buffer?.destroy();
  }
}
