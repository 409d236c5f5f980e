/** After this time, the OS may wake a thread on the core of the thread that wakes it. */
const REST_MS = 8;
/** Measurements of each mode before one is chosen. */
const TRIES = 2;
/** The slower mode is measured again once in this number of runs after a rest. */
const AGAIN = 16;

/**
 * Decides whether helper threads take part in a run. In consecutive runs they do. After a rest, the
 * mode that was faster in earlier runs after a rest is used.
 */
export class HelperHeuristic {
  constructor(now = () => performance.now()) {
    this.now = now;
    this.ended = -Infinity;
    this.began = 0;
    /** The number of runs after a rest. */
    this.rested = 0;
    /** @type {number[]} milliseconds per operation after a rest, without and with helpers */
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
    const mode = Number(this.helped),
      measured = (this.ended - this.began) / operations,
      before = this.spent[mode];
    this.spent[mode] = before ? (before + measured) / 2 : measured;
  }
}
