import { type BlockHashes, type DbType, hashesOf, sameBlock } from '../../../wire/data/database.ts';
import { type BlockMessage, type Group, previousHashes } from '../../../wire/data/messages.ts';
import { MOST_GROUPS } from '../apply/block-writer.ts';

/** Blocks of one group that wait for its last; a larger backlog is fetched as a snapshot. */
const MAX_GROUP_BLOCKS = 5_000;
/** Whole groups wait for what is behind them while they have fewer blocks, and it is no longer than this. */
const MOST_READY_BLOCKS = 64;
const MOST_NEXT_BYTES = 256 * 1024;

/** A whole group that waits for those behind it. */
export interface ReadyGroup {
  readonly group: Group;
  readonly messages: readonly BlockMessage[];
}

/** The block that others follow. */
export interface BlockTip {
  readonly height: number;
  readonly hashes: BlockHashes | null;
}

/** Live blocks that are not applied yet: whole groups, then the group that is still incomplete. */
export class PendingGroups {
  readonly #dbType: DbType;
  #begun: BlockMessage[] = [];
  #ready: ReadyGroup[] = [];

  constructor(dbType: DbType) {
    this.#dbType = dbType;
  }

  get isEmpty(): boolean {
    return !this.hasBegun && !this.hasReady;
  }

  /** A group has begun whose last block is still to come. */
  get hasBegun(): boolean {
    return this.#begun.length > 0;
  }

  get hasReady(): boolean {
    return this.#ready.length > 0;
  }

  clear(): void {
    this.#begun = [];
    this.#ready = [];
  }

  /** Returns the block that the next group follows. @param applied the replica's tip, where no group waits */
  tip(applied: BlockTip): BlockTip {
    const last = this.#ready.at(-1)?.messages.at(-1);
    return last ? { height: last.block_index, hashes: hashesOf(this.#dbType, last) } : applied;
  }

  /** Returns the reason for which a block cannot follow the pending ones; null when it can. */
  misfit(message: BlockMessage, group: Group, applied: BlockTip): string | null {
    const { height, hashes } = this.tip(applied);
    const { block_index: at } = message;
    const before = this.#begun.at(-1);
    if (group.first !== height + 1) return `blocks ${group.first} to ${group.last} do not follow the replica's`;
    if (at !== (before?.block_index ?? height) + 1 || at > group.last) return `block ${at} does not follow`;
    if (this.#begun.length >= MAX_GROUP_BLOCKS) return `more than ${MAX_GROUP_BLOCKS} blocks in one group`;
    const previous = previousHashes(message);
    const own = before ? hashesOf(this.#dbType, before) : hashes;
    if (previous && own && !sameBlock(previous, own)) return `hash chain discontinuity at block ${at}`;
    return null;
  }

  /** Adds a block that fits. */
  add(message: BlockMessage, group: Group): void {
    this.#begun.push(message);
    if (message.block_index !== group.last) return;
    this.#ready.push({ group, messages: this.#begun });
    this.#begun = [];
  }

  /** Forgets blocks of the group that has begun, which its source took back. */
  takeBack(from: number): void {
    this.#begun = this.#begun.filter(({ block_index }) => block_index < from);
  }

  /** Returns whether whole groups go into the database now, without waiting for the next message. */
  isTime(nextBytes: number | null): boolean {
    if (!this.hasReady) return false;
    const blocks = this.#ready.reduce((sum, { messages }) => sum + messages.length, 0);
    const isFull = this.#ready.length >= MOST_GROUPS || blocks >= MOST_READY_BLOCKS;
    return isFull || nextBytes === null || nextBytes > MOST_NEXT_BYTES;
  }

  /** Hands the whole groups over, oldest first. */
  takeReady(): readonly ReadyGroup[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }
}
