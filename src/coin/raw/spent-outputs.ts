import { ByteCursor } from './byte-cursor.ts';

/** An amount, and the length of a script. */
const AMOUNT_BYTES = 8;
const LEAST_OUTPUT_BYTES = AMOUNT_BYTES + 1;

/**
 * Reads what a node knows of the outputs that a block spends: for each transaction, the miner's too, the outputs in the order of its
 * inputs.
 *
 * @param wanted  positions of transactions in the block
 * @returns by position, the script that the first input spends; nothing for a transaction that spends nothing
 * @throws {RangeError} when the bytes are malformed, or speak of fewer transactions
 * @see https://github.com/bitcoin/bitcoin/blob/master/doc/REST-interface.md (spenttxouts)
 */
export function readSpentScripts(bytes: Buffer, wanted: ReadonlySet<number>): ReadonlyMap<number, Buffer> {
  const cursor = new ByteCursor(bytes);
  const scripts = new Map<number, Buffer>();
  const transactions = cursor.count(1);
  for (const position of wanted)
    if (position >= transactions) throw new RangeError(`there is no transaction ${position} among ${transactions}`);
  for (let position = 0; position < transactions; position++) {
    const outputs = cursor.count(LEAST_OUTPUT_BYTES);
    for (let output = 0; output < outputs; output++) {
      cursor.skip(AMOUNT_BYTES);
      const script = cursor.take(cursor.varInt());
      // A copy: a view would keep the bytes of the whole block.
      if (output === 0 && wanted.has(position)) scripts.set(position, Buffer.from(script));
    }
  }
  if (cursor.left > 0) throw new RangeError(`${cursor.left} bytes follow the last transaction`);
  return scripts;
}
