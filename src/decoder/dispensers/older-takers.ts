/** Knowledge of the oldest dispenser that takes an amount. */
interface Place {
  /** Index of its transaction, or one below which no dispenser takes the amount; Infinity when none does. */
  readonly from: number;
  readonly isFound: boolean;
}

const NOT_SEARCHED: Place = { from: 0, isFound: false };

/** Searches in the tables, from the index of a transaction on. @returns the index of a transaction */
type Search = (amount: bigint, from: number) => Promise<number | undefined>;

/** Returns the least payment that a dispenser takes now, which was found for an amount; undefined once it takes none. */
type LeastOf = (txIndex: number, amount: bigint) => Promise<bigint | undefined>;

/**
 * The open dispensers of earlier blocks at one address: finds the oldest that takes an amount, by need.
 *
 * Anybody may open very many that ask for too much. The less a payment is, the younger is who takes it: a search for all
 * amounts of a block, the greatest first, passes each dispenser once, and asks the tables once for each that takes some.
 */
export class OlderTakers {
  readonly #search: Search;
  readonly #leastOf: LeastOf;
  readonly #places = new Map<bigint, Place>();

  /**
   * @param search finds the oldest that may take an amount, by a bound that may be too low
   * @param leastOf looks whether it does
   */
  constructor(search: Search, leastOf: LeastOf) {
    this.#search = search;
    this.#leastOf = leastOf;
  }

  /**
   * Returns the index of the oldest one's transaction; undefined when none takes the amount.
   *
   * @param asked amounts that will be asked for in the same block
   */
  async oldestFor(amount: bigint, asked: Iterable<bigint> = []): Promise<number | undefined> {
    for (;;) {
      if (!this.#places.get(amount)?.isFound) await this.#find([amount, ...asked]);
      const txIndex = this.#places.get(amount)!.from;
      if (txIndex === Number.POSITIVE_INFINITY) return undefined;
      const least = await this.#leastOf(txIndex, amount);
      if (least !== undefined && least <= amount) return txIndex;
      this.#pass(txIndex, least);
    }
  }

  async #find(amounts: readonly bigint[]): Promise<void> {
    for (const amount of amounts) if (!this.#places.has(amount)) this.#places.set(amount, NOT_SEARCHED);
    let above = -1;
    let takesFrom: bigint | undefined;
    for (const [amount, place] of [...this.#places].sort(([a], [b]) => (a < b ? 1 : -1))) {
      const isSame = takesFrom !== undefined && takesFrom <= amount && place.from <= above;
      const found = isSame ? above : await this.#placeOf(amount, above);
      if (found !== above)
        takesFrom = found === Number.POSITIVE_INFINITY ? undefined : await this.#leastOf(found, amount);
      above = found;
      this.#places.set(amount, { from: above, isFound: true });
    }
  }

  /** @param above no dispenser below takes the amount */
  async #placeOf(amount: bigint, above: number): Promise<number> {
    const { from, isFound } = this.#places.get(amount)!;
    return isFound ? from : await this.#first(amount, Math.max(above, from));
  }

  async #first(amount: bigint, from: number): Promise<number> {
    const found = from === Number.POSITIVE_INFINITY ? undefined : await this.#search(amount, from);
    return found ?? Number.POSITIVE_INFINITY;
  }

  /** Notes that a dispenser takes nothing below an amount, or nothing. */
  #pass(txIndex: number, least: bigint | undefined): void {
    for (const [amount, { from }] of this.#places) {
      const isPassed = from === txIndex && (least === undefined || amount < least);
      if (isPassed) this.#places.set(amount, { from: txIndex + 1, isFound: false });
    }
  }
}
