import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { toBaseUnits } from '../../../src/coin/amount.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressScript } from '../../../src/coin/script/address-script.ts';
import { freePort } from '../../../src/devnet/free-port.ts';
import { NodeCoins } from '../../../src/encoder/coins.ts';
import { readTrackedCoins } from '../../../src/encoder/tracker-coins.ts';
import { hasCode } from '../../../src/errors.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { databaseEnv, nodeEnv, startServiceProcess } from '../../support/service-process.ts';

/** A coin as the service tells it. */
interface Told {
  readonly txid: string;
  readonly vout: number;
  readonly height: number | null;
  readonly confirmations: number;
  readonly value: string;
  readonly amount: string;
  readonly scriptPubKey: string;
}

/** What its answers may hold, each of them a part. */
interface Body {
  readonly utxos: readonly Told[];
  readonly nextCursor?: string;
  readonly balances: object;
  readonly status: string;
  readonly committed_height: number;
}

let coin: TestLitecoind;
let url: string;

before(async () => {
  coin = await startTestLitecoind();
  await coin.node.fund(5);
  const database = await createDatabase('tracker_service');
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  startServiceProcess('tracker', {
    ...nodeEnv(coin.node),
    ...databaseEnv('UTXO_TRACKER', database),
    UTXO_TRACKER_API_HOST: '127.0.0.1',
    UTXO_TRACKER_API_PORT: String(port),
    UTXO_TRACKER_POLL_INTERVAL: '20',
    UTXO_TRACKER_MEMPOOL_INTERVAL: '100'
  });
});

async function rpc(method: string, params: object = {}) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(`${url}/`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return (await answer.json()) as { result: Body; error?: { code: number; message: string } };
}
const get = async (path: string) => {
  const answer = await fetch(`${url}${path}`);
  return { status: answer.status, body: (await answer.json()) as Body };
};

/** Waits until the tracker has the node's tip and its whole mempool as it is now. */
async function settle(isSettled: () => Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 20_000; ; await sleep(50)) {
    const ready = await rpc('is_quiescent').catch(() => null);
    const height = (ready?.result as unknown) === true && (await rpc('get_sync_status')).result.committed_height;
    if (height === (await coin.node.height()) && (await isSettled())) return;
    assert.ok(Date.now() < deadline, JSON.stringify(await rpc('get_sync_status').catch(String)));
  }
}
const utxosOf = async (address: string) => (await rpc('get_utxos', { address })).result.utxos;

test('PT-05, LI-29, CF-04: coins, balance and first block of an address are those of the node, and the mempool lies over them', async () => {
  const address = await coin.node.newAddress();
  const txid = String(await coin.node.rpc.call('sendtoaddress', [address, 1.25]));
  await settle(async () => (await utxosOf(address)).length === 1);
  const pending = (await utxosOf(address))[0]!;
  assert.deepEqual(
    [pending.txid, pending.height, pending.confirmations, pending.value, pending.amount],
    [txid, null, 0, '125000000', '1.25000000']
  );
  const unconfirmed = await get(`/info/${address}`);
  assert.deepEqual(unconfirmed.body.balances, { confirmed: '0', pending: '125000000', received: '0' });
  assert.deepEqual((await get(`/firstseen/${address}`)).body, null);

  await coin.node.mine(3);
  const height = (await coin.node.height()) - 2;
  await settle(async () => (await utxosOf(address))[0]?.height === height);
  const confirmed = (await utxosOf(address))[0]!;
  assert.deepEqual([confirmed.txid, confirmed.confirmations], [txid, 3]);
  const { unspents } = (await coin.node.rpc.call('scantxoutset', ['start', [`addr(${address})`]])) as {
    unspents: [{ scriptPubKey: string; vout: number; amount: string }];
  };
  assert.deepEqual(
    [confirmed.scriptPubKey, confirmed.vout, confirmed.value],
    [unspents[0].scriptPubKey, Number(unspents[0].vout), String(toBaseUnits(String(unspents[0].amount)))]
  );
  assert.deepEqual((await get(`/balance/${address}`)).body, 125_000_000);
  assert.deepEqual((await get(`/firstseen/${address}`)).body, { height });
  assert.deepEqual(
    (await get(`/utxos/script:${confirmed.scriptPubKey}`)).body.utxos.map((each: Told) => each.txid),
    [txid]
  );

  // What the mempool spends is hidden, and counted as taken.
  const inputs = [{ txid, vout: confirmed.vout }];
  const raw = await coin.node.rpc.call('createrawtransaction', [inputs, [{ [await coin.node.newAddress()]: 1.2 }]]);
  const { hex } = (await coin.node.rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string };
  await coin.node.rpc.call('sendrawtransaction', [hex, 0]);
  await settle(async () => (await utxosOf(address)).length === 0);
  assert.deepEqual((await rpc('get_info', { address })).result.balances, {
    confirmed: '125000000',
    pending: '-125000000',
    received: '125000000'
  });
  await coin.node.mine(1);
  await settle(async () => ((await rpc('get_balance', { address })).result as unknown) === 0);
});

test('a coin that the mempool spends stays hidden when a block has it, and not yet its spender', async () => {
  const address = await coin.node.newAddress();
  const txid = String(await coin.node.rpc.call('sendtoaddress', [address, 1]));
  await settle(async () => (await utxosOf(address)).length === 1);
  const inputs = [{ txid, vout: (await utxosOf(address))[0]!.vout }];
  const raw = await coin.node.rpc.call('createrawtransaction', [inputs, [{ [await coin.node.newAddress()]: 0.9 }]]);
  const { hex } = (await coin.node.rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string };
  await coin.node.rpc.call('sendrawtransaction', [hex, 0]);
  await settle(async () => (await utxosOf(address)).length === 0);

  await coin.node.rpc.call('generateblock', [await coin.node.newAddress(), [txid]]);
  await settle(async () => ((await get(`/firstseen/${address}`)).body as unknown) !== null);
  assert.deepEqual(await utxosOf(address), []);
  const balances = async () => (await rpc('get_info', { address })).result.balances;
  const spent = { confirmed: '100000000', pending: '-100000000', received: '100000000' };
  await settle(async () => JSON.stringify(await balances()) === JSON.stringify(spent));

  await coin.node.invalidate(1);
  await settle(async () => ((await get(`/firstseen/${address}`)).body as unknown) === null);
  const none = { confirmed: '0', pending: '0', received: '0' };
  await settle(async () => JSON.stringify(await balances()) === JSON.stringify(none));
  await coin.node.mine(2);
  await settle(async () => (await utxosOf(address)).length === 0);
});

test('coins come in pages without an end to their number, and young rewards are left out', async () => {
  const address = await coin.node.newAddress();
  await coin.node.mine(7, address);
  await settle(async () => true);
  assert.deepEqual(await utxosOf(address), [], 'rewards are not to be spent for a hundred blocks');
  await coin.node.mine(95);
  await settle(async () => true);
  const matured = await utxosOf(address);
  assert.equal(matured.length, 3, 'a reward may be spent in the block after the hundredth');
  const paged: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await get(`/utxos/${address}?limit=1${after ? `&after=${after}` : ''}`);
    assert.equal(page.status, 200, JSON.stringify(page.body));
    const { utxos, nextCursor } = page.body;
    paged.push(...utxos.map((each: Told) => `${each.txid}:${each.vout}`));
    if (nextCursor === undefined) break;
    after = nextCursor;
  }
  assert.deepEqual(
    paged,
    matured.map(({ txid, vout }) => `${txid}:${vout}`)
  );
});

test('CF-16: an encoder gets the same coins from it as from the node, and says which tracker it cannot ask', async () => {
  const address = await coin.node.newAddress();
  const script = addressScript(address, chainNetwork('litecoin', 'regtest'));
  for (const amount of [0.5, 2, 1.25]) await coin.node.rpc.call('sendtoaddress', [address, amount]);
  await coin.node.mine(1);
  await settle(async () => true);
  const rules = { coinbaseMaturity: 100 };
  const own = await new NodeCoins(coin.node.rpc, rules).confirmed(script);
  const tracked = new NodeCoins(coin.node.rpc, { ...rules, tracked: (hex) => readTrackedCoins(url, hex) });
  assert.equal(own.length, 3);
  assert.deepEqual(await tracked.confirmed(script), own);
  assert.equal((await tracked.spendable(own)).length, 3);
  await assert.rejects(readTrackedCoins('http://127.0.0.1:1', '51'), (fault) => hasCode(fault, 'TRACKER_UNAVAILABLE'));
});

test('bad questions are refused by name: other networks, no script, no cursor, a page that is too long', async () => {
  const foreign = 'bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4';
  for (const [params, says] of [
    [{ address: foreign }, /is an address of bitcoin mainnet; this service serves litecoin regtest/],
    [{ address: 'nobody' }, /is not an address of litecoin regtest/],
    [{ address: 'script:xyz' }, /the hex of an output script/],
    [{ address: 'script:51', after: 'zz' }, /nextCursor of the page before/],
    [{ address: 'script:51', limit: 10_001 }, /limit/],
    [{}, /address/]
  ] as const) {
    const { error } = await rpc('get_utxos', params);
    assert.equal(error?.code, -32602);
    assert.match(JSON.stringify(error), says);
  }
  for (const path of [`/utxos/${foreign}`, '/utxos/script:51?limit=10001', '/utxos/script:51?limit=0', '/info/x'])
    assert.equal((await get(path)).status, 400, path);
  assert.deepEqual((await get('/status')).body.status, 'healthy');
});
