import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createActor } from 'xstate';
import { availabilityMachine } from '../../machines/explorer/availability.ts';
import { type Chain, chainNetwork, type Network } from '../../src/coin/chains.ts';
import { PlatformError } from '../../src/errors.ts';
import type { Question, Reply } from '../../src/explorer/question.ts';
import { answerQuestion } from '../../src/explorer/read/answer.ts';
import { cursorsOf } from '../../src/explorer/read/cursor.ts';
import { DatabaseWatch } from '../../src/explorer/read/database-watch.ts';
import { openDatabases } from '../../src/explorer/read/databases.ts';
import { FaultNotes } from '../../src/explorer/read/fault-notes.ts';
import { READS_AT_ONCE, Reader } from '../../src/explorer/read/reader.ts';
import { DECODER_TIP, NEWEST_BLOCK } from '../../src/explorer/read/tip.ts';
import { distanceOf, type ExplorerReport } from '../../src/explorer/report.ts';
import { createLogger } from '../../src/log.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';
import { CircuitBreaker } from '../runtime/thread/circuit.ts';

/** Start data of an explorer actor's thread. */
export interface ExplorerActorData {
  readonly chain: Chain;
  readonly network: Network;
  readonly decoder: DatabaseCoordinates;
  readonly indexer: DatabaseCoordinates;
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

const CONNECTIONS = { indexer: READS_AT_ONCE, decoder: 2 } as const;
/** For looks at the tips: callers cannot make them wait. */
const PROBE_CONNECTIONS = 1;
/** Lifetime of a snapshot that callers' reads share: opening one costs as much as a read. */
const SNAPSHOT_MS = 100;
const OPENING = { indexer: NEWEST_BLOCK, decoder: DECODER_TIP } as const;
const PROBE_INTERVAL_MS = 1_000;
const BREAKER = { failureThreshold: 5, cooldownMs: 2_000, trialTimeoutMs: 10_000 } as const;

const data = workerData as ExplorerActorData;
const log = createLogger('explorer', data.logLevel).child({ database: data.indexer.name });
const stopping = new AbortController();
const host = hostActor<ExplorerAsks, Record<never, never>, ExplorerNotices>({
  handlers: {
    read: async (question) => {
      const reason = await watch.refusal();
      if (reason !== null) throw new PlatformError('DATABASE_UNUSABLE', { reason });
      return await answerQuestion(databases, question).catch((caught: unknown) => notes.note(caught));
    }
  },
  stop: async () => {
    stopping.abort();
    await Promise.all(readers.map((reader) => reader.close()));
  },
  log
});

function readerOf(
  database: 'indexer' | 'decoder',
  connections: number,
  breaker: CircuitBreaker,
  snapshotMs = 0
): Reader {
  const opening = OPENING[database];
  return new Reader({ database: data[database], connections, limitMs: data.readLimitMs, breaker, opening, snapshotMs });
}

function breakerOf(instance: string): CircuitBreaker {
  return new CircuitBreaker({
    ...BREAKER,
    inspect: host.observe('circuitBreaker', instance),
    onChange: () => undefined // the looks tell why
  });
}

const circuits = { indexer: breakerOf('indexer'), decoder: breakerOf('decoder') };
const indexer = readerOf('indexer', CONNECTIONS.indexer, circuits.indexer, SNAPSHOT_MS);
const decoder = readerOf('decoder', CONNECTIONS.decoder, circuits.decoder);
const probes = {
  indexer: readerOf('indexer', PROBE_CONNECTIONS, breakerOf('probe of the indexer')),
  decoder: readerOf('decoder', PROBE_CONNECTIONS, breakerOf('probe of the decoder'))
};
const aside = readerOf('indexer', 1, breakerOf('figures'));
const readers = [indexer, decoder, aside, probes.indexer, probes.decoder];
const network = chainNetwork(data.chain, data.network);
const databases = openDatabases(network, { indexer, decoder, aside }, cursorsOf(data.cursorSecret, network.name));
const watch = new DatabaseWatch({ databases: data, probes, network: network.name, log });
const notes = new FaultNotes(log);
const availability = createActor(availabilityMachine, { inspect: host.observe('availability') }).start();

/** Looks at both databases and tells the availability what it finds. @returns the report */
async function look(): Promise<ExplorerReport> {
  const { newest, decoderTip, isRead, lastError, upstream } = await watch.look();
  const { height, mark } = newest ?? { height: null, mark: null };
  availability.send(
    isRead
      ? { type: 'ledger.read', distanceBlocks: distanceOf({ height, decoderTip }), isStopped: upstream !== null }
      : { type: 'ledger.failed' }
  );
  const state = availability.getSnapshot().value;
  const { state: circuit } = circuits.indexer;
  return { state, circuit, height, time: newest?.time ?? null, mark, decoderTip, lastError, upstream };
}

while (!stopping.signal.aborted) {
  host.tell('report', await look());
  await sleep(PROBE_INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
}
