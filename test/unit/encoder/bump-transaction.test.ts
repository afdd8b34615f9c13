import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { DEFAULT_PROFILE } from '../../../src/coin/profile.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { writeBase, writeTransaction } from '../../../src/coin/raw/transaction-form.ts';
import { Reservations } from '../../../src/encoder/coins/reservations.ts';
import { bumpTransaction } from '../../../src/encoder/creation/bump-transaction.ts';
import type { EncoderDeps } from '../../../src/encoder/creation/create-transaction.ts';
import { policyOf } from '../../../src/encoder/creation/node-policy.ts';
import { readSender } from '../../../src/encoder/transaction/sender.ts';
import type { PlatformError } from '../../../src/errors.ts';
import { publicKeyOf } from '../../support/encoder/signer.ts';

const NETWORK = chainNetwork('litecoin', 'regtest');
const SENDER = readSender(publicKeyOf(hash('sha256', 'a key', 'buffer')).toString('hex'), undefined, NETWORK);
const FINAL = 0xffffffff;

/** A transaction that pays the sender, and one that spends it and leaves no change. */
const parent = writeBase({
  inputs: [{ txid: 'ab'.repeat(32), vout: 0, sequence: FINAL, unlock: { script: Buffer.of(1, 1), witness: [] } }],
  outputs: [10_200n, 900_000n].map((amount) => ({ amount, script: SENDER.script }))
});
const { txid: source } = readRawTransaction(parent);
const waiting = writeTransaction({
  inputs: [{ txid: source, vout: 0, sequence: FINAL - 2, unlock: SENDER.unlock }],
  outputs: [{ amount: 10_000n, script: Buffer.concat([SENDER.script.subarray(0, 2), Buffer.alloc(20, 7)]) }]
});

/** Bumps while the node tells this of the further coin and of the mempool. @returns the outcome as text */
async function outcomeWhere({ confirmations = 3, isCrowded = false }): Promise<string> {
  const further = { txid: source, vout: 1, amount: 900_000n, transaction: null, height: 7 };
  const coins = {
    transaction: async () => waiting,
    mempoolEntry: async () => ({ descendantcount: 1, descendantsize: 110 }),
    crowded: async (some: readonly object[]) => (isCrowded ? some : []),
    placed: async () => [{ txid: source, vout: 0, amount: 10_200n, script: SENDER.script, transaction: parent }],
    ofScript: async () => [further],
    spendable: async (some: readonly object[]) => some.map((coin) => ({ ...coin, confirmations })),
    sourced: async (some: readonly object[]) => some.map((coin) => ({ ...coin, transaction: parent }))
  };
  const limits = { mempool: { mempoolminfee: '0.00001' }, network: { relayfee: '0.00001' } };
  const deps = {
    network: NETWORK,
    profile: DEFAULT_PROFILE,
    magic: DEFAULT_PROFILE.payloadMagic,
    dustFloor: 0,
    mostFeeRate: 3_000_000n,
    policy: { read: async () => ({ height: 9, ...policyOf(limits, []) }) },
    coins,
    reservations: new Reservations({ ttlMs: 1_000, mostOfOne: 9, most: 9 })
  } as unknown as EncoderDeps;
  return await bumpTransaction({ txid: readRawTransaction(waiting).txid }, deps, 'A').then(
    ({ inputs }) => `${inputs.length} inputs`,
    (caught: PlatformError) => `${caught.code} ${caught.detail['reason']}`
  );
}

test('a coin is added to a replacement only where the node says that a block has it: nodes take no other', async () => {
  assert.equal(await outcomeWhere({}), '2 inputs');
  assert.match(await outcomeWhere({ confirmations: 0 }), /^COINS_INSUFFICIENT /);
});

test('REQUEST_INVALID: what hangs together with more than nodes accept is not replaced before a block', async () => {
  assert.match(await outcomeWhere({ isCrowded: true }), /^REQUEST_INVALID .*nobody replace it before a block/);
});
