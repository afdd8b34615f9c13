import { createDecipheriv } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { toBaseUnits } from '../../../src/coin/amount.ts';
import { readFrame } from '../../../src/coin/payload/payload.ts';
import { OP_RETURN, readScript } from '../../../src/coin/script/script.ts';
import type { BlockRows, Finding, OutputRow, TransactionRow } from '../../../src/decoder/block-rows.ts';
import { PlatformError } from '../../../src/errors.ts';

const HEX = Type.String({ pattern: '^(?:[0-9a-f]{2})*$' });
const HASH = Type.String({ pattern: '^[0-9a-f]{64}$' });
const HEIGHT = Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1 });

const OutputSchema = Type.Object({
  value: Type.Optional(Type.Union([Type.String({ maxLength: 40 }), Type.Number()])),
  n: Type.Optional(HEIGHT),
  scriptPubKey: Type.Optional(
    Type.Object({
      hex: HEX,
      type: Type.String(),
      address: Type.Optional(Type.String({ maxLength: 120 })),
      addresses: Type.Optional(Type.Array(Type.String({ maxLength: 120 })))
    })
  )
});
const TransactionSchema = Type.Object({
  txid: HASH,
  vin: Type.Array(
    Type.Object({
      txid: Type.Optional(HASH),
      vout: Type.Optional(HEIGHT),
      scriptSig: Type.Optional(Type.Object({ hex: HEX })),
      txinwitness: Type.Optional(Type.Array(HEX))
    })
  ),
  vout: Type.Array(OutputSchema)
});
/** The transactions are checked one by one, so that a strange one does not hide its block. */
const BlockSchema = Type.Object({
  hash: HASH,
  height: HEIGHT,
  time: HEIGHT,
  previousblockhash: Type.Optional(HASH),
  tx: Type.Array(Type.Object({ txid: HASH }))
});

/** An output as `getblock` and `getrawtransaction` print it; what holds coins of an extension block has no script. */
export type NodeOutput = Static<typeof OutputSchema>;
type NodeTransaction = Static<typeof TransactionSchema>;
export type NodeBlock = Static<typeof BlockSchema>;

/** The output that an input spends. @throws {PlatformError} when it cannot be had now: the whole block is tried again */
type OutputReader = (txid: string, vout: number) => Promise<NodeOutput>;

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
 * A block as a coin node prints it, as rows of a decoder database: what the reader of raw blocks is compared with. It knows
 * payloads in OP_RETURN outputs alone.
 *
 * A transaction has a row when it carries an action and its first input spends from an address; one that cannot be read
 * in three tries is quarantined.
 *
 * @throws whatever PlatformError `readOutput` throws
 */
export async function readBlockRows(block: NodeBlock, readOutput: OutputReader, magic: string): Promise<BlockRows> {
  const transactions: TransactionRow[] = [];
  const findings: Finding[] = [];
  for (const transaction of block.tx) {
    const outcome = await tryTransaction(transaction, readOutput, magic);
    if (typeof outcome === 'string') findings.push({ code: 'PARSE_ERROR', hash: transaction.txid, reason: outcome });
    else if (outcome) transactions.push(outcome);
  }
  const { height, time, hash, previousblockhash: previousHash = '' } = block;
  return { height, time, hash, previousHash, transactions, findings };
}

/** @returns the row, undefined when the transaction says nothing, or the reason why it cannot be read */
async function tryTransaction(
  transaction: unknown,
  readOutput: OutputReader,
  magic: string
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
  magic: string
): Promise<TransactionRow | undefined> {
  if (!transactionValidator.Check(transaction)) {
    const [fault] = transactionValidator.Errors(transaction);
    throw new TypeError(`malformed at ${fault?.instancePath}: ${fault?.message}`);
  }
  const [input] = transaction.vin;
  const payload = findPayload(transaction, magic);
  if (typeof payload?.action !== 'string' || input?.txid === undefined || input.vout === undefined) return undefined;
  const source = addressOf(await readOutput(input.txid, input.vout));
  if (source === undefined) return undefined;
  return {
    hash: transaction.txid,
    source,
    data: payload.action,
    rawData: payload.rawData,
    pubkey: findPubkey(input),
    dispensers: { opened: [], extendedTo: null },
    outputs: relevantOutputs(transaction, payload.action)
  };
}

/** A COINPAY pays with its outputs: all that have an address count. */
function relevantOutputs({ vout }: NodeTransaction, action: string): readonly OutputRow[] {
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

function findPayload({ vin, vout }: NodeTransaction, magic: string) {
  const txid = vin[0]?.txid;
  if (txid === undefined) return undefined;
  const parts = vout.flatMap(({ scriptPubKey }) => {
    const elements = scriptPubKey && readScript(Buffer.from(scriptPubKey.hex, 'hex'));
    if (elements?.length !== 2 || elements[0]!.opcode !== OP_RETURN || !elements[1]!.data) return [];
    const cipher = createDecipheriv('aes-128-ctr', txid.slice(0, 16), txid.slice(16, 32));
    const plain = cipher.update(elements[1]!.data);
    return plain.toString('latin1', 0, 4) === magic ? [plain.subarray(4)] : [];
  });
  return parts.length === 0 ? undefined : readFrame(Buffer.concat(parts));
}
