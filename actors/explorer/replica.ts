import type { InspectionEvent } from 'xstate';
import type { ChainNetwork } from '../../src/coin/chains.ts';
import { PlatformError } from '../../src/errors.ts';
import { answerQuestion } from '../../src/explorer/read/answer.ts';
import type { Cursors } from '../../src/explorer/read/cursor.ts';
import { DatabaseWatch } from '../../src/explorer/read/database-watch.ts';
import { openDatabases } from '../../src/explorer/read/databases.ts';
import { READS_AT_ONCE, Reader } from '../../src/explorer/read/reader.ts';
import type { DatabasePair, Replica } from '../../src/explorer/read/replicas.ts';
import { DECODER_TIP, findBlock, NEWEST_BLOCK } from '../../src/explorer/read/tip.ts';
import type { Logger } from '../../src/log.ts';
import { CircuitBreaker } from '../runtime/thread/circuit.ts';

interface ReplicaOptions {
  readonly network: ChainNetwork;
  /** Longest time that one read may take, in milliseconds. */
  readonly readLimitMs: number;
  readonly cursors: Cursors;
  readonly log: Logger;
  /** Shows the machine of a circuit breaker under this name. */
  readonly observe: (instance: string) => (inspection: InspectionEvent) => void;
}

const CONNECTIONS = { indexer: READS_AT_ONCE, decoder: 2 } as const;
/** For looks at the tips: callers cannot make them wait. */
const PROBE_CONNECTIONS = 1;
/** Lifetime of a snapshot that callers' reads share: opening one costs as much as a read. */
const SNAPSHOT_MS = 100;
const OPENING = { indexer: NEWEST_BLOCK, decoder: DECODER_TIP } as const;
const BREAKER = { failureThreshold: 5, cooldownMs: 2_000, trialTimeoutMs: 10_000 } as const;

/** Opens the pools of one copy of a network's databases, each behind a circuit breaker. */
export function openReplica(pair: DatabasePair, options: ReplicaOptions): Replica & { close(): Promise<void> } {
  const { network, readLimitMs: limitMs, cursors, log, observe } = options;
  const breakerOf = (instance: string) =>
    new CircuitBreaker({ ...BREAKER, inspect: observe(instance), onChange: () => undefined }); // the looks tell why
  const readers: Reader[] = [];
  const readerOf = (
    database: keyof DatabasePair,
    connections: number,
    breaker: CircuitBreaker,
    snapshotMs = 0
  ): Reader => {
    const opening = OPENING[database];
    const reader = new Reader({ database: pair[database], connections, limitMs, breaker, opening, snapshotMs });
    readers.push(reader);
    return reader;
  };
  const circuits = { indexer: breakerOf('indexer'), decoder: breakerOf('decoder') };
  const indexer = readerOf('indexer', CONNECTIONS.indexer, circuits.indexer, SNAPSHOT_MS);
  const decoder = readerOf('decoder', CONNECTIONS.decoder, circuits.decoder);
  const probes = {
    indexer: readerOf('indexer', PROBE_CONNECTIONS, breakerOf('probe of the indexer')),
    decoder: readerOf('decoder', PROBE_CONNECTIONS, breakerOf('probe of the decoder'))
  };
  const aside = readerOf('indexer', 1, breakerOf('figures'));
  const databases = openDatabases(network, { indexer, decoder, aside }, cursors);
  const watch = new DatabaseWatch({ databases: pair, probes, network: network.name, log });
  return {
    look: () => watch.look(),
    blockAt: (height) => probes.indexer.read((query) => findBlock(query, height)),
    answer: async (question) => {
      const reason = await watch.refusal();
      if (reason !== null) throw new PlatformError('DATABASE_UNUSABLE', { reason });
      return await answerQuestion(databases, question);
    },
    get circuit() {
      return circuits.indexer.state;
    },
    close: async () => void (await Promise.all(readers.map((reader) => reader.close())))
  };
}
