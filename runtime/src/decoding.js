/** @import { BackendModule, Engine } from './engine.ts' */
/** @import { Feed } from './download.js' */
import { modelError } from './session.js';

/** No shard: runs the entries that depend on none. */
export const NONE = NaN;

/**
 * @param {Engine} engine
 * @param {number} entry index in the init program
 * @param {Uint8Array} bytes
 */
function decodeEntry(engine, entry, bytes) {
  try {
    engine.init(entry, bytes);
  } catch (error) {
    throw modelError(`decoding weight ${entry}`, error);
  }
}

/**
 * A feed that runs the init entries of one shard as their ranges arrive. An entry may be run again
 * with other bytes until an entry that depends on it has run.
 * @param {Engine} engine
 * @param {BackendModule['program']} program
 * @param {number} shard
 * @returns {Feed}
 */
export function decodeShard(engine, { init }, shard) {
  let next = init.findIndex(([owner]) => owner === shard);
  return (bytes, arrived) => {
    for (
      let item;
      (item = init[next]) && item[0] === shard && item[1] + item[2] <= arrived;
      next++
    ) {
      decodeEntry(engine, next, bytes.subarray(item[1], item[1] + item[2]));
    }
  };
}

/**
 * A function that runs the entries without a shard, in order, each after the entries that it
 * depends on. The order matters: an entry may overwrite what an earlier one reads.
 * @param {Engine} engine
 * @param {BackendModule['program']} program
 * @returns {(shard: number) => void} to call first with `NONE`, and when a shard is decoded from
 * verified bytes
 */
export function decodeShared(engine, { init }) {
  /** @type {number[]} */
  const done = [];
  let next = init.findIndex(([owner]) => owner < 0);
  return shard => {
    init.forEach(([owner], entry) => {
      if (owner === shard) done[entry] = 1;
    });
    for (
      let item;
      (item = init[next]) &&
      done.slice(item[1], item[1] + item[2]).filter(Boolean).length === item[2];
      next++
    ) {
      decodeEntry(engine, next, new Uint8Array());
    }
  };
}
