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
  /** Subscribers without amendments cannot resume below this position: no block repeats what those before it brought. */
  #plainFirst = 0;

  constructor(limits: WindowLimits) {
    this.#limits = limits;
  }

  /** Position of the next message. */
  get next(): number {
    return this.#first + this.#messages.length;
  }

  push({ type, height, names }: Broadcast, full: Buffer, infra: Buffer): void {
    const hash = names ? blockText(names.hashes) : null;
    this.#messages.push({ type, height, hash, full, infra });
    this.#bytes += sizeOf(full, infra);
    const { messages, bytes } = this.#limits;
    let gone = 0;
    for (; this.#messages.length - gone > messages || this.#bytes > bytes; gone++) {
      const oldest = this.#messages[gone]!;
      this.#bytes -= sizeOf(oldest.full, oldest.infra);
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

  /** Undefined when it is not here any more, or not yet. */
  at(position: number): WindowMessage | undefined {
    return this.#messages[position - this.#first];
  }

  /**
   * Returns the position behind the message of a block; null when it is not here. A block that came twice, with a reorg between, is
   * found where it came first: a subscriber that has not seen the reorg gets it.
   */
  behind({ height, hash }: ResumeBlock, isPlain: boolean): number | null {
    const found = this.#messages.findIndex(
      (message) => message.type === 'block' && message.height === height && message.hash === hash
    );
    const position = this.#first + found + 1;
    return found < 0 || (isPlain && position < this.#plainFirst) ? null : position;
  }

  /** The amendments of the last block, and what tells of them. */
  get sinceLastBlock(): readonly WindowMessage[] {
    const last = this.#messages.findLastIndex(({ type }) => type === 'block' || type === 'reorg');
    return this.#messages.slice(last + 1);
  }
}

/** Reads `<height>:<hash>`. */
export function readResumeBlock(after: string): ResumeBlock {
  const colon = after.indexOf(':');
  return { height: Number(after.slice(0, colon)), hash: after.slice(colon + 1).toLowerCase() };
}

function sizeOf(full: Buffer, infra: Buffer): number {
  return full === infra ? full.length : full.length + infra.length;
}
