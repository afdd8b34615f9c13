import type { AddressInfo } from 'node:net';
import { Timeline } from '../../actors/runtime/supervision/timeline.ts';
import { readWebFiles } from '../../src/process/program.ts';
import { prepareConsoleFiles } from '../../src/service/routes/console-files.ts';
import type { DatabaseId } from '../../src/wire/data/database.ts';
import type { ActorView } from '../../src/wire/state/actor-view.ts';
import type { TimelineEvent } from '../../src/wire/state/timeline.ts';
import { openFrontDoor, reportOf } from './sync/front-door.ts';

/** A front door with 18 actors to which something happens a thousand times a second. It tells its port, then its CPU time when asked. */
const CHAINS = ['bitcoin', 'litecoin', 'dogecoin'];
const NETWORKS = ['mainnet', 'testnet', 'regtest'];
const EVENTS_PER_SECOND = 1_000;
const TICK_MS = 20;

const ids = CHAINS.flatMap((chain) =>
  NETWORKS.flatMap((network) =>
    (['indexer', 'decoder'] as const).map((dbType): DatabaseId => ({ dbType, chain, network }))
  )
);
const timeline = new Timeline();
let height = 800_000;
let number = 0;
const context = { height, tip: height, errors: 0, backoffMs: 250, lastGroup: { first: 1, last: 2 } };

/** Returns the next event: two changes of state, a message, and a block, by turns. */
function nextHappening(): TimelineEvent {
  const at = Date.now();
  const turn = number % 4;
  if (turn === 2) return { kind: 'message', at, ms: 3, direction: 'out', type: 'broadcast' };
  if (turn === 3) {
    height += 1;
    return { kind: 'blocks', at, direction: 'out', first: height, last: height };
  }
  const [from, to] =
    turn === 0 ? (['polling.caughtUp', 'polling.behind'] as const) : (['polling.behind', 'polling.caughtUp'] as const);
  const event = turn === 0 ? 'blocks.found' : 'group.ended';
  const facts = { detail: { height }, before: context, context: { ...context, height } };
  return { kind: 'transition', machine: 'source', event, from, to, at, ...facts };
}

let begun = performance.now();
let due = 0;
setInterval(() => {
  due += ((performance.now() - begun) / 1_000) * EVENTS_PER_SECOND;
  begun = performance.now();
  for (; due >= 1; due -= 1) timeline.add(ids[Math.floor(number++ / 4) % ids.length]!, nextHappening());
}, TICK_MS);

const views = (): ActorView[] =>
  ids.map((id) => ({
    id,
    kind: 'source',
    state: 'running',
    reason: null,
    generation: 1,
    machines: {
      source: { state: number % 8 < 4 ? 'polling.caughtUp' : 'polling.behind', since: Date.now() },
      circuitBreaker: { state: 'closed', since: 0 },
      restart: { state: 'running', since: 0 }
    },
    waiting: { on: 'the next poll', since: Date.now() - 200 },
    beacon: {
      mailboxDepth: number % 3,
      oldestMs: 4,
      heapUsedBytes: 5e7 + number,
      eventLoopDelayMs: 1,
      cpuMs: 200,
      at: Date.now(),
      silentMs: 0
    },
    restarts: { inWindow: 0, budget: 10, total: 0, causes: [] },
    transitions: []
  }));

const { app } = await openFrontDoor({
  timeline,
  known: ids,
  actorsView: views,
  reports: ids.map((id) => {
    const report = reportOf(id);
    Object.defineProperties(report, {
      height: { get: () => height, enumerable: true },
      tip: { get: () => height, enumerable: true }
    });
    return report;
  }),
  consoleFiles: await prepareConsoleFiles(readWebFiles())
});
await app.listen({ host: '127.0.0.1', port: 0 });
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMs: (user + system) / 1_000 });
});
process.send?.({ port: (app.server.address() as AddressInfo).port });
