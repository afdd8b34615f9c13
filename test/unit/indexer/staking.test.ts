import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CHAINS, chainNetwork } from '../../../src/coin/chains.ts';
import { DEFAULT_PROFILE, readProfile } from '../../../src/coin/profile.ts';
import { parseAmount } from '../../../src/consensus/amount.ts';
import { rulesOf } from '../../../src/indexer/profile/rules.ts';
import { ALL_KEYS } from '../../../src/indexer/staking/checks.ts';
import { Members } from '../../../src/indexer/state/members.ts';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';

const [KEY, OTHER, THIRD] = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string];
const { stakeDelay, unstakeCooldown } = TEST_RULES;

/** A ledger whose A and B have gas. */
function gasLedger(rules = TEST_RULES): MemoryLedger {
  const ledger = new MemoryLedger(100, rules);
  ledger.give('GAS', 8, 'A', { A: '100', B: '10', E: '5' });
  return ledger;
}

const verdict = (ledger: MemoryLedger, source: string, data: string) => ledger.act([source, data])[0]![0];

/** Empty blocks. */
function pass(ledger: MemoryLedger, blocks: number): void {
  for (let block = 0; block < blocks; block++) {
    ledger.run({ height: ++ledger.height, time: 0, hash: '', transactions: [] });
  }
}

/** A ledger in which A's stake of 20 counts. */
function stakedLedger(): MemoryLedger {
  const ledger = gasLedger();
  assert.equal(verdict(ledger, 'A', `STAKE|1|20|${KEY}`), 'valid');
  pass(ledger, stakeDelay);
  return ledger;
}

test('a stake is held, ends, and comes back in the block where its cooldown ends', () => {
  const ledger = stakedLedger();
  assert.deepEqual([ledger.balance('GAS', 'A'), ledger.supply('GAS')], ['80', '115']);
  assert.equal(verdict(ledger, 'A', `UNSTAKE|0|${KEY.toUpperCase()}`), 'valid');
  pass(ledger, unstakeCooldown - 1);
  assert.equal(ledger.balance('GAS', 'A'), '80');
  pass(ledger, 1);
  assert.deepEqual([ledger.balance('GAS', 'A'), ledger.supply('GAS')], ['100', '115']);
  const { rows } = ledger.blocks.at(-1)!;
  assert.ok(rows.some(({ table, columns }) => table === 'actions' && columns['action_id'] === 'UNSTAKE_RELEASE'));
  pass(ledger, 10);
  assert.equal(ledger.balance('GAS', 'A'), '100', 'it comes back once');
});

test('a stake counts after 6, 24 or 60 blocks, by its chain; an operator may say otherwise', () => {
  const own = readProfile({ name: 'own', stakeDelays: { 'DOGE:mainnet': 3 } });
  const delays = [DEFAULT_PROFILE, own].map((profile) =>
    CHAINS.map((chain) => rulesOf(profile, chainNetwork(chain, 'mainnet'), 'PLATFORM').stakeDelay)
  );
  assert.deepEqual(delays, [
    [6, 24, 60],
    [6, 24, 3]
  ]);
  for (const delay of delays.flat()) {
    const ledger = gasLedger({ ...TEST_RULES, stakeDelay: delay });
    assert.equal(verdict(ledger, 'A', `STAKE|1|20|${KEY}`), 'valid');
    pass(ledger, delay - 1);
    assert.equal(
      verdict(ledger, 'A', `UNSTAKE|0|${KEY}`),
      'invalid: SIGNING_PUBKEY (no active stake or unstake already in progress)'
    );
    pass(ledger, 1);
    assert.equal(verdict(ledger, 'A', `UNSTAKE|0|${KEY}`), 'valid', `after ${delay} blocks`);
  }
});

test('a part of a stake ends; the rest counts from where the whole ended, and only then can it end', () => {
  const ledger = stakedLedger();
  assert.equal(verdict(ledger, 'A', `UNSTAKE|0|${KEY}|8`), 'valid');
  assert.equal(
    verdict(ledger, 'A', `UNSTAKE|0|${KEY}`),
    'invalid: SIGNING_PUBKEY (no active stake or unstake already in progress)'
  );
  pass(ledger, stakeDelay);
  assert.equal(verdict(ledger, 'A', `UNSTAKE|0|${KEY}|12.5`), 'invalid: AMOUNT (exceeds active stake)');
  assert.equal(verdict(ledger, 'A', `UNSTAKE|0|${KEY}`), 'valid');
  pass(ledger, unstakeCooldown);
  assert.equal(ledger.balance('GAS', 'A'), '100');
});

const REFUSALS: readonly (readonly [source: string, data: string, status: string])[] = [
  ['A', `STAKE|3|1|${OTHER}|1|GAS`, 'ACTION is not yet activated'],
  ['A', `STAKE|1|1.123456789|${OTHER}`, 'AMOUNT (format)'],
  ['A', `STAKE|1|1e3|${OTHER}`, 'AMOUNT (format)'],
  ['A', `STAKE|1|0|${OTHER}`, 'AMOUNT (must be greater than 0)'],
  ['A', 'STAKE|1|1', 'SIGNING_PUBKEY (required)'],
  ['A', `STAKE|1|1|${OTHER}0`, 'SIGNING_PUBKEY (format)'],
  ['B', `STAKE|1|1|${KEY}`, 'SIGNING_PUBKEY (already in use)'],
  ['B', `STAKE|1|1|${THIRD}`, 'SIGNING_PUBKEY (already delegated)'],
  ['A', `STAKE|2|1|${OTHER}`, 'SIGNING_PUBKEY (no active stake to top up)'],
  ['B', `STAKE|2|1|${KEY}`, 'SOURCE (does not own this stake)'],
  ['A', `STAKE|2|80.00000001|${KEY}`, 'insufficient funds (STAKE)'],
  ['A', 'UNSTAKE|0', 'SIGNING_PUBKEY (required)'],
  ['A', `UNSTAKE|0|${OTHER}`, 'SIGNING_PUBKEY (no active stake or unstake already in progress)'],
  ['B', `UNSTAKE|0|${KEY}`, 'SOURCE (does not own this stake)'],
  ['A', `UNSTAKE|0|${KEY}|-1`, 'AMOUNT (format)'],
  ['A', `UNSTAKE|0|${KEY}|0`, 'AMOUNT (must be greater than 0)'],
  ['B', `DELEGATE|0|${OTHER}`, 'no active stake'],
  ['A', `DELEGATE|0|${KEY}`, 'SIGNING_PUBKEY (already in use)'],
  ['A', `DELEGATE|0|${THIRD}`, 'SIGNING_PUBKEY (already in use)'],
  ['B', `DELEGATE|2|${KEY}`, 'no active delegation or stake key for pubkey'],
  ['B', 'COLLECT|0', 'no active stake'],
  ['A', 'COLLECT|0', 'no unclaimed rewards']
];

test('an action that cannot stake, unstake, delegate or collect is refused with its status', () => {
  const ledger = stakedLedger();
  assert.equal(verdict(ledger, 'A', `DELEGATE|0|${THIRD}`), 'valid');
  for (const [source, data, status] of REFUSALS)
    assert.equal(verdict(ledger, source, data), `invalid: ${status}`, data);
  const litecoin = gasLedger({ ...TEST_RULES, coin: 'LTC' });
  for (const data of [`STAKE|1|1|${KEY}`, `UNSTAKE|0|${KEY}`, `DELEGATE|0|${KEY}`, 'COLLECT|0'])
    assert.equal(verdict(litecoin, 'A', data), 'invalid: ACTION (BTC only)');
});

test('a key is free again after its cooldown, but not when it was taken back', () => {
  const ledger = stakedLedger();
  verdict(ledger, 'A', `UNSTAKE|0|${KEY}`);
  pass(ledger, unstakeCooldown - 1);
  assert.equal(verdict(ledger, 'B', `STAKE|1|1|${KEY}`), 'invalid: SIGNING_PUBKEY (already in use)');
  pass(ledger, 1);
  assert.equal(verdict(ledger, 'B', `STAKE|1|1|${KEY}`), 'valid');
  assert.equal(verdict(ledger, 'B', `DELEGATE|2|${KEY}`), 'valid');
  assert.equal(verdict(ledger, 'B', `DELEGATE|2|${KEY}`), 'invalid: SIGNING_PUBKEY (already revoked)');
  pass(ledger, stakeDelay);
  verdict(ledger, 'B', `UNSTAKE|0|${KEY}`);
  pass(ledger, unstakeCooldown);
  assert.equal(verdict(ledger, 'B', `STAKE|1|1|${KEY}`), 'invalid: SIGNING_PUBKEY (already in use)');
});

test('a delegation ends after its delay and leaves its key free', () => {
  const ledger = stakedLedger();
  verdict(ledger, 'A', `DELEGATE|0|${OTHER}`);
  assert.equal(verdict(ledger, 'A', `DELEGATE|2|${OTHER}`), 'valid');
  assert.equal(verdict(ledger, 'A', `DELEGATE|2|${OTHER}`), 'invalid: SIGNING_PUBKEY (already revoked)');
  assert.equal(verdict(ledger, 'B', `STAKE|1|1|${OTHER}`), 'invalid: SIGNING_PUBKEY (already delegated)');
  pass(ledger, stakeDelay);
  assert.equal(verdict(ledger, 'B', `STAKE|1|1|${OTHER}`), 'valid');
});

test('rewards are paid out of the pool, in parts or whole, and never beyond it', () => {
  const ledger = stakedLedger();
  ledger.view.load('unclaimed', 'A', parseAmount('7')!);
  assert.equal(verdict(ledger, 'A', 'COLLECT|0|7.1'), 'invalid: AMOUNT (exceeds unclaimed rewards)');
  assert.equal(verdict(ledger, 'A', 'COLLECT|0'), 'invalid: insufficient reward pool');
  assert.equal(verdict(ledger, 'A', 'COLLECT|0|3'), 'valid');
  assert.deepEqual([ledger.balance('GAS', 'A'), ledger.balance('GAS', 'E')], ['83', '2']);
  assert.equal(verdict(ledger, 'A', 'COLLECT|0|0'), 'invalid: AMOUNT (must be greater than 0)');
  assert.equal(verdict(ledger, 'A', 'COLLECT|0|4'), 'invalid: insufficient reward pool');
});

/** Set that counts how often its members are passed through. */
class CountedSet extends Set<string> {
  passes = 0;
  override [Symbol.iterator]() {
    this.passes += 1;
    return super[Symbol.iterator]();
  }
}

test('a STAKE behind a new key passes through none of the keys that there are, nor a DELEGATE through those of all', () => {
  const ledger = stakedLedger();
  const keys = Array.from({ length: 200 }, (_, at) => at.toString(16).padStart(64, 'e'));
  const [all, own] = [new CountedSet([KEY, ...keys]), new CountedSet([KEY, ...keys])];
  ledger.view.load('keys', ALL_KEYS, new Members(all));
  ledger.view.load('keysOf', 'A', new Members(own));
  [all.passes, own.passes] = [0, 0];
  for (let at = 0; at < 100; at++)
    assert.equal(verdict(ledger, 'A', `STAKE|1|0.01|${at.toString(16).padStart(64, 'f')}`), 'valid');
  assert.deepEqual([all.passes, own.passes], [0, 0]);
  assert.equal(verdict(ledger, 'A', `DELEGATE|0|${OTHER}`), 'valid');
  assert.equal(all.passes, 0);
  assert.ok(own.passes > 0, 'it looks at those of its source, which it counts');
  const sizes = [ledger.view.get('keys', ALL_KEYS), ledger.view.get('keysOf', 'A')].map(({ size }) => size);
  assert.deepEqual(sizes, [302, 301]);
});
