import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { workerData } from 'node:worker_threads';
import { type Chain, chainNetwork, type Network } from '../../src/coin/chains.ts';
import { PRICE_CHAIN } from '../../src/coin/foreign-prices.ts';
import type { Profile } from '../../src/coin/profile.ts';
import { databaseError, openPool } from '../../src/db/connection.ts';
import { PlatformError } from '../../src/errors.ts';
import { type BlockHashesRow, readBlockHashes } from '../../src/indexer/api/block-hashes.ts';
import { type ActionPlace, readConfirmations } from '../../src/indexer/api/confirmations.ts';
import { type RoundPlace, readRoundPlace } from '../../src/indexer/api/price-rounds.ts';
import { readStakes, type SignerStakes, type StakeQuestion } from '../../src/indexer/api/stakes.ts';
import { Progress } from '../../src/indexer/block/progress.ts';
import { IndexedBalances } from '../../src/indexer/loop/balances.ts';
import { DecoderSource } from '../../src/indexer/loop/decoder-source.ts';
import { IndexerLoop } from '../../src/indexer/loop/loop.ts';
import { PriceSource } from '../../src/indexer/loop/price-source.ts';
import type { IndexerReport } from '../../src/indexer/loop/report.ts';
import { TopsPool } from '../../src/indexer/loop/tops.ts';
import { IndexerWork, type Pace } from '../../src/indexer/loop/work.ts';
import { ledgerBaseOf } from '../../src/indexer/profile/base.ts';
import { rulesOf } from '../../src/indexer/profile/rules.ts';
import { PushSender } from '../../src/indexer/pushes/push-sender.ts';
import { refusedStatement } from '../../src/indexer/store/refused-rows.ts';
import { IndexerStore } from '../../src/indexer/store/store.ts';
import { recordTimeout } from '../../src/indexer/store/timeouts.ts';
import type { Trial, TrialQuestion } from '../../src/indexer/trial/trial.ts';
import { Trials } from '../../src/indexer/trial/trials.ts';
import { createLogger } from '../../src/log.ts';
import type { DatabaseCoordinates } from '../../src/wire/data/database.ts';
import { hostActor } from '../runtime/thread/actor-host.ts';
import { CircuitBreaker } from '../runtime/thread/circuit.ts';

/** Start data of an indexer actor's thread. */
export interface IndexerActorData {
  readonly chain: Chain;
  readonly network: Network;
  readonly profile: Profile;
  readonly commitmentDomain: string;
  readonly decoder: DatabaseCoordinates;
  readonly indexer: DatabaseCoordinates;
  /** Index of Bitcoin with the prices; null if none is needed. */
  readonly prices: DatabaseCoordinates | null;
  readonly pollIntervalMs: number;
  readonly queryTimeoutMs: number;
  readonly blockLimitMs: number;
  /** Hubs that get each newest block and the prices; none for no pushes. */
  readonly hubs: readonly { readonly host: string; readonly port: number }[];
  readonly hubKey: string | undefined;
  readonly logLevel: string;
}

/** Requests to an indexer actor. */
export type IndexerAsks = {
  findAction: { request: { readonly actionIndex: number }; reply: ActionPlace };
  findHashes: { request: { readonly height: number | null }; reply: BlockHashesRow };
  findRound: { request: { readonly round: number }; reply: RoundPlace };
  findStakes: { request: StakeQuestion; reply: SignerStakes };
  tryAction: { request: TrialQuestion; reply: Trial };
};

/** Notices of an indexer actor to the main thread. */
type IndexerNotices = { report: IndexerReport };

const RETRY_DELAY_MS = 3_000;
const REPORT_INTERVAL_MS = 250;
const TRIAL_STATEMENT_S = 2;
const BREAKER = { failureThreshold: 5, cooldownMs: 10_000, trialTimeoutMs: 60_000 } as const;

/** Name of what the indexer waits for, by state. */
const WAITS: Readonly<Record<string, string>> = {
  connecting: 'databases',
  reconnecting: 'databases',
  refusedByDatabase: 'rows that MariaDB takes',
  caughtUp: 'next block',
  decoderBehind: 'blocks of the decoder',
  awaitingPrices: 'prices of Bitcoin',
  halted: 'operator'
};

/**
 * Growth of the heap, as a part of what is in use, before V8 looks for garbage; V8's own bound is up to four times of
 * that. Most of what a group of blocks allocates lives until the group is written. At the tip there is time, and the
 * tree over all balances beside it.
 */
const HEAP_GROWTH_PERCENT: Readonly<Record<Pace, number>> = { catchUp: 45, tip: 10 };

const data = workerData as IndexerActorData;
const log = createLogger('indexer', data.logLevel).child({ database: data.indexer.name });
const network = chainNetwork(data.chain, data.network);
/** Connection for callers' questions, so that blocks wait for none of them. */
const readers = openPool(data.indexer, 1);
const rules = rulesOf(data.profile, network, data.commitmentDomain);
const trialReaders = [data.indexer, ...(data.prices ? [data.prices] : [])].map((place) =>
  openPool(place, 1, { statementLimitS: TRIAL_STATEMENT_S, fewRows: true })
);
let store: IndexerStore | undefined;
const trials = new Trials({
  pool: trialReaders[0]!,
  prices: trialReaders[1] ?? null,
  rules,
  tickers: () => store?.tickers,
  isBusy: () => WAITS[loop.report.state] === undefined
});
const stopping = new AbortController();
const host = hostActor<IndexerAsks, Record<never, never>, IndexerNotices>({
  handlers: {
    findAction: ({ actionIndex }) => answer(readConfirmations(readers, actionIndex)),
    findHashes: ({ height }) => answer(readBlockHashes(readers, height)),
    findRound: ({ round }) => answer(readRoundPlace(readers, round)),
    findStakes: (question) => answer(readStakes(readers, question)),
    tryAction: (question) => answer(trials.run(question))
  },
  stop: async () => {
    stopping.abort();
    await ended;
  },
  log
});

function breakerOf(database: string): CircuitBreaker {
  return new CircuitBreaker({
    ...BREAKER,
    inspect: host.observe('circuitBreaker', database),
    onChange: (circuit) => log.warn({ circuit }, `circuit of the ${database} database is ${circuit}`)
  });
}

const statementLimitS = data.queryTimeoutMs / 1000;
/** Connection of the pushes. It is opened with the first one. */
const pushPool = openPool(data.indexer, 1);
const sender =
  data.hubs.length === 0
    ? null
    : new PushSender({
        hubs: data.hubs,
        apiKey: data.hubKey,
        pool: pushPool,
        log,
        inspect: host.observe('hubPush')
      });
const tops = new TopsPool(data.commitmentDomain);
const balances = new IndexedBalances({
  names: data,
  domain: data.commitmentDomain,
  database: data.indexer,
  statementLimitS,
  log,
  inspect: host.observe('balanceTree'),
  computeTops: (batch) => tops.compute(batch),
  changed: () => {
    if (balances.report.phase !== 'building') void tops.release();
  }
});
const { prices } = data;
const priceBase = ledgerBaseOf(data.profile, chainNetwork(PRICE_CHAIN, data.network), data.commitmentDomain);
const progress: Progress = new Progress(
  (height) => loop.blockDone(height),
  () => loop.pageRead()
);
const loop: IndexerLoop = new IndexerLoop({
  work: new IndexerWork({
    openSource: () => DecoderSource.open(data.decoder, network, statementLimitS),
    openStore: async () => {
      store = await IndexerStore.open(data.indexer, rules, statementLimitS, {
        roots: { names: data, balances },
        progress,
        base: ledgerBaseOf(data.profile, network, data.commitmentDomain),
        ...(sender ? { pushes: { network: data.network, onQueued } } : {})
      });
      return store;
    },
    ...(prices ? { openPrices: () => PriceSource.open(prices, priceBase, statementLimitS) } : {}),
    setPace: (pace) => setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT[pace]}`),
    rest: (height) => balances.rest(height),
    maxRollbackDepth: network.undoDepth,
    pollIntervalMs: data.pollIntervalMs,
    log
  }),
  circuits: { decoder: breakerOf('decoder'), indexer: breakerOf('indexer') },
  maxRollbackDepth: network.undoDepth,
  blockLimitMs: data.blockLimitMs,
  progress,
  recordTimeout: (attempt) => recordTimeout(data.indexer, attempt),
  retryDelayMs: RETRY_DELAY_MS,
  log,
  inspect: host.observe
});
sender?.start();
const ended = loop.run(stopping.signal).then(release, host.fail);
await report();

async function release(): Promise<void> {
  await sender?.stop();
  await Promise.all([readers, pushPool, ...trialReaders].map((pool) => pool.end()));
  await tops.release();
}

function onQueued(lost: number): void {
  if (lost > 0)
    log.error({ lost }, 'too many pushes waited, so some prices were dropped; check why the hub takes none');
  sender?.wake();
}

/** Reports the state to the main thread, until the end. */
async function report(): Promise<void> {
  let state = '';
  while (!stopping.signal.aborted) {
    const current = { ...loop.report, stateCommitment: balances.report, pushFault: sender?.fault ?? null };
    host.tell('report', current);
    void loop.tellReaders(current);
    if (current.state !== state) host.waiting(WAITS[current.state] ?? null);
    state = current.state;
    await sleep(REPORT_INTERVAL_MS);
  }
}

/** Returns what was read. @throws the database's failure by its code */
async function answer<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (caught) {
    if (caught instanceof PlatformError) throw caught;
    throw refusedStatement(caught) ?? databaseError(caught, { database: data.indexer.name });
  }
}
