import {
  type BlockHashes,
  blockText,
  type DatabaseId,
  hashesOf,
  sameBlock,
  unknownHashes
} from '../wire/data/database.ts';
import { type Learned, LearnedSchema, type Life, LivesSchema } from '../wire/data/messages.ts';
import { shapeOf } from '../wire/data/shape.ts';
import type { StreamMessage } from './stream-message.ts';

const isLearned = shapeOf(LearnedSchema);
const areLives = shapeOf(LivesSchema);
/** Blocks that are kept, for the block that stands after a reorg. */
const MAX_BLOCKS = 2_000;

/** Last block of a stream, and how complete it is. */
export interface Position {
  readonly height: number;
  readonly blockTime: number | null;
  readonly hashes: BlockHashes;
  /** The hashes as one text, as headers name them; null: not known. */
  readonly text: string | null;
  readonly learned?: Learned | undefined;
  readonly lives?: readonly Life[] | undefined;
  readonly schema: string | null;
  /** The last block of which everything that changed was sent; undefined: the stream did not say since it was read. */
  readonly settledHeight?: number;
  /** Amendments of the last block; undefined: not known. */
  readonly amendments?: number;
}

/** Follows the position of a stream, message by message. */
export class PositionReader {
  readonly #id: DatabaseId;
  /** By height, of the chain that stands. */
  readonly #blocks = new Map<number, { readonly time: number | null; readonly hashes: BlockHashes }>();
  #position: Position | null = null;

  constructor(id: DatabaseId) {
    this.#id = id;
  }

  /** Null before the first message. */
  get position(): Position | null {
    return this.#position;
  }

  /** Returns whether a block is not known to be of another chain. */
  mayBe(height: number, hashes: BlockHashes): boolean {
    const known = this.#blocks.get(height)?.hashes;
    return !known || blockText(known) === null || blockText(hashes) === null || sameBlock(known, hashes);
  }

  /** Returns the reason for which a message does not continue what was read; null when it does. */
  misfit({ type, height, previous }: StreamMessage): string | null {
    const before = this.#position;
    if (before === null || type === 'break') return null;
    if (type !== 'block')
      return height <= before.height ? null : `a ${type} of block ${height} follows block ${before.height}`;
    if (height !== before.height + 1) return `block ${height} follows block ${before.height}`;
    const isOther = previous !== null && before.text !== null && previous !== before.text;
    return isOther ? `hash chain discontinuity at block ${height}` : null;
  }

  take(message: StreamMessage): Position {
    this.#position = this.#next(message);
    return this.#position;
  }

  #next(message: StreamMessage): Position {
    const { type, height, hash, facts, schema, body } = message;
    const isTold = body.length > 0;
    const before = this.#position;
    const { dbType } = this.#id;
    switch (type) {
      case 'point':
      case 'break': {
        const blockTime = typeof facts['blockTime'] === 'number' ? facts['blockTime'] : null;
        const learned = {
          learned: isLearned.Check(facts['learned']) ? facts['learned'] : undefined,
          lives: areLives.Check(facts['lives']) ? facts['lives'] : undefined
        };
        const hashes = hashesOfText(dbType, hash);
        if (type === 'break') this.#blocks.clear();
        const isSame = type === 'point' && before?.height === height && before.text === hash;
        return {
          ...(isSame ? before : { schema: before?.schema ?? null }),
          height,
          blockTime,
          hashes,
          text: hash,
          ...learned
        };
      }
      case 'reorg': {
        const stands = height - 1;
        for (const orphaned of [...this.#blocks.keys()]) if (orphaned > stands) this.#blocks.delete(orphaned);
        const known = { learned: before?.learned, lives: before?.lives, schema: before?.schema ?? null };
        return {
          ...known,
          height: stands,
          blockTime: this.#blocks.get(stands)?.time ?? null,
          hashes: hashesOfText(dbType, hash),
          text: hash
        };
      }
      case 'block': {
        const blockTime = typeof facts['block_time'] === 'number' ? facts['block_time'] : null;
        const hashes = isTold ? hashesOf(dbType, facts) : hashesOfText(dbType, hash);
        this.#keep(height, blockTime, hashes);
        // A message without a body does not say.
        const isSettled = isTold && facts['settling'] !== true && facts['unsettled'] === undefined;
        const settled = isSettled ? { settledHeight: height } : {};
        return {
          learned: before?.learned,
          lives: before?.lives,
          ...(before?.settledHeight !== undefined && { settledHeight: before.settledHeight }),
          height,
          blockTime,
          hashes,
          text: hash,
          schema,
          amendments: 0,
          ...settled
        };
      }
      case 'amendment':
        if (height !== before!.height) return before!;
        return { ...before!, amendments: isTold ? Number(facts['number']) : (before!.amendments ?? 0) + 1 };
      case 'settled':
        return { ...before!, settledHeight: height };
    }
  }

  #keep(height: number, time: number | null, hashes: BlockHashes): void {
    this.#blocks.delete(height);
    this.#blocks.set(height, { time, hashes });
    if (this.#blocks.size > MAX_BLOCKS) this.#blocks.delete(this.#blocks.keys().next().value!);
  }
}

/** Reads the hashes that a header names. */
function hashesOfText(dbType: DatabaseId['dbType'], text: string | null): BlockHashes {
  if (text === null) return unknownHashes(dbType);
  if (dbType === 'decoder') return { block_hash: text };
  const [actions_hash, contract_hash, ledger_hash] = text.split(':').map((part) => (part === '' ? null : part));
  return { ledger_hash: ledger_hash ?? null, actions_hash: actions_hash ?? null, contract_hash: contract_hash ?? null };
}
