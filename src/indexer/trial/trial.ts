import { setImmediate as turn } from 'node:timers/promises';
import { parseCommand } from '../../coin/action/command.ts';
import { PRICE_SETTLEMENT_S } from '../../coin/foreign-prices.ts';
import { formatAmount } from '../../consensus/amount.ts';
import type { KnownIds } from '../../consensus/ids-by-text.ts';
import { type Connection, rows } from '../../db/connection.ts';
import { inSnapshot } from '../../db/in-snapshot.ts';
import { PlatformError } from '../../errors.ts';
import { ActionRunner } from '../block/action-runner.ts';
import { timesOf } from '../block/execution.ts';
import { Shares } from '../block/shares.ts';
import type { CommandUnit, Outcome } from '../block/unit.ts';
import { type CoinPrices, coinPrices } from '../fees/native.ts';
import { type Rules, spellingAt } from '../profile/rules.ts';
import { isRefusal, VALID } from '../rules/action-definition.ts';
import { runUntil } from '../rules/parts.ts';
import { Effects } from '../state/effects.ts';
import type { FactKeys } from '../state/fact-keys.ts';
import { type FactKey, Missing, type PriceRound } from '../state/facts.ts';
import { pairKey, tickKey } from '../state/keys.ts';
import type { Output } from '../state/payment.ts';
import { Scouting } from '../state/scouting.ts';
import { View } from '../state/view.ts';
import { factLoader } from '../store/facts/loader.ts';
import { readTimes } from '../store/facts/offers.ts';
import { readRounds } from '../store/facts/signers.ts';

/** Action to be judged as if the next block had it. */
export interface TrialQuestion {
  /** Address that acts; null for the height and prices alone, without a trial. */
  readonly source: string | null;
  /** `NAME|field|…` */
  readonly data: string;
  /** Satoshis that its transaction pays to FEE_DESTINATION, as digits; null if it pays nothing there. */
  readonly feeSats: string | null;
}

/** Result of one command. */
interface TriedCommand {
  readonly action: string;
  /** `valid`, or the status of its first refused part. */
  readonly status: string;
}

/** Action as the next block would judge it. Amounts are decimals of the gas token. */
export interface Trial {
  /** Height of the newest block; null while there is none. */
  readonly blockIndex: number | null;
  readonly blockTime: number | null;
  /** The command, then those that it runs. */
  readonly commands: readonly TriedCommand[];
  /** Gas of all commands together. */
  readonly gas: number;
  readonly fee: string;
  /** Balance of the source in the gas token. */
  readonly gasBalance: string;
  /** Prices of a unit of the gas token and of the coin; a text gives the reason where they are not known. */
  readonly prices: CoinPrices | string;
}

/** Connection and rules of a trial. */
interface TrialParts {
  /** Connection, which its owner destroys when the trial fails. */
  readonly connection: Connection;
  readonly rules: Rules;
  /** Ids of the tickers of all tokens, by `tickKey`. */
  readonly tickers: KnownIds;
  /** Rounds of prices in the ledger of another chain; undefined where the ledger has its own. */
  readonly rounds: readonly PriceRound[] | undefined;
}

const COUNTERS = (['address', 'ticker', 'action', 'transaction'] as const).map(
  (key) => ({ kind: 'counter', key }) as const
);
/** Longest time for which one caller's question may keep the thread of the indexer, in milliseconds. */
export const MOST_MS = 2_000;
/** Longest time between two turns of the thread's other work, in milliseconds. */
const TURN_MS = 50;
const SATOSHI = 10n ** 10n;

/**
 * Judges an action on one snapshot of the database, in a view of its own, and changes nothing.
 *
 * Actions that follow by themselves, such as a dispense or a match, are not run.
 *
 * @throws {PlatformError} TRIAL_TOO_LONG, and the driver's errors
 */
export async function tryAction(
  question: TrialQuestion,
  { connection, rules, tickers, rounds }: TrialParts
): Promise<Trial> {
  return await inSnapshot(connection, async () => {
    const [tip] = await rows<{ height: number; time: number }>(
      connection,
      'SELECT block_index AS height, block_time AS time FROM blocks ORDER BY block_index DESC LIMIT 1'
    );
    const height = tip ? Number(tip.height) + 1 : 0;
    const now = Math.max(Number(tip?.time ?? 0), Math.floor(Date.now() / 1_000));
    const times = timesOf([...(await readTimes(connection, height)), now]);
    const newAddresses = new Set<string>();
    const runner = new ActionRunner(rules, { height, ...times, ...(rounds ? { rounds } : {}), newAddresses });
    const view = new View({ isWhole: false });
    view.respell(spellingAt(rules, height));
    const shares = new Shares(rules.limitsAt(height), []); // as if no other source acted in the block
    const load = factLoader([connection], view, { ids: tickers });
    const run = new TrialRun(view, runner, load, { newAddresses, shares });
    const tried = question.source === null ? NOTHING : await run.all(unitOf(question.source, question, rules));
    const priced = rounds ?? (await readRounds(connection));
    return {
      blockIndex: tip ? Number(tip.height) : null,
      blockTime: tip ? Number(tip.time) : null,
      ...tried,
      gasBalance: question.source === null ? '0' : await run.balance(rules.gasTick, question.source),
      prices: coinPrices(priced, { rules, at: rounds ? times.time - PRICE_SETTLEMENT_S : times.time })
    };
  });
}

const NOTHING = { commands: [], gas: 0, fee: '0' } as const;

function unitOf(source: string, { data, feeSats }: TrialQuestion, { fees }: Rules): CommandUnit {
  const address = fees.destination;
  const outputs: Output[] =
    feeSats === null || address === undefined ? [] : [{ vout: 0, address, amount: BigInt(feeSats) * SATOSHI }];
  const transaction = { hash: '0'.repeat(64), source, fee: null, data, outputs };
  return { kind: 'command', transaction, command: parseCommand(data), txIndex: 0 };
}

/** Runs commands one after the other, in memory. */
class TrialRun {
  readonly #view: View;
  readonly #runner: ActionRunner;
  readonly #load: (keys: readonly FactKey[]) => Promise<void>;
  readonly #newAddresses: Set<string>;
  readonly #shares: Shares;
  readonly #until = performance.now() + MOST_MS;

  /** @param of addresses that are new in the block of the runner, and its units and looks */
  constructor(
    view: View,
    runner: ActionRunner,
    load: (keys: readonly FactKey[]) => Promise<void>,
    of: { readonly newAddresses: Set<string>; readonly shares: Shares }
  ) {
    this.#view = view;
    this.#runner = runner;
    this.#load = load;
    this.#newAddresses = of.newAddresses;
    this.#shares = of.shares;
  }

  async all(first: CommandUnit): Promise<Pick<Trial, 'commands' | 'gas' | 'fee'>> {
    await this.#load(COUNTERS);
    const pending: CommandUnit[] = [first];
    const commands: TriedCommand[] = [];
    let [gas, fee] = [0, 0n];
    for (let unit = pending.shift(); unit; unit = pending.shift()) {
      const { effects, outcome } = await this.#carryOut(unit);
      this.#view.commit(effects.changes);
      this.#use(effects);
      commands.push({ action: unit.command.name, status: verdictOf(effects) });
      gas += effects.fee?.gas ?? 0;
      fee += effects.fee?.amount ?? 0n;
      pending.unshift(...outcome.next.filter((next) => next.kind === 'command'));
    }
    return { commands, gas, fee: formatAmount(fee) };
  }

  /** Notes what the next command of the block finds used and new. */
  #use(effects: Effects): void {
    this.#shares.use(effects.used, effects.looks);
    for (const address of effects.newAddresses) this.#newAddresses.add(address);
  }

  async balance(tick: string, address: string): Promise<string> {
    const fact = { kind: 'balance', key: pairKey(tickKey(tick), address) } as const;
    await this.#load(this.#view.missing([fact]));
    return formatAmount(this.#view.get(fact.kind, fact.key));
  }

  async #carryOut(unit: CommandUnit): Promise<{ readonly effects: Effects; readonly outcome: Outcome }> {
    for (;;) {
      const effects = new Effects(this.#view, this.#shares.left);
      try {
        const work = this.#runner.command(unit, effects);
        while (performance.now() < this.#until) {
          const done = runUntil(work, Math.min(this.#until, performance.now() + TURN_MS));
          if (done) return { effects, outcome: done.result };
          await turn();
        }
        throw new PlatformError('TRIAL_TOO_LONG', { reason: `the action takes more than ${MOST_MS} ms to judge` });
      } catch (caught) {
        if (!(caught instanceof Missing)) throw caught;
        const lacking = this.#lackedBy(unit);
        lacking.addAll(caught.keys);
        await this.#load([...lacking]);
      }
    }
  }

  /** Returns the other facts that a command lacks, so that one load brings them. */
  #lackedBy(unit: CommandUnit): FactKeys {
    const scouting = new Scouting(this.#view, this.#shares.left);
    const until = Math.min(this.#until, performance.now() + TURN_MS);
    scouting.try((effects) => runUntil(this.#runner.command(unit, effects), until));
    return scouting.lacking;
  }
}

function verdictOf({ rows: made, refusals }: Effects): string {
  const statuses = made.flatMap(({ table, columns }) =>
    'status_id' in columns && table !== 'fees' && !table.endsWith('_statuses') ? [String(columns['status_id'])] : []
  );
  return [...refusals.map(({ status }) => status), ...statuses].find(isRefusal) ?? VALID;
}
