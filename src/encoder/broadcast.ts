import { readNodeHash } from '../coin/node/node-answer.ts';
import type { NodeRpc } from '../coin/node/node-rpc.ts';
import { readRawTransaction } from '../coin/raw/raw-transaction.ts';
import { hasCode, PlatformError } from '../errors.ts';
import { readTransactionHex } from './transaction/transaction-hex.ts';

/** Node error: a block has the transaction, and some of its outputs are unspent. */
const ALREADY_CONFIRMED = -27;
const UNREADABLE = -22;
/** Node errors: inputs are missing or spent; a rule or policy forbids the transaction. */
const REFUSALS = [-25, -26];
/** Reasons for which a node refuses what it cannot tell from a transaction that a block has. */
const MISSING_INPUTS = /missing.*inputs|inputs.*(?:missing|spent)/i;
/** Errors of JSON-RPC about the request itself: a node that gives one has sent nothing. */
const WRONG_REQUESTS = [-32_700, -32_600, -32_601, -32_602];
/** Below it are no codes of nodes, only of JSON-RPC and of gateways. */
const LOWEST_NODE_CODE = -1_000;
/** Statuses without a code by which a node says that it does not do what it is asked. */
const FORBIDDEN = [401, 403];

/**
 * Sends a signed transaction to the node. A transaction that the node already has counts as success, even when its
 * outputs are spent.
 *
 * @param hex the whole transaction
 * @returns the transaction id
 * @throws {PlatformError} REQUEST_INVALID, TRANSACTION_REJECTED with the node's reason, BROADCAST_UNKNOWN, NODE_REFUSED when
 *   nothing was sent
 */
export async function broadcast(hex: string, rpc: Pick<NodeRpc, 'call' | 'batch'>): Promise<string> {
  const bytes = readTransactionHex(hex);
  const txid = await idOf(bytes, rpc);
  const sent = await send(bytes, txid, rpc);
  if (sent === txid) return txid;
  throw unknownOutcome(txid, 'the coin node gave no id of a transaction that it sent');
}

/**
 * Returns the id of a transaction. One of the extension block alone has no inputs, and an id that only nodes can compute: the hash
 * of its kernel.
 *
 * @throws {PlatformError} NODE_REFUSED, NODE_UNREACHABLE: nothing was sent
 */
async function idOf(bytes: Buffer, rpc: Pick<NodeRpc, 'call'>): Promise<string> {
  const { hasExtension, inputs, txid } = readRawTransaction(bytes);
  if (!hasExtension || inputs.length > 0) return txid;
  const read = await rpc.call('decoderawtransaction', [bytes.toString('hex')]);
  return readNodeHash(Object(read).txid, 'decoderawtransaction');
}

/** @returns the node's answer; the id of the transaction when the node has it already */
async function send(bytes: Buffer, txid: string, rpc: Pick<NodeRpc, 'call' | 'batch'>): Promise<unknown> {
  try {
    return await rpc.call('sendrawtransaction', [bytes.toString('hex')]);
  } catch (caught) {
    if (hasCode(caught, 'NODE_UNREACHABLE')) throw unknownOutcome(txid, 'the coin node did not answer', caught);
    if (!hasCode(caught, 'NODE_REFUSED')) throw caught;
    const { rpcCode, reason } = caught.detail;
    if (rpcCode === ALREADY_CONFIRMED) return txid;
    if (rpcCode === UNREADABLE)
      throw new PlatformError('REQUEST_INVALID', { reason: `the node cannot read it: ${reason}` });
    if (!hasSentNothing(caught)) throw unknownOutcome(txid, 'the coin node did not answer for itself', caught);
    if (!REFUSALS.includes(Number(rpcCode))) throw caught;
    if (await isConfirmed(txid, rpc, caught)) return txid;
    throw new PlatformError('TRANSACTION_REJECTED', { reason: String(reason) }, { cause: caught });
  }
}

/** Returns whether a refusal is the node's own, about this call. Any other may stand for an answer that was lost. */
function hasSentNothing({ detail: { rpcCode, status } }: PlatformError): boolean {
  const code = Number(rpcCode ?? Number.NaN);
  return (code < 0 && code > LOWEST_NODE_CODE) || WRONG_REQUESTS.includes(code) || FORBIDDEN.includes(Number(status));
}

/** Returns the error for a node that may have sent the transaction, or may send it yet. */
function unknownOutcome(txid: string, subject: string, cause?: PlatformError): PlatformError {
  const reason = `${subject}, and may have sent the transaction ${txid}, or may send it yet`;
  return new PlatformError('BROADCAST_UNKNOWN', { reason, txid }, { cause });
}

/**
 * Returns whether a block has the transaction. `sendrawtransaction` cannot tell once all outputs are spent: it then
 * reports missing inputs.
 *
 * @throws {PlatformError} BROADCAST_UNKNOWN for missing inputs when the node cannot tell it here either: it may have no complete
 *   index of transactions
 */
async function isConfirmed(txid: string, rpc: Pick<NodeRpc, 'batch'>, refusal: PlatformError): Promise<boolean> {
  try {
    const [found] = await rpc.batch('getrawtransaction', [[txid, true]], { isPartial: true });
    const { confirmations } = Object(found) as { confirmations?: unknown };
    return Number(confirmations ?? 0) > 0;
  } catch (caught) {
    if (!(caught instanceof PlatformError)) throw caught;
    if (!MISSING_INPUTS.test(String(refusal.detail['reason']))) return false;
    throw unknownOutcome(txid, 'the coin node does not tell whether a block has it', caught);
  }
}
