import type { Unit } from './unit.ts';

/** Place of an indexer in its work. */
export interface ProgressPlace {
  readonly block: number;
  /** Hash of the transaction whose action runs. It is null outside of transactions and while rows are written. */
  readonly transaction: string | null;
  /** Name of the action, as `SEND`; null where there is none. */
  readonly action: string | null;
}

/** Records the progress of blocks for observers: the present place, and the unit that took longest. */
export class Progress {
  #height = 0;
  #unit: Unit | null = null;
  #transaction: string | null = null;
  #slowest: { readonly place: ProgressPlace; readonly ms: number } | null = null;
  readonly #onBlock: (height: number) => void;
  readonly #onPage: () => void;

  /**
   * @param onBlock called after each block that was carried out
   * @param onPage called after each part of what has to be in memory before the first block
   */
  constructor(onBlock: (height: number) => void = () => undefined, onPage: () => void = () => undefined) {
    this.#onBlock = onBlock;
    this.#onPage = onPage;
  }

  /** Notes that a part of what has to be in memory before the first block was read. */
  pageRead(): void {
    this.#onPage();
  }

  /** Notes which unit runs next. */
  begin(height: number, unit: Unit): void {
    this.#height = height;
    this.#unit = unit;
    if ('transaction' in unit) this.#transaction = unit.transaction.hash;
  }

  /** Notes how long that unit ran. */
  end(ms: number): void {
    if (this.#slowest === null || ms > this.#slowest.ms) this.#slowest = { place: this.place!, ms };
  }

  /** Notes that a block is executed. */
  blockDone(height: number): void {
    this.#unit = null;
    this.#transaction = null;
    this.#onBlock(height);
  }

  /** Forgets which unit took longest. Called when blocks are written, or begun. */
  restart(): void {
    this.#unit = null;
    this.#transaction = null;
    this.#slowest = null;
  }

  /** Present place; null between two blocks. */
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

  /** Unit that took longest since `restart`, in milliseconds. */
  get slowest(): { readonly place: ProgressPlace; readonly ms: number } | null {
    return this.#slowest;
  }
}

/** Returns a place as text for a reader: `block 7, SEND of transaction …`. */
export function placeText({ block, transaction, action }: ProgressPlace): string {
  const what = [action ?? 'what is due', ...(transaction === null ? [] : [`of transaction ${transaction}`])].join(' ');
  return `block ${block}, ${what}`;
}
