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
 * Hands a signed transaction to the node. One that it has already is a success.
 *
 * @returns its id
 * @throws {PlatformError} REQUEST_INVALID, TRANSACTION_REJECTED with the node's reason, NODE_UNREACHABLE, NODE_REFUSED
 */
export async function broadcast(hex: string, rpc: Pick<NodeRpc, 'call'>): Promise<string> {
  const bytes = readTransactionHex(hex);
  try {
    await rpc.call('sendrawtransaction', [bytes.toString('hex')]);
  } catch (caught) {
    if (!hasCode(caught, 'NODE_REFUSED')) throw caught;
    const { rpcCode, reason } = caught.detail;
    if (rpcCode === ALREADY_CONFIRMED) return readRawTransaction(bytes).txid;
    if (rpcCode === UNREADABLE)
      throw new PlatformError('REQUEST_INVALID', { reason: `the node cannot read it: ${reason}` });
    if (!REFUSALS.includes(Number(rpcCode))) throw caught;
    throw new PlatformError('TRANSACTION_REJECTED', { reason: String(reason) }, { cause: caught });
  }
  return readRawTransaction(bytes).txid;
}
