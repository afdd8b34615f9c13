import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { BlockRows, TransactionRow } from '../../../src/decoder/block-rows.ts';
import { type DispenserRows, NO_DISPENSERS } from '../../../src/decoder/dispensers/action.ts';
import { KEPT_BLOCKS } from '../../../src/decoder/dispensers/run.ts';
import { openDecoderStore } from '../../../src/decoder/store.ts';
import { query } from '../../support/decoder/loop.ts';
import { createDatabase } from '../../support/mariadb.ts';

const START = 1_000_000;
const STEP_S = 600;
const PAID = {
  data: '',
  outputs: [{ vout: 0, address: 'owner', amount: 100n, isPayment: true as const }],
  dispensers: NO_DISPENSERS,
  source: 'buyer'
};

type Done = Pick<TransactionRow, 'source' | 'data' | 'outputs' | 'dispensers'>;

const done = (dispensers: Partial<DispenserRows>): Done => {
  return { source: 'owner', data: 'a dispenser', outputs: [], dispensers: { ...NO_DISPENSERS, ...dispensers } };
};
const opensUntil = (expiration: number) =>
  done({ opened: [{ address: null, oracleAddress: null, expiration, least: 1n }] });
const timeOf = (height: number) => START + height * STEP_S;

/** Blocks up to a height with these transactions, of a branch that leaves the others at a height. */
function chainOf(
  length: number,
  transactions: Readonly<Record<number, readonly Done[]>>,
  { branch, from }: { readonly branch: string; readonly from: number }
): readonly BlockRows[] {
  const nameOf = (height: number) => `${height >= from ? branch : 'common'} ${height}`;
  return Array.from({ length }, (_, height) => {
    const hash = nameOf(height);
    const own = (transactions[height] ?? []).map((one, at) => {
      return { ...one, hash: `${hash}/${at}`, rawData: null, pubkey: null };
    });
    const previousHash = height === 0 ? '' : nameOf(height - 1);
    return { height, time: timeOf(height), hash, previousHash, findings: [], transactions: own };
  });
}

/** Transactions that a decoder stores which sees one branch, and then the other. */
async function storedAfter(name: string, left: readonly BlockRows[], right: readonly BlockRows[], from: number) {
  const database = await createDatabase(name);
  const store = await openDecoderStore(database, { dispenserLimitHeight: 0 });
  await store.writeBlocks(left);
  for (let height = left.length; height > from; height--) await store.rollBackTip();
  await store.writeBlocks(right.slice(left.length === 0 ? 0 : from));
  await store.database.close();
  const rows = await query(
    database,
    'SELECT h.hash FROM transactions t JOIN index_transactions h ON h.id = t.tx_hash_id ORDER BY t.tx_index'
  );
  return rows.map(({ hash }) => hash);
}

/** Checks that a branch that was left changes nothing. */
async function checkBranches(
  name: string,
  transactions: Readonly<Record<number, readonly Done[]>>,
  { from, left, length }: { readonly from: number; readonly left: number; readonly length: number }
) {
  const common = Object.fromEntries(Object.entries(transactions).filter(([height]) => Number(height) < from));
  const one = chainOf(left, common, { branch: 'left', from });
  const other = chainOf(length, transactions, { branch: 'right', from });
  const stored = await storedAfter(`${name}_both`, one, other, from);
  assert.deepEqual(stored, await storedAfter(`${name}_one`, [], other, from));
  return stored;
}

/** Height before which a dispenser ends that is opened in the first block until the second one: see the hour. */
const ENDED = 14;

test('an edit after the end of a dispenser counts whether or not a branch forgot the dispenser', async () => {
  for (let height = ENDED + KEPT_BLOCKS - 4; height <= ENDED + KEPT_BLOCKS + 1; height++) {
    const transactions = {
      0: [opensUntil(timeOf(1))],
      [height]: [done({ extendedTo: timeOf(height + 60) }), opensUntil(timeOf(height + 1))],
      [height + 40]: [PAID]
    };
    await checkBranches(`forgotten_party_${height}`, transactions, {
      from: height,
      left: height + 5,
      length: height + 42
    });
  }
});

test('an edit of long ago counts for a new dispenser whether or not a branch forgot the edit', async () => {
  for (let edited = 0; edited < 4; edited++) {
    const height = edited + KEPT_BLOCKS - 2;
    const paidOut = Array.from({ length: 6_000 }, (_, vout) => ({ ...PAID.outputs[0]!, vout }));
    const transactions = {
      0: [opensUntil(timeOf(1)), ...(edited === 0 ? [done({ extendedTo: timeOf(300) })] : [])],
      ...(edited > 0 ? { [edited]: [done({ extendedTo: timeOf(300) }), { ...PAID, outputs: paidOut }] } : {}),
      [height]: [opensUntil(timeOf(height + 1))],
      [height + 40]: [PAID]
    };
    await checkBranches(`forgotten_edit_${edited}`, transactions, {
      from: height,
      left: height + 5,
      length: height + 42
    });
  }
});

test('a start reads the source of a dispenser anew, which an earlier release may have written', async () => {
  const database = await createDatabase('forgotten_source');
  const open = () => openDecoderStore(database);
  const store = await open();
  await store.writeBlocks(chainOf(1, { 0: [opensUntil(timeOf(9)), PAID] }, { branch: 'one', from: 0 }));
  await store.database.close();
  await query(
    database,
    "UPDATE transactions SET source_id = (SELECT id FROM index_addresses WHERE address = 'buyer') WHERE tx_index = 0"
  );
  await (await open()).database.close();
  const rows = await query(
    database,
    `SELECT a.address AS source, is_own FROM dispenser_tills JOIN index_addresses a ON a.id = source_id`
  );
  assert.deepEqual(rows, [{ source: 'buyer', is_own: 0 }]);
});
