import { listOlder, partsOf } from './older-changes.ts';
import type { KeptWatch, ResumePoint, ResumeStep } from './resume-point.ts';

/** Steps between two whole points, and the parts of tables that they list: both end as lines of one file. */
const STEPS_MAX = 256;
const PARTS_MAX = 10_000;

/** Tells a resume point in steps: all of it is hundreds of kilobytes, and a block changes a few of them. */
export class ResumeSteps {
  #watches: Readonly<Record<string, KeptWatch>> = {};
  #isUncertain = false;
  /** Blocks since the last point that was handed over. */
  #added = 0;
  /** Amendments changed what is known of the last block of the point before. */
  #isAmended = false;
  #left = 0;
  #partsLeft = 0;

  /** Notes that a block became the last one. */
  noteBlock(): void {
    this.#added += 1;
  }

  /** Amendments of the last block were sent. */
  noteAmendment(): void {
    this.#isAmended ||= this.#added === 0;
  }

  /** Notes a change that no step can carry: the next point is handed over whole. */
  noteOther(): void {
    this.#left = 0;
  }

  /**
   * Returns the point, or what it adds to the one before.
   *
   * @param isUncertain readers of a snapshot continue from an unknown state
   * @param isScoped whether a table's rows have blocks
   */
  tell(point: ResumePoint, isUncertain: boolean, isScoped: (table: string) => boolean): ResumePoint | ResumeStep {
    const { height, blockTime, hashes, openGroup, forks, lookupIds, unsettled, learned, recent, watches } = point;
    const known = this.#isAmended ? this.#added + 1 : this.#added;
    const older = listOlder(known === 0 ? [] : recent.slice(-known), isScoped);
    const [amendedLast, added] = this.#isAmended ? [older[0], older.slice(1)] : [undefined, older];
    const changed = Object.entries(watches).filter(([table, facts]) => this.#watches[table] !== facts);
    const isWhole = this.#left <= 0 || this.#partsLeft <= 0 || isUncertain !== this.#isUncertain;
    this.#left = isWhole ? STEPS_MAX : this.#left - 1;
    this.#partsLeft = isWhole ? PARTS_MAX : this.#partsLeft - partsOf(older);
    [this.#watches, this.#isUncertain, this.#added, this.#isAmended] = [watches, isUncertain, 0, false];
    if (isWhole) return { ...point, recent: listOlder(recent, isScoped) };
    const facts = {
      height,
      blockTime,
      hashes,
      openGroup,
      lookupIds,
      ...(forks && { forks }),
      ...(unsettled && { unsettled }),
      ...(learned && { learned })
    };
    return { ...facts, ...(amendedLast && { amendedLast }), added, watches: Object.fromEntries(changed) };
  }
}
