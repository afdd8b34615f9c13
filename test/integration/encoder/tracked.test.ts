import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeBase } from '../../../src/coin/raw/transaction-form.ts';
import { scriptOf } from '../../../src/coin/script/address.ts';
import { connect } from '../../../src/db/connection.ts';
import { freePort } from '../../../src/devnet/processes/free-port.ts';
import { DEVNET } from '../../../src/devnet/settings.ts';
import { callMethod } from '../../../src/service/rpc/call-method.ts';
import type { DatabaseCoordinates } from '../../../src/wire/data/database.ts';
import { startTestLitecoind, type TestLitecoind } from '../../support/litecoin.ts';
import { createDatabase } from '../../support/mariadb.ts';
import { PATIENCE_MS } from '../../support/patience.ts';
import { databaseEnv, nodeEnv, type StartedProcess, startServiceProcess } from '../../support/service-process.ts';

let coin: TestLitecoind;
let database: DatabaseCoordinates;
let tracker: StartedProcess;
let url: string;

before(async () => {
  coin = await startTestLitecoind();
  await coin.node.fund(2);
  database = await createDatabase('encoder_tracker');
  const ports = { tracker: String(await freePort()), encoder: String(await freePort()) };
  url = `http://127.0.0.1:${ports.encoder}`;
  tracker = startServiceProcess('utxo', {
    ...nodeEnv(coin.node),
    ...databaseEnv('UTXO', database),
    UTXO_TRACKER_API_HOST: '127.0.0.1',
    UTXO_TRACKER_API_PORT: ports.tracker,
    UTXO_TRACKER_POLL_INTERVAL: '20',
    UTXO_TRACKER_MEMPOOL_INTERVAL: '100'
  });
  startServiceProcess('encoder', {
    ...nodeEnv(coin.node),
    ENCODER_API_HOST: '127.0.0.1',
    ENCODER_API_PORT: ports.encoder,
    ENCODER_RATE_LIMIT_RPM: '100000',
    UTXO_TRACKER_URL: 'http://127.0.0.1',
    UTXO_TRACKER_API_PORT: ports.tracker
  });
});

interface Coin {
  readonly txid: string;
  readonly vout: number;
  readonly height: number | null;
  readonly confirmations: number;
}

const call = async <T>(method: string, params: object = {}): Promise<T> =>
  (await callMethod(url, method, params, { signal: AbortSignal.timeout(PATIENCE_MS) })) as T;
const health = async (): Promise<Readonly<Record<string, unknown>>> => {
  const answer = await fetch(`${url}/status`);
  return { http: answer.status, ...((await answer.json()) as object) };
};

/** Asks until the answer is as it shall be. */
async function until<T>(what: string, ask: () => Promise<T>, isTrue: (answer: T) => boolean): Promise<T> {
  for (const deadline = Date.now() + PATIENCE_MS; ; await sleep(50)) {
    const answer = await ask().catch((caught: unknown) => caught as T);
    if (!(answer instanceof Error) && isTrue(answer)) return answer;
    assert.ok(Date.now() < deadline, `${what}: ${JSON.stringify(answer)} ${String(answer)}`);
  }
}
const refusal = (params: object) => call('create_tx', params).then(() => '', String);

test('coins of the mempool are spent too, after those that blocks hold', async () => {
  await until('all serves', health, (reply) => reply['http'] === 200 && reply['tracker_mempool_ready'] === true);
  const { node_age_s, ...all } = await health();
  assert.ok(Number(node_age_s) <= 5);
  assert.deepEqual(all, {
    http: 200,
    status: 'healthy',
    node_reachable: true,
    node_height: await coin.node.height(),
    coin_source: 'tracker',
    reserved_coins: 0,
    tracker_mempool_ready: true,
    tracker_reachable: true,
    tracker_synced: true,
    tracker_lag: 0,
    tracker_halted: false
  });
  const address = await coin.node.newAddress();
  const coinsOf = () => call<Coin[]>('get_utxos', { address });
  await coin.node.rpc.call('sendtoaddress', [address, 0.5]);
  await coin.node.mine(1);
  const young = String(await coin.node.rpc.call('sendtoaddress', [address, 2]));
  const coins = await until('two coins', coinsOf, ({ length }) => length === 2);
  const height = await coin.node.height();
  assert.deepEqual(
    coins.map((each) => [each.height, each.confirmations]),
    [
      [height, 1],
      [null, 0]
    ]
  );
  const request = { pubkey: address, data: 'SEND|0|TOK|5|someone' };
  const first = await call<{ inputs: Coin[] }>('create_tx', request);
  assert.notEqual(first.inputs[0]?.txid, young);
  assert.match(await refusal({ ...request, unconfirmed: false }), /no coin that can be spent now.*1 of its coins/);
  const second = await call<{ inputs: Coin[] }>('create_tx', request);
  assert.equal(second.inputs[0]?.txid, young);
});

test('dust that a block has hides no large coin that waits', async () => {
  const { node } = coin;
  const pubkey = await node.newAddress();
  const script = scriptOf(pubkey, DEVNET.addresses)!;
  const outputs = Array.from({ length: 501 }, () => ({ amount: 3_000n, script }));
  const raw = writeBase({ inputs: [], outputs }).toString('hex');
  const funded = (await node.rpc.call('fundrawtransaction', [raw, {}, false])) as { hex: string };
  const signed = (await node.rpc.call('signrawtransactionwithwallet', [funded.hex])) as { hex: string };
  await node.rpc.call('sendrawtransaction', [signed.hex]);
  await node.mine(1);
  const txid = String(await node.rpc.call('sendtoaddress', [pubkey, 1]));
  const request = { pubkey, data: 'BROADCAST|0|x', customOutputs: [{ address: pubkey, value: 50_000_000 }] };
  type Created = { readonly inputs: readonly { readonly txid: string }[] };
  const { inputs } = await until(
    'it is found',
    () => call<Created>('create_tx', request),
    (reply) => 'inputs' in reply
  );
  assert.equal(inputs[0]!.txid, txid);
});

test('the change of a transaction is spent as soon as a block has it, though coins were asked for just before', async () => {
  const address = await coin.node.newAddress();
  await coin.node.rpc.call('sendtoaddress', [address, 1]);
  await coin.node.mine(1);
  const request = { pubkey: address, data: 'SEND|0|TOK|5|someone', unconfirmed: false };
  for (let round = 0; round < 3; round++) {
    const { psbt } = await call<{ psbt: string }>('create_tx', request);
    const signed = (await coin.node.rpc.call('walletprocesspsbt', [Buffer.from(psbt, 'hex').toString('base64')])) as {
      psbt: string;
    };
    const { hex } = (await coin.node.rpc.call('finalizepsbt', [signed.psbt])) as { hex: string };
    await call('broadcast_tx', { tx_hex: hex });
    await coin.node.mine(1);
  }
});

test('coins that must wait for a block hide none that can be spent, however many they are', async () => {
  const { node } = coin;
  const [payee, others] = [await node.newAddress(), await node.newAddress()];
  const request = { pubkey: payee, data: 'BROADCAST|0|x', encoding: 'OP_RETURN' };
  const own = String(await node.rpc.call('sendtoaddress', [payee, 0.02]));
  const [script, otherScript] = [payee, others].map((each) => scriptOf(each, DEVNET.addresses)!);
  const outputs = [
    ...Array.from({ length: 24 }, () => ({ amount: 200_000n, script: otherScript! })),
    ...Array.from({ length: 8 }, () => ({ amount: 3_000_000n, script: script! }))
  ];
  const raw = writeBase({ inputs: [], outputs }).toString('hex');
  const { hex } = (await node.rpc.call('fundrawtransaction', [raw, { changePosition: outputs.length }])) as {
    hex: string;
  };
  const { hex: payout } = (await node.rpc.call('signrawtransactionwithwallet', [hex])) as { hex: string };
  const crowded = String(await node.rpc.call('sendrawtransaction', [payout]));
  for (let vout = 0; vout < 24; vout++) {
    const spending = await node.rpc.call('createrawtransaction', [[{ txid: crowded, vout }], [{ [others]: '0.001' }]]);
    const signed = (await node.rpc.call('signrawtransactionwithwallet', [spending])) as { hex: string };
    await node.rpc.call('sendrawtransaction', [signed.hex]);
  }
  await until(
    'all coins that wait',
    () => call<Coin[]>('get_utxos', { address: payee }),
    ({ length }) => length === 9
  );
  const created = await call<{ inputs: Coin[] }>('create_tx', request);
  assert.deepEqual(
    created.inputs.map(({ txid }) => txid),
    [own]
  );
  assert.match(await refusal(request), /no coin that can be spent now.*1 of its coins/);
});

test('TRACKER_BEHIND, TRACKER_UNAVAILABLE: a tracker that is behind its node, and one that is gone; nothing stays reserved', async () => {
  const address = await coin.node.newAddress();
  await coin.node.rpc.call('sendtoaddress', [address, 1]);
  await coin.node.mine(1);
  const request = { pubkey: address, data: 'SEND|0|TOK|5|someone' };
  await until(
    'a coin',
    () => call<Coin[]>('get_utxos', { address }),
    ({ length }) => length === 1
  );

  const holder = await connect(database);
  try {
    await holder.query('LOCK TABLES coins READ, blocks READ'); // the tracker reads, and cannot write
    await coin.node.mine(2);
    await until(
      'it is behind',
      () => refusal(request),
      (text) => text.includes('TRACKER_BEHIND')
    );
    const isTold = (reply: Readonly<Record<string, unknown>>) => reply['tracker_synced'] === false;
    const { http, status, tracker_lag, reserved_coins } = await until('it is told', health, isTold);
    assert.deepEqual([http, status], [503, 'degraded']);
    assert.ok(Number(tracker_lag) > 0, String(tracker_lag));
    assert.match(await refusal(request), /tracker is [12] blocks behind its node.*TRACKER_BEHIND/);
    assert.equal((await health())['reserved_coins'], reserved_coins);
  } finally {
    await holder.end();
  }
  const caughtUp = await until('it has caught up', health, (reply) => reply['http'] === 200);

  tracker.child.kill('SIGKILL');
  await tracker.exited;
  assert.match(await refusal(request), /TRACKER_UNAVAILABLE/);
  const gone = await until('its end is told', health, (reply) => reply['tracker_reachable'] === false);
  assert.equal(gone['reserved_coins'], caughtUp['reserved_coins']);
});
