import { createActor, fromPromise, type InspectionEvent } from 'xstate';
import { priceRoundMachine } from '../../../machines/hub/price-round.ts';
import type { HubConfig, PriceSourceName } from '../../config/services/hub.ts';
import type { Logger } from '../../log.ts';
import { reasonOf } from '../../service/rpc/call-method.ts';
import { askSource } from './ask-source.ts';
import { PRICE_SOURCES, type Prices } from './sources.ts';

/** The settings of the oracle. */
export type OracleSettings = Pick<
  HubConfig,
  | 'PRICE_SOURCES'
  | 'PRICE_SOURCE_COINGECKO_URL'
  | 'PRICE_SOURCE_KRAKEN_URL'
  | 'PRICE_SOURCE_COINMARKETCAP_URL'
  | 'COINMARKETCAP_API_KEY'
  | 'ORACLE_ROUND_INTERVAL'
  | 'PRICE_FETCH_TIMEOUT'
>;

/** What the sources said in a round. */
export interface FoundRound {
  /** Epoch milliseconds. */
  readonly now: number;
  readonly intervalMs: number;
  readonly found: readonly Prices[];
}

interface OracleDeps {
  readonly settings: OracleSettings;
  readonly log: Logger;
  /** Sees the machine's changes of state. */
  readonly inspect?: (inspection: InspectionEvent) => void;
  /** Told each state of the machine. @param lastError why the last round has no price; null when it has */
  readonly onState?: (phase: string, lastError: string | null) => void;
  /** Keeps a round: durable when it returns. */
  readonly record: (round: FoundRound) => Promise<void>;
}

/** Others' rounds begin at the same time: sources see them spread over three seconds. */
const JITTER_MS = 3_000;

/**
 * Finds the prices of a standalone hub: each round asks every source once, and keeps of each pair the median. Where a source
 * does not answer the others count; a pair without a price is kept as `skipped`.
 *
 * @returns what ends it
 */
export function startOracle({
  settings,
  log,
  inspect = () => undefined,
  onState = () => undefined,
  record
}: OracleDeps): () => void {
  const intervalMs = settings.ORACLE_ROUND_INTERVAL;
  let found: readonly Prices[] = [];
  let lastError: string | null = null;
  const machine = priceRoundMachine.provide({
    actors: {
      fetch: fromPromise(async ({ signal }) => {
        const asked = await Promise.all((settings.PRICE_SOURCES ?? []).map((name) => ask(name, settings, log, signal)));
        found = asked.filter((prices) => prices !== null);
        lastError = found.length > 0 ? null : 'no source gave a price';
        return found.length > 0;
      }),
      record: fromPromise(async () => {
        await record({ now: Date.now(), intervalMs, found });
      })
    },
    actions: {
      tellFault: (_, { error }) => {
        lastError = reasonOf(error);
        log.error({ error: lastError }, 'the prices of this round were not kept');
      }
    }
  });
  const untilDueMs = () => intervalMs - (Date.now() % intervalMs) + Math.random() * Math.min(JITTER_MS, intervalMs);
  const rounds = createActor(machine, { input: { untilDueMs }, inspect });
  rounds.subscribe(({ value }) => onState(String(value), lastError));
  rounds.start();
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
    return await askSource(source, { url: named ?? source.url, key, timeoutMs: settings.PRICE_FETCH_TIMEOUT, signal });
  } catch (caught) {
    if (!signal.aborted) log.warn({ source: name, reason: reasonOf(caught) }, `${name} gave no prices in this round`);
    return null;
  }
}
