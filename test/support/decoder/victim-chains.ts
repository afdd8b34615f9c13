import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { type ChainNetwork, chainNetwork } from '../../../src/coin/chains.ts';
import type { NodeRpc, NodeRpcOptions } from '../../../src/coin/node/node-rpc.ts';
import { readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import type { FormOutput } from '../../../src/coin/raw/transaction-form.ts';
import { payTo } from '../../../src/coin/script/pay-scripts.ts';
import type { ScannedBlock, ScanRules } from '../../../src/decoder/block-scan.ts';
import { firstSpent } from '../../../src/encoder/coins/spent.ts';
import { writePsbt } from '../../../src/encoder/transaction/psbt.ts';
import { readSender } from '../../../src/encoder/transaction/sender.ts';
import scanBlocks from '../../../workers/decoder/scan-blocks.ts';
import scanMempool from '../../../workers/decoder/scan-mempool.ts';
import { startTestBcoin } from '../coin/bcoin.ts';
import { publicKeyOf, signPsbt } from '../encoder/signer.ts';
import { startTestLitecoind } from '../litecoin.ts';
import { scanRules } from './loop.ts';

export const MAGIC = 'TEST';
/** Secret keys. */
export const [VICTIM, THIEF] = ['a victim', 'a thief'].map((name) => hash('sha256', name, 'buffer')) as [
  Buffer,
  Buffer
];
const COIN = 10_000_000n;
/** Satoshis that a script is paid, and what each transaction costs. */
export const HELD = 500_000n;
export const FEE = 20_000n;

/** A chain with coins of the victim's. */
export interface Chain {
  readonly network: ChainNetwork;
  readonly node: NodeRpcOptions;
  readonly rpc: NodeRpc;
  readonly send: (hex: string) => Promise<unknown>;
  readonly mine: () => Promise<unknown>;
  /** One that is not spent yet. */
  readonly coin: () => Promise<{ readonly txid: string; readonly vout: number; readonly amount: bigint }>;
}

/** Starts a litecoind and a bcoin, each with coins of the victim's. @returns them by name; they end with the test file */
export async function startChains(): Promise<ReadonlyMap<string, Chain>> {
  const chains = new Map<string, Chain>();
  const litecoin = chainNetwork('litecoin', 'regtest');
  const { node } = await startTestLitecoind();
  await node.mine(110);
  chains.set('litecoind', {
    network: litecoin,
    node,
    rpc: node.rpc,
    send: (hex) => node.rpc.call('sendrawtransaction', [hex]),
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
  await bcoin.mine(120, senderOf(VICTIM, bitcoin).script);
  const elsewhere = payTo({ kind: 'keyHash', bytes: Buffer.alloc(20, 1) });
  await bcoin.mine(540, elsewhere);
  let used = 0;
  chains.set('bcoin', {
    network: bitcoin,
    node: bcoin,
    rpc: bcoin.rpc,
    send: (hex) => bcoin.send(hex),
    mine: () => bcoin.mine(1, elsewhere),
    coin: async () => {
      const block = String(await bcoin.rpc.call('getblockhash', [++used]));
      const { tx } = (await bcoin.rpc.call('getblock', [block, true])) as { tx: string[] };
      const bytes = Buffer.from(String(await bcoin.rpc.call('getrawtransaction', [tx[0]])), 'hex');
      return { txid: tx[0]!, vout: 0, amount: readRawTransaction(bytes).output(0)!.amount };
    }
  });
  return chains;
}

/** Returns the address that signs with a secret key. */
export const senderOf = (key: Buffer, network: ChainNetwork) =>
  readSender(publicKeyOf(key).toString('hex'), undefined, network);

/** The victim pays scripts, as it would pay anybody. @returns the payment, signed and sent */
export async function pay({ network, send, coin }: Chain, outputs: readonly FormOutput[]): Promise<Buffer> {
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

/** Returns a decoder's reading of a transaction: while it waits, then in its block. */
export async function decode(chain: Chain, txid: string, more: Partial<ScanRules> = {}) {
  const rules = { ...scanRules(chain.network, MAGIC), ...more };
  const { transactions: waits } = await scanMempool({ node: chain.node, txids: [txid], height: 1, rules });
  const [waiting] = waits;
  const { transactions, findings } = await readNext(chain, rules);
  const row = transactions.find(({ hash }) => hash === txid);
  const short = (each: typeof row) => each && [each.source, each.data, each.pubkey];
  const codes = findings.filter(({ hash }: ScannedBlock['findings'][number]) => hash === txid).map(({ code }) => code);
  return { waiting: short(waiting), row: short(row), codes };
}

/** The rows that a decoder has of all that waits, in the next block. */
export async function decodeNext(chain: Chain, more: Partial<ScanRules> = {}) {
  return (await readNext(chain, { ...scanRules(chain.network, MAGIC), ...more })).transactions;
}

async function readNext({ node, rpc, mine }: Chain, rules: ScanRules) {
  await mine();
  const height = Number(await rpc.call('getblockcount'));
  const range = { from: height, count: 1, isSmall: true, wanted: new Uint32Array() };
  const { blocks } = await scanBlocks({ node, range, rules });
  return blocks[0] ?? assert.fail();
}
