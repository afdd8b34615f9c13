import { Compile } from 'typebox/compile';
import { PlatformError } from '../errors.ts';
import { toBaseUnits } from './amount.ts';
import { type NodeBlock, type NodeOutput, type NodeTransaction, TransactionSchema } from './node-chain.ts';
import { findPayload, type Payload } from './payload.ts';
import { readScript } from './script.ts';

/** What a decoder database holds of one block, names still spelled out. */
export interface BlockRows {
  readonly height: number;
  readonly time: number;
  readonly hash: string;
  /** Empty for the first block of a chain. */
  readonly previousHash: string;
  readonly transactions: readonly TransactionRow[];
  /** Transactions that could not be read. */
  readonly quarantined: readonly { readonly hash: string; readonly reason: string }[];
}

export interface TransactionRow {
  readonly hash: string;
  readonly source: string;
  readonly data: string;
  readonly rawData: Uint8Array | null;
  /** Hex, of the source; null when the first input does not show it. */
  readonly pubkey: string | null;
  readonly outputs: readonly OutputRow[];
}

export interface OutputRow {
  readonly vout: number;
  readonly address: string;
  /** Base units. */
  readonly amount: bigint;
}

/** The output that an input spends. @throws {PlatformError} when it cannot be had now: the whole block is tried again */
export type OutputReader = (txid: string, vout: number) => Promise<NodeOutput>;

const TRIES = 3;
const transactionValidator = Compile(TransactionSchema);

/** Kinds of scripts that an address stands for. */
const ADDRESSED = new Set([
  'pubkeyhash',
  'scripthash',
  'witness_v0_keyhash',
  'witness_v0_scripthash',
  'witness_v1_taproot'
]);

/**
 * A block as a coin node prints it, as rows of a decoder database.
 *
 * A transaction has a row when it carries an action and its first input spends from an address; one that cannot be read
 * in three tries is quarantined.
 *
 * @throws whatever PlatformError `readOutput` throws
 */
export async function readBlockRows(block: NodeBlock, readOutput: OutputReader, magic?: string): Promise<BlockRows> {
  const transactions: TransactionRow[] = [];
  const quarantined: { hash: string; reason: string }[] = [];
  for (const transaction of block.tx) {
    const outcome = await tryTransaction(transaction, readOutput, magic);
    if (typeof outcome === 'string') quarantined.push({ hash: transaction.txid, reason: outcome });
    else if (outcome) transactions.push(outcome);
  }
  const { height, time, hash, previousblockhash: previousHash = '' } = block;
  return { height, time, hash, previousHash, transactions, quarantined };
}

/** @returns the row, undefined when the transaction says nothing, or the reason why it cannot be read */
async function tryTransaction(
  transaction: unknown,
  readOutput: OutputReader,
  magic: string | undefined
): Promise<TransactionRow | string | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readTransaction(transaction, readOutput, magic);
    } catch (caught) {
      if (caught instanceof PlatformError) throw caught;
      if (attempt === TRIES) return caught instanceof Error ? caught.message : String(caught);
    }
  }
}

async function readTransaction(
  transaction: unknown,
  readOutput: OutputReader,
  magic: string | undefined
): Promise<TransactionRow | undefined> {
  if (!transactionValidator.Check(transaction)) {
    const [fault] = transactionValidator.Errors(transaction);
    throw new TypeError(`malformed at ${fault?.instancePath}: ${fault?.message}`);
  }
  const payload = findPayload(transaction, magic);
  const [input] = transaction.vin;
  if (!payload || input?.txid === undefined || input.vout === undefined) return undefined;
  const source = addressOf(await readOutput(input.txid, input.vout));
  if (source === undefined) return undefined;
  return {
    hash: transaction.txid,
    source,
    data: payload.action,
    rawData: payload.rawData,
    pubkey: findPubkey(input),
    outputs: relevantOutputs(transaction, payload)
  };
}

/** A COINPAY pays with its outputs: all that have an address count. */
function relevantOutputs({ vout }: NodeTransaction, { action }: Payload): readonly OutputRow[] {
  if (!/^COINPAY(?:\||$)/.test(action)) return [];
  return vout.flatMap((output, position) => {
    const address = addressOf(output);
    if (address === undefined) return [];
    return [{ vout: output.n ?? position, address, amount: toBaseUnits(output.value ?? '') }];
  });
}

function addressOf({ scriptPubKey }: NodeOutput): string | undefined {
  if (!scriptPubKey || !ADDRESSED.has(scriptPubKey.type.toLowerCase())) return undefined;
  return scriptPubKey.address ?? scriptPubKey.addresses?.[0];
}

/** The key that the input shows: second item of the witness, else last push of the script. */
function findPubkey({ txinwitness, scriptSig }: NodeTransaction['vin'][number]): string | null {
  const lastPush = scriptSig && readScript(Buffer.from(scriptSig.hex, 'hex'))?.at(-1)?.data;
  const candidates = [txinwitness?.[1], lastPush && Buffer.from(lastPush).toString('hex')];
  return candidates.find((key) => key !== undefined && /^(?:0[23].{64}|04.{128})$/.test(key)) ?? null;
}
