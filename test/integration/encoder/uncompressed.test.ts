import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { decodeBlock } from '../../../lab/loop/decode.ts';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { writeBase } from '../../../src/coin/raw/transaction-form.ts';
import type { PrivateLitecoind } from '../../../src/devnet/processes/litecoin.ts';
import { revealSpent } from '../../../src/encoder/coins/spent.ts';
import { composeReveal, type Order, orderLocks } from '../../../src/encoder/transaction/compose.ts';
import { writePsbt } from '../../../src/encoder/transaction/psbt.ts';
import { readSender } from '../../../src/encoder/transaction/sender.ts';
import { LOOP_NETWORK, LOOP_PROFILE, startTestEncoder, type TestEncoder } from '../../support/encoder/service.ts';
import { longKeyAddress, signWithLongKey } from '../../support/encoder/uncompressed.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';

const KEY = hash('sha256', 'a key of 65 bytes', 'buffer');
const DATA = `SEND|0|TOK|5|somebody|${'x'.repeat(500)}`;
const HELD = 500_000n;
const { address } = longKeyAddress(KEY);
let node: PrivateLitecoind;
let encoder: TestEncoder;

before(async () => {
  ({ node } = await startTestLitecoind());
  await node.mine(110);
  encoder = await startTestEncoder(node);
});
after(() => encoder.close());

interface Created {
  readonly psbt: string;
  readonly encoding: string;
}

const call = async <T>(method: string, ...params: unknown[]) => (await node.rpc.call(method, params)) as T;

/** Pays the scripts that hold the action, and reveals them with the key. @returns the node's verdict */
async function reveal(encoding: 'P2SH' | 'P2WSH') {
  const sender = readSender(address, undefined, LOOP_NETWORK);
  const order: Order & { encoding: 'P2SH' | 'P2WSH' } = {
    encoding,
    frame: writeFrame(DATA),
    magic: LOOP_PROFILE.payloadMagic,
    sender,
    outputs: [],
    feeOutputs: [],
    changeScript: sender.script,
    fee: () => 50_000n,
    limitFee: () => undefined,
    sequence: 0xffffffff,
    dust: { ...LOOP_NETWORK, floor: 0 }
  };
  const locks = orderLocks(order);
  const outputs = locks.map(({ script }) => ({ amount: HELD, script }));
  const raw = writeBase({ inputs: [], outputs }).toString('hex');
  const { hex } = await call<{ hex: string }>('fundrawtransaction', raw, { changePosition: locks.length }, false);
  const funding = Buffer.from((await call<{ hex: string }>('signrawtransactionwithwallet', hex)).hex, 'hex');
  await call('sendrawtransaction', funding.toString('hex'));
  const locked = locks.map((lock, vout) => ({ vout, amount: HELD, lock }));
  const composed = composeReveal(order, { txid: readRawTransaction(funding).txid, locked });
  const psbt = writePsbt(composed.form, revealSpent(composed.funding, funding)).toString('hex');
  const [verdict] = await call<[{ allowed: boolean; 'reject-reason'?: string }]>('testmempoolaccept', [
    signWithLongKey(psbt, KEY)
  ]);
  return verdict;
}

test('a node refuses the reveal of a P2WSH by an uncompressed key, and takes that of a P2SH', async () => {
  assert.match(String((await reveal('P2WSH'))['reject-reason']), /non-mandatory-script-verify-flag.*compressed/);
  assert.deepEqual([(await reveal('P2SH')).allowed], [true]);
});

test('the address of an uncompressed key says by AUTO what needs two steps, pays others, and locks no coin', async () => {
  for (let coin = 0; coin < 4; coin++) await call('sendtoaddress', address, 0.3);
  await node.mine(1);
  const payee = await node.newAddress();
  const request = {
    pubkey: address,
    data: DATA,
    encoding: 'AUTO',
    customOutputs: [{ address: payee, value: 100_000 }]
  };
  const send = async ({ psbt }: Created) =>
    (await encoder.call<{ txid: string }>('broadcast_tx', { tx_hex: signWithLongKey(psbt, KEY) })).txid;
  const { error } = await encoder.ask('create_tx', { ...request, encoding: 'P2WSH' });
  assert.match(error!.message, /may be an uncompressed one/);
  const first = await encoder.call<Created>('create_tx', request);
  assert.equal(first.encoding, 'P2SH');
  const p2shHash = await send(first);
  const txid = await send(await encoder.call<Created>('create_tx', { ...request, p2shHash }));
  const row = (await decodeBlock(node, (await node.mine(1))[0]!)).get(txid);
  assert.deepEqual([row?.source, row?.data], [address, DATA]);
  assert.equal(Number(await call('getreceivedbyaddress', payee)), 0.001);
});
