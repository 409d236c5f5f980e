/** @typedef {import('./webgpu_device.js').Gpu} Gpu */
/** @typedef {{ buffer: any, size: number, busy: boolean }} Slot */

/** Buffers by which results come to the CPU. Each serves one read-back at a time, and then the next. */
export class Staging {
  /** @param {Gpu} gpu */
  constructor(gpu) {
    this.gpu = gpu;
    /** @type {Slot[]} */
    this.slots = [];
  }

  /**
   * @param {number} bytes
   * @returns {Slot} a buffer of at least that many bytes that nobody waits for
   */
  take(bytes) {
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
