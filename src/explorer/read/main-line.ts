import type { Tip } from './tip.ts';

/** Findings of a look at a replica. */
interface Seen {
  /** Its newest block. */
  readonly tip: Tip;
  /** Its block at the height of the newest block of the line; null where it has none, or was not asked. */
  readonly atLine: Tip | null;
}

/** A replica's name with what was found at it. */
type Found<Name> = readonly [name: Name, seen: Seen];

/** Blocks by which another chain has to be ahead before it takes the place of the line, whose replicas have stopped then. */
const STOPPED_BLOCKS = 3;
/** Looks whose newest blocks are known. */
const KEPT_MARKS = 256;

/**
 * The chain that readers are shown, by looks at several replicas; a replica on another one serves nobody.
 *
 * Another chain takes its place when more replicas are on it, when those of the line have stopped, or when all have left
 * the line, as in a reorg. A replica that was on another chain before the line's own were lost does not decide that.
 */
export class MainLine<Name> {
  #top: Tip | null = null;
  /** Marks of the line's blocks by height, oldest first, as far as looks saw them. */
  readonly #marks = new Map<number, string>();
  #forked: ReadonlySet<Name> = new Set();

  /** Height of the newest block of the line that a replica had at the last look; null before the first. */
  get height(): number | null {
    return this.#top?.height ?? null;
  }

  /** Takes the next look at all replicas that answer. @returns those that are on another chain */
  advance(seen: ReadonlyMap<Name, Seen>): ReadonlySet<Name> {
    const all = [...seen];
    const before = all.filter((found) => this.#isOn(found));
    const other = this.#findOther(before, without(all, before));
    if (other) this.#follow(other);
    const on = other ? all.filter((found) => this.#isOn(found)) : before;
    const off = without(all, on).map(([name]) => name);
    const lost = [...this.#forked].filter((name) => !seen.has(name));
    if (on.length > 0) this.#grow(highest(on)!);
    this.#forked = new Set(on.length > 0 ? [...off, ...lost] : [...this.#forked, ...off]);
    return this.#forked;
  }

  #isOn([, { tip, atLine }]: Found<Name>): boolean {
    const top = this.#top;
    if (top === null || tip.mark === top.mark) return top !== null;
    if (tip.height > top.height) return atLine?.mark === top.mark;
    return (this.#marks.get(tip.height) ?? tip.mark) === tip.mark;
  }

  /** Finds a replica whose chain takes the place of the line. */
  #findOther(on: readonly Found<Name>[], off: readonly Found<Name>[]): Seen | null {
    const best = highest(off);
    if (best === null || this.#top === null) return best;
    if (on.length === 0) {
      const left = highest(off.filter(([name]) => !this.#forked.has(name)));
      return left ?? (best.tip.height > this.#top.height + STOPPED_BLOCKS ? best : null);
    }
    const groups = [...Map.groupBy(off, ([, { tip }]) => tip.mark).values()];
    const most = groups.reduce((a, b) => (b.length > a.length ? b : a));
    if (most.length > on.length) return highest(most);
    return best.tip.height > highest(on)!.tip.height + STOPPED_BLOCKS ? best : null;
  }

  /** Goes over to another chain. Of the old one that block is known which the other has replaced. */
  #follow({ tip, atLine }: Seen): void {
    this.#marks.clear();
    if (atLine) this.#marks.set(atLine.height, atLine.mark);
    this.#marks.set(tip.height, tip.mark);
    this.#top = tip;
  }

  #grow({ tip }: Seen): void {
    for (const height of [...this.#marks.keys()]) if (height > tip.height) this.#marks.delete(height);
    this.#marks.set(tip.height, tip.mark);
    const [oldest] = this.#marks.keys();
    if (this.#marks.size > KEPT_MARKS) this.#marks.delete(oldest!);
    this.#top = tip;
  }
}

const without = <T>(all: readonly T[], some: readonly T[]): T[] => all.filter((each) => !some.includes(each));

/** Returns the one with the newest block; of several the first. */
function highest<Name>(found: readonly Found<Name>[]): Seen | null {
  const [best] = found.toSorted(([, a], [, b]) => b.tip.height - a.tip.height);
  return best?.[1] ?? null;
}
