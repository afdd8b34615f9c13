/**
 * The open dispensers at one address. Finds the oldest that takes an amount in O(log n), even when strangers open many
 * at a busy address.
 */
export class Till {
  /** Least payment of each dispenser by key, oldest first. */
  readonly #leasts = new Map<string, bigint>();
  /**
   * Dispensers with a lower price than every older one: only these can be the oldest that takes an amount. Undefined
   * until they are computed.
   */
  #steps: { readonly key: string; readonly least: bigint }[] | undefined = [];

  set(key: string, least: bigint): void {
    const before = this.#leasts.get(key);
    if (before === least) return;
    this.#leasts.set(key, least);
    if (before !== undefined) this.#steps = undefined;
    else if (this.#steps) addStep(this.#steps, key, least);
  }

  delete(key: string): void {
    if (this.#leasts.delete(key)) this.#steps = undefined;
  }

  /** Returns the key of the oldest dispenser that takes an amount; undefined when none does. */
  oldestFor(amount: bigint): string | undefined {
    this.#steps ??= this.#find();
    let [low, high] = [0, this.#steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#steps[middle]!.least <= amount) high = middle;
      else low = middle + 1;
    }
    return this.#steps[low]?.key;
  }

  #find() {
    const steps: { key: string; least: bigint }[] = [];
    for (const [key, least] of this.#leasts) addStep(steps, key, least);
    return steps;
  }
}

function addStep(steps: { key: string; least: bigint }[], key: string, least: bigint): void {
  const last = steps.at(-1);
  if (!last || least < last.least) steps.push({ key, least });
}
