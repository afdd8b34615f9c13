import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parentPort, workerData } from 'node:worker_threads';
import { TransientMap } from '../../src/transient-map.ts';

const IN_FLIGHT = 16;
const ENTRIES = 20_000;

// A thread of its own, for its heap: tells by how many MB the old generation grows while entries of some 2 KB come and go in a
// map that has become old before.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const oldGenerationMb = () =>
  getHeapSpaceStatistics().find((space) => space.space_name === 'old_space')!.space_used_size / 2 ** 20;

const map: Map<number, unknown> | TransientMap<number, unknown> =
  workerData === 'Map' ? new Map() : new TransientMap<number, unknown>();
for (let key = -IN_FLIGHT; key < 0; key++) map.set(key, {});
collect();
const before = oldGenerationMb();
let most = before;
for (let key = 0; key < ENTRIES; key++) {
  map.set(key, new Array(250).fill(key));
  map.delete(key - IN_FLIGHT);
  if (key % 100 === 0) most = Math.max(most, oldGenerationMb());
}
parentPort?.postMessage(most - before);
