import { createActor, fromPromise, type InspectionEvent } from 'xstate';
import { priceRoundMachine } from '../../../machines/hub/price-round.ts';
import type { HubConfig, PriceSourceName } from '../../config/services/hub.ts';
import type { Logger } from '../../log.ts';
import { reasonOf } from '../../service/rpc/call-method.ts';
import { askSource } from './ask-source.ts';
import { type RoundRules, type TimelyPrices, timelyPrices, widestOf } from './judge.ts';
import { LastChanges } from './source-times.ts';
import { PRICE_SOURCES, type SourceAnswer } from './sources.ts';

/** The settings of the oracle. */
export type OracleSettings = Pick<
  HubConfig,
  | 'PRICE_SOURCES'
  | 'PRICE_SOURCE_COINGECKO_URL'
  | 'PRICE_SOURCE_KRAKEN_URL'
  | 'PRICE_SOURCE_COINMARKETCAP_URL'
  | 'COINMARKETCAP_API_KEY'
  | 'ORACLE_ROUND_INTERVAL'
  | 'ORACLE_MIN_SOURCES'
  | 'ORACLE_EPOCH_START'
  | 'PRICE_FETCH_TIMEOUT'
>;

/** Answers of the sources in a round. */
export interface FoundRound {
  /** Epoch milliseconds, by the clock in the middle of the sources' and this machine's. */
  readonly now: number;
  readonly intervalMs: number;
  /** Their prices that are of now, by pair. */
  readonly byPair: TimelyPrices['byPair'];
  readonly rules: RoundRules;
  /** True: a round is over since the last one was kept, whatever the clock says. */
  readonly isNext: boolean;
}

interface OracleDeps {
  readonly settings: OracleSettings;
  readonly log: Logger;
  /** Sees the machine's changes of state. */
  readonly inspect?: (inspection: InspectionEvent) => void;
  /** Called with each state of the machine, and the result of the last round. */
  readonly onState?: (phase: string, outcome: RoundOutcome) => void;
  /** Keeps a round: durable when it returns. */
  readonly record: (round: FoundRound) => Promise<void>;
}

/** Result of the last round. */
export interface RoundOutcome {
  /** Reason why it has no price, or which source is missing in it; null when all is well. */
  readonly lastError: string | null;
  /** Sources that gave prices of now in it. */
  readonly answered: number;
  /** Largest difference of a source from a price, in percent of the price. */
  readonly deviation: number;
  /** Time at which a round was kept last: the process's start and its clock since then, in milliseconds; null: none was. */
  readonly keptAt: number | null;
  /** Milliseconds by which this machine's clock is behind the median of the sources' clocks and its own. */
  readonly clockOffMs: number;
}

/** Others' rounds begin at the same time: sources see them spread over three seconds. */
const JITTER_MS = 3_000;
/** Sources that are further from a price are named. */
const MOST_APART_PERCENT = 5;
/** A clock that is further off is warned of: HTTP says whole seconds, and an answer takes some. */
const MOST_OFF_MS = 60_000;

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
  const names = settings.PRICE_SOURCES ?? [];
  const rules = { configured: names.length, minSources: settings.ORACLE_MIN_SOURCES };
  let byPair: TimelyPrices['byPair'] = new Map();
  let outcome: RoundOutcome = { lastError: null, answered: 0, deviation: 0, keptAt: null, clockOffMs: 0 };
  const changes = new LastChanges();
  const machine = priceRoundMachine.provide({
    actors: {
      fetch: fromPromise(async ({ signal }) => {
        const asked = await Promise.all(names.map((name) => ask(name, settings, log, signal)));
        const answers = asked.filter((answer) => answer !== null);
        const clock = Date.now();
        const timely = timelyPrices(answers, clock, changes);
        byPair = timely.byPair;
        const clockOffMs = answers.length > 0 ? timely.now - clock : outcome.clockOffMs;
        for (const fault of timely.faults) log.warn(`${fault}: they are left out of this round`);
        outcome = {
          ...outcome,
          answered: answers.length - timely.faults.length,
          deviation: widestOf(byPair).percent,
          clockOffMs,
          lastError: faultOf(names, answers, timely, clockOffMs)
        };
        if (Math.abs(clockOffMs) > MOST_OFF_MS) log.warn(`${clockFault(clockOffMs)}: correct the clock`);
        return byPair.size > 0;
      }),
      record: fromPromise(async () => {
        const isNext = outcome.keptAt !== null && steadyNow() - outcome.keptAt >= intervalMs / 2;
        await record({ now: Date.now() + outcome.clockOffMs, intervalMs, byPair, rules, isNext });
        outcome = { ...outcome, keptAt: steadyNow() };
      })
    },
    actions: {
      tellFault: (_, { error }) => {
        outcome = { ...outcome, lastError: reasonOf(error) };
        log.error({ error: outcome.lastError }, 'the prices of this round were not kept');
      }
    }
  });
  const { ORACLE_EPOCH_START: epochStart = 0 } = settings;
  const sinceDueMs = () => (((Date.now() - epochStart) % intervalMs) + intervalMs) % intervalMs;
  const untilDueMs = () => intervalMs - sinceDueMs() + Math.random() * Math.min(JITTER_MS, intervalMs);
  const rounds = createActor(machine, { input: { untilDueMs }, inspect });
  rounds.subscribe(({ value }) => onState(String(value), outcome));
  rounds.start();
  return () => rounds.send({ type: 'stop.requested' });
}

/** Milliseconds by a clock that nobody sets, the same in all threads of the process. */
const steadyNow = () => performance.timeOrigin + performance.now();

/** Returns the facts about a round that an operator needs; null when every source gave prices of now. */
function faultOf(
  names: readonly PriceSourceName[],
  answers: readonly SourceAnswer[],
  { byPair, faults }: TimelyPrices,
  clockOffMs: number
): string | null {
  if (answers.length === 0) return 'no source gave a price';
  const silent = names.filter((name) => !answers.some(({ source }) => source === name));
  const { pair, percent } = widestOf(byPair);
  const all = [
    ...(silent.length > 0 ? [`${silent.join(', ')} gave no price`] : []),
    ...faults,
    ...(Math.abs(clockOffMs) > MOST_OFF_MS ? [clockFault(clockOffMs)] : []),
    ...(percent > MOST_APART_PERCENT ? [`sources of ${pair} differ by ${percent.toFixed(1)} %`] : [])
  ];
  if (byPair.size === 0) return `no source gave a price of now: ${all.join('; ')}`;
  return all.length > 0 ? all.join('; ') : null;
}

function clockFault(offMs: number): string {
  const seconds = Math.round(Math.abs(offMs) / 1_000);
  return `the clock of this machine is ${seconds} s ${offMs > 0 ? 'behind' : 'ahead of'} the one in the middle of the sources' and its own`;
}

/** Returns a source's answer; if it gives none, null, and a line in the log. */
async function ask(
  name: PriceSourceName,
  settings: OracleSettings,
  log: Logger,
  signal: AbortSignal
): Promise<SourceAnswer | null> {
  const source = PRICE_SOURCES[name];
  const named = {
    coingecko: settings.PRICE_SOURCE_COINGECKO_URL,
    kraken: settings.PRICE_SOURCE_KRAKEN_URL,
    coinmarketcap: settings.PRICE_SOURCE_COINMARKETCAP_URL
  }[name];
  const key = name === 'coinmarketcap' ? settings.COINMARKETCAP_API_KEY : undefined;
  try {
    const options = { url: named ?? source.url, key, timeoutMs: settings.PRICE_FETCH_TIMEOUT, signal };
    return { source: name, ...(await askSource(source, options)) };
  } catch (caught) {
    if (!signal.aborted) log.warn({ source: name, reason: reasonOf(caught) }, `${name} gave no prices in this round`);
    return null;
  }
}
