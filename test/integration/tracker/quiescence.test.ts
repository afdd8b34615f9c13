import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { freeze, thaw } from '../../support/freeze.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { databaseEnv, nodeEnv, startServiceProcess } from '../../support/service-process.ts';

let coin: TestLitecoind;
let url: string;

before(async () => {
  coin = await startTestLitecoind();
  await coin.node.fund(5);
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  startServiceProcess('utxo', {
    ...nodeEnv(coin.node),
    ...databaseEnv('UTXO', await createDatabase('tracker_quiescence')),
    UTXO_TRACKER_API_HOST: '127.0.0.1',
    UTXO_TRACKER_API_PORT: String(port),
    UTXO_TRACKER_RATE_LIMIT_RPM: '1000000',
    UTXO_TRACKER_POLL_INTERVAL: '20'
  });
  await settle();
});

async function ask<T>(method: string, params: object = {}): Promise<T> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(`${url}/`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return ((await answer.json()) as { result: T }).result;
}
interface Quiescence {
  readonly ready: boolean;
  readonly committed_height: number;
}
const quiescence = () => ask<Quiescence>('is_quiescent').catch(() => null);

/** Waits until it says that it has all. */
async function settle(): Promise<void> {
  const height = await coin.node.height();
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(20)) {
    const shown = await quiescence();
    if (shown?.ready && shown.committed_height === height) return;
    assert.ok(Date.now() < deadline, JSON.stringify(shown));
  }
}

/**
 * Returns an address's amounts at each time that the tracker says before and after that this is all, until it has said so of the
 * tip for a while.
 */
async function totals(address: string): Promise<readonly number[]> {
  const seen: number[] = [];
  const height = await coin.node.height();
  for (let [atTip, deadline] = [0, Date.now() + PATIENCE_MS]; atTip < 20; ) {
    assert.ok(Date.now() < deadline, JSON.stringify(await ask('get_sync_status')));
    const first = await ask<Quiescence>('is_quiescent');
    const { balances } = await ask<{ balances: { confirmed: string; pending: string } }>('get_info', { address });
    const last = await ask<Quiescence>('is_quiescent');
    if (first.ready && last.ready) seen.push(Number(balances.confirmed) + Number(balances.pending));
    if (first.ready && last.ready && first.committed_height === height) atTip += 1;
  }
  return seen;
}

/** Signs a payment of a coin to an address. */
async function payment(txid: string, from: string, to: string, amount: string): Promise<string> {
  const { vout } = (await coin.node.rpc.call('getrawtransaction', [txid, true]).then((raw) => {
    const outputs = (raw as { vout: { n: number | string; scriptPubKey: { addresses?: string[] } }[] }).vout;
    const own = outputs.find(({ scriptPubKey }) => scriptPubKey.addresses?.includes(from));
    return { vout: Number(own!.n) };
  })) as { vout: number };
  const raw = await coin.node.rpc.call('createrawtransaction', [[{ txid, vout }], [{ [to]: amount }]]);
  return ((await coin.node.rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string }).hex;
}
const send = async (hex: string) => String(await coin.node.rpc.call('sendrawtransaction', [hex]));

test('no coin counts twice while it says that it has all: a reorg brings back what a block had, and a block confirms a double spend', async () => {
  const { node } = coin;
  const address = await node.newAddress();
  const paid = String(await node.rpc.call('sendtoaddress', [address, '1']));
  await node.mine(1);
  const first = await send(await payment(paid, address, address, '0.9999'));
  await node.mine(1);
  await send(await payment(first, address, address, '0.9998'));
  await settle();
  await sleep(300);
  assert.deepEqual([...new Set(await totals(address))], [0.9998]);
  await node.invalidate(1);
  await node.rpc.call('generateblock', [await node.newAddress(), []]);
  await node.rpc.call('generateblock', [await node.newAddress(), []]);
  const reorged = await totals(address);
  assert.deepEqual([...new Set(reorged)], [0.9998]);
  await node.mine(1);
  const second = await node.newAddress();
  const other = String(await node.rpc.call('sendtoaddress', [second, '1']));
  await node.mine(1);
  const twice = await payment(other, second, second, '0.5');
  await send(await payment(other, second, second, '0.9999'));
  await settle();
  await node.rpc.call('generateblock', [await node.newAddress(), [twice]]);
  const spent = await totals(second);
  assert.deepEqual([...new Set(spent)].toSorted(), [0.5, 0.9999].slice(0, new Set(spent).size));
  assert.equal(spent.at(-1), 0.5);
});

test('a node that answers nothing: neither ready nor whole within 15 s, readyz and bare answers are 503 with the reason', async () => {
  const address = await coin.node.newAddress();
  await settle();
  assert.equal((await fetch(`${url}/balance/${address}`)).status, 200);
  await freeze(coin.node.pid);
  const began = Date.now();
  for (;;) {
    const status = await ask<Quiescence & { alarm?: { code: string } }>('get_sync_status');
    const { ready } = await ask<Quiescence>('is_quiescent');
    if (status.alarm) {
      assert.equal(ready, false, 'an alarm is on');
      break;
    }
    assert.ok(Date.now() - began < 15_000);
    await sleep(50);
  }
  assert.equal((await fetch(`${url}/readyz`)).status, 503);
  for (const path of ['balance', 'utxos', 'firstseen']) {
    const bare = await fetch(`${url}/${path}/${address}`);
    assert.equal(bare.status, 503);
    assert.match(await bare.text(), /NODE_UNREACHABLE.*TRACKER_NOT_READY/s);
  }
  thaw(coin.node.pid);
  await settle();
  assert.equal((await fetch(`${url}/balance/${address}`)).status, 200);
});
