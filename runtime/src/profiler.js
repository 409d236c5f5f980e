/** @import { RunSizes } from './engine.ts' */
/** @import { LaunchProfile, Profile } from './types.ts' */
/** @import { Session } from './session.js' */
import { timeSteps } from './profiler_cpu.js';
import { timeDraws } from './profiler_webgl.js';
import { timeDispatches } from './profiler_webgpu.js';

/**
 * The names of a step, and its operations and bytes per execution; null if unknown.
 * @typedef {[layer: string, kernel: string, flops: number | null, bytes: number | null]} Site
 */

/**
 * One run: its time, the steps, and the start and duration of each step, in milliseconds.
 * @typedef {{ ms: number, sites: number[], starts: number[], times: number[] }} Timed
 */

/**
 * Times the steps of a backend. `peakGflops` measures the peak of one thread, or of the GPU,
 * `peakGigabytes` that of reads from memory. `measurePass` times all launches of the last run
 * without gaps for timestamps, and a launch that does nothing. All are null if unknown.
 * `multiprocessors` is the number that schedules assume for the GPU.
 * @typedef {object} Timer
 * @property {(...placeholders: number[]) => RunSizes | Promise<RunSizes>} run
 * @property {string} clock
 * @property {() => number} resolutionMs
 * @property {number} [multiprocessors]
 * @property {() => Promise<number | null>} peakGflops
 * @property {() => Promise<number | null>} [peakGigabytes]
 * @property {() => Promise<{ passMs: number, emptyMs: number } | null>} [measurePass]
 */

/** @type {Record<string, (engine: any, profiler: Profiler, variant: string | null) => Timer>} */
const TIMERS = { webgpu: timeDispatches, wasm: timeSteps, webgl: timeDraws, js: timeSteps };

/**
 * The GPU time of a run: that of kernels is what launches take beyond one that does nothing, and
 * gaps are the rest of the pass.
 * @param {LaunchProfile[]} launches
 * @param {{ passMs: number, emptyMs: number } | null} pass
 * @returns {Profile['gpu']}
 */
function gpuTimes(launches, pass) {
  if (!pass) return null;
  const { passMs, emptyMs } = pass;
  const count = launches.reduce((sum, launch) => sum + launch.count, 0);
  const kernelMs = launches.reduce(
    (sum, launch) => sum + Math.max(launch.ms - launch.count * emptyMs, 0),
    0,
  );
  return { launches: count, passMs, kernelMs, gapMs: passMs - kernelMs, emptyMs };
}

/** Records the times of the steps of all runs of a session, from its construction on. */
export class Profiler {
  /**
   * @param {Session} session
   * @param {(...sizes: number[]) => Site[]} sites the steps of its program by index
   * @param {{ backend: string, variant: string | null }} about
   */
  constructor(session, sites, { backend, variant }) {
    this.session = session;
    this.sites = sites;
    /** @type {Timed[]} */
    this.runs = [];
    this.sizes = '';
    /** @type {number[]} the data-dependent sizes of the last run */
    this.dataSizes = [];
    this.current = this.#emptyRun();
    this.discarded = false;
    const { engine } = session;
    const timer = (this.timer = /** @type {NonNullable<typeof TIMERS[string]>} */ (TIMERS[backend])(
      engine,
      this,
      variant,
    ));
    engine.run = async (...placeholders) => {
      const sizes = await timer.run(...placeholders);
      this.dataSizes = sizes ?? [];
      return sizes;
    };
    const run = session.run.bind(session);
    session.run = async request => {
      this.current = this.#emptyRun();
      this.discarded = false;
      const begin = performance.now();
      const reply = await run(request);
      if (!this.discarded) this.#record({ ...this.current, ms: performance.now() - begin });
      return reply;
    };
  }

  /** @returns {Timed} */
  #emptyRun() {
    return { ms: 0, sites: [], starts: [], times: [] };
  }

  /**
   * @param {number} site the index of a finished step
   * @param {number} start milliseconds since the start of the run
   * @param {number} ms
   */
  add(site, start, ms) {
    const { sites, starts, times } = this.current;
    sites.push(site);
    starts.push(start);
    times.push(ms);
  }

  /** Discard the current run, whose times are wrong. */
  discard() {
    this.discarded = true;
  }

  /** @param {Timed} run replaces earlier runs of other sizes */
  #record(run) {
    const sizes = [...this.session.placeholders, ...this.dataSizes].join();
    if (sizes !== this.sizes) this.runs = [];
    this.sizes = sizes;
    this.runs.push(run);
  }

  /**
   * Report the runs since the last call: means over the faster half of the runs, and the steps of
   * the fastest run.
   * @param {number} threads the number of threads of the model
   * @returns {Promise<Omit<Profile, 'backend' | 'variant'>>}
   */
  async report(threads) {
    const runs = this.runs.splice(0).sort((a, b) => a.ms - b.ms);
    const faster = runs.slice(0, Math.ceil(runs.length / 2));
    const mean = (/** @type {number} */ sum) => (faster.length ? sum / faster.length : 0);
    const launches = this.sites(...this.session.placeholders, ...this.dataSizes).map(
      ([layer, kernel, flops, bytes]) => ({ layer, kernel, flops, bytes, count: 0, ms: 0 }),
    );
    for (const { sites, times } of faster) {
      sites.forEach((site, index) => {
        const launch = /** @type {NonNullable<typeof launches[number]>} */ (launches[site]);
        launch.count += 1;
        launch.ms += /** @type {number} */ (times[index]);
      });
    }
    const { clock, resolutionMs, multiprocessors, peakGflops, peakGigabytes, measurePass } =
      this.timer;
    const peak = await peakGflops();
    const { sites, starts, times } = runs[0] ?? this.#emptyRun();
    const means = launches.map(launch => ({
      ...launch,
      count: mean(launch.count),
      ms: mean(launch.ms),
    }));
    return {
      threads,
      clock,
      resolutionMs: resolutionMs(),
      multiprocessors: multiprocessors ?? null,
      peakGflops: peak === null ? null : threads * peak,
      peakGigabytes: (await peakGigabytes?.()) ?? null,
      gpu: runs.length ? gpuTimes(means, (await measurePass?.()) ?? null) : null,
      runs: runs.length,
      runMs: mean(faster.reduce((sum, { ms }) => sum + ms, 0)),
      launches: means,
      timeline: sites.map((launch, index) => ({
        launch,
        startMs: starts[index] ?? 0,
        ms: times[index] ?? 0,
      })),
    };
  }
}
