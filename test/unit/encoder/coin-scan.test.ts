import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { NodeChain } from '../../../src/coin/node/node-chain.ts';
import type { NodeRpc } from '../../../src/coin/node/node-rpc.ts';
import { CoinScan } from '../../../src/encoder/coins/coin-scan.ts';
import { PlatformError } from '../../../src/errors.ts';

const SCRIPTS = ['00', '01', '02'].map((end) => `0014${'ab'.repeat(19)}${end}`) as [string, string, string];

/** The calls of a scan to its node, each answered by the test. */
function open(patienceMs?: number, keptMs?: number) {
  const calls: {
    params: readonly unknown[];
    patienceMs: number | undefined;
    limitBytes: number | undefined;
    answer: (result: unknown) => void;
    fail: (reason: unknown) => void;
  }[] = [];
  const call: NodeRpc['call'] = (_method, params = [], _signal, patienceMs, limitBytes) => {
    const { promise, resolve: answer, reject: fail } = Promise.withResolvers<unknown>();
    calls.push({ params, patienceMs, limitBytes, answer, fail });
    return promise;
  };
  return { calls, scan: new CoinScan({ call }, patienceMs, keptMs) };
}
const found = (...scripts: readonly string[]) => ({
  success: true,
  unspents: scripts.flatMap((scriptPubKey, at) =>
    ['0.5', '2'].map((amount, vout) => ({
      txid: 'cd'.repeat(32),
      vout: 2 * at + vout,
      scriptPubKey,
      amount,
      height: '7'
    }))
  )
});
const turn = () => new Promise(setImmediate);

test('one scan at a time; those who wait meanwhile share the next one, each gets its own coins', async () => {
  const { calls, scan } = open();
  const first = [scan.find(SCRIPTS[0], 'a'), scan.find(SCRIPTS[1], 'a')];
  await turn();
  const later = [scan.find(SCRIPTS[1], 'a'), scan.find(SCRIPTS[2], 'a'), scan.find(SCRIPTS[2], 'a')];
  assert.equal(calls.length, 1, 'the first scan is under way');
  assert.equal(calls[0]!.patienceMs, 15 * 60_000, 'all coins of a main network take minutes');
  calls[0]!.answer(found(SCRIPTS[0]));
  await turn();
  assert.deepEqual(calls[1]!.params, ['start', [`raw(${SCRIPTS[1]})`, `raw(${SCRIPTS[2]})`]]);
  calls[1]!.answer(found(SCRIPTS[2]));
  const amounts = (await Promise.all([...first, ...later])).map((coins) => coins.map(({ amount }) => amount));
  const both = [200_000_000n, 50_000_000n];
  assert.deepEqual(amounts, [both, [], [], both, both]);
  assert.equal(calls.length, 2);
});

test('ANSWERS_WAITING: a caller is told how far the scan is; it goes on, and is not asked for again', async () => {
  const { calls, scan } = open(5);
  const looking = scan.find(SCRIPTS[0], 'a');
  const refusal = assert.rejects(scan.inTime(looking), {
    code: 'ANSWERS_WAITING',
    message: /37 % of its coins are read/
  });
  while (calls.length < 2) await turn();
  assert.deepEqual(calls[1]!.params, ['status']);
  calls[1]!.answer({ progress: 37 });
  await refusal;
  calls[0]!.answer(found(SCRIPTS[0]));
  assert.equal((await scan.inTime(looking)).length, 2);
});

test('a node that scans for somebody else is asked again; another refusal is told', async () => {
  const { calls, scan } = open();
  const looking = scan.find(SCRIPTS[0], 'a');
  await turn();
  calls[0]!.fail(new PlatformError('NODE_REFUSED', { reason: 'Scan already in progress', rpcCode: -8 }));
  while (calls.length < 2) await turn();
  calls[1]!.fail(new PlatformError('NODE_REFUSED', { reason: 'no such descriptor', rpcCode: -5 }));
  await assert.rejects(looking, { code: 'NODE_REFUSED', message: /no such descriptor/ });
});

test('ANSWERS_WAITING: no more than 32 scripts wait; the newest of the network that has the most gives way', async () => {
  const { calls, scan } = open();
  const first = scan.find(SCRIPTS[0], 'a');
  await turn();
  const others = Array.from({ length: 32 }, (_, at) =>
    scan.find(`0014${at.toString(16).padStart(40, '0')}`, `2001:db8:7:${at}::/64`)
  );
  assert.throws(() => scan.find(SCRIPTS[1], '2001:db8:7:99::/64'), {
    code: 'ANSWERS_WAITING',
    message: /32 addresses wait/
  });
  const other = scan.find(SCRIPTS[2], 'b');
  await assert.rejects(others.pop()!, { code: 'ANSWERS_WAITING' });
  for (const at of [0, 1]) {
    calls[at]!.answer(found());
    await turn();
  }
  assert.equal((await Promise.all([first, other, ...others])).flat().length, 0);
});

test('ANSWERS_WAITING: a script that nobody asks for again gives its place away, and is not scanned for; one that is asked for stays', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { calls, scan } = open(undefined, 40);
  const first = scan.find(SCRIPTS[0], 'a');
  await turn();
  const scripts = Array.from({ length: 32 }, (_, at) => `0014${at.toString(16).padStart(40, '0')}`);
  const all = scripts.map((script, at) => scan.find(script, `198.51.${at}.1`));
  const [kept, ...left] = all;
  const dropped = Promise.all(
    left.map((each) => assert.rejects(each, { code: 'ANSWERS_WAITING', message: /ask again/ }))
  );
  now += 60;
  void scan.find(scripts[0]!, '198.51.0.1');
  const later = scan.find(SCRIPTS[1], '198.51.99.1');
  await dropped;
  const unasked = scan.find(SCRIPTS[2], '198.51.98.1');
  now += 60;
  for (const script of [scripts[0]!, SCRIPTS[1]]) void scan.find(script, '198.51.99.1');
  const gone = assert.rejects(unasked, { code: 'ANSWERS_WAITING' });
  calls[0]!.answer(found());
  await gone;
  assert.deepEqual(calls[1]!.params, ['start', [`raw(${scripts[0]})`, `raw(${SCRIPTS[1]})`]]);
  calls[1]!.answer(found());
  assert.equal((await Promise.all([first, kept!, later])).flat().length, 0);
});

test('COINS_INSUFFICIENT: an address of too many coins is named alone, and spoils no answer of others that were asked for with it', async () => {
  const { calls, scan } = open();
  const first = scan.find(SCRIPTS[0], 'a');
  await turn();
  const [large, small] = [scan.find(SCRIPTS[1], 'a'), scan.find(SCRIPTS[2], 'a')];
  const refused = assert.rejects(large, { code: 'COINS_INSUFFICIENT', message: /utxos, or .* \(UTXO_TRACKER_URL\)/ });
  calls[0]!.answer(found(SCRIPTS[0]));
  await first;
  const tooLong = (limitBytes: unknown) => new PlatformError('NODE_REFUSED', { reason: 'larger', limitBytes });
  for (const at of [1, 2]) {
    while (calls.length <= at) await turn();
    assert.equal(calls[at]!.limitBytes, 8 * 2 ** 20);
    calls[at]!.fail(tooLong(calls[at]!.limitBytes));
  }
  await refused;
  while (calls.length < 4) await turn();
  calls[3]!.answer(found(SCRIPTS[2]));
  assert.equal((await small).length, 2);
});

test('a script that a crowd asks for too does not give way with the crowd', async () => {
  const { calls, scan } = open();
  const first = scan.find(SCRIPTS[0], 'a');
  await turn();
  const crowd = Array.from({ length: 32 }, (_, at) => `0014${at.toString(16).padStart(40, '0')}`);
  const others = crowd.map((script, at) => scan.find(script, `2001:db8:7:${at}::/64`));
  const honest = scan.find(crowd.at(-1)!, '198.51.100.1');
  const gone = assert.rejects(others.at(-2)!, { code: 'ANSWERS_WAITING' });
  const other = scan.find(SCRIPTS[2], 'b');
  await gone;
  calls[0]!.answer(found());
  await turn();
  calls[1]!.answer(found(crowd.at(-1)!));
  assert.equal((await honest).length, 2);
  await Promise.all([first, other]);
  const [begun, joined] = [scan.find(SCRIPTS[1], 'a'), scan.find(SCRIPTS[1], 'b')];
  while (calls.length < 3) await turn();
  calls[2]!.answer(found(SCRIPTS[1]));
  assert.deepEqual(await joined, await begun);
  assert.equal(calls.length, 3, 'the scan under way serves both');
});

test('NODE_REFUSED: a node without scantxoutset is named in the alarm and in the error, with the remedy', async () => {
  const { calls, scan } = open();
  const refused = new PlatformError('NODE_REFUSED', { reason: 'Method not found', rpcCode: -32601 });
  const expected = { code: 'NODE_REFUSED', message: /has no scantxoutset.*UTXO_TRACKER_URL/ };
  const refusal = assert.rejects(scan.find(SCRIPTS[0], 'a'), expected);
  await turn();
  calls[0]!.fail(refused);
  await refusal;
  const network = chainNetwork('dogecoin', 'mainnet');
  const info = { chain: 'main', blocks: 9, bestblockhash: 'ab'.repeat(32), verificationprogress: 1 };
  let answer: () => unknown = () => assert.fail();
  const call = async (method: string) =>
    method === 'scantxoutset' ? answer() : method === 'getblockhash' ? network.genesisHash : info;
  const chain = new NodeChain({ call: call as NodeRpc['call'] } as NodeRpc);
  const needs = { hasIndex: false, blocksFrom: null };
  assert.equal((await chain.verify(network, needs)).height, 9, 'with a tracker it is not asked');
  answer = () => {
    throw refused;
  };
  await assert.rejects(chain.verify(network, { ...needs, hasCoinScan: true }), expected);
  answer = () => null;
  assert.equal((await chain.verify(network, { ...needs, hasCoinScan: true })).height, 9);
});
