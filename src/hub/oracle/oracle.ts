import { createActor, fromPromise } from 'xstate';
import { priceRoundMachine } from '../../../machines/hub/price-round.ts';
import type { HubConfig, PriceSourceName } from '../../config/hub.ts';
import type { Connection } from '../../db/core/connection.ts';
import type { Logger } from '../../log.ts';
import { reasonOf } from '../../service/rpc/call-method.ts';
import { selectTips } from '../store/chain-tips.ts';
import type { HubDatabase } from '../store/database.ts';
import { insertRound, lastPrices, newestSnapshots, type RemovedRows } from '../store/prices.ts';
import { askSource } from './ask-source.ts';
import { boundStep, formatPrice, medianPrice, readPrice } from './price.ts';
import { COINS, FIATS, PRICE_SOURCES, type Prices } from './sources.ts';

/** The settings of the oracle. */
export type OracleSettings = Pick<
  HubConfig,
  | 'PRICE_SOURCES'
  | 'PRICE_SOURCE_COINGECKO_URL'
  | 'PRICE_SOURCE_KRAKEN_URL'
  | 'PRICE_SOURCE_COINMARKETCAP_URL'
  | 'COINMARKETCAP_API_KEY'
  | 'ORACLE_ROUND_INTERVAL'
>;

interface OracleDeps {
  readonly settings: OracleSettings;
  readonly database: HubDatabase;
  readonly log: Logger;
  /** Told of rows of `price_snapshots` when they are durable. */
  readonly onChange: (removed: readonly RemovedRows[]) => void;
}

/** Others' rounds begin at the same time: sources see them spread over three seconds. */
const JITTER_MS = 3_000;
const PAIRS = COINS.flatMap((coin) => FIATS.map((fiat) => `${coin}/${fiat}`));

/**
 * Finds the prices of a standalone hub: each round asks every source once, and keeps of each pair the median. Where a source
 * does not answer the others count; a pair without a price is kept as `skipped`.
 *
 * @returns what ends it
 */
export function startOracle({ settings, database, log, onChange }: OracleDeps): () => void {
  const intervalMs = settings.ORACLE_ROUND_INTERVAL;
  let found: readonly Prices[] = [];
  const machine = priceRoundMachine.provide({
    actors: {
      fetch: fromPromise(async ({ signal }) => {
        const asked = await Promise.all((settings.PRICE_SOURCES ?? []).map((name) => ask(name, settings, log, signal)));
        found = asked.filter((prices) => prices !== null);
        return found.length > 0;
      }),
      record: fromPromise(async () => {
        const now = Date.now();
        const { removed } = await database.push(async (connection) =>
          recordRound(connection, { round: await roundAt(connection, now, intervalMs), now, found })
        );
        onChange(removed);
      })
    },
    actions: {
      tellFault: (_, { error }) => log.error({ error: reasonOf(error) }, 'the prices of this round were not kept')
    }
  });
  const untilDueMs = () => intervalMs - (Date.now() % intervalMs) + Math.random() * Math.min(JITTER_MS, intervalMs);
  const rounds = createActor(machine, { input: { untilDueMs } }).start();
  return () => rounds.send({ type: 'stop.requested' });
}

/** What a source says; null, and a line of the log, where it does not. */
async function ask(
  name: PriceSourceName,
  settings: OracleSettings,
  log: Logger,
  signal: AbortSignal
): Promise<Prices | null> {
  const source = PRICE_SOURCES[name];
  const named = {
    coingecko: settings.PRICE_SOURCE_COINGECKO_URL,
    kraken: settings.PRICE_SOURCE_KRAKEN_URL,
    coinmarketcap: settings.PRICE_SOURCE_COINMARKETCAP_URL
  }[name];
  const key = name === 'coinmarketcap' ? settings.COINMARKETCAP_API_KEY : undefined;
  try {
    return await askSource(source, { url: named ?? source.url, key, signal });
  } catch (caught) {
    if (!signal.aborted) log.warn({ source: name, reason: reasonOf(caught) }, `${name} says no prices in this round`);
    return null;
  }
}

/**
 * The number of the round at a time in epoch milliseconds: rounds since 1970, or the number after the last one where that is not
 * higher, as after the interval was made longer. Within a round it is that of the one that is there.
 */
async function roundAt(connection: Connection, now: number, intervalMs: number): Promise<number> {
  const round = Math.floor(now / intervalMs);
  const [last] = await newestSnapshots(connection, null, 1);
  if (!last || last.round_number < round) return round;
  const isOver = last.block_timestamp * 1_000 < round * intervalMs;
  return last.round_number + (isOver ? 1 : 0);
}

async function recordRound(
  connection: Connection,
  { round, now, found }: { readonly round: number; readonly now: number; readonly found: readonly Prices[] }
) {
  const last = new Map(
    (await lastPrices(connection, PAIRS)).map(({ coin_pair, price }) => [coin_pair, readPrice(price)])
  );
  const tips = await selectTips(connection);
  const bitcoin = tips.find(({ coin, network }) => coin === 'BTC' && network === 'mainnet');
  const pairs = PAIRS.map((pair) => {
    const median = medianPrice(found.flatMap((prices) => prices.get(pair) ?? []));
    if (median === null) return { pair, price: '0', status: 'skipped' as const };
    return { pair, price: formatPrice(boundStep(median, last.get(pair) ?? null)) };
  });
  return await insertRound(connection, {
    round_number: round,
    block_timestamp: Math.floor(now / 1_000),
    reference_block: bitcoin?.block_height ?? null,
    validator_count: 1,
    consensus_proof: null,
    source_chain: null,
    source_action_index: null,
    push_generation: 0,
    pairs
  });
}
