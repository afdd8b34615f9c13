import { findCarried } from '../../../src/coin/payload/lanes.ts';
import { type Payload, readFrame } from '../../../src/coin/payload/payload.ts';
import { type RawInput, type RawTransaction, readRawTransaction } from '../../../src/coin/raw/raw-transaction.ts';
import { writePush } from '../../../src/coin/script/script.ts';
import { writeTransaction } from './raw-writer.ts';

interface Spending {
  /** Transaction that the first input spends from, unless `inputs` names others. */
  readonly txid?: string;
  readonly inputs?: readonly RawInput[];
  readonly witnesses?: readonly (readonly Buffer[])[];
}

/** A script of OP_RETURN and one push. */
export const returnScript = (payload: Uint8Array) => Buffer.concat([Buffer.from([0x6a]), writePush(payload)]);

/** A transaction with outputs of these scripts, read from its bytes. */
export function carry(scripts: readonly Uint8Array[], spending: Spending = {}): RawTransaction {
  const { txid = 'ab'.repeat(32), inputs = [{ txid, vout: 0, script: Buffer.alloc(0) }], witnesses = [] } = spending;
  const outputs = scripts.map((script) => ({ amount: 1_000n, script: Buffer.from(script) }));
  return readRawTransaction(writeTransaction({ inputs, outputs, witnesses }).bytes);
}

/** Returns the payload of a transaction, whatever its lane. */
export function payloadOf(transaction: RawTransaction, magic = 'PNOD', isEnvelopeActive = true): Payload | undefined {
  const carried = findCarried(transaction, { magic, isEnvelopeActive });
  return carried && readFrame(carried.frame);
}
