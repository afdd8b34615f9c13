import { toBaseUnits, toDecimal } from '../coin/amount.ts';
import type { ChainNetwork } from '../coin/chains.ts';
import type { NodeRpc } from '../coin/node/node-rpc.ts';
import { type FormOutput, writeBase } from '../coin/raw/transaction-form.ts';
import { addressScript } from '../coin/script/address-script.ts';
import { payTo } from '../coin/script/pay-scripts.ts';
import { PlatformError } from '../errors.ts';

type FillRpc = Pick<NodeRpc, 'call' | 'batch'>;

/** The wallet that pays. */
export interface FillDeps {
  readonly rpc: FillRpc;
  readonly network: ChainNetwork;
  readonly newAddress: () => Promise<string>;
  /** @returns how many blocks were found, at most one */
  readonly mineBlock: () => Promise<number>;
}

interface WalletCoin {
  readonly txid: string;
  readonly vout: number;
  /** Base units. */
  readonly amount: bigint;
}

interface Payment {
  readonly inputs: readonly WalletCoin[];
  readonly outputs: readonly FormOutput[];
}

interface ListedCoin {
  readonly txid: string;
  readonly vout: number | string;
  readonly amount: number | string;
  readonly spendable: boolean;
}

/** Of one transaction, and of one call: nodes relay no transaction above 100,000 bytes. */
const PARTS_AT_ONCE = 1_000;
/** In base units: what a small payment pays, and its fee. */
const PAID = 6_000n;
const PART_FEE = 10_000n;
const PART = PAID + PART_FEE;
/** Nobody gets the payments: a wallet with thousands of small coins takes too many of them for its next payment. */
const NOBODY = payTo({ kind: 'keyHash', bytes: Buffer.alloc(20) });
/** What an output adds to the fee. */
const OUTPUT_FEE = 100n;
/** Of an input that the wallet will sign. */
const UNSIGNED = { sequence: 0xffffffff, unlock: { script: Buffer.alloc(0), witness: [] } };

/**
 * Sends so many small payments into the mempool. Their coins are made before, by transactions that are mined one by one: nodes refuse
 * what hangs together with too much that is not mined.
 *
 * @returns how many blocks were mined for that
 * @throws {PlatformError} COINS_INSUFFICIENT; what was sent before stays
 */
export async function fillMempool(count: number, deps: FillDeps): Promise<number> {
  const { rpc, network } = deps;
  const script = addressScript(await deps.newAddress(), network);
  const scale = network.chain === 'dogecoin' ? 1_000n : 1n;
  const parts: WalletCoin[] = [];
  let [purse, blocks] = [await listCoins(rpc), 0];
  while (parts.length < count) {
    const { inputs, amounts, left } = splitCoins(purse, Math.min(PARTS_AT_ONCE, count - parts.length), scale);
    const [txid] = await sendAll(rpc, [{ inputs, outputs: amounts.map((amount) => ({ amount, script })) }]);
    const made = amounts.map((amount, vout) => ({ txid: txid!, vout, amount }));
    parts.push(...made.slice(0, -1));
    purse = [...made.slice(-1), ...left];
    blocks += await deps.mineBlock();
  }
  const outputs = [{ amount: PAID * scale, script: NOBODY }];
  for (let from = 0; from < parts.length; from += PARTS_AT_ONCE) {
    const some = parts.slice(from, from + PARTS_AT_ONCE);
    await sendAll(
      rpc,
      some.map((part) => ({ inputs: [part], outputs }))
    );
  }
  return blocks;
}

/** The coins that blocks hold, largest first. */
async function listCoins(rpc: FillRpc): Promise<readonly WalletCoin[]> {
  const listed = (await rpc.call('listunspent', [1])) as readonly ListedCoin[];
  return listed
    .filter(({ spendable }) => spendable)
    .map(({ txid, vout, amount }) => ({ txid, vout: Number(vout), amount: toBaseUnits(amount) }))
    .sort((a, b) => Number(b.amount - a.amount));
}

/** Takes coins for so many parts. @returns what the outputs hold, the change last @throws {PlatformError} COINS_INSUFFICIENT */
function splitCoins(coins: readonly WalletCoin[], count: number, scale: bigint) {
  let [held, needed] = [0n, scale * (PART * BigInt(count + 1) + OUTPUT_FEE * BigInt(count))];
  for (const [at, coin] of coins.entries()) {
    held += coin.amount;
    needed += PART_FEE * scale;
    if (held < needed) continue;
    const change = PART * scale + held - needed;
    const amounts = [...Array.from({ length: count }, () => PART * scale), change];
    return { inputs: coins.slice(0, at + 1), amounts, left: coins.slice(at + 1) };
  }
  const reason = `the wallet has ${toDecimal(held)} coins in blocks; ${count} payments take ${toDecimal(needed)}`;
  throw new PlatformError('COINS_INSUFFICIENT', { reason });
}

/** Lets the wallet sign transactions, and sends them. @returns their ids */
async function sendAll(rpc: FillRpc, payments: readonly Payment[]): Promise<readonly string[]> {
  const signed = (await rpc.batch(
    'signrawtransactionwithwallet',
    payments.map(({ inputs, outputs }) => [
      writeBase({ inputs: inputs.map((coin) => ({ ...coin, ...UNSIGNED })), outputs }).toString('hex')
    ])
  )) as readonly { readonly hex: string }[];
  return (await rpc.batch(
    'sendrawtransaction',
    signed.map(({ hex }) => [hex])
  )) as readonly string[];
}
