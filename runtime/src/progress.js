/** @import { FileEntry, Progress } from './types.ts' */

/** Counts the received bytes of the shards and of the module of one backend. */
export class Meter {
  total = 0;
  /** The time at which the last bytes arrived. */
  lastArrival = performance.now();
  /** @type {Map<string, number>} */
  arrived = new Map();

  /** @param {(progress: Progress) => void} report */
  constructor(report) {
    this.report = report;
  }

  /** @param {FileEntry[]} files the files of this attempt; others are not counted */
  expect(files) {
    this.total = files.reduce((sum, file) => sum + file.bytes, 0);
    this.arrived = new Map(files.map(({ file }) => [file, this.arrived.get(file) ?? 0]));
  }

  /**
   * @param {string} file
   * @param {number} arrived
   */
  advance(file, arrived) {
    this.lastArrival = performance.now();
    // Progress must not decrease when a file is read again.
    this.arrived.set(file, Math.max(arrived, this.arrived.get(file) ?? 0));
    this.report({
      loaded: [...this.arrived.values()].reduce((sum, bytes) => sum + bytes, 0),
      total: this.total,
    });
  }
}
