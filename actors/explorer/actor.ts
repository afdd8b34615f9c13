import { setTimeout as sleep } from 'node:timers/promises';
import { workerData } from 'node:worker_threads';
import { createActor } from 'xstate';
import { availabilityMachine } from '../../machines/explorer/availability.ts';
import { type Chain, chainNetwork, type Network } from '../../src/coin/chains.ts';
import { hasCode, PlatformError } from '../../src/errors.ts';
import type { Question, Reply } from '../../src/explorer/question.ts';
import { answerQuestion } from '../../src/explorer/read/answer.ts';
import { cursorsOf } from '../../src/explorer/read/cursor.ts';
import { openDatabases } from '../../src/explorer/read/databases.ts';
import { LedgerWriter } from '../../src/explorer/read/ledger-writer.ts';
import { networkOf } from '../../src/explorer/read/networks.ts';
import { READS_AT_ONCE, Reader } from '../../src/explorer/read/reader.ts';
import { DECODER_TIP, NEWEST_BLOCK, tipIn } from '../../src/explorer/read/tip.ts';
import { distanceOf, type ExplorerReport } from '../../src/explorer/report.ts';
import { createLogger } from '../../src/log.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';
import { CircuitBreaker } from '../runtime/thread/circuit.ts';

/** What an explorer actor's thread is started with. */
export interface ExplorerActorData {
  readonly chain: Chain;
  readonly network: Network;
  readonly decoder: DatabaseCoordinates;
  readonly indexer: DatabaseCoordinates;
  /** How long one read may take. */
  readonly readLimitMs: number;
  /** By which cursors are signed. */
  readonly cursorSecret: string;
  readonly logLevel: string;
}

/** What an explorer actor is asked. */
export type ExplorerAsks = { read: { request: Question; reply: Reply } };

/** What an explorer actor tells the main thread. */
type ExplorerNotices = { report: ExplorerReport };

const CONNECTIONS = { indexer: READS_AT_ONCE, decoder: 2 } as const;
/** For looks at the tips: callers cannot make them wait. */
const PROBE_CONNECTIONS = 1;
/** Of callers' reads: to open one costs as much as to read. */
const SNAPSHOT_MS = 100;
const OPENING = { indexer: NEWEST_BLOCK, decoder: DECODER_TIP } as const;
const PROBE_INTERVAL_MS = 1_000;
/** Faults of statements that the log tells. */
const MOST_NOTED = 100;
const noted = new Set<string>();
/** A database of the other kind lacks tables too. */
const EXCHANGED = '; or INDEXER_DB_NAME and DECODER_DB_NAME are exchanged';
const BREAKER = { failureThreshold: 5, cooldownMs: 2_000, trialTimeoutMs: 10_000 } as const;

const data = workerData as ExplorerActorData;
const log = createLogger('explorer', data.logLevel).child({ database: data.indexer.name });
const stopping = new AbortController();
const host = hostActor<ExplorerAsks, Record<never, never>, ExplorerNotices>({
  handlers: {
    read: async (question) => {
      // A decoder that does not answer keeps nobody from the ledger.
      const reason = (await foreignReason('indexer')) ?? foreign.get('decoder') ?? null;
      if (reason !== null) throw new PlatformError('DATABASE_UNUSABLE', { reason });
      return await answerQuestion(databases, question).catch(noteFault);
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
/** Why the databases are not those of this network, as far as it is known. */
const foreign = new Map<'indexer' | 'decoder', string | null>();
const availability = createActor(availabilityMachine, { inspect: host.observe('availability') }).start();
/** Faults of the databases that the log has, by the database. */
const told = new Map<string, string>();
const writer = new LedgerWriter(data.indexer);
await watch();

/** Says once of each fault of a statement what it was: callers may ask again and again. */
function noteFault(caught: unknown): never {
  if (hasCode(caught, 'TABLE_LACKING') || hasCode(caught, 'STATEMENT_REFUSED')) {
    const { code, detail } = caught as PlatformError;
    const reason = `${code}: ${String(detail['reason'])}`;
    if (!noted.has(reason) && noted.size < MOST_NOTED) log.error({ err: caught }, reason);
    if (noted.size < MOST_NOTED) noted.add(reason);
  }
  throw caught;
}

/** Looks at both tips and tells the main thread, until the end. */
async function watch(): Promise<void> {
  while (!stopping.signal.aborted) {
    host.tell('report', await look());
    await sleep(PROBE_INTERVAL_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
  }
}

/** Why a database may not be read: it is of another network. @throws {PlatformError} DATABASE_UNAVAILABLE, DATABASE_REFUSED, DATABASE_UNUSABLE */
async function foreignReason(database: 'indexer' | 'decoder'): Promise<string | null> {
  const known = foreign.get(database);
  if (known !== undefined) return known;
  const table = database === 'indexer' ? 'ledger_base' : 'decoder_base';
  const found = await probes[database].read((query) => networkOf(query, table));
  const what = database === 'indexer' ? 'a ledger' : "a decoder's database";
  const isOwn = found === null || found === network.name;
  const reason = isOwn ? null : `${data[database].name} is ${what} of ${found}: name those of ${network.name}`;
  if (reason !== null && foreign.get(database) === undefined) log.error(reason);
  foreign.set(database, reason);
  return reason;
}

async function look(): Promise<ExplorerReport> {
  const looked = await Promise.allSettled([foreignReason('indexer'), foreignReason('decoder')]);
  const wrong =
    looked.map((each) => (each.status === 'fulfilled' ? each.value : null)).find((each) => each !== null) ?? null;
  const [ledger, tip] = await Promise.allSettled([
    probes.indexer.read(async (query, opened) => {
      const tip = tipIn(opened);
      await writer.look(query, tip?.height ?? null);
      return tip;
    }),
    probes.decoder.read(async (_, [tip]) => (tip?.['height'] ?? null) as number | null)
  ]);
  const newest = ledger.status === 'fulfilled' ? ledger.value : null;
  const { height, mark } = newest ?? { height: null, mark: null };
  const decoderTip = tip.status === 'fulfilled' ? tip.value : null;
  if (ledger.status === 'fulfilled' && wrong === null)
    availability.send({
      type: 'ledger.read',
      distanceBlocks: distanceOf({ height, decoderTip }),
      isStopped: writer.alarm !== null
    });
  else availability.send({ type: 'ledger.failed' });
  tellFault(data.indexer.name, ledger);
  tellFault(data.decoder.name, tip);
  const fault = [ledger, tip].find((each) => each.status === 'rejected');
  return {
    state: availability.getSnapshot().value,
    circuit: circuits.indexer.state,
    height,
    time: newest?.time ?? null,
    mark,
    decoderTip,
    lastError: wrong ?? (fault ? reasonOf(fault.reason) : null),
    upstream: writer.alarm
  };
}

/** Logs the reason and the remedy once, and that it is over. */
function tellFault(database: string, looked: PromiseSettledResult<unknown>): void {
  const fault = looked.status === 'rejected' ? PlatformError.from(looked.reason) : null;
  const text =
    fault && `${database}: ${reasonOf(fault)}; ${fault.hint}${hasCode(fault, 'TABLE_LACKING') ? EXCHANGED : ''}`;
  if (text === (told.get(database) ?? null)) return;
  if (text === null) {
    told.delete(database);
    log.info(`${database} answers again`);
  } else {
    told.set(database, text);
    log.warn({ code: fault?.code }, text);
  }
}

function reasonOf(thrown: unknown): string {
  const { detail, message } = PlatformError.from(thrown);
  return String(detail['reason'] ?? message);
}
