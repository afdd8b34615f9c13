import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { before, test } from 'node:test';
import { type ChainNetwork, chainNetwork } from '../../../src/coin/chains.ts';
import type { NodeRpc, NodeRpcOptions } from '../../../src/coin/node/node-rpc.ts';
import { returnScript } from '../../../src/coin/payload/lane-writer.ts';
import { writeFrame } from '../../../src/coin/payload/payload.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import type { FormOutput } from '../../../src/coin/raw/transaction-form.ts';
import { addressOf } from '../../../src/coin/script/address.ts';
import { payTo, payToScript } from '../../../src/coin/script/pay-scripts.ts';
import type { ScannedBlock, ScanRules } from '../../../src/decoder/block-scan.ts';
import { firstSpent, revealSpent } from '../../../src/encoder/spent.ts';
import { composeReveal, type Order, orderLocks } from '../../../src/encoder/transaction/compose.ts';
import type { TwoStepEncoding } from '../../../src/encoder/transaction/locks.ts';
import { writePsbt } from '../../../src/encoder/transaction/psbt.ts';
import { readSender } from '../../../src/encoder/transaction/sender.ts';
import scanBlocks from '../../../workers/decoder/scan-blocks.ts';
import scanMempool from '../../../workers/decoder/scan-mempool.ts';
import { startTestBcoin } from '../../support/coin/bcoin.ts';
import { scanRules } from '../../support/decoder/loop.ts';
import { publicKeyOf, signPsbt } from '../../support/encoder/signer.ts';
import { startTestLitecoind } from '../../support/litecoin.ts';

const MAGIC = 'TEST';
const [VICTIM, THIEF] = ['a victim', 'a thief'].map((name) => hash('sha256', name, 'buffer')) as [Buffer, Buffer];
const COIN = 10_000_000n;
const HELD = 500_000n;
const FEE = 20_000n;

/** A chain with coins of the victim's. */
interface Chain {
  readonly network: ChainNetwork;
  readonly node: NodeRpcOptions;
  readonly rpc: NodeRpc;
  readonly send: (hex: string) => Promise<unknown>;
  readonly mine: () => Promise<unknown>;
  /** One that is not spent yet. */
  readonly coin: () => Promise<{ readonly txid: string; readonly vout: number; readonly amount: bigint }>;
}

const chains = new Map<string, Chain>();

before(async () => {
  const litecoin = chainNetwork('litecoin', 'regtest');
  const { node } = await startTestLitecoind();
  await node.mine(110);
  chains.set('litecoind', {
    ...{ network: litecoin, node, rpc: node.rpc, send: (hex) => node.rpc.call('sendrawtransaction', [hex]) },
    mine: () => node.mine(1),
    coin: async () => {
      const amount = 0.1;
      const txid = String(await node.rpc.call('sendtoaddress', [senderOf(VICTIM, litecoin).address, amount]));
      const bytes = Buffer.from(String(await node.rpc.call('getrawtransaction', [txid])), 'hex');
      const vout = readRawTransaction(bytes).outputs.findIndex(({ script }) =>
        senderOf(VICTIM, litecoin).script.equals(script)
      );
      return { txid, vout, amount: COIN };
    }
  });
  const bitcoin = chainNetwork('bitcoin', 'regtest');
  const bcoin = await startTestBcoin();
  await bcoin.mine(20, senderOf(VICTIM, bitcoin).script);
  const elsewhere = payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, 1) });
  await bcoin.mine(540, elsewhere);
  let used = 0;
  chains.set('bcoin', {
    ...{ network: bitcoin, node: bcoin, rpc: bcoin.rpc, send: (hex) => bcoin.send(hex) },
    mine: () => bcoin.mine(1, elsewhere),
    coin: async () => {
      const block = String(await bcoin.rpc.call('getblockhash', [++used]));
      const { tx } = (await bcoin.rpc.call('getblock', [block, true])) as { tx: string[] };
      const bytes = Buffer.from(String(await bcoin.rpc.call('getrawtransaction', [tx[0]])), 'hex');
      return { txid: tx[0]!, vout: 0, amount: readRawTransaction(bytes).output(0)!.amount };
    }
  });
});

const senderOf = (key: Buffer, network: ChainNetwork) =>
  readSender(publicKeyOf(key).toString('hex'), undefined, network);

/** The victim pays scripts, as it would pay anybody. @returns the payment, signed and sent */
async function pay({ network, send, coin }: Chain, outputs: readonly FormOutput[]): Promise<Buffer> {
  const victim = senderOf(VICTIM, network);
  const spent = await coin();
  const change = spent.amount - FEE - outputs.reduce((sum, { amount }) => sum + amount, 0n);
  const form = {
    inputs: [{ ...spent, sequence: 0xffffffff, unlock: victim.unlock }],
    outputs: [...outputs, { amount: change, script: victim.script }]
  };
  const psbt = writePsbt(form, firstSpent(victim, [{ ...spent, transaction: null }])).toString('hex');
  const hex = signPsbt(psbt, VICTIM);
  await send(hex);
  return Buffer.from(hex, 'hex');
}

/** An action in scripts that a key's owner can spend, which the victim pays. @returns the id of the transaction that reveals it */
async function reveal(chain: Chain, encoding: TwoStepEncoding, owner: Buffer, action: string): Promise<string> {
  const sender = senderOf(owner, chain.network);
  const order: Order & { encoding: TwoStepEncoding } = {
    ...{ encoding, frame: writeFrame(action), magic: MAGIC, sender, outputs: [], feeOutputs: [] },
    ...{ changeScript: sender.script, fee: () => FEE, limitFee: () => undefined, sequence: 0xffffffff },
    dust: { ...chain.network, floor: 0 }
  };
  const locks = orderLocks(order);
  const payment = await pay(
    chain,
    locks.map(({ script }) => ({ amount: HELD, script }))
  );
  const { txid } = readRawTransaction(payment);
  const locked = locks.map((lock, vout) => ({ vout, amount: HELD, lock }));
  const { form, funding } = composeReveal(order, { txid, locked });
  const hex = signPsbt(writePsbt(form, revealSpent(funding, payment)).toString('hex'), owner);
  await chain.send(hex);
  return readRawTransaction(Buffer.from(hex, 'hex')).txid;
}

/** The thief's nested segwit address, which the victim pays, says something in an output. */
async function sayNested(chain: Chain, action: string): Promise<string> {
  const key = publicKeyOf(THIEF);
  const script = payToScript(senderOf(THIEF, chain.network).script, 'p2sh');
  const thief = readSender(addressOf(script, chain.network.addresses)!, key.toString('hex'), chain.network);
  const payment = await pay(chain, [{ amount: HELD, script }]);
  const { txid } = readRawTransaction(payment);
  const form = {
    inputs: [{ txid, vout: 0, sequence: 0xffffffff, unlock: thief.unlock }],
    outputs: [
      { amount: 0n, script: returnScript(txid, writeFrame(action), MAGIC) },
      { amount: HELD - FEE, script }
    ]
  };
  const spent = firstSpent(thief, [{ txid, vout: 0, amount: HELD, transaction: null }]);
  const hex = signPsbt(writePsbt(form, spent).toString('hex'), THIEF);
  await chain.send(hex);
  return readRawTransaction(Buffer.from(hex, 'hex')).txid;
}

/** What a decoder reads of a transaction: while it waits, then in its block. */
async function decode(chain: Chain, txid: string, more: Partial<ScanRules> = {}) {
  const { node, network, rpc, mine } = chain;
  const rules = { ...scanRules(network, MAGIC), ...more };
  const { transactions: waits } = await scanMempool({ node, txids: [txid], height: 1, rules });
  const [waiting] = waits;
  await mine();
  const height = Number(await rpc.call('getblockcount'));
  const range = { from: height, count: 1, isSmall: true, wanted: new Uint32Array() };
  const { blocks } = await scanBlocks({ node, range, rules });
  const [{ transactions, findings } = assert.fail()] = blocks;
  const row = transactions.find(({ hash }) => hash === txid);
  const short = (each: typeof row) => each && [each.source, each.data, each.pubkey];
  const codes = findings.filter(({ hash }: ScannedBlock['findings'][number]) => hash === txid).map(({ code }) => code);
  return { waiting: short(waiting), row: short(row), codes };
}

const REFUSED = { waiting: undefined, row: undefined, codes: ['SOURCE_NOT_SIGNER'] };
const CASES = [
  ['litecoind', ['P2WSH', 'P2SH', 'TAPROOT']],
  ['bcoin', ['P2WSH', 'P2SH']]
] as const;

for (const [name, encodings] of CASES)
  for (const encoding of encodings) {
    test(`${name}, ${encoding}: who is paid at the address of a script does not act in the payer's name`, async () => {
      const chain = chains.get(name)!;
      const long = `SEND|0|VICTIM|100|${addressOf(senderOf(THIEF, chain.network).script, chain.network.addresses)}|${'x'.repeat(500)}`;
      for (const alwaysHops of [false, true]) {
        const forged = await reveal(chain, encoding, THIEF, long);
        assert.deepEqual(await decode(chain, forged, { alwaysHops }), REFUSED);
        const own = await reveal(chain, encoding, VICTIM, long);
        const victim = senderOf(VICTIM, chain.network);
        const key = encoding === 'P2WSH' ? publicKeyOf(VICTIM).toString('hex') : null;
        const row = [victim.address, long, key];
        assert.deepEqual(await decode(chain, own, { alwaysHops }), { waiting: row, row, codes: [] });
      }
    });
    test(`${name}, ${encoding}: without the rule the payer's tokens move, and the key counts as the payer's`, async () => {
      const chain = chains.get(name)!;
      const forged = await reveal(chain, encoding, THIEF, 'SEND|0|VICTIM|100|thief');
      const { row } = await decode(chain, forged, { revealKeyHeight: Number.POSITIVE_INFINITY });
      assert.equal(row?.[0], senderOf(VICTIM, chain.network).address);
    });
  }

for (const name of ['litecoind', 'bcoin'])
  test(`${name}: with SOURCE_HOP=always, a paid nested segwit address does not act in the payer's name`, async () => {
    const chain = chains.get(name)!;
    const txid = await sayNested(chain, 'SEND|0|VICTIM|100|thief');
    assert.deepEqual(await decode(chain, txid, { alwaysHops: true }), REFUSED);
    const own = await sayNested(chain, 'SEND|0|MINE|1|anybody');
    const { row } = await decode(chain, own);
    const nested = payToScript(senderOf(THIEF, chain.network).script, 'p2sh');
    assert.equal(row?.[0], addressOf(nested, chain.network.addresses));
  });
