import type { NodeRpc } from '../coin/node/node-rpc.ts';
import { readRawTransaction } from '../coin/raw/raw-transaction.ts';
import { hasCode, PlatformError } from '../errors.ts';
import { readTransactionHex } from './transaction/transaction-hex.ts';

/** The node's code for a transaction that a block holds already. */
const ALREADY_CONFIRMED = -27;
const UNREADABLE = -22;
/** Its inputs are missing or spent; its rules or policy forbid it. */
const REFUSALS = [-25, -26];

/**
 * Hands a signed transaction to the node. One that it has already is a success, also when its outputs are spent by now.
 *
 * @returns its id
 * @throws {PlatformError} REQUEST_INVALID, TRANSACTION_REJECTED with the node's reason, NODE_UNREACHABLE, NODE_REFUSED
 */
export async function broadcast(hex: string, rpc: Pick<NodeRpc, 'call'>): Promise<string> {
  const bytes = readTransactionHex(hex);
  const { txid } = readRawTransaction(bytes);
  try {
    await rpc.call('sendrawtransaction', [bytes.toString('hex')]);
  } catch (caught) {
    if (!hasCode(caught, 'NODE_REFUSED')) throw caught;
    const { rpcCode, reason } = caught.detail;
    if (rpcCode === ALREADY_CONFIRMED || (REFUSALS.includes(Number(rpcCode)) && (await isConfirmed(txid, rpc))))
      return txid;
    if (rpcCode === UNREADABLE)
      throw new PlatformError('REQUEST_INVALID', { reason: `the node cannot read it: ${reason}` });
    if (!REFUSALS.includes(Number(rpcCode))) throw caught;
    throw new PlatformError('TRANSACTION_REJECTED', { reason: String(reason) }, { cause: caught });
  }
  return txid;
}

/** A node knows by its outputs that a block has a transaction; when all are spent, it misses its inputs. */
async function isConfirmed(txid: string, rpc: Pick<NodeRpc, 'call'>): Promise<boolean> {
  try {
    const { confirmations } = Object(await rpc.call('getrawtransaction', [txid, true])) as { confirmations?: unknown };
    return Number(confirmations ?? 0) > 0;
  } catch (caught) {
    if (hasCode(caught, 'NODE_REFUSED')) return false;
    throw caught;
  }
}
