import { profileBundle } from './harness_profile.js';

/**
 * Profile several bundles alternately, `rounds` times. Each is loaded again, so that other load on
 * the machine affects all bundles equally.
 */
export async function runSets({ bundles, rounds, ...request }, get, put) {
  const frame = await get(0);
  const profiles = [];
  for (let round = 0; round < rounds; round++) {
    const row = [];
    for (const bundle of bundles) {
      const { timeline, ...profile } = await profileBundle({ ...request, bundle }, frame.slice(0));
      row.push(profile);
    }
    profiles.push(row);
  }
  await put(0, new TextEncoder().encode(JSON.stringify(profiles)));
}
