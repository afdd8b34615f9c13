import type { Random } from './random.ts';

/** An action with the account that pays for it. */
export interface PlannedPayment {
  readonly from: string;
  readonly action: string;
}

/** Decimals of every token. */
const PLACES = 2;

/** Returns the first payments of a wallet: account n issues DEVn. */
export function planIssues(accounts: readonly string[]): PlannedPayment[] {
  return accounts.map((from, at) => ({ from, action: `ISSUE|0|DEV${at + 1}|1000000|1000|${PLACES}|devnet|5000` }));
}

/** Returns a later payment. Most actions are valid; some are invalid on purpose. */
export function planPayment(random: Random, accounts: readonly string[]): PlannedPayment {
  const from = random.between(0, accounts.length - 1);
  const other = accounts[random.between(0, accounts.length - 1)]!;
  const tick = `DEV${random.between(1, accounts.length)}`;
  const amount = `${random.between(1, 999)}.${String(random.between(0, 99)).padStart(PLACES, '0')}`;
  const plan: PlanOf = { random, own: `DEV${from + 1}`, tick, amount, other };
  const isInvalid = random.next() < INVALID_ODDS;
  const action = random.pick(isInvalid ? INVALID : VALID)(plan);
  return { from: accounts[from]!, action };
}

/** Facts from which an action is planned. */
interface PlanOf {
  readonly random: Random;
  /** Token of the acting account. */
  readonly own: string;
  /** Token of any account. */
  readonly tick: string;
  readonly amount: string;
  /** Any account, possibly the acting one. */
  readonly other: string;
}
type Plan = (plan: PlanOf) => string;

const INVALID_ODDS = 1 / 8;

/** Valid actions. Each fits one OP_RETURN output. An action that is listed twice comes twice as often. */
const VALID: readonly [Plan, ...Plan[]] = [
  ({ own, random }) => `ISSUE|0|${own}|1000000|1000|${PLACES}|devnet ${random.between(1, 99)}|5000`,
  ({ own, random }) => `ISSUE|1|${own}|devnet ${random.between(100, 999)}`,
  ({ own, amount }) => `ISSUE|0|${own}.SUB|1000000|1000|${PLACES}||${amount}`,
  ({ tick, amount }) => `MINT|0|${tick}|${amount}`,
  ({ tick, amount }) => `MINT|0|${tick}|${amount}|`,
  ({ own, amount, other }) => `SEND|0|${own}|${amount}|${other}|gift`,
  ({ own, amount, other }) => `SEND|0|${own}|${amount}|${other}`,
  ({ tick, amount, other }) => `SEND|0|${tick}|${amount}|${other}`,
  ({ tick, amount }) => `DESTROY|0|${tick}|${amount}|burnt`,
  ({ own, tick }) => `DIVIDEND|0|${tick}|${own}|0.01|thanks`,
  ({ own, amount }) => `BATCH|0|MINT|0|${own}|${amount};DESTROY|0|${own}|1`,
  ({ amount }) => `BROADCAST|0|note päivää|${amount}`,
  ({ other }) => `LIST|0|2|friends|${other}`,
  ({ random }) => `ADDRESS|0|${random.between(0, 2)}|0|${random.between(1, 2)}`,
  ({ own, tick, random }) => `ORDER|0|LTC|${own}|${random.between(1, 9)}|0|LTC|${tick}|${random.between(1, 9)}`,
  ({ own, tick, random }) => `ORDER|0|LTC|${tick}|${random.between(1, 9)}|0|LTC|${own}|${random.between(1, 9)}`,
  ({ own, random }) => `ORDER|0|LTC|${own}|${random.between(1, 9)}|0|LTC||0.${random.between(1, 9)}`,
  ({ tick, random }) => `ORDER|0|LTC||0.${random.between(1, 9)}|0|LTC|${tick}|${random.between(1, 9)}`,
  ({ own, tick }) => `SWAP|0|LTC|${own}|2|0|LTC|${tick}|2`,
  ({ own, tick }) => `DISPENSER|0|LTC|${own}|1|0|20|LTC|${tick}|2`,
  ({ random }) => `ORDER|1|${random.between(1, 200)}`,
  ({ random }) => `DISPENSER|1|${random.between(1, 200)}`,
  ({ other }) => `SWEEP|0|${other}|1|0|0|0|0|moved`
];

const INVALID: readonly [Plan, ...Plan[]] = [
  ({ tick, other }) => `SEND|0|${tick}|1e3|${other}`,
  ({ tick }) => `MINT|0|${tick}|0.001`,
  ({ tick, amount }) => `DESTROY|0|${tick}|-${amount}`,
  ({ tick, amount }) => `SEND|0|${tick}|${amount}|nobody`,
  ({ amount }) => `MINT|0|UNKNOWN|${amount}`,
  ({ tick, random }) => `ISSUE|1|${tick}|hijacked ${random.between(1, 99)}`,
  ({ tick }) => `ISSUE|9|${tick}`,
  () => 'BATCH|0|BATCH|0|',
  ({ amount }) => `COINPAY|0|${Math.trunc(Number(amount))}`
];
