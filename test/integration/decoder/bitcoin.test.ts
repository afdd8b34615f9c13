import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { Transaction } from '@scure/btc-signer/transaction.js';
import { toBaseUnits } from '../../../src/coin/amount.ts';
import { chainNetwork } from '../../../src/coin/chains.ts';
import { chunkScripts, markerScript, multisigScripts, returnScript } from '../../../src/coin/payload/lane-writer.ts';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { readRawBlock } from '../../../src/coin/raw/raw-block.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { hash160, payTo, payToScript } from '../../../src/coin/script/pay-scripts.ts';
import { startTestBcoin, type TestBcoin } from '../../support/coin/bcoin.ts';
import { query, startLoop } from '../../support/decoder/loop.ts';
import { assertEqualRows } from '../../support/decoder/rows.ts';
import { publicKeyOf, signPsbt } from '../../support/encoder/signer.ts';
import { createDatabase } from '../../support/mariadb.ts';

const MAGIC = 'TEST';
const NETWORK = chainNetwork('bitcoin', 'regtest');
const KEY = Buffer.alloc(32, 7);
const PUBLIC_KEY = publicKeyOf(KEY);
const KEY_HASH = hash160(PUBLIC_KEY);
const SCRIPTS = {
  legacy: payTo({ kind: 'keyHash', bytes: KEY_HASH }),
  segwit: payTo({ kind: 'witnessKeyHash', bytes: KEY_HASH })
};
/** Witnesses are mined from here on. */
const SEGWIT_HEIGHT = 432;
const COIN = 1_000_000n;
const CARRIER = 20_000n;
const FEE = 10_000n;
/** Script that nobody has the key of. */
const ELSEWHERE = payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, 1) });

interface Coin {
  readonly txid: string;
  readonly vout: number;
  readonly amount: bigint;
  readonly script: Buffer;
  readonly inWhich: Buffer;
  readonly fields?: { readonly redeemScript?: Buffer; readonly witnessScript?: Buffer };
}

let node: TestBcoin;
/** Coins of one key by form; each is spent once. */
const purse: Record<keyof typeof SCRIPTS, Coin[]> = { legacy: [], segwit: [] };

before(async () => {
  node = await startTestBcoin();
  await node.mine(1, SCRIPTS.legacy);
  const [reward] = await coinsOf((await blockAt(1)).txids[0]!);
  await node.mine(SEGWIT_HEIGHT + 70, ELSEWHERE);
  const outputs = [SCRIPTS.legacy, SCRIPTS.segwit].flatMap((script) => Array(8).fill({ script, amount: COIN }));
  const coins = await coinsOf(await send([reward!], outputs));
  purse.legacy = coins.filter(({ script }) => script.equals(SCRIPTS.legacy));
  purse.segwit = coins.filter(({ script }) => script.equals(SCRIPTS.segwit));
  await node.mine(1, SCRIPTS.legacy);
});

async function blockAt(height: number) {
  const hash = String(await node.rpc.call('getblockhash', [height]));
  const [bytes, { tx }] = await Promise.all([
    node.rpc.call('getblock', [hash, false]),
    node.rpc.call('getblock', [hash, true]) as Promise<{ tx: string[] }>
  ]);
  return { hash, bytes: Buffer.from(String(bytes), 'hex'), txids: tx };
}

/** The outputs of a transaction that the key can spend, or that `fields` say how. */
async function coinsOf(txid: string, fields?: readonly (Coin['fields'] & object)[]): Promise<Coin[]> {
  const inWhich = Buffer.from(String(await node.rpc.call('getrawtransaction', [txid])), 'hex');
  return readRawTransaction(inWhich).outputs.map(({ amount, script }, vout) => ({
    txid,
    vout,
    amount,
    script,
    inWhich,
    ...(fields?.[vout] ? { fields: fields[vout] } : {})
  }));
}

async function send(coins: readonly Coin[], outputs: readonly { script: Uint8Array; amount: bigint }[]) {
  const form = { allowUnknownOutputs: true, allowUnknownInputs: true, disableScriptCheck: true, lowR: true };
  const transaction = new Transaction(form);
  for (const { txid, vout, amount, script, inWhich, fields } of coins) {
    const isWitness = script[0] === 0;
    const spent = isWitness ? { witnessUtxo: { amount, script } } : { nonWitnessUtxo: inWhich };
    transaction.addInput({ txid, index: vout, ...spent, ...fields });
  }
  for (const output of outputs) transaction.addOutput(output);
  const paid = outputs.reduce((sum, { amount }) => sum + amount, FEE);
  const left = coins.reduce((sum, { amount }) => sum + amount, 0n) - paid;
  if (left > 0n) transaction.addOutput({ script: ELSEWHERE, amount: left });
  return await node.send(signPsbt(Buffer.from(transaction.toPSBT(0)).toString('hex'), KEY));
}

/** Says something in outputs of one transaction. */
async function sayInOutputs(form: keyof typeof SCRIPTS, scriptsOf: (txid: string) => readonly Uint8Array[]) {
  const coin = purse[form].shift()!;
  const txid = await send(
    [coin],
    scriptsOf(coin.txid).map((script) => ({ script, amount: script[0] === 0x6a ? 0n : CARRIER }))
  );
  return { txid, source: addressOf(SCRIPTS[form], NETWORK.addresses) };
}

/** Says something in scripts that a second transaction reveals. */
async function sayInChunks(form: keyof typeof SCRIPTS, marker: 'p2sh' | 'p2wsh', frame: Uint8Array) {
  const chunks = chunkScripts(frame, KEY_HASH);
  const carriers = chunks.map((chunk) => ({ script: payToScript(chunk, marker), amount: CARRIER }));
  const funding = await send([purse[form].shift()!], carriers);
  const fields = chunks.map((chunk) => (marker === 'p2sh' ? { redeemScript: chunk } : { witnessScript: chunk }));
  const script = markerScript(funding, marker, MAGIC);
  const txid = await send((await coinsOf(funding, fields)).slice(0, chunks.length), [{ script, amount: 0n }]);
  return { txid, source: addressOf(SCRIPTS[form], NETWORK.addresses) };
}

const startOn = async (name: string) => {
  const database = await createDatabase(name);
  const loop = startLoop({ database, node, network: NETWORK, magic: MAGIC });
  const reach = async () => await loop.reach(await node.height(), await node.rpc.call('getbestblockhash'));
  return { database, reach, stop: loop.stop };
};

test('four lanes on a Bitcoin node are read back, through a reorg too', async () => {
  const live = await startOn('decoder_btc');
  const long = `FILE|0|${'ä'.repeat(450)}`;
  const frame = writeFrame(long, Buffer.from([0, 255]));
  const short = 'SEND|0|T|1';
  const payloads = [
    { ...(await sayInOutputs('legacy', (txid) => [returnScript(txid, writeFrame(short), MAGIC)])), data: short },
    { ...(await sayInOutputs('segwit', (txid) => [returnScript(txid, writeFrame(short), MAGIC)])), data: short },
    { ...(await sayInOutputs('legacy', (txid) => multisigScripts(txid, frame, PUBLIC_KEY, MAGIC))), data: long },
    { ...(await sayInOutputs('segwit', (txid) => multisigScripts(txid, frame, PUBLIC_KEY, MAGIC))), data: long },
    { ...(await sayInChunks('legacy', 'p2sh', frame)), data: long },
    { ...(await sayInChunks('segwit', 'p2sh', frame)), data: long },
    { ...(await sayInChunks('legacy', 'p2wsh', frame)), data: long },
    { ...(await sayInChunks('segwit', 'p2wsh', frame)), data: long }
  ];
  await node.mine(1, SCRIPTS.legacy);
  await live.reach();
  const rows = await query(
    live.database,
    `SELECT h.hash AS txid, s.address AS source, data, HEX(raw_data) AS raw, pubkey FROM transactions
     JOIN index_transactions h ON h.id = tx_hash_id JOIN index_addresses s ON s.id = source_id
     JOIN pubkeys p ON p.address_id = source_id`
  );
  const expected = payloads.map((each) => ({
    ...each,
    raw: each.data === long ? '00FF' : null,
    pubkey: PUBLIC_KEY.toString('hex')
  }));
  const byId = (a: { txid?: unknown }, b: { txid?: unknown }) => String(a.txid).localeCompare(String(b.txid));
  assert.deepEqual(rows.sort(byId), expected.sort(byId));

  await node.rpc.call('invalidateblock', [await node.rpc.call('getbestblockhash')]);
  await sayInOutputs('legacy', (txid) => [returnScript(txid, writeFrame('SEND|0|U|2'), MAGIC)]);
  await node.mine(2, SCRIPTS.segwit);
  await live.reach();
  await live.stop();
  const fresh = await startOn('decoder_btc_fresh');
  await fresh.reach();
  await fresh.stop();
  await assertEqualRows(live.database, fresh.database);
});

/** A transaction as the node prints it. */
interface PrintedTransaction {
  readonly txid: string;
  readonly vin: readonly { readonly txid?: string; readonly vout?: number; readonly txinwitness?: readonly string[] }[];
  readonly vout: readonly { readonly value: number; readonly scriptPubKey: { readonly hex: string } }[];
}

test('each block is read as the node prints it: transactions, coins spent, witnesses, outputs', async () => {
  let witnesses = 0;
  for (let height = 0; height <= (await node.height()); height++) {
    const { hash, bytes, txids } = await blockAt(height);
    const printed = (await node.rpc.call('getblock', [hash, true, true])) as { tx: PrintedTransaction[] };
    const found: unknown[] = [];
    readRawBlock(bytes, { hash, isMergeMined: false }, (transaction) =>
      found.push({
        txid: transaction.txid,
        spent: transaction.inputs.map(({ txid, vout }) => `${txid}:${vout}`),
        witnesses: transaction.witnesses.flat().map((item) => item.toString('hex')),
        outputs: transaction.outputs.map(({ amount, script }) => `${amount} ${script.toString('hex')}`)
      })
    );
    const asPrinted = printed.tx.map(({ txid, vin, vout }) => ({
      txid,
      spent: vin.map((input) => `${input.txid ?? '0'.repeat(64)}:${input.vout ?? 0xffffffff}`),
      witnesses: vin.flatMap(({ txinwitness = [] }) => txinwitness),
      outputs: vout.map(({ value, scriptPubKey }) => `${toBaseUnits(String(value))} ${scriptPubKey.hex}`)
    }));
    assert.deepEqual(found, asPrinted, `block ${height}`);
    assert.deepEqual(
      asPrinted.map(({ txid }) => txid),
      txids
    );
    witnesses += asPrinted.filter((transaction) => transaction.witnesses.length > 0).length;
  }
  assert.ok(witnesses > 70, `${witnesses} transactions have witnesses`);
});
