import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createActor } from 'xstate';
import { availabilityMachine } from '../../machines/explorer/availability.ts';
import { type Chain, chainNetwork, type Network } from '../../src/coin/chains.ts';
import type { Question, Reply } from '../../src/explorer/question.ts';
import { cursorsOf } from '../../src/explorer/read/cursor.ts';
import { FaultNotes } from '../../src/explorer/read/fault-notes.ts';
import { type DatabasePair, Replicas } from '../../src/explorer/read/replicas.ts';
import { distanceOf, type ExplorerReport } from '../../src/explorer/report.ts';
import { createLogger } from '../../src/log.ts';
import { actorKey } from '../../src/wire/state/actor.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';
import { openReplica } from './replica.ts';

/** Start data of an explorer actor's thread. */
export interface ExplorerActorData {
  readonly chain: Chain;
  readonly network: Network;
  /** Databases, and their further copies. */
  readonly replicas: readonly [DatabasePair, ...DatabasePair[]];
  /** Longest time that one read may take, in milliseconds. */
  readonly readLimitMs: number;
  /** Secret that signs cursors. */
  readonly cursorSecret: string;
  readonly logLevel: string;
}

/** Requests that an explorer actor answers. */
export type ExplorerAsks = { read: { request: Question; reply: Reply } };

/** Notices from an explorer actor to the main thread. */
type ExplorerNotices = { report: ExplorerReport };

const PROBE_INTERVAL_MS = 1_000;

const data = workerData as ExplorerActorData;
const [{ indexer: first }] = data.replicas;
const log = createLogger('explorer', data.logLevel).child({
  database: actorKey({ kind: 'explorer', chain: data.chain, network: data.network }),
  schema: first.name
});
const stopping = new AbortController();
const host = hostActor<ExplorerAsks, Record<never, never>, ExplorerNotices>({
  handlers: {
    read: async (question) => await replicas.answer(question).catch((caught: unknown) => notes.note(caught))
  },
  stop: async () => {
    stopping.abort();
    await Promise.all(opened.map((replica) => replica.close()));
  },
  log
});

const network = chainNetwork(data.chain, data.network);
const cursors = cursorsOf(data.cursorSecret, network.name);
const opened = data.replicas.map((pair, at) => {
  const isOne = data.replicas.length === 1;
  return openReplica(pair, {
    network,
    readLimitMs: data.readLimitMs,
    cursors,
    log: isOne ? log : log.child({ replica: at + 1, host: pair.indexer.host, port: pair.indexer.port }),
    observe: (instance) => host.observe('circuitBreaker', isOne ? instance : `${instance} ${at + 1}`)
  });
});
const replicas = new Replicas(opened, { heightOfCursor: (cursor) => cursors.heightOf(cursor), log });
const notes = new FaultNotes(log);
const availability = createActor(availabilityMachine, { inspect: host.observe('availability') }).start();

/** Looks at all databases and tells the availability what it finds. @returns the report */
async function look(): Promise<ExplorerReport> {
  const { newest, decoderTip, isRead, lastError, upstream, circuit, replicas: copies } = await replicas.look();
  const { height, mark } = newest ?? { height: null, mark: null };
  availability.send(
    isRead
      ? { type: 'ledger.read', distanceBlocks: distanceOf({ height, decoderTip }), isStopped: upstream !== null }
      : { type: 'ledger.failed' }
  );
  const state = availability.getSnapshot().value;
  const current = { state, circuit, height, time: newest?.time ?? null, mark, decoderTip, lastError, upstream };
  return copies ? { ...current, replicas: copies } : current;
}

while (!stopping.signal.aborted) {
  host.tell('report', await look());
  await sleep(PROBE_INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
}
