import { WebkilnError } from './errors.js';

/**
 * Loads a model again after its GPU device was lost. The states of a model are lost with it: a call
 * reports that before one begins with initial states.
 */
export class Recovery {
  /** The loss after which the model is not loaded again yet. @type {WebkilnError | null} */
  loss = null;
  /** The number of losses. A call that began before the last one reports an old loss. */
  count = 0;
  #load;
  #onlost;
  #hasStates;
  /** Whether a call must still report that states are lost. */
  #unreported = false;
  /** @type {Promise<void> | null} */
  #loading = null;

  /**
   * @param {(() => Promise<any>) | null} [load] null if the model cannot be loaded again
   * @param {(error: WebkilnError) => void} [onlost] called once for each loss
   * @param {boolean} [hasStates]
   */
  constructor(load = null, onlost = () => {}, hasStates = false) {
    this.#load = load;
    this.#onlost = onlost;
    this.#hasStates = hasStates;
  }

  /** Whether a loss does not end the model. */
  get possible() {
    return this.#load !== null;
  }

  /**
   * Record a loss.
   * @param {WebkilnError} error
   * @param {boolean} pending whether calls are rejected with the error
   * @returns {WebkilnError} the error for these calls
   */
  lose({ message }, pending) {
    const states = this.#hasStates && this.possible;
    const loss = new WebkilnError(
      'DeviceLost',
      states ? `${message}; the states are lost` : message,
    );
    this.loss = loss;
    this.count += 1;
    this.#unreported = states && !pending;
    Promise.resolve(loss).then(this.#onlost);
    return loss;
  }

  /** Throws the loss if states were lost and no call has reported it. */
  check() {
    if (!this.#unreported) return;
    this.#unreported = false;
    throw this.loss;
  }

  /** The caller knows that states are the initial ones. */
  acknowledge() {
    this.#unreported = false;
  }

  /**
   * Load the model again, once for all calls that wait for it.
   * @returns {Promise<void>}
   */
  restore() {
    const load = /** @type {() => Promise<any>} */ (this.#load);
    this.#loading ??= load()
      .then(() => {
        this.loss = null;
      })
      .finally(() => {
        this.#loading = null;
      });
    return this.#loading;
  }
}
