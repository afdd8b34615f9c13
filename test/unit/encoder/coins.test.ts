import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ChainNetwork, chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import type { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { writeBase } from '../../../src/coin/raw/transaction-form.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import { NodeCoins } from '../../../src/encoder/coins/coins.ts';
import { type EncoderMethodDeps, encoderMethods } from '../../../src/encoder/methods.ts';
import { PlatformError } from '../../../src/errors.ts';
import type { Cost } from '../../../src/service/ingress/work-budget.ts';
import type { RpcCaller } from '../../../src/service/rpc/method.ts';

const OWN = payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, 7) });
const OWN_COINS = payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, 99) });
const LARGE_BYTES = 100_000;

/** A parent of a coin, padded to a size. */
function parent(nonce: number): Buffer {
  const input = { txid: nonce.toString(16).padStart(64, '0'), vout: 0, sequence: 0xffffffff };
  const outputs = [
    { amount: 1_000n, script: OWN },
    { amount: 0n, script: Buffer.alloc(LARGE_BYTES - 100, 0x6a) }
  ];
  return writeBase({ inputs: [{ ...input, unlock: { script: Buffer.alloc(0), witness: [] } }], outputs });
}
const parents = new Map(
  Array.from({ length: 500 }, (_, at) => parent(at + 1)).map((bytes) => [readRawTransaction(bytes).txid, bytes])
);
const coins = [...parents.keys()].map((txid) => ({ txid, vout: 0, amount: 1_000n, transaction: null }));

/** A node that hands out these parents, and counts them. */
function open() {
  const asked: string[] = [];
  const batch: NodeRpc['batch'] = async (_method, calls) =>
    calls.map(([txid]) => {
      asked.push(txid as string);
      return parents.get(txid as string)!.toString('hex');
    });
  const costs: Cost[] = [];
  const node = new NodeCoins({ batch } as NodeRpc, { coinbaseMaturity: 100 });
  return {
    asked,
    costs,
    node: node.askedBy({ address: 'a', charge: (cost) => costs.push(cost), aside: (wait) => wait() })
  };
}

test('no more large parents are read than signers can be told, and their bytes are charged', async () => {
  const { asked, costs, node } = open();
  const found = await node.sourcedWithin(coins, OWN, 10 * LARGE_BYTES);
  assert.equal(found.filter(({ transaction }) => transaction).length, 11, 'up to the one that goes beyond');
  assert.ok(asked.length < 20, `${asked.length} were read`);
  const charged = costs.reduce((sum, { bytes = 0 }) => sum + bytes, 0);
  assert.ok(charged >= asked.length * (LARGE_BYTES - 200), `${charged} bytes`);
});

test('COIN_UNUSABLE: named coins whose parents are longer than 32 MiB are refused before all of them are read', async () => {
  const { asked, node } = open();
  await assert.rejects(node.sourced(coins, OWN), { code: 'COIN_UNUSABLE', message: /spend fewer coins at once/ });
  assert.ok(asked.length < 360, `${asked.length} were read`);
  assert.equal((await node.sourced(coins.slice(0, 300), OWN)).length, 300);
});

test('coins that a crowd asked for before are read at the place of whoever else asks for them', async () => {
  const call = async (method: string) => (method === 'getblockcount' ? '100' : null);
  const readings = new Map<string, () => void>();
  const tracker = {
    coins: async (scriptHex: string) => {
      await new Promise<void>((resolve) => readings.set(scriptHex, resolve));
      return { coins: [], lacksMempool: false };
    }
  };
  const node = new NodeCoins({ call } as unknown as NodeRpc, { coinbaseMaturity: 100, tracker });
  const of = (byte: number) => payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, byte) });
  const ask = (address: string, script: Buffer) =>
    node.askedBy({ address, charge: () => undefined, aside: (wait) => wait() }).ofScript(script);
  const crowd = Array.from({ length: 20 }, (_, at) => ask('198.51.100.1', of(at + 1)));
  await new Promise(setImmediate);
  const asked = [ask('198.51.100.1', OWN_COINS), ask('203.0.113.9', OWN_COINS)];
  for (const until = performance.now() + 2_000; !readings.has(OWN_COINS.toString('hex')); await sleep(5))
    assert.ok(performance.now() < until, 'it waits behind the crowd');
  readings.get(OWN_COINS.toString('hex'))!();
  assert.deepEqual(await Promise.all(asked), [[], []]);
  while (readings.size > 0)
    for (const [script, end] of [...readings]) {
      readings.delete(script);
      end();
      await new Promise(setImmediate);
    }
  await Promise.all(crowd);
});

test('TRACKER_UNAVAILABLE: an amount that the node tells otherwise; the rest would be a fee that nobody was told', async () => {
  const [coin] = coins;
  const batch: NodeRpc['batch'] = async () => [{ confirmations: 5, coinbase: false, value: 0.00001 }];
  const tracker = { coins: async () => [] } as unknown as NonNullable<
    ConstructorParameters<typeof NodeCoins>[1]['tracker']
  >;
  const rules = { coinbaseMaturity: 100 };
  const tracked = new NodeCoins({ batch } as NodeRpc, { ...rules, tracker });
  assert.equal((await tracked.spendable([coin!])).length, 1);
  await assert.rejects(tracked.spendable([{ ...coin!, amount: 10n }]), {
    code: 'TRACKER_UNAVAILABLE',
    message: /another amount of 0*[0-9a-f]+:0 than the node: 0\.00000010 in place of 0\.00001 coins/
  });
  await assert.rejects(new NodeCoins({ batch } as NodeRpc, rules).spendable([{ ...coin!, amount: 10n }]), {
    code: 'NODE_REFUSED'
  });
});

test('a payout of an extension block that is too young is told by the node, also where a tracker lists the coins', async () => {
  const input = { txid: 'ab'.repeat(32), vout: 0, sequence: 0xffffffff };
  const stays = { amount: 1n, script: Buffer.from([0x58, 0x20, ...Buffer.alloc(32)]) };
  const pays = [stays, { amount: 2n, script: OWN }];
  const plain = writeBase({ inputs: [{ ...input, unlock: { script: Buffer.alloc(0), witness: [] } }], outputs: pays });
  // The HogEx: a flag of 8 behind the version, no witness.
  const hogEx = Buffer.concat([
    plain.subarray(0, 4),
    Buffer.from([0, 8]),
    plain.subarray(4, -4),
    Buffer.from([0]),
    plain.subarray(-4)
  ]);
  const { txid, isPayout } = readRawTransaction(hogEx);
  assert.ok(isPayout);
  const output = { confirmations: 2, coinbase: false, value: 0.00000002 };
  const batch: NodeRpc['batch'] = async (method) => [method === 'gettxout' ? output : hogEx.toString('hex')];
  const tracker = { coins: async () => ({ coins: [], lacksMempool: false }) };
  const rules = { coinbaseMaturity: 100, hasExtensionBlocks: true, tracker };
  assert.deepEqual(await new NodeCoins({ batch } as NodeRpc, rules).spendable([{ txid, vout: 1 }]), []);
});

test('NODE_BEHIND: while a node loads its mempool, coins that its transactions spend would look free', async () => {
  const [coin] = coins;
  const free = { confirmations: 5, coinbase: false, value: 0.00001 };
  let info: unknown = { loaded: false, size: 36 };
  const batch: NodeRpc['batch'] = async (method) => [method === 'getmempoolinfo' ? info : free];
  const node = new NodeCoins({ batch } as NodeRpc, { coinbaseMaturity: 100 });
  await assert.rejects(node.spendable([coin!]), { code: 'NODE_BEHIND', message: /loads its mempool: 36 transactions/ });
  for (info of [{ loaded: true }, {}, null]) assert.equal((await node.spendable([coin!])).length, 1);
  const chain = new NodeChain({ batch } as NodeRpc);
  info = { loaded: false, size: 36 };
  await assert.rejects(chain.mempool(), { code: 'NODE_BEHIND' });
});

test('NODE_BEHIND: a node whose headers are far ahead lacks blocks, also where it says that its download is over', async () => {
  const network = chainNetwork('litecoin', 'mainnet');
  const known = { chain: 'main', blocks: 1_000, bestblockhash: 'ab'.repeat(32), verificationprogress: 0.91 };
  let headers = known.blocks + network.undoDepth;
  const call = async (method: string) =>
    method === 'getblockhash' ? network.genesisHash : { ...known, headers, initialblockdownload: false };
  const chain = new NodeChain({ call: call as NodeRpc['call'] } as NodeRpc);
  const needs = { hasIndex: false, blocksFrom: null, isWhole: true };
  assert.equal((await chain.verify(network, needs)).height, 1_000, 'a few are no download');
  headers++;
  const reason = 'the node is still downloading its chain: block 1000 of 1127, 91.0% verified';
  const message = `${reason} (NODE_BEHIND)`;
  await assert.rejects(chain.verify(network, needs), { code: 'NODE_BEHIND', message });
  assert.equal((await chain.verify(network, { ...needs, isWhole: false })).headers, 1_127);
  // Calls that look for coins are refused with it; one that needs no coins is not.
  const alarm = { code: 'NODE_BEHIND', reason, remedy: '', since: 0 };
  const seen = { node: { tip: null, ageMs: null, alarm, isFit: false }, tracker: () => undefined };
  let connections: number | undefined = 0;
  const rpc = { call: async (method: string) => (method === 'getnetworkinfo' ? { connections } : coins[0]!.txid) };
  const deps = { seen, rpc, network, coins: { askedBy: () => null }, reservations: { ttlMs: 1_000 } };
  const methods = encoderMethods(deps as unknown as EncoderMethodDeps);
  const caller = { address: '127.0.0.1', aside: (work: () => unknown) => work() } as unknown as RpcCaller;
  const ask = async (name: string) =>
    await methods[name]!.run({ address: 'x', tx_hex: parents.get(coins[0]!.txid)!.toString('hex') }, caller);
  for (const name of ['create_tx', 'bump_tx', 'get_utxos'])
    await assert.rejects(ask(name), { code: 'NODE_BEHIND', message });
  // Without peers the node keeps what it is sent: the answer says so.
  for (const [peers, codes] of [
    [0, ['NO_PEERS']],
    [1, undefined],
    [undefined, undefined]
  ] as const) {
    connections = peers;
    const sent = (await ask('broadcast_tx')) as { txid: string; warnings?: { code: string }[] };
    assert.deepEqual([sent.txid, sent.warnings?.map(({ code }) => code)], [coins[0]!.txid, codes]);
  }
});

test('NODE_BEHIND: a node of a public network without peers may have an old tip', async () => {
  const isRefused = async (network: ChainNetwork, expected: object | null) => {
    const info = { chain: network.nodeChain, blocks: 1, bestblockhash: 'ab'.repeat(32), verificationprogress: 1 };
    const call = async (method: string) => {
      if (method === 'getblockhash') return network.genesisHash;
      if (method !== 'getnetworkinfo') return info;
      if (expected) return expected;
      throw new PlatformError('NODE_REFUSED', { reason: 'Method not found' });
    };
    const chain = new NodeChain({ call: call as NodeRpc['call'] } as NodeRpc);
    const seen = chain.verify(network, { hasIndex: false, blocksFrom: null, hasPeers: true });
    return await seen.then(
      () => null,
      (caught: PlatformError) => [caught.code, caught.detail['reason']]
    );
  };
  const network = chainNetwork('litecoin', 'mainnet');
  const refusal = [
    'NODE_BEHIND',
    'the node has no peers: its newest block may be old, and what it is sent reaches nobody'
  ];
  assert.deepEqual(await isRefused(network, { connections: 0 }), refusal);
  assert.deepEqual(await isRefused(network, { connections: 8, networkactive: false }), refusal);
  assert.equal(await isRefused(network, { connections: 1, networkactive: true }), null);
  assert.equal(await isRefused(network, {}), null, 'a node that does not say it');
  assert.equal(await isRefused(network, null), null, 'a node without the call');
  assert.equal(await isRefused(chainNetwork('litecoin', 'regtest'), { connections: 0 }), null);
});

test('a transaction that the node has dropped is not taken for one that it has, though it was read before', async () => {
  const [[txid, bytes]] = [...parents] as [[string, Buffer]];
  let answer: string | null = bytes.toString('hex');
  const node = new NodeCoins({ batch: async () => [answer] } as unknown as NodeRpc, { coinbaseMaturity: 100 });
  assert.ok((await node.transaction(txid))?.equals(bytes) && (await node.isAtNode(txid)));
  answer = null;
  assert.deepEqual([(await node.transaction(txid))?.equals(bytes), await node.isAtNode(txid)], [true, false]);
});

test('TRACKER_NOT_READY: get_utxos waits for a tracker that reads the mempool, then refuses a list that may lack coins', async () => {
  const network = chainNetwork('litecoin', 'regtest');
  const address = addressOf(OWN, network.addresses)!;
  let readings = 0;
  let readyAfter = 2;
  const read = async () => ({
    coins: [7, null].map((height, at) => ({ ...coins[at]!, height })),
    lacksMempool: readings++ < readyAfter
  });
  let confirmations = 1;
  const spendable = async (some: readonly object[]) => some.map((coin) => ({ ...coin, confirmations }));
  const node = { tip: null as object | null, ageMs: null, alarm: null, isFit: true };
  const seen = { node, tracker: () => undefined };
  const deps = { seen, network, coins: { askedBy: () => ({ read, spendable }) }, reservations: { ttlMs: 1_000 } };
  const methods = encoderMethods(deps as unknown as EncoderMethodDeps);
  const caller = { address: '127.0.0.1', aside: (work: () => unknown) => work() } as unknown as RpcCaller;
  const ask = async (more = {}) =>
    ((await methods['get_utxos']!.run({ address, ...more }, caller)) as { height: number | null }[]).map(
      ({ height }) => height
    );
  await assert.rejects(ask(), { code: 'NODE_UNREACHABLE', message: /has not been looked at yet/ });
  assert.equal(readings, 0);
  node.tip = { height: 7 };
  assert.deepEqual(await ask(), [7, null]);
  assert.equal(readings, 3);
  readyAfter = Number.POSITIVE_INFINITY;
  assert.deepEqual(await ask({ unconfirmed: false }), [7], 'coins of blocks are whole');
  confirmations = 0;
  assert.deepEqual(await ask({ unconfirmed: false }), [], 'its block was taken back since the list was read');
  await assert.rejects(ask(), { code: 'TRACKER_NOT_READY', message: /has not read the whole mempool yet/ });
});
