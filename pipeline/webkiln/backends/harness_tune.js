import { profiled } from './harness_profile.js';

/** Profiles several bundles in turn, `rounds` times, each loaded anew, so that what else the machine does meets all of them. */
export async function runSets({ bundles, rounds, ...request }, get, put) {
  const frame = await get(0);
  const profiles = [];
  for (let round = 0; round < rounds; round++) {
    const row = [];
    for (const bundle of bundles) {
      const { timeline, ...profile } = await profiled({ ...request, bundle }, frame.slice(0));
      row.push(profile);
    }
    profiles.push(row);
  }
  await put(0, new TextEncoder().encode(JSON.stringify(profiles)));
}
