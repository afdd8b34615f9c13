/** Changes that are remembered. A block of an honest chain makes some dozen. */
const MOST = 200_000;

interface Group {
  /** Height of its last block. */
  readonly last: number;
  readonly offers: ReadonlySet<number>;
}

/** Offers and polls that the newest blocks changed: those that a rollback of these blocks has to read again. */
export class ChangedOffers {
  #groups: Group[] = [];
  #size = 0;
  /** Block above which all changes are known. */
  #from = Number.POSITIVE_INFINITY;

  /** Forgets all changes: the offers and polls are those at the end of a block. */
  begin(height: number): void {
    this.#groups = [];
    this.#size = 0;
    this.#from = height;
  }

  /** Adds the offers and polls that a group of blocks changed. Of very many the oldest groups are forgotten. */
  add(last: number, offers: ReadonlySet<number>): void {
    if (offers.size === 0) return;
    this.#groups.push({ last, offers });
    this.#size += offers.size;
    while (this.#size > MOST) {
      const oldest = this.#groups.shift()!;
      this.#size -= oldest.offers.size;
      this.#from = oldest.last;
    }
  }

  /** Takes the offers and polls that were changed above a block; null where some are forgotten. */
  takeAbove(height: number): number[] | null {
    if (height < this.#from) return null;
    const isAbove = ({ last }: Group) => last > height;
    const changed = new Set(this.#groups.filter(isAbove).flatMap(({ offers }) => [...offers]));
    this.#groups = this.#groups.filter((group) => !isAbove(group));
    this.#size = this.#groups.reduce((sum, { offers }) => sum + offers.size, 0);
    // A group may be cut: what its lower blocks changed is to be read again after a deeper rollback, too.
    this.add(height, changed);
    return [...changed];
  }
}
