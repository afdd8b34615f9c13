import { setFlagsFromString } from 'node:v8';
import type { ActorHost } from '../../../actors/runtime/thread/actor-host.ts';
import { CircuitBreaker } from '../../../actors/runtime/thread/circuit.ts';
import { type Chain, chainNetwork, type Network } from '../../coin/chains.ts';
import { PRICE_CHAIN } from '../../coin/foreign-prices.ts';
import type { Profile } from '../../coin/profile.ts';
import type { KnownIds } from '../../consensus/ids-by-text.ts';
import { openPool, type Pool } from '../../db/connection.ts';
import { reportUntil } from '../../follower/reporting.ts';
import { RETRY_DELAY_MS } from '../../follower/run.ts';
import type { Logger } from '../../log.ts';
import type { DatabaseCoordinates } from '../../wire/data/database.ts';
import { Progress } from '../block/progress.ts';
import { ledgerBaseOf } from '../profile/base.ts';
import type { Rules } from '../profile/rules.ts';
import { PushSender } from '../pushes/push-sender.ts';
import { IndexerStore } from '../store/store.ts';
import { recordTimeout } from '../store/timeouts.ts';
import { IndexedBalances } from './balances.ts';
import { DecoderSource } from './decoder-source.ts';
import { IndexerLoop } from './loop.ts';
import { PriceSource } from './price-source.ts';
import type { IndexerReport } from './report.ts';
import { TopsPool } from './tops.ts';
import { IndexerWork, type Pace } from './work.ts';

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

/** Parts that the actor hands to its thread. */
interface ThreadParts {
  readonly data: IndexerActorData;
  readonly rules: Rules;
  readonly host: ActorHost<Record<never, never>, { report: IndexerReport }>;
  readonly log: Logger;
}

/** Thread that writes a ledger from a decoder's database: the loop, the tree over all balances, and pushes to hubs. */
export class IndexerThread {
  readonly #parts: ThreadParts;
  readonly #sender: PushSender | null;
  /** Connection of the pushes. It is opened with the first one. */
  readonly #pushPool: Pool;
  readonly #tops: TopsPool;
  readonly #balances: IndexedBalances;
  readonly #progress = new Progress(
    (height) => this.#loop.blockDone(height),
    () => this.#loop.pageRead()
  );
  readonly #loop: IndexerLoop;
  readonly #stopping = new AbortController();
  #store: IndexerStore | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(parts: ThreadParts) {
    const { data, host, log } = parts;
    this.#parts = parts;
    this.#pushPool = openPool(data.indexer, 1);
    this.#sender =
      data.hubs.length === 0
        ? null
        : new PushSender({
            hubs: data.hubs,
            apiKey: data.hubKey,
            pool: this.#pushPool,
            log,
            inspect: host.observe('hubPush')
          });
    this.#tops = new TopsPool(data.commitmentDomain);
    this.#balances = this.#makeBalances();
    this.#loop = this.#makeLoop();
  }

  /** Ids of tickers; undefined while no database is open. */
  get tickers(): KnownIds | undefined {
    return this.#store?.tickers;
  }

  /** Whether blocks wait to be written. */
  get isBusy(): boolean {
    return WAITS[this.#loop.report.state] === undefined;
  }

  /** Writes blocks and tells the main thread how things stand, until `stop`. @param release called at the end */
  async run(release: () => Promise<void>): Promise<void> {
    const { host } = this.#parts;
    this.#sender?.start();
    this.#ended = this.#loop.run(this.#stopping.signal).then(() => this.#release(release), host.fail);
    await reportUntil<IndexerReport>(this.#stopping.signal, {
      host,
      waits: WAITS,
      read: () => ({
        ...this.#loop.report,
        stateCommitment: this.#balances.report,
        pushFault: this.#sender?.fault ?? null
      }),
      onTold: (report) => void this.#loop.tellReaders(report)
    });
  }

  /** Returns after the effect that is under way, all connections released. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }

  async #release(others: () => Promise<void>): Promise<void> {
    await this.#sender?.stop();
    await Promise.all([others(), this.#pushPool.end()]);
    await this.#tops.release();
  }

  get #statementLimitS(): number {
    return this.#parts.data.queryTimeoutMs / 1000;
  }

  #makeBalances(): IndexedBalances {
    const { data, host, log } = this.#parts;
    const balances: IndexedBalances = new IndexedBalances({
      names: data,
      domain: data.commitmentDomain,
      database: data.indexer,
      statementLimitS: this.#statementLimitS,
      log,
      inspect: host.observe('balanceTree'),
      computeTops: (batch) => this.#tops.compute(batch),
      changed: () => {
        if (balances.report.phase !== 'building') void this.#tops.release();
      }
    });
    return balances;
  }

  #makeLoop(): IndexerLoop {
    const { data, host, log } = this.#parts;
    const { undoDepth } = chainNetwork(data.chain, data.network);
    return new IndexerLoop({
      work: this.#makeWork(undoDepth),
      circuits: { decoder: this.#breakerOf('decoder'), indexer: this.#breakerOf('indexer') },
      maxRollbackDepth: undoDepth,
      blockLimitMs: data.blockLimitMs,
      progress: this.#progress,
      recordTimeout: (attempt) => recordTimeout(data.indexer, attempt),
      retryDelayMs: RETRY_DELAY_MS,
      log,
      inspect: host.observe
    });
  }

  #makeWork(maxRollbackDepth: number): IndexerWork {
    const { data, log } = this.#parts;
    const { prices, commitmentDomain: domain } = data;
    const limitS = this.#statementLimitS;
    const priceBase = ledgerBaseOf(data.profile, chainNetwork(PRICE_CHAIN, data.network), domain);
    return new IndexerWork({
      openSource: () => DecoderSource.open(data.decoder, chainNetwork(data.chain, data.network), limitS),
      openStore: () => this.#openStore(),
      ...(prices ? { openPrices: () => PriceSource.open(prices, priceBase, limitS) } : {}),
      setPace: (pace) => setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT[pace]}`),
      rest: (height) => this.#balances.rest(height),
      maxRollbackDepth,
      pollIntervalMs: data.pollIntervalMs,
      log
    });
  }

  async #openStore(): Promise<IndexerStore> {
    const { data, rules } = this.#parts;
    const base = ledgerBaseOf(data.profile, chainNetwork(data.chain, data.network), data.commitmentDomain);
    this.#store = await IndexerStore.open(data.indexer, rules, this.#statementLimitS, {
      roots: { names: data, balances: this.#balances },
      progress: this.#progress,
      base,
      ...(this.#sender ? { pushes: { network: data.network, onQueued: (lost: number) => this.#noteQueued(lost) } } : {})
    });
    return this.#store;
  }

  #breakerOf(database: string): CircuitBreaker {
    const { host, log } = this.#parts;
    return new CircuitBreaker({
      ...BREAKER,
      inspect: host.observe('circuitBreaker', database),
      onChange: (circuit) => log.warn({ circuit }, `circuit of the ${database} database is ${circuit}`)
    });
  }

  #noteQueued(lost: number): void {
    if (lost > 0)
      this.#parts.log.error(
        { lost },
        'too many pushes waited, so some prices were dropped; check why the hub takes none'
      );
    this.#sender?.wake();
  }
}
