import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';

// A thread of its own, for the bench's main thread is busy: asks one path every few milliseconds, and tells how long each
// answer took when it is asked to stop.
const { url, headers, pauseMs } = workerData as { url: string; headers: Record<string, string>; pauseMs: number };
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const times: number[] = [];
let stopped = false;
parentPort?.once('message', () => {
  stopped = true;
});

async function ask(): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const began = performance.now();
  get(url, { agent, headers }, (response) => response.on('end', resolve).on('error', reject).resume()).on(
    'error',
    reject
  );
  await promise;
  return performance.now() - began;
}

await ask(); // the connection is not what is measured
while (!stopped) {
  times.push(await ask());
  await sleep(pauseMs);
}
agent.destroy();
parentPort?.postMessage(times);
