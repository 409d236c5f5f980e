/** Threads that have slept for that long may be woken on the processor of the one that wakes them, although another is idle. */
const REST_MS = 8;
/** Each way is taken so often before one is chosen. */
const TRIES = 2;
/** So many runs after a rest lie between two in which the slower way is tried again. */
const AGAIN = 16;

/**
 * Whether helpers take part in a run. In a row of runs they do. After a rest that is done which took less time in earlier runs after one.
 */
export class HelperHeuristic {
  constructor(now = () => performance.now()) {
    this.now = now;
    this.ended = -Infinity;
    this.began = 0;
    /** Runs after a rest. */
    this.rested = 0;
    /** @type {number[]} milliseconds for each operation, after a rest, alone and helped */
    this.spent = [0, 0];
  }

  /** @returns {boolean} */
  begin() {
    this.began = this.now();
    this.rest = this.began - this.ended > REST_MS;
    if (!this.rest) return (this.helped = true);
    const [alone, helped] = /** @type {[number, number]} */ (this.spent);
    const number = this.rested++;
    const other = number >= 2 * TRIES && number % AGAIN === 0;
    return (this.helped = number < 2 * TRIES ? number % 2 === 0 : helped <= alone !== other);
  }

  /** @param {number} operations */
  end(operations) {
    this.ended = this.now();
    if (!this.rest) return;
    const way = Number(this.helped),
      found = (this.ended - this.began) / operations,
      before = this.spent[way];
    this.spent[way] = before ? (before + found) / 2 : found;
  }
}
