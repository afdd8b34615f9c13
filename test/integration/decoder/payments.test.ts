import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { query, startLoop } from '../../support/decoder/loop.ts';
import { assertEqualRows } from '../../support/decoder/rows.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';

const MAGIC = 'TEST';
const NETWORK = chainNetwork('litecoin', 'regtest');
const AMOUNT = 3_000_000n;
let coin: TestLitecoind;
before(async () => {
  coin = await startTestLitecoind({ magic: MAGIC });
  await coin.node.fund(30);
});

const startOn = (database: DatabaseCoordinates) =>
  startLoop({ database, node: coin.node, network: NETWORK, magic: MAGIC });
const tip = async () => [await coin.node.height(), await coin.node.rpc.call('getbestblockhash')] as const;

/** A dispenser of the chain's coin, paid at this address. */
const opening = (address: string, expiration: number | '' = '') =>
  `DISPENSER|0|${NETWORK.ticker}|T|1|0|10|${NETWORK.ticker}||0.03|${address}||||${expiration}`;

/** Pays without saying anything. @returns the id */
async function payPlainly(address: string): Promise<string> {
  return String(await coin.node.rpc.call('sendtoaddress', [address, 0.03]));
}

/** Spends an output of a transaction that still waits, so that it stands behind that one in the block. */
async function spendTo(txid: string, from: string, address: string): Promise<string> {
  const { rpc } = coin.node;
  const { vout } = (await rpc.call('getrawtransaction', [txid, true])) as {
    vout: { n: number; scriptPubKey: { addresses?: string[] } }[];
  };
  const { n } = vout.find(({ scriptPubKey }) => scriptPubKey.addresses?.[0] === from)!;
  const raw = await rpc.call('createrawtransaction', [[{ txid, vout: n }], [{ [address]: '0.03' }]]);
  const { hex } = (await rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string };
  return String(await rpc.call('sendrawtransaction', [hex]));
}

/** The rows of payments to an address. */
const paymentsTo = (database: DatabaseCoordinates, address: string) =>
  query(
    database,
    `SELECT h.hash, data, o.amount, t.destination_id FROM transaction_outputs o JOIN transactions t USING (tx_index)
     JOIN index_transactions h ON h.id = tx_hash_id JOIN index_addresses a ON a.id = o.destination_id
     WHERE a.address = '${address}' ORDER BY tx_index`
  );

async function clock(time: number): Promise<void> {
  await coin.node.rpc.call('setmocktime', [time]);
}

test('payments to open dispensers have rows, in groups as at the tip, and through a reorg', async () => {
  const live = await createDatabase('payments_live');
  const decoder = startOn(live);
  const start = Math.floor(Date.now() / 1000);
  const [dispenser, waiting] = [await coin.node.newAddress(), await coin.node.newAddress()];
  const mine = async () => {
    await coin.node.mine(1);
    await decoder.reach(...(await tip()));
  };

  await payPlainly(dispenser); // before it is opened
  await mine();
  const outputs = [{ address: waiting, amount: AMOUNT + 10_000n }];
  const opened = await coin.node.pay({ action: opening(dispenser, start + 5_000), outputs });
  const expected = [{ hash: await spendTo(opened.txid, waiting, dispenser), data: '' }];
  await mine();
  expected.push({ hash: await payPlainly(dispenser), data: '' });
  await mine();
  for (const action of ['NONSENSE|0', 'SEND|0|T|1']) {
    const { txid } = await coin.node.pay({ action, outputs: [{ address: dispenser, amount: AMOUNT }] });
    if (action === 'NONSENSE|0') expected.push({ hash: txid, data: '' }); // who says something buys nothing
    await mine();
  }
  await clock(start + 10_000); // it expires
  await coin.node.mine(12);
  await clock(start + 20_000); // and who cancelled it in the first of these blocks sells no more
  await coin.node.mine(12);
  await payPlainly(dispenser);
  await mine();
  const row = (payment: object) => ({ ...payment, amount: '0.03000000', destination_id: 1 });
  assert.deepEqual(await paymentsTo(live, dispenser), expected.map(row));

  await coin.node.pay({ action: `DISPENSER|2|0|0|${start + 90_000}`, from: opened.source });
  await mine();
  await payPlainly(dispenser); // no ledger opens again what expired
  await mine();
  assert.deepEqual(await paymentsTo(live, dispenser), expected.map(row));

  await coin.node.invalidate(3);
  await coin.node.mineEmpty();
  await payPlainly(dispenser);
  await coin.node.pay({ action: opening(waiting) });
  await coin.node.mine(4);
  await decoder.reach(...(await tip()));
  await decoder.stop();

  const fresh = await createDatabase('payments_fresh');
  const group = startOn(fresh);
  await group.reach(...(await tip()));
  await group.stop();
  await assertEqualRows(live, fresh);
});

test('a payment has the source whose coin it spends', async () => {
  const database = await createDatabase('payments_source');
  const dispenser = await coin.node.newAddress();
  await coin.node.pay({ action: opening(dispenser) });
  await coin.node.mine(1);
  const txid = await payPlainly(dispenser);
  await coin.node.mine(1);
  const decoder = startOn(database);
  await decoder.reach(...(await tip()));
  await decoder.stop();
  const { rpc } = coin.node;
  const { vin } = (await rpc.call('getrawtransaction', [txid, true])) as {
    vin: { txid: string; vout: number }[];
  };
  const { vout } = (await rpc.call('getrawtransaction', [vin[0]!.txid, true])) as {
    vout: { scriptPubKey: { addresses: string[] } }[];
  };
  const rows = await query(
    database,
    `SELECT s.address FROM transactions t JOIN index_transactions h ON h.id = tx_hash_id
     JOIN index_addresses s ON s.id = source_id WHERE h.hash = '${txid}'`
  );
  assert.deepEqual(rows, [{ address: vout[vin[0]!.vout]!.scriptPubKey.addresses[0] }]);
});
