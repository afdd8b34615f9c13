import type { NodeRpc } from '../coin/node/node-rpc.ts';
import { readRawTransaction } from '../coin/raw/raw-transaction.ts';
import { hasCode, PlatformError } from '../errors.ts';
import { readTransactionHex } from './transaction/transaction-hex.ts';

/** Node error: a block has the transaction, and some of its outputs are unspent. */
const ALREADY_CONFIRMED = -27;
const UNREADABLE = -22;
/** Node errors: inputs are missing or spent; a rule or policy forbids the transaction. */
const REFUSALS = [-25, -26];

/**
 * Sends a signed transaction to the node. A transaction that the node already has counts as success, even when its
 * outputs are spent.
 *
 * @param hex the whole transaction
 * @returns the transaction id
 * @throws {PlatformError} REQUEST_INVALID, TRANSACTION_REJECTED with the node's reason, BROADCAST_UNKNOWN, NODE_REFUSED
 */
export async function broadcast(hex: string, rpc: Pick<NodeRpc, 'call'>): Promise<string> {
  const bytes = readTransactionHex(hex);
  const { txid } = readRawTransaction(bytes);
  try {
    await rpc.call('sendrawtransaction', [bytes.toString('hex')]);
  } catch (caught) {
    if (hasCode(caught, 'NODE_UNREACHABLE')) throw unknownOutcome(txid, caught);
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

/** Returns the error for a node that left without an answer: it may have read the transaction, and may send it yet. */
function unknownOutcome(txid: string, cause: PlatformError): PlatformError {
  const reason = `the coin node did not answer, and may have sent the transaction ${txid}, or may send it yet`;
  return new PlatformError('BROADCAST_UNKNOWN', { reason, txid }, { cause });
}

/**
 * Returns whether a block has the transaction. `sendrawtransaction` cannot tell once all outputs are spent: it then
 * reports missing inputs.
 */
async function isConfirmed(txid: string, rpc: Pick<NodeRpc, 'call'>): Promise<boolean> {
  try {
    const { confirmations } = Object(await rpc.call('getrawtransaction', [txid, true])) as { confirmations?: unknown };
    return Number(confirmations ?? 0) > 0;
  } catch (caught) {
    if (hasCode(caught, 'NODE_REFUSED')) return false;
    throw caught;
  }
}
