import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryLedger, TEST_RULES } from '../../support/indexer-ledger.ts';
import { priceText, slotMessage, testSigner } from '../../support/indexer-signers.ts';
import { secondForm } from '../../support/second-signature.ts';

const [BAD, OTHER] = [testSigner('bad'), testSigner('other')];
const { stakeDelay, unstakeCooldown } = TEST_RULES;
const HEIGHT = { btc_block_height: 102 };
const TWICE = [slotMessage(BAD, { ...HEIGHT, digest: 1 }), slotMessage(BAD, { ...HEIGHT, digest: 2 })] as const;
const slashText = (messages: readonly (readonly string[])[] = TWICE, key = BAD.pubkey, capability = 'price') =>
  `SLASH|0|${capability}|${key}|${messages.flat().join('|')}`;

/** Returns the status of a SLASH; no row has it when it is refused. */
function verdict(ledger: MemoryLedger, source: string, data: string): string | undefined {
  const [[status] = []] = ledger.act([source, data]);
  return ledger.blocks.at(-1)!.refusals[0]?.status ?? status;
}

/** A ledger in which A has a stake of 3000 behind the key and holds 1000 more. */
function stakedLedger(rules = TEST_RULES): MemoryLedger {
  const ledger = new MemoryLedger(100, rules);
  ledger.give('GAS', 8, 'A', { A: '4000', B: '1000' });
  ledger.act(['A', `STAKE|1|3000|${BAD.pubkey}`]);
  ledger.height += stakeDelay;
  return ledger;
}

function pass(ledger: MemoryLedger, blocks: number): void {
  for (let block = 0; block < blocks; block++)
    ledger.run({ height: ++ledger.height, time: 0, hash: '', transactions: [] });
}

test('the prover of two messages of one slot gets a twentieth of the stake, the pool the rest, and the key is banned', () => {
  const ledger = stakedLedger();
  assert.equal(verdict(ledger, 'B', slashText()), 'valid');
  assert.deepEqual(
    ['A', 'B', 'E'].map((address) => ledger.balance('GAS', address)),
    ['1000', '1150', '2850']
  );
  assert.equal(ledger.supply('GAS'), '5000');
  const { columns } = ledger.blocks.at(-1)!.rows.find(({ table }) => table === 'capability_slash_events')!;
  assert.deepEqual([columns['amount'], columns['bounty_amount'], columns['treasury_amount']], ['3000', '150', '2850']);
  assert.equal(verdict(ledger, 'B', slashText()), 'invalid: OFFENDER_PUBKEY (already slashed)');
  const after: readonly (readonly [data: string, status: string])[] = [
    [`STAKE|1|5|${BAD.pubkey}`, 'SIGNING_PUBKEY (already in use)'],
    [`STAKE|2|5|${BAD.pubkey}`, 'SIGNING_PUBKEY (no active stake to top up)'],
    [`UNSTAKE|0|${BAD.pubkey}`, 'SIGNING_PUBKEY (no active stake or unstake already in progress)'],
    [`DELEGATE|0|${OTHER.pubkey}`, 'no active stake'],
    ['COLLECT|0', 'no active stake'],
    [priceText({ round: 1, height: 102, pairs: [['BTC/USD', '1']] }, [BAD]), 'SOURCE (not qualified)']
  ];
  for (const [data, status] of after) assert.equal(verdict(ledger, 'A', data), `invalid: ${status}`, data);
});

test('without a pool the rest is burned; units that cool down are taken too and never come back', () => {
  const ledger = stakedLedger({ ...TEST_RULES, rewardPool: undefined });
  assert.equal(verdict(ledger, 'A', `UNSTAKE|0|${BAD.pubkey}|2000`), 'valid');
  pass(ledger, 1);
  assert.equal(verdict(ledger, 'B', slashText()), 'valid');
  assert.deepEqual([ledger.balance('GAS', 'B'), ledger.supply('GAS')], ['1150', '2150']);
  pass(ledger, unstakeCooldown + 2);
  assert.equal(ledger.balance('GAS', 'A'), '1000');
});

test('a delegated key answers with all that its source has staked', () => {
  const ledger = stakedLedger();
  ledger.act(['A', `DELEGATE|0|${OTHER.pubkey}`]);
  ledger.height += stakeDelay;
  const slot = { btc_block_height: ledger.height };
  const messages = [slotMessage(OTHER, { ...slot, n: 1 }), slotMessage(OTHER, { ...slot, n: 2 })];
  assert.equal(verdict(ledger, 'B', slashText(messages, OTHER.pubkey)), 'valid');
  assert.deepEqual(
    ['B', 'E'].map((address) => ledger.balance('GAS', address)),
    ['1150', '2850']
  );
  assert.equal(verdict(ledger, 'A', `UNSTAKE|0|${BAD.pubkey}`), 'invalid: AMOUNT (must be greater than 0)');
  assert.equal(verdict(ledger, 'A', `STAKE|2|5|${BAD.pubkey}`), 'valid', 'the key of the stake is not barred');
});

test('the bounty is at least 50 units, and never above the bond', () => {
  const ledger = stakedLedger();
  ledger.act(['A', `UNSTAKE|0|${BAD.pubkey}|2980`]);
  pass(ledger, unstakeCooldown + 1);
  assert.equal(verdict(ledger, 'B', slashText()), 'valid');
  assert.deepEqual(
    ['A', 'B', 'E'].map((address) => ledger.balance('GAS', address)),
    ['3980', '1020', '0']
  );
});

const [A, B] = TWICE;
const shifted = slotMessage(BAD, { ...HEIGHT, digest: 2 }, 'EQUIV|oracle|7|1||');
const early = (digest: number) => slotMessage(BAD, { btc_block_height: 101, digest });
const config = (digest: number) => slotMessage(BAD, { ...HEIGHT, digest }, 'EQUIV|config|7|0||');
const later = (digest: number) => slotMessage(BAD, { btc_block_height: 500, digest });
const again = (signature: string) => secondForm(Buffer.from(signature, 'hex')).toString('hex');
const REFUSALS: readonly (readonly [data: string, status: string])[] = [
  [slashText().replace('SLASH|0', 'SLASH|1'), 'VERSION (unknown)'],
  [slashText(TWICE, BAD.pubkey, 'mining'), 'CAPABILITY (unknown)'],
  [slashText(TWICE, 'x'), 'OFFENDER_PUBKEY (format)'],
  [slashText([['', A[1]], B]), 'MSG_A (format)'],
  [slashText([[`${A[0]}=`, A[1]], B]), 'MSG_A (format)'],
  [slashText([[Buffer.from('hello').toString('base64url'), A[1]], B]), 'MSG_A (format)'],
  [slashText([slotMessage(BAD, { height: 102 }), B]), 'MSG_A (format)'],
  [slashText([[A[0], 'ab'], B]), 'SIG_A (format)'],
  [slashText([A, ['!', B[1]]]), 'MSG_B (format)'],
  [slashText([A, [B[0], '']]), 'SIG_B (format)'],
  [slashText([config(1), config(2)]), 'ENGINE_TAG (not slashable)'],
  [slashText(TWICE, BAD.pubkey, 'attestation'), 'ENGINE_TAG (not slashable)'],
  [slashText(TWICE, BAD.pubkey, 'full_node'), 'ENGINE_TAG (not slashable)'],
  [slashText([A, shifted]), 'MSG_B (other slot)'],
  [slashText([A, A]), 'MSG_B (same content)'],
  [slashText(TWICE, OTHER.pubkey), 'OFFENDER_PUBKEY (not in snapshot)'],
  [slashText([early(1), early(2)]), 'OFFENDER_PUBKEY (not in snapshot)'],
  [slashText([later(1), later(2)]), 'OFFENDER_PUBKEY (not in snapshot)'],
  [slashText([[A[0], B[1]], B]), 'SIG_A (not signed)'],
  [slashText([A, [B[0], A[1]]]), 'SIG_B (not signed)'],
  [slashText([[A[0], again(A[1])], B]), 'SIG_A (not signed)'],
  [slashText([A, [B[0], again(B[1])]]), 'SIG_B (not signed)']
];

test('a proof of no fault is refused with its status, and leaves nothing but its action', () => {
  const ledger = stakedLedger();
  for (const [data, status] of REFUSALS) {
    assert.equal(verdict(ledger, 'B', data), `invalid: ${status}`, data.slice(0, 100));
    assert.ok(ledger.blocks.at(-1)!.rows.every(({ table }) => !table.startsWith('capability_')));
  }
  const litecoin = stakedLedger({ ...TEST_RULES, coin: 'LTC' });
  assert.equal(verdict(litecoin, 'B', slashText()), 'invalid: ACTION (BTC only)');
});
