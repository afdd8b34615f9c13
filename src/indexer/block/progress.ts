import type { Unit } from './unit.ts';

/** Where an indexer is in its work. */
export interface ProgressPlace {
  readonly block: number;
  /** Hash of the transaction whose action is carried out; null beside all transactions, and while rows are written. */
  readonly transaction: string | null;
  /** `SEND`; null where there is none. */
  readonly action: string | null;
}

/** Follows the work on blocks from outside of it: where it is, and what took longest of it. */
export class Progress {
  #height = 0;
  #unit: Unit | null = null;
  #transaction: string | null = null;
  #slowest: { readonly place: ProgressPlace; readonly ms: number } | null = null;
  readonly #onBlock: (height: number) => void;

  /** @param onBlock called after each block that was carried out */
  constructor(onBlock: (height: number) => void = () => undefined) {
    this.#onBlock = onBlock;
  }

  /** Says what is carried out next. */
  begin(height: number, unit: Unit): void {
    this.#height = height;
    this.#unit = unit;
    if ('transaction' in unit) this.#transaction = unit.transaction.hash;
  }

  /** Says for how long that was carried out. */
  end(ms: number): void {
    if (this.#slowest === null || ms > this.#slowest.ms) this.#slowest = { place: this.place!, ms };
  }

  /** Says that a block is carried out. */
  blockDone(height: number): void {
    this.#unit = null;
    this.#transaction = null;
    this.#onBlock(height);
  }

  /** Forgets what took longest: blocks are written, or begun. */
  restart(): void {
    this.#unit = null;
    this.#transaction = null;
    this.#slowest = null;
  }

  /** Where the work is; null between two blocks. */
  get place(): ProgressPlace | null {
    const unit = this.#unit;
    if (unit === null) return null;
    const action = unit.kind === 'command' ? unit.command.name : unit.kind === 'system' ? unit.act.name : null;
    return {
      block: this.#height,
      transaction: unit.kind === 'end' || unit.kind === 'lists' ? null : this.#transaction,
      action
    };
  }

  /** What took longest since `restart`, in milliseconds. */
  get slowest(): { readonly place: ProgressPlace; readonly ms: number } | null {
    return this.#slowest;
  }
}

/** Returns a place as a reader is told it: `block 7, SEND of transaction …`. */
export function placeText({ block, transaction, action }: ProgressPlace): string {
  const what = [action ?? 'what is due', ...(transaction === null ? [] : [`of transaction ${transaction}`])].join(' ');
  return `block ${block}, ${what}`;
}
