import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import type { PlatformError } from '../../../src/errors.ts';
import { TrackerQuestions } from '../../../src/tracker/methods.ts';
import { monotonicMs } from '../../../src/wire/state/monotonic.ts';

const COIN = { txid: 'ab'.repeat(32), vout: 1, value: '5', height: 7 };

/** Questions to a thread that answers each with this page. */
function asking(page: object): TrackerQuestions {
  const deps = {
    network: chainNetwork('litecoin', 'regtest'),
    view: () => ({ report: null, crash: null }),
    findCoins: async () => new Uint8Array(Buffer.from(JSON.stringify(page)))
  } as unknown as ConstructorParameters<typeof TrackerQuestions>[0];
  return new TrackerQuestions(deps);
}

test('a bare list that is a part of the coins comes with the cursor of the next page, its block, and whether the mempool is known', async () => {
  const list = JSON.stringify([COIN]);
  const nextCursor = 'cd'.repeat(36);
  const blockHash = 'ef'.repeat(32);
  const sync = { committed_hash: blockHash, mempool_ready: true };
  const page = await asking({ utxos: [COIN], nextCursor, sync }).coinList('script:51');
  assert.deepEqual(page, { list, blockHash, isMempoolReady: true, next: nextCursor });
  const early = { committed_hash: null, mempool_ready: false };
  const whole = await asking({ utxos: [COIN], sync: early }).coinList('script:51');
  assert.deepEqual(whole, { list, blockHash: null, isMempoolReady: false, next: null });
});

test('an address in capitals, and in the other spelling of Litecoin, is asked for by the same script', async () => {
  const network = chainNetwork('litecoin', 'mainnet');
  const asked: string[] = [];
  const questions = new TrackerQuestions({
    network,
    view: () => ({ report: null, crash: null }),
    findCoins: async ({ scriptHex }: { scriptHex: string }) => {
      asked.push(scriptHex);
      return new Uint8Array(Buffer.from('{"utxos":[],"sync":{}}'));
    }
  } as unknown as ConstructorParameters<typeof TrackerQuestions>[0]);
  const segwit = payTo({ kind: 'witnessKeyHash', bytes: Buffer.alloc(20, 7) });
  const shared = payTo({ kind: 'scriptHash', bytes: Buffer.alloc(20, 7) });
  const { addresses } = network;
  const spellings = [
    [segwit, addressOf(segwit, addresses)!, addressOf(segwit, addresses)!.toUpperCase()],
    [shared, addressOf(shared, addresses)!, addressOf(shared, { ...addresses, p2sh: addresses.p2shAccepted[1]! })!]
  ] as const;
  for (const [script, usual, other] of spellings) {
    assert.notEqual(usual, other);
    for (const address of [usual, other]) await questions.coins(address);
    assert.deepEqual(asked.splice(0), [script.toString('hex'), script.toString('hex')]);
  }
});

test('a state that is not known to be that of the node is no answer without `sync`: before the first answer of the node, and after a crash', () => {
  const now = monotonicMs();
  const known = { lastProcessedBlock: 7, nodeHeight: 7, nodePolledAt: now, haltReason: null, firstSync: null };
  const refusal = (report: object | null, crash: string | null = null) => {
    const view = () => ({ report, crash });
    const deps = { network: chainNetwork('litecoin', 'regtest'), view };
    try {
      new TrackerQuestions(deps as unknown as ConstructorParameters<typeof TrackerQuestions>[0]).refuseUnfit();
      return null;
    } catch (caught) {
      return (caught as PlatformError).code;
    }
  };
  assert.equal(refusal(known), null);
  assert.equal(refusal({ ...known, nodeHeight: 11 }), 'TRACKER_BEHIND');
  assert.equal(refusal(null), 'TRACKER_NOT_READY', 'nothing is known yet');
  assert.equal(
    refusal({ ...known, nodeHeight: null, nodePolledAt: null }),
    'TRACKER_NOT_READY',
    'the node is not heard yet'
  );
  assert.equal(refusal({ ...known, nodePolledAt: now - 60_000 }), 'TRACKER_NOT_READY', 'its tip is old');
  assert.equal(refusal({ ...known, isDatabaseReachable: false }), 'TRACKER_NOT_READY', 'it may lack blocks by now');
  assert.equal(refusal(known, 'the loop ended'), 'TRACKER_NOT_READY');
});
