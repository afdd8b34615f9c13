import { isMainThread, Worker } from 'node:worker_threads';

/** Threads beside the main one, as a hub of a set has them. */
const THREADS = 2;
/** A hub of a set wakes some 24 times a second, all threads together: beacons, looks at the clock, messages of other hubs. */
const WAKE_MS = 125;

// A program of as many threads as a hub, which wake as often and do nothing: what that costs is the machine's.
if (isMainThread) for (let at = 0; at < THREADS; at++) new Worker(new URL(import.meta.url));
setInterval(() => undefined, WAKE_MS);
