import { toBaseUnits, toDecimal } from '../coin/amount.ts';
import type { ChainNetwork } from '../coin/chains.ts';
import type { NodeRpc } from '../coin/node/node-rpc.ts';
import { type TransactionForm, type Unlock, writeBase, writeTransaction } from '../coin/raw/transaction-form.ts';
import { addressScript } from '../coin/script/address-script.ts';
import { payTo, payToScript } from '../coin/script/pay-scripts.ts';
import { OP_1, writePush } from '../coin/script/script.ts';
import { PlatformError } from '../errors.ts';

type FillRpc = Pick<NodeRpc, 'call' | 'batch'>;

/** The wallet that pays, and its node. */
interface FillDeps {
  readonly rpc: FillRpc;
  readonly network: ChainNetwork;
  readonly newAddress: () => Promise<string>;
  /** Mines one block. @returns the number of blocks found, at most one */
  readonly mineBlock: () => Promise<number>;
}

interface Outpoint {
  readonly txid: string;
  readonly vout: number;
}

interface WalletCoin extends Outpoint {
  /** Base units. */
  readonly amount: bigint;
}

interface ListedCoin {
  readonly txid: string;
  /** Absent for a coin of an extension block: only the wallet can spend it. */
  readonly vout?: number | string;
  readonly amount: number | string;
  readonly spendable: boolean;
}

/** Most parts of one transaction: nodes relay none above 100,000 bytes. */
const PARTS_AT_ONCE = 1_000;
/** Most payments in one call: a busy node answers that many in time. */
const PAYMENTS_AT_ONCE = 100;
/** Base units that a small payment pays. */
const PAID = 6_000n;
/** Base units of its fee. */
const PART_FEE = 10_000n;
const PART = PAID + PART_FEE;
/**
 * Redeem script of the parts: anyone can spend them without a signature. The payments go to nobody.
 *
 * In the wallet they would become thousands of small coins, too many of which its next payment would spend.
 */
const OPEN = Buffer.of(OP_1);
const PART_SCRIPT = payToScript(OPEN, 'p2sh');
const PART_UNLOCK = { script: Buffer.from(writePush(OPEN)), witness: [] };
const NOBODY = payTo({ kind: 'keyHash', bytes: Buffer.alloc(20) });
/** Base units that one output adds to the fee. */
const OUTPUT_FEE = 100n;
const FINAL = 0xffffffff;
/** Unlock of an input that the wallet will sign. */
const UNSIGNED = { script: Buffer.alloc(0), witness: [] };

/**
 * Sends small payments into the mempool. It first creates their coins, in transactions that are mined one by one: nodes
 * refuse a payment with too many unconfirmed relatives.
 *
 * @param count number of payments
 * @returns the number of blocks mined for them
 * @throws {PlatformError} COINS_INSUFFICIENT; payments already sent stay
 */
export async function fillMempool(count: number, deps: FillDeps): Promise<number> {
  const { rpc, network } = deps;
  const change = addressScript(await deps.newAddress(), network);
  const scale = network.chain === 'dogecoin' ? 1_000n : 1n;
  const parts: Outpoint[] = [];
  let [purse, blocks] = [await listCoins(rpc), 0];
  while (parts.length < count) {
    const made = Math.min(PARTS_AT_ONCE, count - parts.length);
    const { spent, rest, left } = takeCoins(purse, made, scale);
    const amounts = Array.from({ length: made }, () => PART * scale);
    const outputs = [...amounts.map((amount) => ({ amount, script: PART_SCRIPT })), { amount: rest, script: change }];
    const txid = await sendSigned(rpc, { inputs: spent.map((coin) => inputOf(coin, UNSIGNED)), outputs });
    for (const vout of amounts.keys()) parts.push({ txid, vout });
    purse = [{ txid, vout: made, amount: rest }, ...left];
    blocks += await deps.mineBlock();
  }
  const outputs = [{ amount: PAID * scale, script: NOBODY }];
  const payments = parts.map((part) => writeTransaction({ inputs: [inputOf(part, PART_UNLOCK)], outputs }));
  for (let from = 0; from < payments.length; from += PAYMENTS_AT_ONCE)
    await rpc.batch(
      'sendrawtransaction',
      payments.slice(from, from + PAYMENTS_AT_ONCE).map((bytes) => [bytes.toString('hex')])
    );
  return blocks;
}

const inputOf = ({ txid, vout }: Outpoint, unlock: Unlock) => ({ txid, vout, sequence: FINAL, unlock });

/** Returns the wallet's confirmed coins, largest first. */
async function listCoins(rpc: FillRpc): Promise<readonly WalletCoin[]> {
  const listed = (await rpc.call('listunspent', [1])) as readonly ListedCoin[];
  return listed
    .filter(({ spendable, vout }) => spendable && vout !== undefined)
    .map(({ txid, vout, amount }) => ({ txid, vout: Number(vout), amount: toBaseUnits(amount) }))
    .sort((a, b) => Number(b.amount - a.amount));
}

/**
 * Takes coins for `count` parts. @returns the coins, the change and the coins left @throws {PlatformError}
 * COINS_INSUFFICIENT
 */
function takeCoins(coins: readonly WalletCoin[], count: number, scale: bigint) {
  let [held, needed] = [0n, scale * (PART * BigInt(count + 1) + OUTPUT_FEE * BigInt(count))];
  for (const [at, coin] of coins.entries()) {
    held += coin.amount;
    needed += PART_FEE * scale;
    if (held < needed) continue;
    return { spent: coins.slice(0, at + 1), rest: PART * scale + held - needed, left: coins.slice(at + 1) };
  }
  const reason = `the wallet has ${toDecimal(held)} coins in blocks; ${count} payments take ${toDecimal(needed)}`;
  throw new PlatformError('COINS_INSUFFICIENT', { reason });
}

/** Has the wallet sign a transaction and sends it. @returns its id */
async function sendSigned(rpc: FillRpc, form: TransactionForm): Promise<string> {
  const signed = await rpc.call('signrawtransactionwithwallet', [writeBase(form).toString('hex')]);
  return String(await rpc.call('sendrawtransaction', [(signed as { readonly hex: string }).hex]));
}
