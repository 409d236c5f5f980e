/** @import { RunSizes, Profile } from './types.ts' */
/** @import { Session } from './session.js' */
import { timeSteps } from './profiler_cpu.js';
import { timeDraws } from './profiler_webgl.js';
import { timeDispatches } from './profiler_webgpu.js';

/**
 * What a step of the program is called, and what it costs each time; null where that is not known.
 * @typedef {[layer: string, kernel: string, flops: number | null, bytes: number | null]} Site
 */

/**
 * One run: how long it took, which steps were done, when each of them began and how long it took, in milliseconds.
 * @typedef {{ ms: number, sites: number[], starts: number[], times: number[] }} Timed
 */

/**
 * How a backend runs while its steps are timed, where these times come from, the least difference of two, and what one thread computes at most.
 * @typedef {{
 *   run: (...placeholders: number[]) => RunSizes | Promise<RunSizes>, clock: string, resolutionMs: () => number, peakGflops: () => Promise<number>,
 * }} Timer
 */

/** @type {Record<string, (engine: any, profiler: Profiler, variant: string | null) => Timer>} */
const TIMERS = { webgpu: timeDispatches, wasm: timeSteps, webgl: timeDraws, js: timeSteps };

/** The times of the steps of a session, whose runs it takes part in from the moment it is made. */
export class Profiler {
  /**
   * @param {Session} session
   * @param {(...sizes: number[]) => Site[]} sites the steps of its program by their numbers
   * @param {{ backend: string, variant: string | null }} about
   */
  constructor(session, sites, { backend, variant }) {
    this.session = session;
    this.sites = sites;
    /** @type {Timed[]} */
    this.runs = [];
    this.sizes = '';
    /** @type {number[]} the sizes that the last run found */
    this.found = [];
    this.current = this.#nothing();
    this.spoilt = false;
    const { engine } = session;
    const timer = (this.timer = /** @type {NonNullable<typeof TIMERS[string]>} */ (TIMERS[backend])(
      engine,
      this,
      variant,
    ));
    engine.run = async (...placeholders) => {
      const found = await timer.run(...placeholders);
      this.found = found ?? [];
      return found;
    };
    const run = session.run.bind(session);
    session.run = async request => {
      this.current = this.#nothing();
      this.spoilt = false;
      const begin = performance.now();
      const reply = await run(request);
      if (!this.spoilt) this.#keep({ ...this.current, ms: performance.now() - begin });
      return reply;
    };
  }

  /** @returns {Timed} */
  #nothing() {
    return { ms: 0, sites: [], starts: [], times: [] };
  }

  /**
   * @param {number} site the number of a step that is over
   * @param {number} start since its run began
   * @param {number} ms
   */
  add(site, start, ms) {
    const { sites, starts, times } = this.current;
    sites.push(site);
    starts.push(start);
    times.push(ms);
  }

  /** Leaves the run out whose times are wrong. */
  spoil() {
    this.spoilt = true;
  }

  /** @param {Timed} run those of other sizes before it are forgotten */
  #keep(run) {
    const sizes = [...this.session.placeholders, ...this.found].join();
    if (sizes !== this.sizes) this.runs = [];
    this.sizes = sizes;
    this.runs.push(run);
  }

  /**
   * What was timed since the last call: means over the faster half of the runs, and the steps of the fastest one.
   * @param {number} threads that run the model
   * @returns {Promise<Omit<Profile, 'backend' | 'variant'>>}
   */
  async report(threads) {
    const runs = this.runs.splice(0).sort((a, b) => a.ms - b.ms);
    const faster = runs.slice(0, Math.ceil(runs.length / 2));
    const mean = (/** @type {number} */ sum) => (faster.length ? sum / faster.length : 0);
    const launches = this.sites(...this.session.placeholders, ...this.found).map(
      ([layer, kernel, flops, bytes]) => ({ layer, kernel, flops, bytes, count: 0, ms: 0 }),
    );
    for (const { sites, times } of faster) {
      sites.forEach((site, index) => {
        const launch = /** @type {NonNullable<typeof launches[number]>} */ (launches[site]);
        launch.count += 1;
        launch.ms += /** @type {number} */ (times[index]);
      });
    }
    const { clock, resolutionMs, peakGflops } = this.timer;
    const { sites, starts, times } = runs[0] ?? this.#nothing();
    return {
      threads,
      clock,
      resolutionMs: resolutionMs(),
      peakGflops: threads * (await peakGflops()),
      runs: runs.length,
      runMs: mean(faster.reduce((sum, { ms }) => sum + ms, 0)),
      launches: launches.map(launch => ({
        ...launch,
        count: mean(launch.count),
        ms: mean(launch.ms),
      })),
      timeline: sites.map((launch, index) => ({
        launch,
        startMs: starts[index] ?? 0,
        ms: times[index] ?? 0,
      })),
    };
  }
}
