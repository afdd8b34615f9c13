import { ByteCursor } from './byte-cursor.ts';

/** Bytes of an amount. */
const AMOUNT_BYTES = 8;
/** Least bytes of an output: amount, and the length of its script. */
const LEAST_OUTPUT_BYTES = AMOUNT_BYTES + 1;

/**
 * Reads a node's list of the outputs that a block spends: for each transaction, including the reward, the outputs in
 * the order of its inputs.
 *
 * @param wanted positions of transactions in the block
 * @returns by position, the script that the first input spends; no entry for a transaction without inputs
 * @throws {RangeError} when the bytes are malformed or hold fewer transactions
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
