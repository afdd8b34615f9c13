import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { toBaseUnits } from '../../../src/coin/amount.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressScript } from '../../../src/coin/script/address-script.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { NodeCoins } from '../../../src/encoder/coins/coins.ts';
import { readTrackedCoins } from '../../../src/encoder/tracker/tracker-coins.ts';
import { readTrackerHealth } from '../../../src/encoder/tracker/tracker-health.ts';
import { hasCode } from '../../../src/errors.ts';
import { writeTransaction } from '../../support/coin/raw-writer.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
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

/** Fields that its answers may have. */
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
  startServiceProcess('utxo', {
    ...nodeEnv(coin.node),
    ...databaseEnv('UTXO', database),
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
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(50)) {
    const ready = await rpc('is_quiescent').catch(() => null);
    const height =
      (ready?.result as unknown as { ready?: boolean } | undefined)?.ready === true &&
      (await rpc('get_sync_status')).result.committed_height;
    if (height === (await coin.node.height()) && (await isSettled())) return;
    assert.ok(Date.now() < deadline, JSON.stringify(await rpc('get_sync_status').catch(String)));
  }
}
const utxosOf = async (address: string) => (await rpc('get_utxos', { address })).result.utxos;

test('coins, balance and first block of an address are those of the node, and the mempool lies over them', async () => {
  const address = await coin.node.newAddress();
  const txid = String(await coin.node.rpc.call('sendtoaddress', [address, 1.25]));
  await settle(async () => (await utxosOf(address)).length === 1);
  const pending = (await utxosOf(address))[0]!;
  assert.deepEqual(
    [pending.txid, pending.height, pending.confirmations, pending.value, pending.amount],
    [txid, null, 0, '125000000', '1.25000000']
  );
  const unconfirmed = await get(`/info/${address}`);
  assert.deepEqual(unconfirmed.body.balances, {
    confirmed: '0.00000000',
    pending: '1.25000000',
    received: '0.00000000'
  });
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
  assert.deepEqual((await get(`/balance/${address}`)).body, 1.25);
  assert.deepEqual((await get(`/firstseen/${address}`)).body, { height });
  assert.deepEqual(
    (await get(`/utxos/script:${confirmed.scriptPubKey}?limit=5`)).body.utxos.map((each: Told) => each.txid),
    [txid]
  );
  const list = (await get(`/utxos/${address}`)).body as unknown as Told[];
  assert.deepEqual(
    list.map((each) => each.txid),
    [txid]
  );
  const { result } = await rpc('get_utxos', { address, limit: null, after: null });
  assert.deepEqual(result.utxos, list);
  const { headers } = await fetch(`${url}/utxos/${address}`);
  assert.equal(headers.get('x-block-hash'), Object(result).sync.committed_hash);
  assert.deepEqual((await rpc('get_utxos', { address, limit: '1' })).result.utxos, list);
  type Clients = Readonly<Record<'balance' | 'type', string>> & { first_seen: object; sync: Record<string, unknown> };
  const clientsBy = async (method: string) => (await rpc(method, { address })).result as unknown as Clients;
  const balance = await clientsBy('get_balance');
  assert.deepEqual([balance.balance, balance.sync['synced'], balance.sync['lag']], ['1.25000000', true, 0]);
  assert.deepEqual((await clientsBy('get_first_seen_status')).first_seen, { height });
  const info = await clientsBy('get_info');
  assert.deepEqual([info.type, info.sync['mempool_ready']], ['p2wpkh', true]);

  // What the mempool spends is hidden, and counted as taken.
  const inputs = [{ txid, vout: confirmed.vout }];
  const raw = await coin.node.rpc.call('createrawtransaction', [inputs, [{ [await coin.node.newAddress()]: 1.2 }]]);
  const { hex } = (await coin.node.rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string };
  await coin.node.rpc.call('sendrawtransaction', [hex, 0]);
  await settle(async () => (await utxosOf(address)).length === 0);
  assert.deepEqual((await rpc('get_info', { address })).result.balances, {
    confirmed: '1.25000000',
    pending: '-1.25000000',
    received: '1.25000000'
  });
  await coin.node.mine(1);
  await settle(
    async () =>
      ((await rpc('get_balance', { address })).result as unknown as { balance: string }).balance === '0.00000000'
  );
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
  const spent = { confirmed: '1.00000000', pending: '-1.00000000', received: '1.00000000' };
  await settle(async () => JSON.stringify(await balances()) === JSON.stringify(spent));

  await coin.node.invalidate(1);
  await coin.node.mineEmpty();
  await settle(async () => ((await get(`/firstseen/${address}`)).body as unknown) === null);
  const none = { confirmed: '0.00000000', pending: '0.00000000', received: '0.00000000' };
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

test('a page that was read ahead is read again when the mempool or a block has changed since', async () => {
  const address = await coin.node.newAddress();
  for (const amount of [1, 2, 3, 4]) await coin.node.rpc.call('sendtoaddress', [address, amount]);
  await coin.node.mine(1);
  await settle(async () => (await utxosOf(address)).length === 4);
  const pageAfter = async (after: string | undefined) => (await rpc('get_utxos', { address, limit: 1, after })).result;
  const first = await pageAfter(undefined);
  const second = await pageAfter(first.nextCursor);
  const [, , third, fourth] = await utxosOf(address);
  await coin.node.mine(1);
  await settle(async () => true);
  const later = await pageAfter(second.nextCursor);
  assert.deepEqual([later.utxos[0]?.txid, later.utxos[0]?.confirmations], [third!.txid, 2]);

  const inputs = [{ txid: fourth!.txid, vout: fourth!.vout }];
  const raw = await coin.node.rpc.call('createrawtransaction', [inputs, [{ [await coin.node.newAddress()]: 0.9 }]]);
  const { hex } = (await coin.node.rpc.call('signrawtransactionwithwallet', [raw])) as { hex: string };
  await coin.node.rpc.call('sendrawtransaction', [hex, 0]);
  await settle(async () => (await utxosOf(address)).length === 3);
  assert.deepEqual((await pageAfter(later.nextCursor)).utxos, []);
});

/** Scripts that no address stands for, by what they are called. The last one is not relayed: its miner alone has it. */
const KEY = '79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798';
const WHOLE_KEY = `04${KEY}483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8`;
const BARE_SCRIPTS = {
  'pay to public key': `2102${KEY}ac`,
  'pay to uncompressed public key': `41${WHOLE_KEY}ac`,
  'bare multisig': `512102${KEY}2103${KEY}52ae`,
  'anyone can spend': '51'
};

test('coins of public keys, bare multisig and odd scripts are told by script: and hex, as the node finds them', async () => {
  const [relayed, odd] = [Object.values(BARE_SCRIPTS).slice(0, 3), ['51', '51']];
  /** Pays to these scripts from a coin of the wallet's. @returns the transaction, signed */
  const payTo = async (scripts: readonly string[]): Promise<string> => {
    type Coin = { readonly txid: string; readonly vout: number; readonly amount: string };
    const coins = (await coin.node.rpc.call('listunspent', [1])) as Coin[];
    const { txid, vout, amount } = coins.find((each) => toBaseUnits(String(each.amount)) > 1_000_000n)!;
    await coin.node.rpc.call('lockunspent', [false, [{ txid, vout }]]);
    const each = (toBaseUnits(String(amount)) - 100_000n) / BigInt(scripts.length);
    const outputs = scripts.map((hex) => ({ amount: each, script: Buffer.from(hex, 'hex') }));
    const inputs = [{ txid, vout: Number(vout), script: Buffer.alloc(0) }];
    const { bytes } = writeTransaction({ inputs, outputs, witnesses: [] });
    const signed = await coin.node.rpc.call('signrawtransactionwithwallet', [bytes.toString('hex')]);
    return (signed as { hex: string }).hex;
  };
  const historyOf = async (script: string) =>
    (await utxosOf(`script:${script}`)).map((each) => ({ ...each, confirmations: 0 }));
  const txid = await coin.node.rpc.call('sendrawtransaction', [await payTo(relayed), 0]);
  await settle(async () => (await historyOf(relayed[0]!)).length === 1);
  for (const script of relayed)
    assert.deepEqual(
      (await historyOf(script)).map((each) => [each.txid, each.height, each.scriptPubKey]),
      [[txid, null, script]]
    );

  await coin.node.rpc.call('generateblock', [await coin.node.newAddress(), [txid, await payTo(odd)]]);
  await settle(async () => true);
  for (const [name, script] of Object.entries(BARE_SCRIPTS)) {
    type Found = { readonly unspents: readonly (Omit<Told, 'height'> & { readonly height: number })[] };
    const { unspents } = (await coin.node.rpc.call('scantxoutset', ['start', [`raw(${script})`]])) as Found;
    assert.equal(unspents.length, script === '51' ? 2 : 1, name);
    const found = unspents.map(({ vout, height, amount, ...each }) => ({
      txid: each.txid,
      fullTxid: each.txid,
      vout: Number(vout),
      value: String(toBaseUnits(String(amount))),
      height: Number(height),
      coinbase: false,
      confirmations: 0,
      amount: String(amount),
      scriptPubKey: each.scriptPubKey
    }));
    const inOrder = (coins: readonly Told[]) => [...coins].sort((a, b) => a.vout - b.vout);
    assert.deepEqual(inOrder(await historyOf(script)), inOrder(found), name);
    const { body } = await get(`/utxos/script:${script.toUpperCase()}`);
    assert.deepEqual(body, await utxosOf(`script:${script}`), 'the hex may have capital letters');
    const worth = found.reduce((sum, { value }) => sum + BigInt(value), 0n);
    assert.deepEqual((await get(`/balance/script:${script}`)).body, Number(worth) / 1e8);
    assert.deepEqual((await get(`/firstseen/script:${script}`)).body, { height: await coin.node.height() });
  }
});

test('an encoder gets the same coins from it as from the node, and says which tracker it cannot ask', async () => {
  const address = await coin.node.newAddress();
  const script = addressScript(address, chainNetwork('litecoin', 'regtest'));
  for (const amount of [0.5, 2, 1.25]) await coin.node.rpc.call('sendtoaddress', [address, amount]);
  await coin.node.mine(1);
  await settle(async () => true);
  const rules = { coinbaseMaturity: 100 };
  const hashAt = async (height: number) => String(await coin.node.rpc.call('getblockhash', [height]));
  const tracker = {
    coins: (hex: string, height: number) => readTrackedCoins({ url }, hex, { height, hashAt }),
    health: () => readTrackerHealth({ url }, undefined)
  };
  const own = await new NodeCoins(coin.node.rpc, rules).ofScript(script);
  const tracked = new NodeCoins(coin.node.rpc, { ...rules, tracker });
  assert.equal(own.length, 3);
  assert.deepEqual(await tracked.ofScript(script), own);
  assert.equal((await tracked.spendable(own)).length, 3);
  await assert.rejects(readTrackedCoins({ url: 'http://127.0.0.1:1' }, '51', { height: 0, hashAt }), (fault) =>
    hasCode(fault, 'TRACKER_UNAVAILABLE')
  );
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
