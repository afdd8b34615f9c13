import { PlatformError } from '../../errors.ts';
import type { Coin } from '../coins.ts';
import type { Question } from '../question.ts';

/** A row of a list as the answer has it, but for the number of its block. */
export type Row = Readonly<Record<string, unknown>> & { readonly block_index: number };

/** Subject whose actions a subscriber gets besides blocks. */
export interface Subject {
  readonly type: 'address' | 'token' | 'recent';
  readonly query: string;
}

/** Changes since the blocks that are known. */
export interface Advance {
  /** The newest block that still stands; null where all stand. */
  readonly fork: number | null;
  /** The first block above those that are sent, where more came at once than are sent one by one; else null. */
  readonly skippedTo: number | null;
  /** Oldest first. */
  readonly blocks: readonly Row[];
  readonly actions: ReadonlyMap<Subject, SubjectActions>;
}

/** Actions of a subject in new blocks, oldest first. */
export interface SubjectActions {
  readonly rows: readonly Row[];
  /** More actions came before these, or they could not be read in time. */
  readonly isCut: boolean;
}

/** Most blocks that are sent one by one, and most actions of one subject in one advance. */
const MAX_BLOCKS = 100;
const MAX_ACTIONS = 100;
const READINGS = 5;
/** Limits on reading the subjects of one advance, in milliseconds: blocks wait for them. */
interface Limits {
  /** All of them. */
  readonly allMs: number;
  /** One; if it takes longer it is slow, and all that were slow the last time may take twice as long together. */
  readonly slowMs: number;
}

const LIMITS: Limits = { allMs: 5_000, slowMs: 500 };
const NOT_READ: SubjectActions = { rows: [], isCut: true };

type Reading = Readonly<{ data: readonly Row[]; mark: string | null }>;
type Ask = Pick<Question, 'method' | 'limit'> & Partial<Subject>;

/** Reads what is new in one network. Nobody waits for an address or token whose actions are slow to read: it is cut. */
export class Advances {
  readonly #coin: Pick<Coin, 'read' | 'network'>;
  readonly #limits: Limits;
  /** Milliseconds that each subject took last, by its name. */
  #took = new Map<string, number>();

  constructor(coin: Pick<Coin, 'read' | 'network'>, limits = LIMITS) {
    this.#coin = coin;
    this.#limits = limits;
  }

  /**
   * Reads what is new above the blocks that are known, newest first, all at one tip.
   *
   * @returns null where nothing is new, or where the tip does not hold still
   * @throws what the coin's `read` of blocks throws
   */
  async read(known: readonly Row[], subjects: readonly Subject[]): Promise<Advance | null> {
    const until = performance.now() + this.#limits.allMs;
    for (let reading = 0; reading < READINGS; reading++) {
      const { data: standing, mark } = await this.#ask({ method: 'blocks', limit: MAX_BLOCKS });
      const { fork, skippedTo, blocks } = compare(known, standing, this.#coin.network.undoDepth);
      const [first] = blocks;
      if (fork === null && first === undefined) return null;
      const actions = first && (await this.#actionsOf(subjects, { from: first.block_index, mark, until }));
      if (actions !== null) return { fork, skippedTo, blocks, actions: actions ?? new Map() };
    }
    return null;
  }

  /**
   * Reads the actions of subjects; those that were quick the last time come first. @returns null where the tip has moved, and there
   * is time to read again
   */
  async #actionsOf(
    subjects: readonly Subject[],
    { from, mark, until }: { readonly from: number; readonly mark: string | null; readonly until: number }
  ): Promise<ReadonlyMap<Subject, SubjectActions> | null> {
    const { slowMs } = this.#limits;
    const before = this.#took;
    // Of those that nobody has read yet any may be slow: they come behind the quick ones. The newest actions of all are
    // never slow by what somebody follows, so nothing but the time of all bounds them.
    const isOfAll = ({ type }: Subject) => type === 'recent';
    const took = (subject: Subject) => (isOfAll(subject) ? 0 : (before.get(nameOf(subject)) ?? slowMs / 2));
    this.#took = new Map(subjects.map((subject) => [nameOf(subject), took(subject)]));
    const actions = new Map<Subject, SubjectActions>();
    let slowLeftMs = 2 * slowMs;
    for (const subject of subjects.toSorted((a, b) => took(a) - took(b))) {
      const isSlow = took(subject) >= slowMs;
      const began = performance.now();
      const mostMs = Math.min(
        until - began,
        isSlow ? slowLeftMs : isOfAll(subject) ? Number.POSITIVE_INFINITY : slowMs
      );
      const found = mostMs > 0 ? await this.#history(subject, mostMs) : null;
      const ms = performance.now() - began;
      if (isSlow) slowLeftMs -= ms;
      // One that had less time, because others took it, is not slow for that.
      if (found !== null) this.#took.set(nameOf(subject), ms);
      else if (mostMs >= slowMs) this.#took.set(nameOf(subject), slowMs);
      if (found !== null && found.mark !== mark && performance.now() < until) return null;
      actions.set(subject, found === null || found.mark !== mark ? NOT_READ : actionsFrom(found.data, from));
    }
    return actions;
  }

  /** Reads the newest actions of a subject; null where they cannot be read in time. */
  async #history(subject: Subject, mostMs: number): Promise<Reading | null> {
    const late = Promise.withResolvers<null>();
    const timer = setTimeout(() => late.resolve(null), mostMs);
    const reading = this.#ask({ method: 'history', ...subject, limit: MAX_ACTIONS }).catch((caught: unknown) => {
      if (caught instanceof PlatformError) return null;
      throw caught;
    });
    return await Promise.race([reading, late.promise]).finally(() => clearTimeout(timer));
  }

  async #ask(asked: Ask): Promise<Reading> {
    const { body, mark } = await this.#coin.read({ ...PAGE, ...asked });
    const { data } = JSON.parse(body) as { data: readonly (Omit<Row, 'block_index'> & { block_index: string })[] };
    return { data: data.map((row): Row => ({ ...row, block_index: Number(row.block_index) })), mark };
  }
}

function actionsFrom(found: readonly Row[], from: number): SubjectActions {
  const rows = found.filter(({ block_index }) => block_index >= from).reverse();
  return { rows, isCut: rows.length === MAX_ACTIONS };
}

/** Tells a subject from others. */
export const nameOf = ({ type, query }: Subject): string => JSON.stringify([type, query]);

const PAGE = { parameters: {}, page: 1, order: 'desc', format: 'json' } as const satisfies Partial<Question>;
const isSame = (a: Row, b: Row): boolean => JSON.stringify(a) === JSON.stringify(b);

/** @param known newest first, as `standing` is @param undoDepth the blocks that a reorg may replace */
export function compare(known: readonly Row[], standing: readonly Row[], undoDepth: number): Omit<Advance, 'actions'> {
  const byHeight = new Map(standing.map((block) => [block.block_index, block]));
  const newest = known[0];
  const kept = known.find((block) => {
    const now = byHeight.get(block.block_index);
    return now !== undefined && isSame(now, block);
  });
  const oldest = standing.at(-1)?.block_index ?? 0;
  if (newest === undefined || (kept === undefined && newest.block_index < oldest)) {
    // Nothing is known, or nothing that is still in sight.
    const isGap = newest !== undefined && newest.block_index < oldest - 1;
    return { fork: null, skippedTo: isGap ? oldest : null, blocks: [...standing].reverse() };
  }
  // A reorg that replaced all that is in sight may have gone deeper: as deep as any may go.
  const isWhole = standing.length < MAX_BLOCKS;
  const base = kept?.block_index ?? Math.min(oldest - 1, isWhole ? oldest : newest.block_index - undoDepth);
  const blocks = standing.filter(({ block_index }) => block_index > base).reverse();
  const isGap = kept === undefined && base < oldest - 1;
  return { fork: base < newest.block_index ? base : null, skippedTo: isGap ? oldest : null, blocks };
}
