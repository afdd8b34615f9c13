import type { Broadcast } from '../../wire/data/broadcast.ts';
import { blockText } from '../../wire/data/database.ts';

/** A message as the window keeps it. */
interface WindowMessage {
  readonly type: Broadcast['type'];
  readonly height: number;
  /** Identity of its block; null where the message names none. */
  readonly hash: string | null;
  readonly full: Buffer;
  readonly infra: Buffer;
}

/** A block that a subscriber stands at: its height, and its hashes in the order of their names, joined by colons. */
interface ResumeBlock {
  readonly height: number;
  readonly hash: string;
}

/** Size of a window; the oldest messages go first. */
export interface WindowLimits {
  readonly messages: number;
  readonly bytes: number;
}

/**
 * The last messages of one database, in order and without a gap, for subscribers that come back.
 *
 * Positions count from 0 and are never used twice.
 */
export class MessageWindow {
  readonly #limits: WindowLimits;
  #messages: WindowMessage[] = [];
  #bytes = 0;
  #first = 0;
  /** The tip before the first message; above all blocks where it is not known. */
  #base = Number.POSITIVE_INFINITY;
  /** The highest block that was taken back by a reorg which is not here any more: up to it, a block may stand for two with its hash. */
  #orphaned = -1;
  /** Subscribers without amendments cannot resume below this position: no block repeats what those before it brought. */
  #plainFirst = 0;

  constructor(limits: WindowLimits) {
    this.#limits = limits;
  }

  /** Position of the next message. */
  get next(): number {
    return this.#first + this.#messages.length;
  }

  /** @param tip the block before it */
  push({ type, height, names }: Broadcast, full: Buffer, infra: Buffer, tip = Number.POSITIVE_INFINITY): void {
    if (this.#messages.length === 0) this.#base = type === 'block' ? height - 1 : tip;
    const hash = names ? blockText(names.hashes) : null;
    this.#messages.push({ type, height, hash, full, infra });
    this.#bytes += sizeOf(full, infra);
    const { messages, bytes } = this.#limits;
    let gone = 0;
    for (; this.#messages.length - gone > messages || this.#bytes > bytes; gone++) {
      const oldest = this.#messages[gone]!;
      this.#bytes -= sizeOf(oldest.full, oldest.infra);
      if (oldest.type === 'reorg') this.#orphaned = Math.max(this.#orphaned, this.#base);
      this.#base = sentHeight(oldest) ?? this.#base;
    }
    this.#messages.splice(0, gone);
    this.#first += gone;
  }

  /** Forgets everything: nobody can resume from before the next message. */
  clear(): void {
    this.#first = this.next;
    this.#messages = [];
    this.#bytes = 0;
  }

  /** Lets no subscriber without amendments resume from before the next message. */
  endPlain(): void {
    this.#plainFirst = this.next;
  }

  /** Returns the message at a position; undefined when it is not here any more, or not yet. */
  at(position: number): WindowMessage | undefined {
    return this.#messages[position - this.#first];
  }

  /**
   * Returns the position of what a subscriber lacks that stands at a block; null when that is not known here. A block that came twice,
   * with a reorg between, is found where it came first: a subscriber that has not seen the reorg gets it. Where the first one is not
   * here any more, it gets the reorg in any case: rows differ also between blocks of one hash. Where the reorg is not here either,
   * nobody knows at which of the two blocks it stands.
   */
  behind({ height, hash }: ResumeBlock, isPlain: boolean): number | null {
    const found = this.#messages.findIndex(
      (message) => message.type === 'block' && message.height === height && message.hash === hash
    );
    const reorg = this.#messages.findIndex((message) => message.type === 'reorg' && message.height <= height);
    const position = this.#first + (this.#base >= height && reorg >= 0 ? Math.min(reorg, found + 1) : found + 1);
    if (found < 0 || height <= this.#orphaned) return null;
    return isPlain && position < this.#plainFirst ? null : position;
  }

  /** The amendments of the last block, and what tells of them. */
  get sinceLastBlock(): readonly WindowMessage[] {
    const last = this.#messages.findLastIndex(({ type }) => type === 'block' || type === 'reorg');
    return this.#messages.slice(last + 1);
  }
}

/** Returns the last block that a subscriber has with a message; undefined for one that only those get who ask for amendments. */
export function sentHeight({ type, height }: Pick<Broadcast, 'type' | 'height'>): number | undefined {
  if (type === 'amendment' || type === 'settled') return undefined;
  return type === 'reorg' ? height - 1 : height;
}

/** Reads `<height>:<hash>`. */
export function readResumeBlock(after: string): ResumeBlock {
  const colon = after.indexOf(':');
  return { height: Number(after.slice(0, colon)), hash: after.slice(colon + 1).toLowerCase() };
}

function sizeOf(full: Buffer, infra: Buffer): number {
  return full === infra ? full.length : full.length + infra.length;
}
