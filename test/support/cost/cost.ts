import { Random } from '../../../lab/reference/random.ts';
import type { ChainBlock } from '../../../src/indexer/block/block.ts';
import { PIECES, type Piece } from './pieces.ts';
import { ATTACKER, blockOf, type Prepared, prepare, transactionOf } from './prepared.ts';
import type { Scale } from './scale.ts';

/** Size of the smallest transaction around a payload. */
const TRANSACTION_BYTES = 100;
/** Size of the texts that a block repeats. */
const PATTERN_BYTES = 1_000;
const MOST_WEIGHT = 250;

/** A block that repeats texts until it is full. */
export interface Shape {
  readonly pieces: readonly Piece[];
  /** Whether many stand in one transaction. */
  readonly isBatched: boolean;
}

/** Cost of a block. */
export interface Cost extends Shape {
  readonly name: string;
  readonly rows: number;
  /** CPU milliseconds. */
  readonly ms: number;
}

/** A block that repeats a kilobyte of pieces, each batch in a transaction or each piece in one of its own. */
export function blockOfShape(
  { pieces, isBatched }: Shape,
  prepared: Prepared,
  { blockBytes }: Pick<Scale, 'blockBytes'>
): ChainBlock {
  const random = new Random(1);
  const transactions: ChainBlock['transactions'][number][] = [];
  let bytes = 0;
  let next = 0;
  const command = () => PIECES[pieces[next++ % pieces.length]!]!(prepared, random);
  while (bytes < blockBytes) {
    const data = isBatched ? batchOf(command) : command();
    transactions.push(transactionOf(ATTACKER, data, prepared.height, transactions.length));
    bytes += data.length + TRANSACTION_BYTES;
  }
  return blockOf(prepared.height, transactions);
}

/** As many commands as a BATCH may have, a kilobyte at most. */
function batchOf(command: () => string): string {
  const commands: string[] = [];
  let [size, weight] = [0, 0];
  while (size < PATTERN_BYTES) {
    const text = command();
    weight += /^(AIRDROP|DIVIDEND)/.test(text) ? 25 : 1;
    if (weight > MOST_WEIGHT) break;
    commands.push(text);
    size += text.length + 1;
  }
  return `BATCH|0|${commands.join(';')}`;
}

/** Carries a block out in memory, on what earlier blocks hold. */
export function costOf(shape: Shape, scale: Scale): Cost {
  const { prepared, ledger } = prepare(scale);
  const block = blockOfShape(shape, prepared, scale);
  const before = process.cpuUsage();
  const { rows, balances } = ledger.run(block);
  const { user, system } = process.cpuUsage(before);
  const name = `${shape.isBatched ? 'BATCH of ' : ''}${shape.pieces.join(' + ')}`;
  return { ...shape, name, rows: rows.length + balances.length, ms: (user + system) / 1_000 };
}
